//! InterPodAffinity in the words of a profile: its plain twin, random arguments, bench pods.

use super::NAME;
use super::naive::{InterPodArgs, NaiveAffinityCounts, filter, normalize, pre_filter, pre_score, score};
use crate::fake::Rng;
use crate::framework::args::{InterPodAffinityArgs, PluginArgs};
use crate::input::{LabelSelectorInput, NodeInput, PodAffinityInput, PodAffinityTermInput, PodInput};
use crate::naive::NaivePod;
use crate::naive::bench::{BenchPod, HOSTNAME, ZONE, labelled};
use crate::naive::plugin_twin::{
    Asked, Fakes, FilterTwin, NaiveCounted, NaivePodCounts, NaivePreScore, PluginTwin, ScoreTwin, any_node,
};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.cluster, asked.pod).0,
        count: |asked| NaiveCounted::of(Some(pre_filter(asked.cluster, asked.pod).1)),
        filter: |asked, counted, node| filter(counted.get()?, asked.pod, &node.input),
        benches: bench_filters,
    }),
    score: Some(ScoreTwin {
        pre_score: |asked, _| {
            NaivePreScore::of(pre_score(&InterPodArgs::of(asked), asked.cluster, asked.pod))
        },
        score: |_, found, node| found.get().map_or(0, |weights| score(weights, &node.input)),
        normalize: |_, _, raw| normalize(raw),
        benches: bench_scores,
    }),
    fakes: Fakes { node: |_, _| {}, pod: |_, _| {}, pending_pod: |_, _| {}, args: fake_args },
    bench_node: any_node,
};

impl NaivePodCounts for NaiveAffinityCounts {
    fn add_pod(&mut self, pod: &PodInput, added: &NaivePod, node: &NodeInput) {
        NaiveAffinityCounts::add_pod(self, pod, added, node);
    }

    fn remove_pod(&mut self, pod: &PodInput, removed: &NaivePod, node: &NodeInput) {
        NaiveAffinityCounts::remove_pod(self, pod, removed, node);
    }

    fn boxed(&self) -> Box<dyn NaivePodCounts> {
        Box::new(self.clone())
    }
}

impl InterPodArgs {
    fn of(asked: Asked<'_>) -> InterPodArgs {
        match asked.args(NAME) {
            PluginArgs::InterPodAffinity(args) => InterPodArgs {
                hard_pod_affinity_weight: args.hard_pod_affinity_weight,
                ignore_preferred_terms_of_existing_pods: args.ignore_preferred_terms_of_existing_pods,
            },
            _ => InterPodArgs::default(),
        }
    }
}

fn fake_args(rng: &mut Rng) -> PluginArgs {
    PluginArgs::InterPodAffinity(InterPodAffinityArgs {
        hard_pod_affinity_weight: *rng.pick(&[0, 1, 1, 5, 100]),
        ignore_preferred_terms_of_existing_pods: rng.chance(30),
    })
}

fn bench_term(app: &str, key: &str) -> PodAffinityTermInput {
    let match_labels = [("app".to_owned(), app.to_owned())].into();
    PodAffinityTermInput {
        label_selector: Some(LabelSelectorInput { match_labels, match_expressions: Vec::new() }),
        topology_key: key.to_owned(),
        ..PodAffinityTermInput::default()
    }
}

fn requiring(app: &str, key: &str) -> PodAffinityInput {
    PodAffinityInput { required: vec![bench_term(app, key)], preferred: Vec::new() }
}

fn preferring(app: &str, key: &str) -> PodAffinityInput {
    PodAffinityInput { required: Vec::new(), preferred: vec![(10, bench_term(app, key))] }
}

fn bench_filters() -> Vec<BenchPod> {
    let near = PodInput { pod_affinity: requiring("web", HOSTNAME), ..labelled("near") };
    let far = PodInput { pod_anti_affinity: requiring("web", HOSTNAME), ..labelled("far") };
    vec![
        BenchPod::new("inter_pod_affinity/required", near),
        BenchPod::new("inter_pod_affinity/anti", far),
        BenchPod::new("inter_pod_affinity/symmetric", labelled("lonely")),
    ]
}

fn bench_scores() -> Vec<BenchPod> {
    let near = PodInput { pod_affinity: preferring("web", HOSTNAME), ..labelled("near") };
    let far = PodInput { pod_anti_affinity: preferring("web", ZONE), ..labelled("far") };
    vec![
        BenchPod::new("inter_pod_affinity/preferred", near),
        BenchPod::new("inter_pod_affinity/anti_preferred", far),
        BenchPod::new("inter_pod_affinity/symmetric", labelled("liked")),
    ]
}
