//! Tables of cases that hold for the plain twins and for the fast versions alike: plain data, and a
//! runner that asks whoever is to be tested.

use super::plugin_twin::Asked;
use super::schedule::{FilterState, NaiveProfile, NaiveScoreState, pre_filter, score_nodes};
use super::{NaiveCluster, NaiveCode, NaiveNode, NaivePod, NaivePreFilter};
use crate::framework::args::PluginArgs;
use crate::input::{NodeInput, PodInput};
#[cfg(test)]
use crate::plugins::helper::hint_cases::HintCase;

/// One question to one plugin.
#[derive(Clone, Debug)]
pub struct PluginCase {
    /// What it is about.
    pub name: &'static str,
    /// Nodes, pods on them, and objects.
    pub cluster: NaiveCluster,
    /// The pod to schedule.
    pub pod: PodInput,
    /// Arguments of the plugins.
    pub profile: NaiveProfile,
    /// Nodes to score; empty means all.
    pub feasible: Vec<&'static str>,
    /// The answer.
    pub expected: Expected,
}

/// What a plugin answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// PreFilter or PreScore skips the pod.
    Skip,
    /// PreFilter rejects the pod on all nodes.
    RejectAll,
    /// For each node in list order, the reason it is rejected for and whether evictions might help.
    Verdicts(Vec<Option<(NaiveCode, String)>>),
    /// Normalised scores of the nodes to score, in list order.
    Scores(Vec<i64>),
}

impl PluginCase {
    /// A case about `pod` on nodes without pods.
    #[must_use]
    pub fn new(name: &'static str, nodes: &[NodeInput], pod: PodInput) -> PluginCase {
        PluginCase {
            name,
            cluster: NaiveCluster::new(nodes.to_vec()),
            pod,
            profile: NaiveProfile::default(),
            feasible: Vec::new(),
            expected: Expected::Skip,
        }
    }

    /// With these pods, each as (node, pod).
    #[must_use]
    pub fn with(mut self, pods: &[(&str, PodInput)]) -> PluginCase {
        for (at, (node, pod)) in pods.iter().enumerate() {
            let mut pod = NaivePod::from(pod.clone());
            pod.meta.name = format!("p{at}");
            self.cluster.add_pod(node, pod);
        }
        self
    }

    /// With other things in the cluster.
    #[must_use]
    pub fn having(mut self, change: impl FnOnce(&mut NaiveCluster)) -> PluginCase {
        change(&mut self.cluster);
        self
    }

    /// With these arguments of a plugin.
    #[must_use]
    pub fn with_args(mut self, plugin: &'static str, args: PluginArgs) -> PluginCase {
        self.profile.args.insert(plugin, args);
        self
    }

    /// Where only these nodes are scored.
    #[must_use]
    pub fn only(mut self, feasible: &[&'static str]) -> PluginCase {
        self.feasible = feasible.to_vec();
        self
    }

    /// Every node is fine.
    #[must_use]
    pub fn all_fit(self) -> PluginCase {
        let verdicts = vec![None; self.cluster.nodes.len()];
        PluginCase { expected: Expected::Verdicts(verdicts), ..self }
    }

    /// Nodes other than these are fine; these are rejected, each as (node, code, reason).
    #[must_use]
    pub fn rejects(self, rejected: &[(&str, NaiveCode, &str)]) -> PluginCase {
        let verdict = |node: &NaiveNode| {
            let found = rejected.iter().find(|(name, ..)| *name == node.input.name);
            found.map(|&(_, code, reason)| (code, reason.to_owned()))
        };
        let verdicts = self.cluster.nodes.iter().map(verdict).collect();
        PluginCase { expected: Expected::Verdicts(verdicts), ..self }
    }

    /// The nodes to score get these scores.
    #[must_use]
    pub fn scores(self, scores: &[i64]) -> PluginCase {
        PluginCase { expected: Expected::Scores(scores.to_vec()), ..self }
    }

    /// The pod is rejected on all nodes at once.
    #[must_use]
    pub fn rejects_all(self) -> PluginCase {
        PluginCase { expected: Expected::RejectAll, ..self }
    }

    /// The nodes to score.
    #[must_use]
    pub fn to_score(&self) -> Vec<&NaiveNode> {
        let is_feasible =
            |node: &&NaiveNode| self.feasible.is_empty() || self.feasible.contains(&node.input.name.as_str());
        self.cluster.nodes.iter().filter(is_feasible).collect()
    }
}

/// The tables of a plugin.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cases {
    /// Of Filter, if it filters.
    pub(crate) filter: Option<fn() -> Vec<PluginCase>>,
    /// Of Score, if it scores.
    pub(crate) score: Option<fn() -> Vec<PluginCase>>,
    /// Of the events it registers for; none of a plugin that never rejects.
    pub(crate) hints: fn() -> Vec<HintCase>,
}

#[cfg(test)]
impl Cases {
    /// Of a plugin that neither filters nor scores, and never rejects.
    pub(crate) const NONE: Cases = Cases { filter: None, score: None, hints: Vec::new };

    /// The cases of Filter.
    pub(crate) fn filter(&self) -> Vec<PluginCase> {
        self.filter.map_or_else(Vec::new, |cases| cases())
    }

    /// The cases of Score.
    pub(crate) fn score(&self) -> Vec<PluginCase> {
        self.score.map_or_else(Vec::new, |cases| cases())
    }
}

/// Asks for the answer to every case of a plugin.
///
/// # Panics
///
/// When answers are not the expected ones, with the names of all those cases.
pub fn check(plugin: &str, cases: Vec<PluginCase>, answer: impl Fn(&PluginCase) -> Expected) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, answer(case)))
        .filter(|(case, answer)| *answer != case.expected)
        .map(|(case, answer)| format!("{}: expected {:?}, found {answer:?}", case.name, case.expected))
        .collect();
    assert!(wrong.is_empty(), "{plugin}: {} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// How the plain twin of a plugin filters.
#[must_use]
pub fn naive_filter(plugin: &'static str, case: &PluginCase) -> Expected {
    let PluginCase { cluster, pod, profile, .. } = case;
    let asked = Asked { profile, cluster, pod };
    match pre_filter(plugin, asked) {
        NaivePreFilter::Skip => return Expected::Skip,
        NaivePreFilter::Reject(_) => return Expected::RejectAll,
        NaivePreFilter::AllNodes | NaivePreFilter::Nodes(_) => {}
    }
    let only = NaiveProfile { filter_plugins: vec![plugin], ..profile.clone() };
    let state = FilterState::new(&only, cluster, pod);
    let verdict = |node: &NaiveNode| {
        let verdict = super::schedule::filter(plugin, asked, &state, node)?;
        Some((verdict.code, verdict.reasons.join(", ")))
    };
    Expected::Verdicts(cluster.nodes.iter().map(verdict).collect())
}

/// How the plain twin of a plugin scores.
///
/// # Panics
///
/// When scoring fails.
#[must_use]
pub fn naive_scores(plugin: &'static str, case: &PluginCase) -> Expected {
    let profile = NaiveProfile { score_plugins: vec![(plugin, 1)], ..case.profile.clone() };
    let nodes = case.to_score();
    let state = NaiveScoreState::new(&profile, &case.cluster, &case.pod, &nodes);
    if !state.skipped().is_empty() {
        return Expected::Skip;
    }
    let scores = score_nodes(&profile, &case.cluster, &case.pod, &nodes).expect("scores");
    Expected::Scores(scores.iter().map(|score| score.total).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::IN_TREE;

    #[test]
    fn naive_twins_filter_every_case() {
        for plugin in IN_TREE {
            check(plugin.name, plugin.cases.filter(), |case| naive_filter(plugin.name, case));
        }
    }

    #[test]
    fn naive_twins_score_every_case() {
        for plugin in IN_TREE {
            check(plugin.name, plugin.cases.score(), |case| naive_scores(plugin.name, case));
        }
    }
}
