//! `schedlab simulate --soak EVENTS`: does memory stay flat?

use anyhow::Result;
use indicatif::HumanCount;
use schedlab_simulator::soak::{Soak, SoakMemory};

use crate::progress::say;
use crate::{Exit, signals};

const CHECKPOINTS: u64 = 10;
/// Growth from the middle of the soak to its end that is no growth: tables double now and then.
const GROWTH_MAX: f64 = 1.05;

pub(super) fn soak(events: u64) -> Result<Exit> {
    let mut soak = Soak::default();
    let mut peaks = Vec::new();
    say(&format!(
        "{:>13} {:>8} {:>11} {:>12} {:>12} {:>12} {:>12}",
        "events", "waves", "pods bound", "store", "nodes", "pods, queue", "resident"
    ));
    for checkpoint in 1..=CHECKPOINTS {
        let mut peak = 0;
        while soak.events() < events * checkpoint / CHECKPOINTS {
            soak.wave()?;
            peak = peak.max(total(soak.memory()));
            if signals::is_interrupted() {
                say(&line(&soak));
                say(&super::partial_text(soak.events(), events, "events"));
                return Ok(Exit::Interrupted);
            }
        }
        peaks.push(peak);
        say(&line(&soak));
    }
    // In the first half the store fills its history of events, and tables find their size.
    let late = peaks[peaks.len() - 2..].iter().max();
    let middle = peaks[4..peaks.len() - 2].iter().max();
    let growth = *late.unwrap_or(&0) as f64 / *middle.unwrap_or(&1) as f64;
    say(&format!("\nThe last fifth held at most {growth:.3} times what the three tenths before it did."));
    Ok(if growth <= GROWTH_MAX { Exit::Fine } else { Exit::CheckFailed })
}

fn total(memory: SoakMemory) -> usize {
    let SoakMemory { store_bytes, node_bytes, pod_bytes } = memory;
    store_bytes + node_bytes + pod_bytes
}

fn line(soak: &Soak) -> String {
    let SoakMemory { store_bytes, node_bytes, pod_bytes } = soak.memory();
    let count = |number: u64| HumanCount(number).to_string();
    let kib = |bytes: usize| format!("{} KiB", count(bytes as u64 / 1024));
    format!(
        "{:>13} {:>8} {:>11} {:>12} {:>12} {:>12} {:>12}",
        count(soak.events()),
        count(soak.waves()),
        count(soak.bound()),
        kib(store_bytes),
        kib(node_bytes),
        kib(pod_bytes),
        resident_bytes().map_or_else(|| "-".to_owned(), kib),
    )
}

/// Where the system says it.
fn resident_bytes() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
