//! The gate's own history of noise: how far a build was from itself, each time it was held against
//! itself.
//!
//! A line of JSON a kernel and measurement, appended. What another machine or another number of
//! sessions measured says nothing about this one, so it is part of the line and must match.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schedlab_workloads::files::Appended;
use serde::{Deserialize, Serialize};

use crate::stats::Fence;

/// One measurement of a build against itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseRecord {
    /// On what, and how: see [`NoiseKey`].
    #[serde(flatten)]
    pub key: NoiseKey,
    /// Path of the kernel.
    pub kernel: String,
    /// What the gate measured; 1 without noise.
    pub ratio: f64,
}

/// What measurements must share to be comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseKey {
    /// Processor and cores.
    pub machine: String,
    /// Pairs of processes.
    pub sessions: usize,
    /// A B B A in each of them.
    pub quartets: usize,
}

/// Why the history could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct NoiseError {
    path: PathBuf,
    cause: std::io::Error,
}

/// The latest so many measurements of a kernel count: machines change.
const LATEST: usize = 200;

/// Appends measurements, all with one write.
pub fn append_noise(path: &Path, records: &[NoiseRecord]) -> Result<(), NoiseError> {
    let failed = |cause| NoiseError { path: path.to_owned(), cause };
    let mut text = String::new();
    for record in records {
        text.push_str(&serde_json::to_string(record).map_err(|error| failed(error.into()))?);
        text.push('\n');
    }
    let appended = Appended::open(path).and_then(|mut file| file.append(text.as_bytes()));
    appended.map_err(|error| NoiseError { path: error.path, cause: error.cause })
}

/// The fence of every kernel that was measured often enough; none without a file. Lines that are
/// not whole are passed over: a fence of fewer measurements is still a fence.
pub fn noise_fences(path: &Path, key: &NoiseKey, floor: f64) -> Result<BTreeMap<String, Fence>, NoiseError> {
    let text = match fs::read_to_string(path) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        read => read.map_err(|cause| NoiseError { path: path.to_owned(), cause })?,
    };
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in text.lines().filter_map(|line| serde_json::from_str::<NoiseRecord>(line).ok()) {
        if record.key == *key && 0.0 < record.ratio {
            ratios.entry(record.kernel).or_default().push(record.ratio);
        }
    }
    let fence = |(kernel, ratios): (String, Vec<f64>)| {
        let latest = &ratios[ratios.len().saturating_sub(LATEST)..];
        Some((kernel, Fence::from_ratios(latest, floor)?))
    };
    Ok(ratios.into_iter().filter_map(fence).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::FenceSource;

    fn record(machine: &str, kernel: &str, ratio: f64) -> NoiseRecord {
        let key = NoiseKey { machine: machine.to_owned(), sessions: 10, quartets: 20 };
        NoiseRecord { key, kernel: kernel.to_owned(), ratio }
    }

    #[test]
    fn fences_come_from_the_lines_of_this_machine_and_a_torn_line_is_passed_over() {
        let folder = std::env::temp_dir().join(format!("schedlab-noise-{}", std::process::id()));
        let file = folder.join("below/noise.jsonl");
        let key = record("here", "", 1.0).key;
        assert!(noise_fences(&file, &key, 0.005).expect("no file is no noise").is_empty());
        for at in 0..12 {
            let size = 1.0 + f64::from(at % 3) / 100.0;
            let records = [record("here", "a", size), record("here", "b", 1.0), record("there", "c", 1.5)];
            append_noise(&file, &records).expect("written");
            append_noise(&file, &[record("here", "few", 1.0)][..usize::from(at < 3)]).expect("written");
        }
        fs::write(&file, fs::read_to_string(&file).expect("read") + "{\"machine\": \"he").expect("torn");
        let fences = noise_fences(&file, &key, 0.005).expect("read");
        assert_eq!(fences.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fences["b"].relative, 0.005, "the floor");
        assert_eq!(fences["b"].source, FenceSource::History { changes: 12 });
        // Sizes 0, 1 and 2 %: Q1 is 0, Q3 is 2 % at most, the fence Q3 + 3 (Q3 - Q1).
        assert!((0.06..0.085).contains(&fences["a"].relative), "{:?}", fences["a"]);
        let other = NoiseKey { sessions: 11, ..key };
        assert!(noise_fences(&file, &other, 0.005).expect("read").is_empty());
        fs::remove_dir_all(folder).expect("removed");
    }
}
