//! VolumeBinding: bound volumes must be usable from the node; open claims must find a volume there
//! or room to provision one. Prefers nodes whose storage would be left with more room.
//! Upstream: plugins/volumebinding/{volume_binding,binder,scorer}.go.
//!
//! Differs: where upstream ends the cycle with an error (a class without a binding mode, a claim's
//! selector that does not parse, an in-tree volume that cannot be translated), the pod or the node
//! is rejected. API validation lets none of these happen (`pre_filter_cases`, `matching_cases`).

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
mod pre_bind;
mod search;
mod writes;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::args::{PluginArgs, VolumeBindingArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::plugin::{
    FilterPlugin, MAX_NODE_SCORE, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, WordScores,
    retain_rows, score_words_by_rows,
};
use crate::framework::points::{EnqueueExtensions, PreBindPlugin};
use crate::framework::status::{Code, Reason};
use crate::ids::Symbol;
use crate::interner::Vocabulary;
use crate::plugins::node_resources_fit::broken_line;
use crate::storage::VolumeDecision;
use crate::world::World;
use search::{OnNode, Search, claims};

/// Upstream's name.
pub const NAME: &str = "VolumeBinding";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: || PluginArgs::VolumeBinding(VolumeBindingArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, _: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::VolumeBinding(args) = args else { return Err(other_args("VolumeBindingArgs")) };
    let scaled = |&(utilization, score): &(i64, i64)| (utilization, score * SHAPE_SCALE);
    Ok(Arc::new(VolumeBinding::with_shape(args.shape.iter().map(scaled).collect())))
}

/// A shape's scores go from 0 to 10 in a file and from 0 to 100 in the engine.
const SHAPE_SCALE: i64 = 10;

const REASON_NODE_AFFINITY: Reason = Reason::Text("node(s) didn't match PersistentVolume's node affinity");
const REASON_NOTHING_TO_BIND: Reason =
    Reason::Text("node(s) didn't find available persistent volumes to bind");
const REASON_NO_SPACE: Reason = Reason::Text("node(s) did not have enough free storage");
const REASON_NO_VOLUME: Reason =
    Reason::Text("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");

/// Utilisation of storage that is all used.
const UTILIZATION_MAX: i64 = 100;

/// Finds volumes for claims.
#[derive(Clone, Debug)]
pub struct VolumeBinding {
    /// A broken line from utilisation (percent) to score (0 to 100).
    shape: Vec<(i64, i64)>,
}

impl Default for VolumeBinding {
    fn default() -> Self {
        VolumeBinding { shape: vec![(0, MAX_NODE_SCORE), (UTILIZATION_MAX, 0)] }
    }
}

impl VolumeBinding {
    /// A plugin with a `shape` of its own: points of utilisation (percent) and score (0 to 100).
    #[must_use]
    pub fn with_shape(shape: Vec<(i64, i64)>) -> VolumeBinding {
        VolumeBinding { shape }
    }

    /// Upstream: scorer.go `buildScorerFunction`. Every class weighs the same.
    #[allow(clippy::cast_precision_loss, reason = "upstream's own float arithmetic")]
    #[allow(clippy::cast_possible_truncation, reason = "an average of scores")]
    fn score_of(&self, use_by_class: &[StorageUse]) -> i64 {
        if use_by_class.is_empty() {
            return 0;
        }
        let sum: i64 = use_by_class
            .iter()
            .map(|it| {
                let utilization = if it.capacity == 0 || it.requested > it.capacity {
                    UTILIZATION_MAX
                } else {
                    it.requested.wrapping_mul(UTILIZATION_MAX) / it.capacity
                };
                broken_line(&self.shape, utilization)
            })
            .sum();
        (sum as f64 / use_by_class.len() as f64).round() as i64
    }
}

/// What is asked of a storage class on a node, and what there is.
struct StorageUse {
    class: Symbol,
    requested: i64,
    capacity: i64,
}

fn use_of(uses: &mut Vec<StorageUse>, class: Symbol) -> &mut StorageUse {
    let at = uses.iter().position(|it| it.class == class).unwrap_or_else(|| {
        uses.push(StorageUse { class, requested: 0, capacity: 0 });
        uses.len() - 1
    });
    &mut uses[at]
}

/// Volumes that are bound count if there are any; else what would be provisioned.
/// Upstream: volume_binding.go `Score`.
fn use_by_class(world: &World, found: &OnNode<'_>) -> Vec<StorageUse> {
    let storage = world.storage();
    let mut uses = Vec::new();
    for &(claim, volume) in &found.bindings {
        let (Some(claim), Some(volume)) = (storage.claim(claim), storage.volume(volume)) else { continue };
        let of_class = use_of(&mut uses, volume.class_field);
        of_class.requested += claim.size().value();
        of_class.capacity += volume.capacity.value();
    }
    if !found.bindings.is_empty() {
        return uses;
    }
    for &(claim, capacity) in &found.provisions {
        let (Some(claim), Some(capacity)) = (storage.claim(claim), capacity) else { continue };
        let of_class = use_of(&mut uses, claim.class);
        // Claims of a class share the capacity: it is not added up.
        of_class.capacity = capacity.capacity_bytes;
        of_class.requested += claim.size().value();
    }
    uses
}

/// Which volumes the pod's claims get on a row that passed the filter. Empty for a pod whose claims
/// are all bound.
#[must_use]
pub fn decide_volumes(world: &World, class: &PodClass, row: usize) -> VolumeDecision {
    match claims(world, class) {
        Ok(Some(claims)) => Search::new(world, &claims).on_row(row).decision(),
        Ok(None) | Err(_) => VolumeDecision::default(),
    }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        (!class.volumes.claims.is_empty()).then(|| world.storage().version())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for VolumeBinding {
    /// What else it depends on moves the plan's version.
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        match claims(world, class) {
            Ok(None) => PreFilter::Skip,
            Ok(Some(_)) => PreFilter::Run,
            Err(reason) => PreFilter::Reject(Code::UnschedulableAndUnresolvable, reason),
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        match claims(world, class) {
            Ok(None) => {}
            Ok(Some(claims)) => {
                let search = Search::new(world, &claims);
                let mut found = OnNode::default();
                retain_rows(first_word, words, |row| {
                    search.find(row, &mut found);
                    found.fits()
                });
            }
            Err(_) => words.fill(0),
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let found = match claims(world, class) {
            Ok(None) => return Code::Success,
            Ok(Some(claims)) => Search::new(world, &claims).on_row(row),
            Err(reason) => {
                reasons.push(reason);
                return Code::UnschedulableAndUnresolvable;
            }
        };
        if found.fits() {
            return Code::Success;
        }
        let all = [
            (found.is_bound_usable, REASON_NODE_AFFINITY),
            (found.is_open_satisfied, REASON_NOTHING_TO_BIND),
            (found.is_space_sufficient, REASON_NO_SPACE),
            (found.is_bound_present, REASON_NO_VOLUME),
        ];
        reasons.extend(all.into_iter().filter(|(holds, _)| !holds).map(|(_, reason)| reason));
        Code::UnschedulableAndUnresolvable
    }
}

impl ScorePlugin for VolumeBinding {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    /// With storage capacity scoring on, upstream scores every pod, if only with 0.
    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        scores.fill(0);
        if class.volumes.claims.is_empty() {
            return;
        }
        let Ok(Some(claims)) = claims(world, class) else { return };
        let search = Search::new(world, &claims);
        let mut found = OnNode::default();
        for (&row, score) in rows.iter().zip(scores) {
            search.find(row as usize, &mut found);
            if found.fits() {
                *score = self.score_of(&use_by_class(world, &found));
            }
        }
    }

    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        // Of claims that are all bound nothing is left to choose.
        let has_open = || claims(world, class).is_ok_and(|claims| claims.is_some_and(|it| it.has_open()));
        if class.volumes.claims.is_empty() || !has_open() {
            return WordScores::AllZero;
        }
        let by_rows = |rows: &[u32], scores: &mut [i64]| self.score(world, class, rows, scores);
        score_words_by_rows(first_word, words, scores, by_rows);
        WordScores::Written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_shape_scores_the_mean_over_storage_classes() {
        let plugin = VolumeBinding::with_shape(vec![(50, 0), (80, 100), (100, 50)]);
        let score = |uses: &[(i64, i64)]| {
            let of_class = |(at, &(requested, capacity)): (usize, &(i64, i64))| StorageUse {
                class: Symbol(u32::try_from(at).expect("few classes")),
                requested,
                capacity,
            };
            plugin.score_of(&uses.iter().enumerate().map(of_class).collect::<Vec<_>>())
        };
        assert_eq!(score(&[]), 0, "nothing to compare");
        assert_eq!(score(&[(30, 100)]), 0, "before the first point");
        assert_eq!(score(&[(80, 100)]), 100, "on a point");
        assert_eq!(score(&[(90, 100)]), 75, "between two points");
        assert_eq!(score(&[(150, 100)]), 50, "more than there is counts as all of it");
        assert_eq!(score(&[(1, 0)]), 50, "and so does anything of nothing");
        assert_eq!(score(&[(30, 100), (90, 100)]), 38, "a half is rounded up");
    }
}
