//! Up to where a difference is noise: each kernel's own fence, from the gate's history of builds
//! against themselves.

use std::collections::BTreeMap;
use std::path::Path;

use schedlab_perf_dash::gate::{NoiseKey, NoiseRecord, append_noise, noise_fences};
use schedlab_perf_dash::stats::Fence;
use schedlab_workloads::results::Machine;

use super::wall_clock::{Measured, WallClock};
use crate::LabError;

/// Half a percent: code that was only moved changes a hot loop by that much.
const FENCE_FLOOR: f64 = 0.005;

/// Fences by kernel, and one for those that have no history.
#[derive(Debug)]
pub struct KernelFences {
    default: Fence,
    by_kernel: BTreeMap<String, Fence>,
}

impl KernelFences {
    pub(super) fn read(file: &Path, key: &NoiseKey, default_percent: f64) -> Result<KernelFences, LabError> {
        let default = Fence::given(default_percent / 100.0);
        Ok(KernelFences { default, by_kernel: noise_fences(file, key, FENCE_FLOOR)? })
    }

    pub(super) fn of(&self, kernel: &str) -> Fence {
        self.by_kernel.get(kernel).copied().unwrap_or(self.default)
    }

    pub(super) fn knows(&self, kernel: &str) -> bool {
        self.by_kernel.contains_key(kernel)
    }
}

/// What this machine's measurements can be compared with: those of as many sessions as the first
/// look has, whatever the later ones need.
pub(super) fn key(machine: &Machine, sessions: usize, quartets: usize) -> NoiseKey {
    NoiseKey { machine: format!("{}, {} cores", machine.cpu_model, machine.cores), sessions, quartets }
}

/// Adds what a build against itself has shown.
pub(super) fn remember(file: &Path, key: &NoiseKey, measured: &WallClock) -> Result<(), LabError> {
    let record = |kernel: &Measured| NoiseRecord {
        key: key.clone(),
        kernel: kernel.path.clone(),
        ratio: kernel.ratio(measured.looks),
    };
    Ok(append_noise(file, &measured.kernels.iter().map(record).collect::<Vec<_>>())?)
}
