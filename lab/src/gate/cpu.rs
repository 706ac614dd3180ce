//! The core that everything is measured on: two cores of one machine are not equally fast, least of
//! all two that a host shares out.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::LabError;

/// How long to look for the idle core.
const LOOK: Duration = Duration::from_millis(200);

/// Keeps this thread, and every process it starts, on one core, the idlest unless one is wanted; says which.
pub fn stay_on_core(wanted: Option<usize>) -> Result<String, LabError> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Ok("this system cannot keep processes on one core".to_owned());
    };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let core = match wanted {
        Some(core) => core,
        None => idlest(&cores).or(cores.last().copied()).unwrap_or(0),
    };
    let mut one = CpuSet::new();
    if core < CpuSet::MAX_CPU {
        one.set(core);
    }
    sched_setaffinity(None, &one).map_err(|errno| LabError::Core {
        core,
        allowed: cores,
        source: errno.into(),
    })?;
    Ok(format!("both builds took turns on core {core}"))
}

/// The core that idles most for a moment, as /proc/stat counts it.
fn idlest(cores: &[usize]) -> Option<usize> {
    let before = idle_ticks()?;
    std::thread::sleep(LOOK);
    let after = idle_ticks()?;
    let idle = |core: &usize| {
        let of =
            |ticks: &[(usize, u64)]| ticks.iter().find(|(at, _)| at == core).map_or(0, |(_, idle)| *idle);
        of(&after).saturating_sub(of(&before))
    };
    cores.iter().copied().max_by_key(idle)
}

/// Idle ticks by core.
fn idle_ticks() -> Option<Vec<(usize, u64)>> {
    Some(parse_idle(&std::fs::read_to_string("/proc/stat").ok()?))
}

/// `cpu0 user nice system idle iowait ...`.
fn parse_idle(text: &str) -> Vec<(usize, u64)> {
    let core = |line: &str| {
        // The line without a number is the sum of all.
        let rest = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?;
        let mut words = rest.split_whitespace();
        let core = words.next()?.parse().ok()?;
        Some((core, words.nth(3)?.parse().ok()?))
    };
    text.lines().filter_map(core).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_ticks_are_read_per_core_without_the_total() {
        let text = "cpu  30 0 4 100 2\ncpu0 10 0 2 60 1\ncpu1 20 0 2 40 1\nintr 5\n";
        assert_eq!(parse_idle(text), [(0, 60), (1, 40)]);
    }
}
