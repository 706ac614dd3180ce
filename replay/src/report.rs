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
    pub differences: Vec<Difference>,
}

impl TraceReport {
    /// Nothing differs.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.difference_count == 0
    }

    pub(super) fn add(&mut self, difference: Difference) {
        self.difference_count += 1;
        if self.differences.len() < DIFFERENCES_KEPT_MAX {
            self.differences.push(difference);
        }
    }
}

/// One value that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The step, counted from 0.
    pub step: usize,
    /// The pod that was scheduled, `namespace/name`.
    pub pod: String,
    /// Which value.
    pub what: What,
    /// What upstream decided.
    pub recorded: String,
    /// What the engine decides.
    pub ours: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { step, pod, what, recorded, ours } = self;
        write!(f, "step {step}: pod {pod}: {what}: recorded {recorded}, ours {ours}")
    }
}

/// A value of the record, by its path in the step's `result`. `engine` is the fast path's answer,
/// everything else is the full explanation's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the format's own fields")]
pub enum What {
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
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::PreFilterRejected => f.write_str("preFilter.rejected"),
            What::PreFilterNodes => f.write_str("preFilter.nodes"),
            What::PreFilterNodesBy => f.write_str("preFilter.nodesBy"),
            What::SkipFilter => f.write_str("skipFilter"),
            What::SkipScore => f.write_str("skipScore"),
            What::NodeList => f.write_str("nodes"),
            What::Feasible { node } => write!(f, "nodes[{node}].feasible"),
            What::Plugin { node } => write!(f, "nodes[{node}].plugin"),
            What::Code { node } => write!(f, "nodes[{node}].code"),
            What::Reasons { node } => write!(f, "nodes[{node}].reasons"),
            What::Also { node } => write!(f, "nodes[{node}].also"),
            What::Raw { node, plugin } => write!(f, "nodes[{node}].raw.{plugin}"),
            What::Score { node, plugin } => write!(f, "nodes[{node}].scores.{plugin}"),
            What::Total { node } => write!(f, "nodes[{node}].total"),
            What::Chosen => f.write_str("chosen"),
            What::Ties => f.write_str("ties"),
            What::EngineChosen => f.write_str("engine.chosen"),
            What::EngineTies => f.write_str("engine.ties"),
            What::EngineFeasible => f.write_str("engine.feasible"),
            What::Preemption { field } => write!(f, "preemption.{field}"),
            What::ViaNominated => f.write_str("viaNominated"),
            What::EngineDiagnosis => f.write_str("engine.diagnosis"),
            What::EnginePlugins => f.write_str("engine.plugins"),
            What::Volumes => f.write_str("volumes"),
        }
    }
}
