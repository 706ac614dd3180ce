//! NodeResourcesBalancedAllocation: a node is good when the pod evens out its use of resources.
//!
//! Upstream: plugins/noderesources/balanced_allocation.go.

use super::NAME;
use crate::fake::{self};
use crate::framework::args::{NodeResourcesBalancedAllocationArgs, PluginArgs};
use crate::input::PodInput;
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Asked, Fakes, NaivePreScore, PluginTwin, ScoreTwin, any_node, as_it_is};
use crate::naive::requests::balanced_score_request;
use crate::naive::{NODE_SCORE_MAX, NaiveNode, NaivePreFilter};
use crate::plugins::node_resources_fit::naive::{ResourceSpec, requested, usage};
use crate::plugins::node_volume_limits::naive as node_volume_limits;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: None,
    score: Some(ScoreTwin {
        pre_score: |asked, _| {
            let args = args(asked);
            let asks_for_volumes =
                args.counts_volumes && node_volume_limits::pre_filter(asked.pod) != NaivePreFilter::Skip;
            let is_skipped = !asks_for_volumes && is_skipped(asked.pod, &specs(args));
            if is_skipped { NaivePreScore::Skip } else { NaivePreScore::run() }
        },
        score: |asked, _, node| {
            let args = args(asked);
            let load = || node_volume_limits::volume_load(asked.cluster, asked.pod, node);
            let volumes = args.counts_volumes.then(load).flatten();
            score_with_volumes(asked.pod, &specs(args), node, volumes)
        },
        normalize: as_it_is,
        benches: || vec![BenchPod::new("balanced_allocation", plain())],
    }),
    fakes: Fakes {
        node: |_, _| {},
        pod: |_, _| {},
        pending_pod: |_, _| {},
        args: |rng| {
            let resources = fake::resource_weights(rng).into_iter().map(|(name, _)| name).collect();
            let counts_volumes = rng.chance(25);
            let args = NodeResourcesBalancedAllocationArgs { resources, counts_volumes };
            PluginArgs::NodeResourcesBalancedAllocation(args)
        },
    },
    bench_node: any_node,
};

fn args<'a>(asked: Asked<'a>) -> &'a NodeResourcesBalancedAllocationArgs {
    match asked.args(NAME) {
        PluginArgs::NodeResourcesBalancedAllocation(args) => args,
        other => panic!("{other:?} are no arguments of {NAME}"),
    }
}

fn specs(args: &NodeResourcesBalancedAllocationArgs) -> Vec<ResourceSpec> {
    args.resources.iter().map(|name| ResourceSpec { name: name.clone(), weight: 1 }).collect()
}

/// Whether the pod requests none of the resources: then there is nothing to balance.
#[must_use]
pub fn is_skipped(pod: &PodInput, resources: &[ResourceSpec]) -> bool {
    resources.iter().all(|spec| balanced_score_request(pod, &spec.name) == 0)
}

/// 75 when the balance stays as it is, towards 100 when it gets better, towards 50 when worse.
/// Weights do not count.
#[must_use]
pub fn score(pod: &PodInput, resources: &[ResourceSpec], node: &NaiveNode) -> i64 {
    score_with_volumes(pod, resources, node, None)
}

/// As [`score`], with one more share: volumes attached, added by the pod, and the limit.
#[must_use]
pub fn score_with_volumes(
    pod: &PodInput,
    resources: &[ResourceSpec],
    node: &NaiveNode,
    volumes: Option<(i64, i64, i64)>,
) -> i64 {
    let usages = resources.iter().filter_map(|spec| {
        let request = balanced_score_request(pod, &spec.name);
        usage(&spec.name, request, node, requested(node))
    });
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for usage in usages {
        with.push(fraction(usage.requested, usage.allocatable));
        without.push(fraction(usage.used, usage.allocatable));
    }
    if let Some((attached, added, limit)) = volumes.filter(|(_, _, limit)| *limit != 0) {
        with.push(fraction(attached + added, limit));
        without.push(fraction(attached, limit));
    }
    let half = NODE_SCORE_MAX / 2;
    half + (half + balance(&with) - balance(&without)) / 2
}

fn fraction(part: i64, whole: i64) -> f64 {
    (part as f64 / whole as f64).min(1.0)
}

/// 100 less the standard deviation, in percent.
fn balance(fractions: &[f64]) -> i64 {
    let deviation = match fractions {
        [] | [_] => 0.0,
        [a, b] => ((a - b) / 2.0).abs(),
        _ => {
            let count = fractions.len() as f64;
            let mean = fractions.iter().sum::<f64>() / count;
            let squares: f64 = fractions.iter().map(|f| (f - mean) * (f - mean)).sum();
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * NODE_SCORE_MAX as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::node_resources_fit::naive::default_resources;
    use crate::testkit::{NodeParts, PodParts, bare_node, empty, pod, resources};

    fn spec(name: &str) -> ResourceSpec {
        ResourceSpec { name: name.to_owned(), weight: 1 }
    }

    #[test]
    fn score_cases() {
        struct Case {
            name: &'static str,
            request: &'static [(&'static str, &'static str)],
            allocatable: &'static [(&'static str, &'static str)],
            used: &'static [(&'static str, &'static str)],
            score: i64,
        }
        let ten = &[("cpu", "10"), ("memory", "1000")][..];
        #[rustfmt::skip]
        let cases = [
            Case { name: "an even pod on an empty node", request: &[("cpu", "1"), ("memory", "100")], allocatable: ten, used: &[], score: 75 },
            // 0.5 and 0: deviation 0.25, so 75 with and 100 without.
            Case { name: "an uneven pod on an empty node", request: &[("cpu", "5")], allocatable: ten, used: &[], score: 50 + (50 + 75 - 100) / 2 },
            Case { name: "differently sized resources", request: &[("cpu", "3"), ("memory", "500")], allocatable: ten, used: &[], score: 50 + (50 + 90 - 100) / 2 },
            // Without: 0.5 and 0, 75. With: 0.5 and 0.5, 100.
            Case { name: "the pod evens the node out", request: &[("memory", "500")], allocatable: ten, used: &[("cpu", "5")], score: 50 + (50 + 100 - 75) / 2 },
            Case { name: "best that can be", request: &[("memory", "1000")], allocatable: ten, used: &[("cpu", "10")], score: 100 },
            Case { name: "worst that can be", request: &[("memory", "1000")], allocatable: ten, used: &[], score: 50 },
            Case { name: "a full node stays balanced", request: &[("cpu", "5"), ("memory", "500")], allocatable: ten, used: &[("cpu", "5"), ("memory", "500")], score: 75 },
            // Both are cut at 1.
            Case { name: "beyond capacity counts as full", request: &[("cpu", "20"), ("memory", "5000")], allocatable: ten, used: &[], score: 75 },
            Case { name: "a resource the node lacks does not count", request: &[("cpu", "5")], allocatable: &[("cpu", "10")], used: &[], score: 75 },
            Case { name: "a node without resources", request: &[("cpu", "5")], allocatable: &[], used: &[], score: 75 },
            Case { name: "a scalar resource the pod does not want", request: &[("cpu", "5"), ("memory", "500")], allocatable: &[("cpu", "10"), ("memory", "1000"), ("example.com/gpu", "4")], used: &[("example.com/gpu", "3")], score: 75 },
            // 0.5, 0.5, 0.75: deviation 0.1178, 88; without 0: 100.
            Case { name: "a scalar resource the pod wants", request: &[("cpu", "5"), ("memory", "500"), ("example.com/gpu", "3")], allocatable: &[("cpu", "10"), ("memory", "1000"), ("example.com/gpu", "4")], used: &[], score: 50 + (50 + 88 - 100) / 2 },
        ];
        let specs = [spec("cpu"), spec("memory"), spec("example.com/gpu")];
        for case in &cases {
            let mut node = empty(bare_node("n").has(case.allocatable));
            node.pods.push(pod().requests(case.used).into());
            let got = score(&pod().requests(case.request), &specs, &node);
            assert_eq!(got, case.score, "case: {}", case.name);
        }
    }

    #[test]
    fn volume_count_is_one_more_fraction() {
        let specs = default_resources();
        let node = empty(bare_node("n").has(&[("cpu", "10"), ("memory", "1000")]));
        let request = pod().requests(&[("cpu", "5"), ("memory", "500")]);
        let score = |volumes| score_with_volumes(&request, &specs, &node, volumes);
        assert_eq!(score(None), 75);
        assert_eq!(score(Some((0, 0, 0))), 75, "no limit, no share");
        assert_eq!(score(Some((0, 2, 4))), 75, "half of everything");
        // 0.5, 0.5, 1: deviation 0.2357, 76; without 0: 100.
        assert_eq!(score(Some((0, 4, 4))), 50 + (50 + 76 - 100) / 2);
    }

    #[test]
    fn pods_that_request_nothing_that_counts_are_skipped() {
        let specs = default_resources();
        assert!(is_skipped(&pod().requests(&[]), &specs));
        assert!(is_skipped(&pod().requests(&[("cpu", "0")]), &specs));
        assert!(is_skipped(&pod().requests(&[("example.com/gpu", "1")]), &specs));
        assert!(!is_skipped(&pod().requests(&[("memory", "1")]), &specs));
        let mut overhead_only = pod().requests(&[]);
        overhead_only.overhead = resources(&[("cpu", "1m")]);
        assert!(!is_skipped(&overhead_only, &specs));
        let mut pod_level = pod().requests(&[]);
        pod_level.pod_requests = Some(resources(&[("cpu", "1")]));
        assert!(!is_skipped(&pod_level, &specs));
    }
}
