//! What people see while they wait: a bar on a terminal, nothing in a pipe; and the only place
//! that prints.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_workloads::executor::Progress;

use crate::terminal::{printable, printable_cell};

/// A bar on standard error, drawn only when that is a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    name: String,
}

impl Bar {
    /// A bar for workload `at` of `count`.
    pub(crate) fn new(name: &str, at: usize, count: usize) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{prefix} {wide_msg} [{bar:24}] {pos}/{len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_prefix(format!("[{}/{count}]", at + 1));
        bar.set_message(printable_cell(name).into_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar, name: printable_cell(name).into_owned() }
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn op_begins(&self, index: usize, count: usize, what: &str) {
        self.bar.set_message(format!(
            "{}: op {} of {count} ({})",
            self.name,
            index + 1,
            printable_cell(what)
        ));
    }

    fn pods(&self, scheduled: u64, wanted: u64) {
        self.bar.set_length(wanted);
        self.bar.set_position(scheduled.min(wanted));
    }

    fn notice(&self, text: &str) {
        self.bar.suspend(|| complain(&format!("schedlab: {text}")));
    }
}

/// Why something that was said did not leave the process.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Prints a line on standard output. A reader that went away (`| head`) is not our problem; a disk that
/// is full is, and [`lost`] knows of it.
pub(crate) fn say(text: &str) {
    note(writeln!(io::stdout().lock(), "{}", printable(text)));
}

/// Why what was said is not all there, if it is not.
pub(crate) fn lost() -> Option<&'static io::Error> {
    note(io::stdout().lock().flush());
    LOST.get()
}

/// Keeps the first error.
pub(crate) fn note(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// Passes on what a session says while it lasts.
pub(crate) fn notice(text: &str) {
    complain(&format!("schedlab: {text}"));
}

/// Prints a line on standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(text));
}
