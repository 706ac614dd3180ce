//! DynamicResources: a pod gets the devices that its claims ask for.
//!
//! ```text
//! PreEnqueue, PreFilter ─▶ claims.rs     are the claims there, and their classes?
//! Filter, Score ─────────▶ outcome.rs    the allocator, once a node and cycle
//! Reserve, PreBind ──────▶ reserve.rs    what was found becomes the claims' status
//! PostFilter ────────────▶ post_filter.rs an allocation that is in the way is taken back
//! ```
//!
//! Upstream: plugins/dynamicresources. Feature gates are at their defaults. Pods with claims are classes of
//! their own (`PodInput::identity`), as upstream does not reuse results for them.

#[cfg(test)]
mod cases;
mod claims;
mod extended;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
mod outcome;
mod post_filter;
mod reserve;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::args::PluginArgs;
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, no_args};
use crate::framework::plugin::{
    FilterPlugin, Normalization, Plugin, PreEnqueuePlugin, PreEnqueueResult, PreFilter, PreScore, Reads,
    ScorePlugin, SignPod, retain_rows,
};
use crate::framework::points::{EnqueueExtensions, PostFilterPlugin, PreBindPlugin};
use crate::framework::status::{Code, Reason};
use crate::interner::Vocabulary;
use crate::world::World;
use outcome::{Memo, Outcome};

pub use extended::EXTENDED_CLAIM_NAME;
pub use post_filter::{deallocation_candidates, void_claim};
pub use reserve::decide_devices;

/// Upstream's name.
pub const NAME: &str = "DynamicResources";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(2),
    default_args: no_args,
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(_: &PluginArgs, _: &mut Vocabulary) -> InTreeFactored {
    Ok(Arc::new(DynamicResources::default()))
}

/// Finds devices for claims.
#[derive(Debug, Default)]
pub struct DynamicResources {
    memo: Memo,
}

/// A pod that may have claims: of its own, or for extended resources.
pub(crate) fn may_have_claims(world: &World, class: &PodClass) -> bool {
    !class.input.resource_claims.is_empty() || !class.pending.scalars.is_empty() && world.dra().has_classes()
}

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, class: &PodClass) -> SignPod {
        if class.input.resource_claims.is_empty() { SignPod::Spec } else { SignPod::NotSigned }
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        may_have_claims(world, class).then(|| world.dra().version())
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
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

impl PreEnqueuePlugin for DynamicResources {
    fn pre_enqueue(&self, world: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        claims::missing(world.dra(), class).map(PreEnqueueResult::rejected_without_message)
    }
}

impl DynamicResources {
    /// What becomes of a row; `None` when the pod has no claims.
    fn outcome(&self, world: &World, class: &PodClass, row: usize) -> Option<Arc<Outcome>> {
        if !may_have_claims(world, class) {
            return None;
        }
        match &*self.memo.claims(world, class) {
            Ok(claims) if claims.all.is_empty() => None,
            Ok(claims) => Some(self.memo.outcome(world, class, claims, row)),
            Err(why) => Some(Arc::new(Outcome::Rejected { why: why.clone(), unavailable: Vec::new() })),
        }
    }
}

impl FilterPlugin for DynamicResources {
    /// What else it depends on moves the plan's version.
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn can_fail(&self) -> bool {
        true
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if !may_have_claims(world, class) {
            return PreFilter::Skip;
        }
        match &*self.memo.claims(world, class) {
            Ok(claims) if claims.all.is_empty() => PreFilter::Skip,
            Ok(_) => PreFilter::Run,
            Err(why) => {
                PreFilter::Reject(Code::UnschedulableAndUnresolvable, Reason::Owned(why.as_str().into()))
            }
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        retain_rows(first_word, words, |row| {
            self.outcome(world, class, row).is_none_or(|outcome| outcome.code() == Code::Success)
        });
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let Some(outcome) = self.outcome(world, class, row) else { return Code::Success };
        reasons.extend(outcome.reason());
        outcome.code()
    }
}

impl ScorePlugin for DynamicResources {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    /// There is no PreScore upstream: every pod is scored, if only with 0.
    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn is_indifferent(&self, world: &World, class: &PodClass) -> bool {
        !may_have_claims(world, class)
    }

    /// Only a pod that still gets devices is scored.
    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        scores.fill(0);
        if !may_have_claims(world, class) {
            return;
        }
        let claims = self.memo.claims(world, class);
        let Ok(claims) = &*claims else { return };
        if !claims.has_unallocated() {
            return;
        }
        for (&row, score) in rows.iter().zip(scores) {
            if let Some(outcome) = self.outcome(world, class, row as usize)
                && let Outcome::Fits(found, _) = &*outcome
                && !found.is_empty()
            {
                *score = outcome::score(claims, found);
            }
        }
    }

    fn normalization(&self) -> Normalization {
        Normalization::Highest
    }
}
