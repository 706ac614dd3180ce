//! The instruction half: callgrind over the kernels of both builds.
//!
//! One process a build runs all kernels; callgrind collects only inside `measured_batch` and writes
//! a file whenever that returns, so the n-th file belongs to the n-th line that was printed. Counts
//! do not care how busy the machine is, so both builds run at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use schedlab_perf_dash::compare::Row;
use schedlab_perf_dash::gate::{InstructionCounts, instruction_rows};

use super::kernels::{Filter, KernelSuite};
use super::server::PLANTED_STEPS;
use crate::LabError;
use crate::child::{self, Ended};
use crate::error::file;

/// As callgrind demangles it.
const MEASURED: &str = "schedlab_benches::suite::measured_batch";

/// Where valgrind is, if it is.
pub(super) fn valgrind() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("valgrind")).find(|file| file.is_file())
}

/// What was counted.
pub(super) struct Counted {
    pub(super) rows: Vec<Row>,
    pub(super) unmatched: Vec<String>,
    /// It was interrupted: kernels are missing.
    pub(super) is_partial: bool,
}

/// Counts both builds.
pub(super) fn count(
    valgrind: &Path,
    (base, head): (&Path, &Path),
    suite: KernelSuite,
    filter: &Filter,
    (work, interrupt): (&Path, &AtomicBool),
) -> Result<Counted, LabError> {
    let home = work.join("callgrind");
    // Counts of an earlier call must not be taken for this one's.
    if home.is_dir() {
        std::fs::remove_dir_all(&home).map_err(file(&home, "cannot be removed"))?;
    }
    let start = |binary: &Path, name: &str| -> Result<Running, LabError> {
        let dir = home.join(name);
        std::fs::create_dir_all(&dir).map_err(file(&dir, "cannot be made"))?;
        Running::start(valgrind, binary, suite, dir)
    };
    let running = [start(base, "base")?, start(head, "head")?];
    let [base, head] = running.map(|running| running.counts(filter, interrupt));
    let (base, head) = (base?, head?);
    let only = |one: &BTreeMap<String, InstructionCounts>, other: &BTreeMap<_, _>, side: &str| {
        let missing = one.keys().filter(|kernel| !other.contains_key(*kernel));
        missing.map(|kernel| format!("{kernel} ({side} only)")).collect::<Vec<_>>()
    };
    let mut unmatched = only(&base, &head, "base");
    unmatched.extend(only(&head, &base, "head"));
    let is_partial = interrupt.load(Ordering::Relaxed);
    Ok(Counted { rows: instruction_rows(&base, &head), unmatched, is_partial })
}

struct Running {
    child: std::process::Child,
    dir: PathBuf,
}

impl Running {
    fn start(valgrind: &Path, binary: &Path, suite: KernelSuite, dir: PathBuf) -> Result<Running, LabError> {
        let mut command = Command::new(valgrind);
        command
            .args(["--tool=callgrind", "--callgrind-out-file=callgrind", "-q"])
            .args([format!("--toggle-collect=*{MEASURED}*"), format!("--dump-after={MEASURED}")])
            .arg(binary)
            .args(["count", suite.name()])
            .env_clear()
            .current_dir(&dir);
        // A custom place of valgrind's tools; both builds get it.
        for name in ["VALGRIND_LIB", PLANTED_STEPS] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child::start(command).map_err(file(valgrind, "cannot be started"))?;
        Ok(Running { child, dir })
    }

    /// Waits for the end and reads the files; those that there are when it is interrupted.
    fn counts(
        self,
        filter: &Filter,
        interrupt: &AtomicBool,
    ) -> Result<BTreeMap<String, InstructionCounts>, LabError> {
        let stdout = match child::wait(self.child, interrupt).map_err(LabError::CallgrindLost)? {
            Ended::WithUs { stdout } => stdout,
            Ended::Alone(output) if !output.status.success() => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(LabError::CallgrindEnded { status: output.status, said });
            }
            Ended::Alone(output) => output.stdout,
        };
        // A line is printed when the kernel's file is there; what was cut off is no line.
        let whole = stdout.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let printed = String::from_utf8_lossy(&stdout[..whole]).into_owned();
        let mut counts = BTreeMap::new();
        for (at, line) in printed.lines().enumerate() {
            let kernel = line.split(' ').next().unwrap_or_default();
            let file = self.dir.join(format!("callgrind.{}", at + 1));
            let text = match std::fs::read_to_string(&file) {
                Ok(text) => text,
                Err(source) => return Err(LabError::NoCounts { file, function: MEASURED, source }),
            };
            let Some(parsed) = InstructionCounts::parse(&text) else {
                let problem = "not a callgrind file with the event Ir".to_owned();
                return Err(LabError::BadCounts { file, problem });
            };
            if parsed.total == 0 {
                let problem = format!("no instruction of {kernel} was counted");
                return Err(LabError::BadCounts { file, problem });
            }
            if filter.takes(kernel) {
                counts.insert(kernel.to_owned(), parsed);
            }
        }
        Ok(counts)
    }
}
