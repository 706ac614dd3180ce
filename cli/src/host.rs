//! What is known about the machine and this process.

use std::fs;

use schedlab_workloads::results::Machine;

/// The machine as results describe it.
pub(crate) fn machine() -> Machine {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: Machine::go_arch(std::env::consts::ARCH).to_owned(),
        cpu_model: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory_bytes: kibibytes("/proc/meminfo", "MemTotal").unwrap_or(0),
    }
}

/// The highest resident set of this process so far.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM")
}

/// Processes that want a processor, over the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The machine's name.
#[cfg(feature = "live")]
pub(crate) fn name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// The commit this binary was built from.
pub(crate) fn git_revision() -> Option<String> {
    option_env!("SCHEDLAB_GIT_REVISION").map(str::to_owned)
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kibibytes(path: &str, name: &str) -> Option<u64> {
    let value = field(path, name)?;
    value.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
