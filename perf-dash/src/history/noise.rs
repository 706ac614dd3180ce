//! What the history says about noise.

use std::collections::BTreeMap;

use schedlab_workloads::results::Status;

use super::model::Record;
use crate::stats::Fence;

/// Whether two records measured the same code in the same way on the same kind of machine, so that
/// a difference between them is noise.
#[must_use]
pub fn same_setting(one: &Record, other: &Record) -> bool {
    one.revision.is_some()
        && one.revision == other.revision
        && one.source == other.source
        && one.machine == other.machine
        && one.settings == other.settings
}

/// The fence of each workload that has been recorded often enough on one revision, by name.
#[must_use]
pub fn fences(records: &[Record], floor: f64) -> BTreeMap<String, Fence> {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in records.windows(2).filter(|pair| same_setting(&pair[0], &pair[1])) {
        let before: BTreeMap<_, f64> =
            pair[0].points.iter().map(|p| ((&p.name, &p.collector), p.pods_per_s())).collect();
        for point in pair[1].points.iter().filter(|point| point.status == Status::Completed) {
            let now = point.pods_per_s();
            if let Some(&before) = before.get(&(&point.name, &point.collector))
                && 0.0 < before
                && 0.0 < now
            {
                ratios.entry(&point.name).or_default().push(now / before);
            }
        }
    }
    let fence =
        |(name, ratios): (&str, Vec<f64>)| Some((name.to_owned(), Fence::from_ratios(&ratios, floor)?));
    ratios.into_iter().filter_map(fence).collect()
}
