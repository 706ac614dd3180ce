//! What the history says about noise.

use std::collections::BTreeMap;

use super::model::Record;
use super::series::workloads;
use crate::stats::Fence;

/// The fence of each workload that has been recorded often enough on one revision, by name. A change
/// between runs with other settings is not noise; see [`super::Comparable`].
#[must_use]
pub fn fences(records: &[Record], floor: f64) -> BTreeMap<String, Fence> {
    let fence = |workload: super::WorkloadSeries<'_>| {
        let ratios: Vec<f64> = workload.series.iter().flat_map(|series| series.noise(records)).collect();
        Some((workload.name, Fence::from_ratios(&ratios, floor)?))
    };
    workloads(records).into_iter().filter_map(fence).collect()
}
