//! A decision in full: every plugin's verdict on every node, every score, and the choice. Slow and
//! complete, for `replay` and `explain`; it asks the same plugins as the engine.

use crate::cycle::engine::Pending;
use crate::cycle::plan::{FilterScope, Plan, outside_reason};
use crate::cycle::verdict::{Explained, FirstRejection, Question, Reserved};
use crate::framework::detail::Detail;
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::status::{Code, Reason};
use crate::ids::ClassId;
use crate::snapshot::mask::NodeMask;
use crate::world::World;

/// One plugin's rejection of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin, or the plugins that narrowed the search, joined by `,`.
    pub plugin: String,
    /// The code.
    pub code: Code,
    /// Why.
    pub reasons: Vec<Reason>,
    /// What that rests on.
    pub details: Vec<Detail>,
}

/// One plugin's score of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeScore {
    /// The plugin.
    pub plugin: PluginIndex,
    /// What Score returned.
    pub raw: i64,
    /// After normalisation and multiplication by the weight.
    pub weighted: i64,
}

/// All that is said about one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeExplanation {
    /// Every filter that rejects the node, in order, each asked as if it were the first.
    pub rejections: Vec<Rejection>,
    /// Scores, when the node is feasible.
    pub scores: Vec<NodeScore>,
    /// Their sum.
    pub total: i64,
}

impl NodeExplanation {
    /// The node passes all filters.
    #[must_use]
    pub fn is_feasible(&self) -> bool {
        self.rejections.is_empty()
    }
}

/// All that is said about a pod.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What PreFilter and PreScore decided.
    pub plan: Plan,
    /// By row; empty when PreFilter rejected the pod.
    pub nodes: Vec<NodeExplanation>,
    /// The first row with the highest total.
    pub chosen: Option<usize>,
    /// Rows that share the highest total.
    pub ties: usize,
}

/// Explains the decision for a pod with every node looked at. Rows must be settled; the world is
/// as before when this returns.
#[must_use]
pub fn explain(world: &mut World, profile: &Profile, pending: impl Into<Pending>) -> Explanation {
    explain_in_placement(world, profile, pending.into(), None)
}

/// As [`explain`], with these nodes as candidates. The others are rejected without a plugin.
#[must_use]
pub fn explain_in_placement(
    world: &mut World,
    profile: &Profile,
    pending: Pending,
    placement: Option<&NodeMask>,
) -> Explanation {
    for plugin in profile.plugins() {
        plugin.prepare(world, pending.class);
    }
    let plan = Plan::make(world, profile, world.class(pending.class));
    let node_count = world.nodes().node_count();
    let mut nodes = vec![NodeExplanation::default(); node_count];
    match &plan.scope {
        FilterScope::Rejected { .. } => {
            return Explanation { plan, nodes: Vec::new(), chosen: None, ties: 0 };
        }
        FilterScope::All => {}
        FilterScope::Rows { rows, plugins, .. } => {
            for (row, node) in nodes.iter_mut().enumerate() {
                if rows.iter().all(|&eligible| eligible as usize != row) {
                    node.rejections.push(Rejection {
                        plugin: plugins.join(","),
                        code: Code::UnschedulableAndUnresolvable,
                        reasons: vec![outside_reason(plugins)],
                        details: Vec::new(),
                    });
                }
            }
        }
    }
    for (row, node) in nodes.iter_mut().enumerate() {
        if placement.is_some_and(|placement| !placement.contains(row)) {
            let code = Code::UnschedulableAndUnresolvable;
            let (plugin, reasons, details) = (String::new(), Vec::new(), Vec::new());
            node.rejections = vec![Rejection { plugin, code, reasons, details }];
        }
    }
    let mut reserved = Reserved::default();
    reserved.find(world, pending);
    let question = Question { profile, plan: &plan, pending, reserved: reserved.rows() };
    for (row, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.is_feasible()) {
        let named = |Explained { rejection, details }| {
            let FirstRejection { plugin, code, reasons } = rejection;
            Rejection { plugin: profile.name(plugin).to_owned(), code, reasons, details }
        };
        node.rejections = question.all_rejections(world, row).into_iter().map(named).collect();
    }
    let has_failed =
        |node: &NodeExplanation| node.rejections.first().is_some_and(|it| it.code == Code::Error);
    if nodes.iter().any(has_failed) {
        return Explanation { plan, nodes, chosen: None, ties: 0 };
    }
    score(world, profile, pending.class, &plan, &mut nodes);
    let best = nodes.iter().filter(|node| node.is_feasible()).map(|node| node.total).max();
    let is_best = |node: &NodeExplanation| node.is_feasible() && Some(node.total) == best;
    let chosen = nodes.iter().position(is_best);
    let ties = nodes.iter().filter(|node| is_best(node)).count();
    Explanation { plan, nodes, chosen, ties }
}

fn score(world: &World, profile: &Profile, class: ClassId, plan: &Plan, nodes: &mut [NodeExplanation]) {
    let rows: Vec<u32> = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.is_feasible())
        .map(|(row, _)| u32::try_from(row).expect("rows fit u32"))
        .collect();
    for &(plugin, weight) in
        profile.scores().iter().filter(|(plugin, _)| !plan.skipped_scores.contains(plugin))
    {
        let score = profile.score(plugin);
        let mut raw = vec![0; rows.len()];
        score.score(world, world.class(class), &rows, &mut raw);
        let mut scaled = raw.clone();
        score.normalize(world, world.class(class), &rows, &mut scaled);
        for ((&row, raw), scaled) in rows.iter().zip(raw).zip(scaled) {
            let node = &mut nodes[row as usize];
            node.scores.push(NodeScore { plugin, raw, weighted: weight * scaled });
            node.total += weight * scaled;
        }
    }
}
