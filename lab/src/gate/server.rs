//! A build's kernels in a process that waits for its turn.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::kernels::Suite;
use crate::LabError;
use crate::error::file;

/// One `gate-kernels serve`, from a copy of the binary that goes with it.
pub(super) struct Server {
    copy: PathBuf,
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

impl Server {
    /// Starts a copy. A file stays where the page cache has put it, and which sets of the caches
    /// its code then shares with the data differs from copy to copy: two equal files were measured
    /// 0.8 % apart, for as long as they lay there. With a new copy for every session that is noise
    /// of a session like any other.
    pub(super) fn start(binary: &Path, name: &str, suite: Suite) -> Result<Server, LabError> {
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
        Ok(Server { copy, child, input, output })
    }

    /// Times one block.
    pub(super) fn time(&mut self, path: &str, turns: usize) -> Result<Timed, LabError> {
        writeln!(self.input, "time {path} {turns} 1").map_err(LabError::KernelsGone)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(LabError::KernelsGone)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong =
            |source| LabError::Answer { kernel: path.to_owned(), answer: line.trim().to_owned(), source };
        let [wall, cpu, answer] = words.as_slice() else { return Err(wrong(None)) };
        let number = |text: &str| text.parse::<f64>().map_err(|error| wrong(Some(error)));
        Ok(Timed { wall_ns: number(wall)?, cpu_ns: number(cpu)?, answer: (*answer).to_owned() })
    }
}

impl Drop for Server {
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
pub(super) fn list(binary: &Path, suite: Suite, what: &str) -> Result<Vec<String>, LabError> {
    let mut command = kernels_command(binary);
    command.args(["list", suite.name()]);
    let output = crate::build::run(command)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = |line: &str| Some(line.strip_prefix(what)?.trim().to_owned());
    Ok(text.lines().filter_map(wanted).collect())
}
