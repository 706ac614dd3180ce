//! PodTopologySpread in the words of a profile: its plain twin, random arguments, bench pods.

use super::NAME;
use super::naive::{
    Action, NaiveDefaulting, NaiveSpreadCounts, filter, normalize, pre_filter, pre_score, score,
};
use crate::fake::{self, Rng};
use crate::framework::args::{self, PluginArgs, PodTopologySpreadArgs};
use crate::input::{LabelSelectorInput, NodeInput, PodInput, SpreadConstraintInput};
use crate::naive::bench::{BenchPod, HOSTNAME, ZONE, labelled};
use crate::naive::plugin_twin::{
    Asked, Fakes, FilterTwin, NaiveCounted, NaivePodCounts, NaivePreScore, PluginTwin, ScoreTwin, any_node,
};
use crate::naive::{NaivePod, NaivePreFilter};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| match pre_filter(&NaiveDefaulting::of(asked), asked.cluster, asked.pod) {
            Some(_) => NaivePreFilter::AllNodes,
            None => NaivePreFilter::Skip,
        },
        count: |asked| NaiveCounted::of(pre_filter(&NaiveDefaulting::of(asked), asked.cluster, asked.pod)),
        filter: |asked, counted, node| filter(counted.get()?, asked.pod, &node.input),
        benches: || vec![BenchPod::new("pod_topology_spread/hard", bench_pod(Action::DoNotSchedule))],
    }),
    score: Some(ScoreTwin {
        pre_score: |asked, feasible| {
            NaivePreScore::of(pre_score(&NaiveDefaulting::of(asked), asked.cluster, asked.pod, feasible))
        },
        score: |asked, found, node| found.get().map_or(0, |state| score(state, asked.pod, node)),
        normalize: |found, nodes, raw| match found.get() {
            Some(state) => normalize(state, nodes, raw),
            None => raw.to_vec(),
        },
        benches: || {
            vec![
                BenchPod::new("pod_topology_spread/soft", bench_pod(Action::ScheduleAnyway)),
                // A service selects these pods, so that upstream's own constraints hold.
                BenchPod::new("pod_topology_spread/default", labelled("web")),
            ]
        },
    }),
    fakes: Fakes { node: |_, _| {}, pod: |_, _| {}, pending_pod: |_, _| {}, args: fake_args },
    bench_node: any_node,
};

impl NaivePodCounts for NaiveSpreadCounts {
    fn add_pod(&mut self, pod: &PodInput, added: &NaivePod, node: &NodeInput) {
        NaiveSpreadCounts::add_pod(self, pod, added, node);
    }

    fn remove_pod(&mut self, pod: &PodInput, removed: &NaivePod, node: &NodeInput) {
        NaiveSpreadCounts::remove_pod(self, pod, removed, node);
    }

    fn boxed(&self) -> Box<dyn NaivePodCounts> {
        Box::new(self.clone())
    }
}

impl NaiveDefaulting {
    fn of(asked: Asked<'_>) -> NaiveDefaulting {
        match asked.args(NAME) {
            PluginArgs::PodTopologySpread(args) if args.defaulting == args::Defaulting::List => {
                NaiveDefaulting::List(args.default_constraints.clone())
            }
            _ => NaiveDefaulting::System,
        }
    }
}

fn fake_args(rng: &mut Rng) -> PluginArgs {
    let mut args = PodTopologySpreadArgs::default();
    if rng.chance(50) {
        let count = rng.range(0..=3);
        args.defaulting = args::Defaulting::List;
        args.default_constraints = (0..count).map(|_| fake::default_constraint(rng)).collect();
    }
    PluginArgs::PodTopologySpread(args)
}

fn bench_pod(action: Action) -> PodInput {
    let over = |key: &str| SpreadConstraintInput {
        max_skew: 1,
        topology_key: key.to_owned(),
        schedule_anyway: action == Action::ScheduleAnyway,
        label_selector: Some(LabelSelectorInput {
            match_labels: [("app".to_owned(), "web".to_owned())].into(),
            match_expressions: Vec::new(),
        }),
        ..SpreadConstraintInput::default()
    };
    PodInput { spread_constraints: vec![over(ZONE), over(HOSTNAME)], ..labelled("web") }
}
