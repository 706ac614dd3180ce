//! Programs that a session waits for. What interrupts the session ends them within milliseconds, with all
//! that they have started.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::LabError;

/// Between two looks whether a process has ended: far below what one of ours takes.
const LOOK: Duration = Duration::from_millis(20);
/// For the rest of what a process said that was ended; somebody else may hold its pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How a process ended.
pub(crate) enum Ended {
    /// By itself.
    Alone(Output),
    /// With the session, having said so much.
    WithUs { stdout: Vec<u8> },
}

/// Runs a program to its end; what it complained of is in the error.
pub(crate) fn run(mut command: Command, interrupt: &AtomicBool) -> Result<Output, LabError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().display().to_string();
    let child = match start(command) {
        Ok(child) => child,
        Err(source) => return Err(LabError::NotStarted { program, source }),
    };
    let output = match wait(child, interrupt)? {
        Ended::Alone(output) => output,
        Ended::WithUs { .. } => return Err(LabError::Interrupted),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let from = said.lines().count().saturating_sub(20);
        let tail: Vec<&str> = said.lines().skip(from).collect();
        return Err(LabError::Ended { program, status: output.status, said: tail.join("\n") });
    }
    Ok(output)
}

/// Starts a process for [`wait`]: in a group of its own, so that what it starts can be ended with it.
pub(crate) fn start(mut command: Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Waits for a process that [`start`] has started, or ends it when the session is interrupted.
pub(crate) fn wait(mut child: Child, interrupt: &AtomicBool) -> io::Result<Ended> {
    // Both at once: a process whose pipe is full waits for its reader.
    let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let status = loop {
        if interrupt.load(Ordering::Relaxed) {
            end(&mut child)?;
            return Ok(Ended::WithUs { stdout: stdout.recv_timeout(LAST_WORDS).unwrap_or_default() });
        }
        match child.try_wait()? {
            Some(status) => break status,
            None => std::thread::sleep(LOOK),
        }
    };
    let said = |pipe: Receiver<Vec<u8>>| pipe.recv().unwrap_or_default();
    Ok(Ended::Alone(Output { status, stdout: said(stdout), stderr: said(stderr) }))
}

/// Ends a process and its group at once.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()
}

/// Reads a pipe to its end, on a thread of its own.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is to show.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}
