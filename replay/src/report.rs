//! What a replay found.

use std::fmt;

/// Differences kept per trace with their values; further ones are only counted.
pub const DIFFERENCES_KEPT_MAX: usize = 10_000;

/// The outcome of replaying one trace.
#[derive(Clone, Debug, Default)]
pub struct TraceReport {
    /// The file's name without its extension.
    pub name: String,
    /// The trace's family.
    pub family: String,
    /// The trace's seed.
    pub seed: u64,
    /// Steps replayed.
    pub steps: usize,
    /// Steps among them that schedule a pod.
    pub schedule_steps: usize,
    /// Values compared.
    pub comparisons: u64,
    /// Differences found, those beyond [`DIFFERENCES_KEPT_MAX`] included.
    pub difference_count: u64,
    /// The first differences, in order.
    pub differences: Vec<TraceDifference>,
}

impl TraceReport {
    /// Nothing differs.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.difference_count == 0
    }

    pub(super) fn add(&mut self, difference: TraceDifference) {
        self.difference_count += 1;
        if self.differences.len() < DIFFERENCES_KEPT_MAX {
            self.differences.push(difference);
        }
    }
}

/// One value that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceDifference {
    /// The step, counted from 0.
    pub step: usize,
    /// The pod that was scheduled, `namespace/name`.
    pub pod: String,
    /// Which value.
    pub what: DifferenceKind,
    /// What upstream decided.
    pub recorded: String,
    /// What the engine decides.
    pub ours: String,
}

impl fmt::Display for TraceDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceDifference { step, pod, what, recorded, ours } = self;
        write!(f, "step {step}: pod {pod}: {what}: recorded {recorded}, ours {ours}")
    }
}

/// A value of the record, by its path in the step's `result`. `engine` is the fast path's answer,
/// everything else is the full explanation's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the format's own fields")]
pub enum DifferenceKind {
    PreFilterRejected,
    PreFilterNodes,
    PreFilterNodesBy,
    SkipFilter,
    SkipScore,
    /// Names and order of `nodes`.
    NodeList,
    Feasible {
        node: String,
    },
    Plugin {
        node: String,
    },
    Code {
        node: String,
    },
    Reasons {
        node: String,
    },
    Also {
        node: String,
    },
    Raw {
        node: String,
        plugin: String,
    },
    Score {
        node: String,
        plugin: String,
    },
    Total {
        node: String,
    },
    Chosen,
    Ties,
    EngineChosen,
    EngineTies,
    /// How many nodes the engine found feasible.
    EngineFeasible,
    /// A part of what preemption finds out.
    Preemption {
        field: &'static str,
    },
    /// Whether the nominated node was taken without regard to scores.
    ViaNominated,
    /// How many nodes each reason rejects first, or PreFilter's message.
    EngineDiagnosis,
    /// The plugins that reject.
    EnginePlugins,
    /// What the volume binder decides on the chosen node.
    Volumes,
    /// A part of what becomes of a pod group.
    PodGroup {
        field: &'static str,
    },
    /// What becomes of the pod's claims.
    Claims,
    /// The devices that claims would get on a node.
    Devices {
        node: String,
    },
    PreEnqueue,
    /// The claims whose allocation could be taken back.
    PostFilter,
    /// A plugin had no answer, which ends the cycle.
    Aborted,
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DifferenceKind::PreFilterRejected => f.write_str("preFilter.rejected"),
            DifferenceKind::PreFilterNodes => f.write_str("preFilter.nodes"),
            DifferenceKind::PreFilterNodesBy => f.write_str("preFilter.nodesBy"),
            DifferenceKind::SkipFilter => f.write_str("skipFilter"),
            DifferenceKind::SkipScore => f.write_str("skipScore"),
            DifferenceKind::NodeList => f.write_str("nodes"),
            DifferenceKind::Feasible { node } => write!(f, "nodes[{node}].feasible"),
            DifferenceKind::Plugin { node } => write!(f, "nodes[{node}].plugin"),
            DifferenceKind::Code { node } => write!(f, "nodes[{node}].code"),
            DifferenceKind::Reasons { node } => write!(f, "nodes[{node}].reasons"),
            DifferenceKind::Also { node } => write!(f, "nodes[{node}].also"),
            DifferenceKind::Raw { node, plugin } => write!(f, "nodes[{node}].raw.{plugin}"),
            DifferenceKind::Score { node, plugin } => write!(f, "nodes[{node}].scores.{plugin}"),
            DifferenceKind::Total { node } => write!(f, "nodes[{node}].total"),
            DifferenceKind::Chosen => f.write_str("chosen"),
            DifferenceKind::Ties => f.write_str("ties"),
            DifferenceKind::EngineChosen => f.write_str("engine.chosen"),
            DifferenceKind::EngineTies => f.write_str("engine.ties"),
            DifferenceKind::EngineFeasible => f.write_str("engine.feasible"),
            DifferenceKind::Preemption { field } => write!(f, "preemption.{field}"),
            DifferenceKind::ViaNominated => f.write_str("viaNominated"),
            DifferenceKind::EngineDiagnosis => f.write_str("engine.diagnosis"),
            DifferenceKind::EnginePlugins => f.write_str("engine.plugins"),
            DifferenceKind::Volumes => f.write_str("volumes"),
            DifferenceKind::PodGroup { field } => f.write_str(field),
            DifferenceKind::Claims => f.write_str("claims"),
            DifferenceKind::Devices { node } => write!(f, "nodes[{node}].devices"),
            DifferenceKind::PreEnqueue => f.write_str("preEnqueue"),
            DifferenceKind::PostFilter => f.write_str("postFilter"),
            DifferenceKind::Aborted => f.write_str("aborted"),
        }
    }
}
