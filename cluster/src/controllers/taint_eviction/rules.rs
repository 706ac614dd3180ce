//! What a pod asks of its node while it runs.

use schedlab_core::class::selector::NodeSelector;
use schedlab_core::class::tolerations::Toleration;
use schedlab_core::ids::{LabelSetId, Symbol, TaintSetId};
use schedlab_core::input::PodInput;
use schedlab_core::interner::{Taint, TaintEffect, Vocabulary};

use crate::controllers::{ControllerMutant, ControllerMutants};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A node as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeFacts {
    pub(super) name: Symbol,
    pub(super) labels: LabelSetId,
    pub(super) taints: TaintSetId,
}

/// Whether a pod may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    /// As long as it likes.
    Forever,
    /// For so long from when it was first said.
    For(u64),
    /// It does not tolerate a taint.
    NotTolerated,
    /// Its required node affinity no longer holds.
    NotSelected,
}

/// What pods of one spec ask.
#[derive(Debug)]
pub(super) struct Rules {
    affinity: Option<NodeSelector>,
    tolerations: Box<[(Toleration, Option<i64>)]>,
}

impl Rules {
    pub(super) fn of(pod: &PodInput, vocabulary: &mut Vocabulary, mutants: ControllerMutants) -> Rules {
        let terms = pod.node_affinity.as_ref().and_then(|it| it.required_during_execution.as_deref());
        let is_short = mutants.has(ControllerMutant::FirstTermOnly);
        let terms = terms.map(|terms| if is_short { &terms[..terms.len().min(1)] } else { terms });
        Rules {
            affinity: terms.map(|terms| NodeSelector::compile(terms, vocabulary)),
            tolerations: pod
                .tolerations
                .iter()
                .map(|toleration| (Toleration::compile(toleration, vocabulary), toleration.seconds))
                .collect(),
        }
    }

    /// Whether a pod may stay on a node. Affinity has no grace period.
    pub(super) fn stay(&self, node: NodeFacts, vocabulary: &Vocabulary) -> Stay {
        let is_selected = |selector: &NodeSelector| selector.matches(node.name, node.labels, vocabulary);
        if !self.affinity.as_ref().is_none_or(is_selected) {
            return Stay::NotSelected;
        }
        let taints = vocabulary.taints(node.taints);
        let mut no_execute = taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).peekable();
        if no_execute.peek().is_none() {
            return Stay::Forever;
        }
        self.tolerance(no_execute)
    }

    /// The first toleration that covers a taint counts, and the least time of those that count.
    /// Upstream: tainteviction/taint_eviction.go `getMinTolerationTime`.
    fn tolerance<'a>(&self, taints: impl Iterator<Item = &'a Taint>) -> Stay {
        let mut least: Option<i64> = None;
        for taint in taints {
            let Some((_, seconds)) = self.tolerations.iter().find(|(it, _)| it.tolerates(taint)) else {
                return Stay::NotTolerated;
            };
            least = match (least, seconds) {
                (Some(least), Some(seconds)) => Some(least.min(*seconds)),
                (least, seconds) => least.or(*seconds),
            };
        }
        match least {
            None => Stay::Forever,
            Some(seconds) => Stay::For(u64::try_from(seconds).unwrap_or(0).saturating_mul(NS_PER_SECOND)),
        }
    }
}
