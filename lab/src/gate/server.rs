//! A build's kernels in a process that waits for its turn.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::kernels::KernelSuite;
use crate::error::file;
use crate::{LabError, child};

/// While an answer is waited for, an interrupt is noticed within this time.
const INTERRUPT_LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// One `gate-kernels serve`, from a copy of the binary that goes with it.
pub(super) struct Server<'a> {
    copy: PathBuf,
    interrupt: &'a AtomicBool,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What some turns took.
pub(super) struct Timed {
    pub(super) wall_ns: f64,
    pub(super) cpu_ns: f64,
    /// Stands for everything that was decided.
    pub(super) answer: String,
}

impl<'a> Server<'a> {
    /// Starts a copy. A file stays where the page cache has put it, and which sets of the caches
    /// its code then shares with the data differs from copy to copy: two equal files were measured
    /// 0.8 % apart, for as long as they lay there. With a new copy for every session that is noise
    /// of a session like any other.
    pub(super) fn start(
        binary: &Path,
        name: &str,
        suite: KernelSuite,
        interrupt: &'a AtomicBool,
    ) -> Result<Server<'a>, LabError> {
        let copy = binary.with_file_name(name);
        std::fs::copy(binary, &copy).map_err(file(&copy, "cannot be made"))?;
        let mut child = kernels_command(&copy)
            .args(["serve", suite.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(file(binary, "cannot be started"))?;
        let input = child.stdin.take().expect("the pipe was asked for");
        let output = BufReader::new(child.stdout.take().expect("the pipe was asked for"));
        Ok(Server { copy, interrupt, child, input, output })
    }

    /// Times one block; an interrupt ends it with [`LabError::Interrupted`].
    pub(super) fn time(&mut self, path: &str, turns: usize) -> Result<Timed, LabError> {
        let asked = writeln!(self.input, "time {path} {turns} 1");
        self.wait_for_answer()?;
        asked.map_err(LabError::KernelsGone)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(LabError::KernelsGone)?;
        // Ctrl-C reaches the kernels as well: that they have gone is no error of theirs.
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong =
            |source| LabError::Answer { kernel: path.to_owned(), answer: line.trim().to_owned(), source };
        let [wall, cpu, answer] = words.as_slice() else { return Err(wrong(None)) };
        let number = |text: &str| text.parse::<f64>().map_err(|error| wrong(Some(error)));
        Ok(Timed { wall_ns: number(wall)?, cpu_ns: number(cpu)?, answer: (*answer).to_owned() })
    }

    /// A build that hangs must not keep the gate from ending when it is interrupted.
    fn wait_for_answer(&self) -> Result<(), LabError> {
        let mut output = [PollFd::from_borrowed_fd(self.output.get_ref().as_fd(), PollFlags::IN)];
        loop {
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            match poll(&mut output, Some(&INTERRUPT_LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // What is wrong with the pipe is said by reading it.
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // It ends when its input does; a build that hangs must not hold the gate.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.copy);
    }
}

/// The environment lies on the stack and moves it, and where the stack lies changes times and even
/// counts: both builds get the same, and little of it.
pub(super) fn kernels_command(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env_clear();
    if let Ok(steps) = std::env::var(PLANTED_STEPS) {
        command.env(PLANTED_STEPS, steps);
    }
    command
}

/// The size of the slowdown that a build with the feature `planted` has; other builds do not read it.
pub(super) const PLANTED_STEPS: &str = "SCHEDLAB_PLANTED_STEPS";

/// The kernels of a build that are timed, or counted.
pub(super) fn list(
    binary: &Path,
    suite: KernelSuite,
    what: &str,
    interrupt: &AtomicBool,
) -> Result<Vec<String>, LabError> {
    let mut command = kernels_command(binary);
    command.args(["list", suite.name()]);
    let output = child::run(command, interrupt)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = |line: &str| Some(line.strip_prefix(what)?.trim().to_owned());
    Ok(text.lines().filter_map(wanted).collect())
}
