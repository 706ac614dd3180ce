//! The extension points, as traits over batches of rows.
//!
//! A plugin is asked once per pod and chunk of nodes, never once per node: [`FilterPlugin::filter`]
//! clears bits of the chunk's words, [`ScorePlugin::score`] writes a column of scores. Whoever
//! needs to know why a node is out asks [`FilterPlugin::verdict`] for that one node.

use std::sync::Arc;

use std::borrow::Cow;
use std::fmt;

use crate::class::PodClass;
use crate::framework::args::PreemptionArgs;
use crate::framework::detail::Detail;
use crate::framework::points::placement::{PlacementGeneratePlugin, PlacementScorePlugin};
use crate::framework::points::{
    BindPlugin, EnqueueExtensions, PermitPlugin, PodRef, PostBindPlugin, PostFilterPlugin, PreBindPlugin,
    ReservePlugin,
};
use crate::framework::status::{Code, Reason};
use crate::ids::{ClassId, Symbol};
use crate::snapshot::mask::{BitRows, WORD_BITS};
use crate::world::World;

/// The highest score a plugin gives after normalisation.
pub const MAX_NODE_SCORE: i64 = 100;

/// What a verdict or a score depends on, besides the pod's class. The class cache keeps results
/// until something they depend on changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The node's labels, taints and other attributes.
    Static,
    /// Attributes and the pods on that node.
    NodeLocal,
    /// Counts over other nodes: evaluated afresh in every cycle.
    Global,
}

/// What a plugin reads of a pod, for opportunistic batching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignPod {
    /// It does not say, or the pod is one that is not batched.
    NotSigned,
    /// The pod's spec.
    Spec,
    /// The pod's spec and labels.
    SpecAndLabels,
}

/// A plugin and the extension points it takes part in.
pub trait Plugin: fmt::Debug + Send + Sync {
    /// Upstream's name.
    fn name(&self) -> &'static str;

    /// A number that moves whenever the answer of PreFilter or PreScore for this class may have
    /// changed; `None` when it depends on the class and the node list alone. A plan is made again
    /// when it moved, and with it every verdict and score that was kept for the class.
    fn plan_version(&self, _world: &World, _class: &PodClass) -> Option<u64> {
        None
    }

    /// Makes what the plugin keeps in the world about a class of pending pods. Called before a
    /// plan is made for the class; a second call with nothing changed does nothing.
    fn prepare(&self, _world: &mut World, _class: ClassId) {}

    /// At PostFilter the engine looks for pods to evict, with these arguments: it does so with the
    /// columns and plans that no plugin can reach.
    fn preemption(&self) -> Option<PreemptionArgs> {
        None
    }

    /// Sign: what the plugin reads of the pods of a class at PreFilter, Filter, PreScore and Score. One that
    /// does not say switches opportunistic batching off for its profile. Upstream: `SignPlugin`.
    fn sign_pod(&self, _class: &PodClass) -> SignPod {
        SignPod::NotSigned
    }

    /// PreEnqueue.
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        None
    }

    /// QueueSort.
    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        None
    }

    /// PreFilter and Filter.
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        None
    }

    /// PreScore, Score and NormalizeScore.
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        None
    }

    /// PostFilter.
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        None
    }

    /// Reserve and Unreserve.
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        None
    }

    /// Permit.
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        None
    }

    /// PreBindPreFlight and PreBind.
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        None
    }

    /// Bind.
    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        None
    }

    /// PostBind.
    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        None
    }

    /// PlacementGenerate.
    fn as_placement_generate(&self) -> Option<&dyn PlacementGeneratePlugin> {
        None
    }

    /// PlacementScore.
    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        None
    }

    /// The events that bring back pods this plugin rejected. Of a plugin that can reject pods, `None`
    /// means every event. Required, so that nobody says so by forgetting it.
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions>;
}

/// Decides whether a pod may enter the active queue.
pub trait PreEnqueuePlugin {
    /// `None` lets the pod pass.
    fn pre_enqueue(&self, world: &World, class: &PodClass) -> Option<PreEnqueueResult>;

    /// As [`PreEnqueuePlugin::pre_enqueue`], for a plugin that reads more of the pod than its class.
    fn pre_enqueue_pod(&self, world: &World, pod: PodRef<'_>) -> Option<PreEnqueueResult> {
        self.pre_enqueue(world, pod.class)
    }
}

/// A PreEnqueue plugin's no: a status for the scheduler, and a message for the pod's owner.
/// Upstream: KEP-5501 `PreEnqueueResult` beside the `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreEnqueueResult {
    /// Why the pod waits.
    pub reason: String,
    /// What the pod's status is to say meanwhile. Without one, or with an empty one, the status
    /// stays as it is.
    pub message: Option<Arc<str>>,
}

impl PreEnqueueResult {
    /// The pod waits, and its status says nothing of it: the wait is short, or somebody else tells.
    #[must_use]
    pub fn rejected_without_message(reason: String) -> PreEnqueueResult {
        PreEnqueueResult { reason, message: None }
    }

    /// The pod waits, and its status says why.
    #[must_use]
    pub fn rejected_with_message(message: &str) -> PreEnqueueResult {
        PreEnqueueResult { reason: message.to_owned(), message: Some(message.into()) }
    }
}

/// What the queue may compare pods by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueKey {
    /// `spec.priority`.
    pub priority: i32,
    /// When the pod entered the queue.
    pub queued_ns: u64,
}

/// Orders the active queue.
pub trait QueueSortPlugin {
    /// Whether `one` is tried before `other`.
    fn less(&self, one: QueueKey, other: QueueKey) -> bool;
}

/// The outcome of PreFilter for a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFilter<'a> {
    /// Filter runs on all nodes.
    Run,
    /// Filter has nothing to say about this pod.
    Skip,
    /// Only nodes of these names can fit.
    Nodes(Cow<'a, [Symbol]>),
    /// No node can fit.
    Reject(Code, Reason),
}

/// PreFilter and Filter.
pub trait FilterPlugin: Sync {
    /// What the verdict depends on.
    fn reads(&self) -> Reads;

    /// Asked once per class, and again when [`Plugin::plan_version`] moved.
    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a>;

    /// Clears the bit of every node that does not fit. `words[i]` covers the rows of word
    /// `first_word + i`; a bit that is already clear is not looked at.
    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let mut reasons = Vec::new();
        retain_rows(first_word, words, |row| {
            reasons.clear();
            self.verdict(world, class, row, &mut reasons) == Code::Success
        });
    }

    /// The verdict on one node, with the reasons appended to `reasons`.
    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code;

    /// The facts behind a rejection of one node, for a reader. Asked only after [`Self::verdict`]
    /// rejected it; a plugin that has no more to say than its reasons says nothing.
    fn details(&self, _world: &World, _class: &PodClass, _row: usize, _details: &mut Vec<Detail>) {}

    /// A verdict may be [`Code::Error`]: then a search asks for errors before it decides anything.
    fn can_fail(&self) -> bool {
        false
    }

    /// The verdict on every node this plugin rejects, when it is always the same.
    fn only_rejection(&self) -> Option<(Code, Reason)> {
        None
    }
}

/// The outcome of PreScore for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreScore {
    /// Score runs.
    Run,
    /// Score contributes nothing.
    Skip,
}

/// What NormalizeScore does with the scores of all feasible nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// Scores are final.
    None,
    /// The highest becomes 100.
    Highest,
    /// The highest becomes 0, and 0 becomes 100.
    Lowest,
}

/// PreScore, Score and NormalizeScore.
pub trait ScorePlugin: Sync {
    /// What the raw score depends on.
    fn reads(&self) -> Reads;

    /// Asked once per class, and again when [`Plugin::plan_version`] moved.
    fn pre_score(&self, world: &World, class: &PodClass) -> PreScore;

    /// Score and NormalizeScore give 0 to every node for pods of this class, and upstream says no more of
    /// it: there is no PreScore that skips. The engine does not ask then.
    fn is_indifferent(&self, _world: &World, _class: &PodClass) -> bool {
        false
    }

    /// Writes the raw score of `rows[i]` to `scores[i]`.
    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]);

    /// Writes the raw scores of all rows of some words: `scores[64 * i + bit]` for each bit of `words[i]`,
    /// which covers the rows of word `first_word + i`. What is written for other rows does not matter.
    /// A plugin that works on columns overrides this; what it says must be what [`Self::score`] says.
    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        score_words_by_rows(first_word, words, scores, |rows, scores| self.score(world, class, rows, scores));
        WordScores::Written
    }

    /// How scores of the feasible nodes are brought to one scale.
    fn normalization(&self) -> Normalization {
        Normalization::None
    }

    /// Brings the scores of all feasible nodes to one scale. A plugin with a scale of its own
    /// overrides this; it must read [`Reads::Global`], because such scores are asked for, and
    /// scaled, in every cycle.
    fn normalize(&self, _world: &World, _class: &PodClass, _rows: &[u32], scores: &mut [i64]) {
        normalize(self.normalization(), scores);
    }
}

/// What became of the scores of some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordScores {
    /// Every row's score is 0; nothing was written.
    AllZero,
    /// They were written.
    Written,
}

/// Scores the rows of each word with `score`, which is told the rows and where their scores go.
pub fn score_words_by_rows(
    first_word: usize,
    words: &[u64],
    scores: &mut [i64],
    score: impl Fn(&[u32], &mut [i64]),
) {
    let mut rows = [0; WORD_BITS];
    let mut of_rows = [0; WORD_BITS];
    for ((at, &bits), scores) in (first_word..).zip(words).zip(scores.chunks_mut(WORD_BITS)) {
        let count = bits.count_ones() as usize;
        for (row, of_word) in rows.iter_mut().zip(BitRows::new(at, bits)) {
            *row = u32::try_from(of_word).expect("rows fit u32");
        }
        score(&rows[..count], &mut of_rows[..count]);
        for (bit, &score) in BitRows::new(0, bits).zip(&of_rows[..count]) {
            scores[bit] = score;
        }
    }
}

/// Keeps the rows that pass `keep`.
#[inline]
pub fn retain_rows(first_word: usize, words: &mut [u64], mut keep: impl FnMut(usize) -> bool) {
    for (at, word) in words.iter_mut().enumerate() {
        for row in BitRows::new(first_word + at, *word) {
            if !keep(row) {
                *word &= !(1 << (row % 64));
            }
        }
    }
}

/// Upstream: plugins/helper/normalize_score.go `DefaultNormalizeScore`.
pub fn normalize(normalization: Normalization, scores: &mut [i64]) {
    let highest = scores.iter().copied().fold(0, i64::max);
    for score in scores {
        *score = normalized(normalization, *score, highest);
    }
}

/// One score of a set whose highest raw score is `highest` (0 if none is positive).
#[inline]
#[must_use]
pub fn normalized(normalization: Normalization, score: i64, highest: i64) -> i64 {
    match (normalization, highest) {
        (Normalization::None, _) | (Normalization::Highest, 0) => score,
        (Normalization::Lowest, 0) => MAX_NODE_SCORE,
        (Normalization::Highest, _) => MAX_NODE_SCORE * score / highest,
        (Normalization::Lowest, _) => MAX_NODE_SCORE - MAX_NODE_SCORE * score / highest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalisation_scales_to_a_hundred() {
        struct Case {
            name: &'static str,
            normalization: Normalization,
            scores: &'static [i64],
            expected: &'static [i64],
        }
        let cases = [
            Case {
                name: "highest",
                normalization: Normalization::Highest,
                scores: &[1, 2, 3, 4],
                expected: &[25, 50, 75, 100],
            },
            Case {
                name: "lowest",
                normalization: Normalization::Lowest,
                scores: &[1, 2, 3, 4],
                expected: &[75, 50, 25, 0],
            },
            Case {
                name: "all zero stays zero",
                normalization: Normalization::Highest,
                scores: &[0, 0],
                expected: &[0, 0],
            },
            Case {
                name: "all zero is best when low is good",
                normalization: Normalization::Lowest,
                scores: &[0, 0],
                expected: &[100, 100],
            },
            Case {
                name: "division truncates",
                normalization: Normalization::Highest,
                scores: &[1000, 10, 20, 30],
                expected: &[100, 1, 2, 3],
            },
            Case {
                name: "division truncates before the inversion",
                normalization: Normalization::Lowest,
                scores: &[3, 1],
                expected: &[0, 67],
            },
            Case { name: "none", normalization: Normalization::None, scores: &[7], expected: &[7] },
            Case { name: "no nodes", normalization: Normalization::Highest, scores: &[], expected: &[] },
        ];
        for case in cases {
            let mut scores = case.scores.to_vec();
            normalize(case.normalization, &mut scores);
            assert_eq!(scores, case.expected, "case: {}", case.name);
        }
    }
}
