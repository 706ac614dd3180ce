//! The child: its process group, its last log lines, its processor time and memory.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Log lines that are kept, and how long each may be.
const LINES_MAX: usize = 20;
const LINE_LENGTH_MAX: usize = 400;
/// How long a scheduler that is told to end may take.
const END_WITHIN: Duration = Duration::from_secs(2);
/// A stream that somebody else still holds is not at its end for long.
const READ_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(5);

/// The last lines of a log.
#[derive(Clone, Debug, Default)]
struct LastLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Streams that are not at their end.
    open: Arc<AtomicUsize>,
}

impl LastLines {
    /// Reads a stream to its end, on a thread of its own.
    fn follow(&self, stream: impl Read + Send + 'static) {
        let lines = self.clone();
        self.open.fetch_add(1, Ordering::AcqRel);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                lines.push(&String::from_utf8_lossy(&line));
            }
            lines.open.fetch_sub(1, Ordering::AcqRel);
        });
    }

    fn push(&self, line: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LINE_LENGTH_MAX).collect());
    }

    fn text(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return "it has logged nothing".to_owned();
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        format!("its last log lines:\n  {}", lines.join("\n  "))
    }
}

/// A scheduler that runs in a process group of its own. Dropping it ends the whole group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    lines: LastLines,
}

impl Process {
    pub(crate) fn start(words: &[String]) -> std::io::Result<Process> {
        let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let lines = LastLines::default();
        if let Some(stdout) = child.stdout.take() {
            lines.follow(stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            lines.follow(stderr);
        }
        Ok(Process { child, lines })
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    pub(crate) fn last_lines(&self) -> String {
        self.lines.text()
    }

    /// The same of a process that ended: what it said last may still be on its way.
    pub(crate) fn all_last_lines(&self) -> String {
        let begun = Instant::now();
        while 0 < self.lines.open.load(Ordering::Acquire) && begun.elapsed() < READ_WITHIN {
            std::thread::sleep(LOOK);
        }
        self.lines.text()
    }

    /// What its whole group has taken.
    pub(crate) fn taken(&self) -> Taken {
        Taken::of_group(self.child.id())
    }

    /// Ends the group as a machine that fails would.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        // It is gone already, or nothing can be done about it.
        drop(self.child.wait());
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = id {
            // An error says that the group is gone.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let begun = Instant::now();
        self.signal(Signal::TERM);
        while self.ended().is_none() && begun.elapsed() < END_WITHIN {
            std::thread::sleep(LOOK);
        }
        self.kill();
    }
}

/// Processor time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Taken {
    pub(crate) cpu_ms: Option<f64>,
    pub(crate) peak_rss_bytes: Option<u64>,
}

impl Taken {
    /// Of the processes of a group that run now, from `/proc`.
    fn of_group(group: u32) -> Taken {
        let Ok(entries) = fs::read_dir("/proc") else { return Taken::default() };
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        let mut taken = Taken::default();
        for entry in entries.flatten() {
            let path = entry.path();
            let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
            let Some(ticks) = ticks_in_group(&stat, group) else { continue };
            #[allow(clippy::cast_precision_loss, reason = "ticks of a run are far below 2^53")]
            let cpu_ms = ticks as f64 * 1000.0 / ticks_per_s as f64;
            *taken.cpu_ms.get_or_insert(0.0) += cpu_ms;
            let status = fs::read_to_string(path.join("status")).unwrap_or_default();
            if let Some(bytes) = peak_rss_bytes(&status) {
                *taken.peak_rss_bytes.get_or_insert(0) += bytes;
            }
        }
        taken
    }
}

/// User and system time of a process in this group: fields 5, 14 and 15 of `stat`, counted behind the name,
/// which may hold spaces.
fn ticks_in_group(stat: &str, group: u32) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok());
    (field(5)? == u64::from(group)).then(|| Some(field(14)? + field(15)?)).flatten()
}

fn peak_rss_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Processor time of the threads of this process whose name begins with `prefix`.
pub(crate) fn cpu_ms_of_threads(prefix: &str) -> Option<f64> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    let mut sum_ns = 0;
    for entry in entries.flatten() {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        if read("comm").starts_with(prefix) {
            sum_ns += read("schedstat").split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "times of a run are far below 2^53")]
    let ms = sum_ns as f64 / 1e6;
    Some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|&word| word.to_owned()).collect()
    }

    fn wait_for<R>(mut look: impl FnMut() -> Option<R>) -> R {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "it takes too long");
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn fields_of_proc_are_found() {
        let stat = "7 (a ) b) S 1 42 42 0 -1 4194560 1 2 3 4 11 22 5 6 20 0 1 0 9";
        assert_eq!(ticks_in_group(stat, 42), Some(33));
        assert_eq!(ticks_in_group(stat, 43), None);
        assert_eq!(peak_rss_bytes("Name:\tx\nVmHWM:\t    12 kB\n"), Some(12 * 1024));
    }

    #[test]
    fn last_lines_of_a_process_that_ended_are_kept() {
        let script = "for i in $(seq 1 30); do echo line $i; done; echo why >&2; exit 3";
        let mut process = Process::start(&words(&["sh", "-c", script])).unwrap();
        let ended = wait_for(|| process.ended());
        assert_eq!(ended.code(), Some(3));
        let lines = wait_for(|| {
            Some(process.last_lines()).filter(|text| text.contains("why") && text.contains("line 30"))
        });
        assert!(!lines.contains("line 5\n"), "{lines}");
    }

    #[test]
    fn whole_process_group_is_killed_when_dropped() {
        let process = Process::start(&words(&["sh", "-c", "sleep 1000 & echo $!; wait"])).unwrap();
        let sleeper = wait_for(|| {
            let text = process.last_lines();
            text.lines().find_map(|line| line.trim().parse::<u32>().ok())
        });
        let is_alive = || {
            let stat = fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
        };
        assert!(is_alive());
        assert!(process.taken().peak_rss_bytes.is_some_and(|bytes| 0 < bytes));
        drop(process);
        wait_for(|| (!is_alive()).then_some(()));
    }
}
