//! Replays every trace of a folder and prints a line per family.
//!
//! `cargo run --release -p schedlab-replay --example replay_all -- [folder] [differences shown]`

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use schedlab_replay::replay_file;

#[derive(Default)]
struct Family {
    traces: usize,
    exact: usize,
    steps: usize,
    schedule_steps: usize,
    comparisons: u64,
    differences: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap_or_else(|| "replay/tests/conformance".to_owned()));
    let shown_max: usize = args.next().map_or(Ok(0), |count| count.parse())?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().contains(".json"))
        .collect();
    files.sort();
    let start = Instant::now();
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for file in &files {
        let report = replay_file(file)?;
        for difference in report.differences.iter().take(shown_max) {
            println!("{}: {difference}", report.name);
        }
        let family = families.entry(report.family.clone()).or_default();
        family.traces += 1;
        family.exact += usize::from(report.is_exact());
        family.steps += report.steps;
        family.schedule_steps += report.schedule_steps;
        family.comparisons += report.comparisons;
        family.differences += report.difference_count;
    }
    println!("{:18} traces exact steps schedule comparisons differences", "family");
    for (name, it) in &families {
        println!(
            "{name:18} {:6} {:5} {:5} {:8} {:11} {:11}",
            it.traces, it.exact, it.steps, it.schedule_steps, it.comparisons, it.differences
        );
    }
    println!("{} traces in {:?}", files.len(), start.elapsed());
    Ok(())
}
