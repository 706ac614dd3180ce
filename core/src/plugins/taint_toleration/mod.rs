//! TaintToleration: NoSchedule and NoExecute taints keep a pod out, PreferNoSchedule taints cost
//! score. Upstream: plugins/tainttoleration/taint_toleration.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::detail::Detail;
use crate::framework::plugin::{
    FilterPlugin, Normalization, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, WordScores,
};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::ids::TaintSetId;
use crate::interner::{NO_TAINTS, Taint, TaintEffect};
use crate::snapshot::mask::{BitRows, WORD_BITS};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "TaintToleration";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(3),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(TaintToleration)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) had untolerated taint(s)");

/// Compares a pod's tolerations with nodes' taints.
#[derive(Clone, Copy, Debug)]
pub struct TaintToleration;

impl TaintToleration {
    fn is_tolerated(world: &World, class: &PodClass, taints: TaintSetId) -> bool {
        Self::untolerated(world, class, taints).next().is_none()
    }

    /// The taints that keep the pod out.
    fn untolerated<'a>(
        world: &'a World,
        class: &'a PodClass,
        taints: TaintSetId,
    ) -> impl Iterator<Item = &'a Taint> {
        let keeps_out =
            |taint: &&Taint| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let is_tolerated =
            |taint: &Taint| class.tolerations.iter().any(|toleration| toleration.tolerates(taint));
        world.vocabulary.taints(taints).iter().filter(keeps_out).filter(move |taint| !is_tolerated(taint))
    }

    /// How many PreferNoSchedule taints the pod does not tolerate. Only tolerations that speak of
    /// that effect, or of none, count.
    fn intolerable_count(world: &World, class: &PodClass, taints: TaintSetId) -> i64 {
        let intolerable = world
            .vocabulary
            .taints(taints)
            .iter()
            .filter(|taint| taint.effect == TaintEffect::PreferNoSchedule)
            .filter(|taint| {
                !class
                    .tolerations
                    .iter()
                    .any(|toleration| toleration.concerns_preference() && toleration.tolerates(taint))
            })
            .count();
        i64::try_from(intolerable).expect("a node has few taints")
    }
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for TaintToleration {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let columns = world.nodes().columns();
        // Nodes tend to carry the same taints: remember the last verdict.
        let mut last = (NO_TAINTS, true);
        for (at, word) in (first_word..).zip(words) {
            for row in BitRows::new(at, *word & columns.tainted.words()[at]) {
                let set = columns.taint_set[row];
                if set != last.0 {
                    last = (set, Self::is_tolerated(world, class, set));
                }
                *word &= !(u64::from(!last.1) << (row % WORD_BITS));
            }
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if Self::is_tolerated(world, class, world.nodes().columns().taint_set[row]) {
            return Code::Success;
        }
        reasons.push(REASON);
        Code::UnschedulableAndUnresolvable
    }

    fn details(&self, world: &World, class: &PodClass, row: usize, details: &mut Vec<Detail>) {
        let text = |symbol| world.vocabulary.symbols.text(symbol).to_owned();
        let taints = world.nodes().columns().taint_set[row];
        details.extend(Self::untolerated(world, class, taints).map(|taint| Detail::Taint {
            key: text(taint.key),
            value: text(taint.value),
            effect: world.vocabulary.taint_effect_name(taint.effect).to_owned(),
        }));
    }

    fn only_rejection(&self) -> Option<(Code, Reason)> {
        Some((Code::UnschedulableAndUnresolvable, REASON))
    }
}

impl ScorePlugin for TaintToleration {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let sets = &world.nodes().columns().taint_set;
        let mut last = (NO_TAINTS, 0);
        for (&row, score) in rows.iter().zip(scores) {
            let set = sets[row as usize];
            if set != last.0 {
                last = (set, Self::intolerable_count(world, class, set));
            }
            *score = last.1;
        }
    }

    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        let columns = world.nodes().columns();
        let mut last = (NO_TAINTS, 0);
        let mut written = WordScores::AllZero;
        for (at, &word) in words.iter().enumerate() {
            for row in BitRows::new(first_word + at, word & columns.tainted.words()[first_word + at]) {
                let set = columns.taint_set[row];
                if set != last.0 {
                    last = (set, Self::intolerable_count(world, class, set));
                }
                if last.1 != 0 {
                    if written == WordScores::AllZero {
                        scores.fill(0);
                        written = WordScores::Written;
                    }
                    scores[at * WORD_BITS + row % WORD_BITS] = last.1;
                }
            }
        }
        written
    }

    fn normalization(&self) -> Normalization {
        Normalization::Lowest
    }
}
