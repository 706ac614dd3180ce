//! TaintToleration: hard taints keep pods away, soft ones cost score.
//!
//! Upstream: plugins/tainttoleration/taint_toleration.go, and api/core/v1 `ToleratesTaint`.

use super::NAME;
use crate::fake::{self, Feature, Rng};
use crate::framework::args::PluginArgs;
use crate::input::{NodeInput, PodInput, TaintInput, TolerationInput};
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{
    Fakes, FilterTwin, PluginTwin, ScoreTwin, all_nodes, always_score, no_counts,
};
use crate::naive::{NaiveCode, NaiveNode, NaiveVerdict, normalize_reversed};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: all_nodes,
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, node),
        benches: || vec![BenchPod::new("taint_toleration", plain())],
    }),
    score: Some(ScoreTwin {
        pre_score: always_score,
        score: |asked, _, node| score(asked.pod, node),
        normalize: |_, _, raw| normalize_reversed(raw),
        benches: || vec![BenchPod::new("taint_toleration", plain())],
    }),
    fakes: Fakes {
        node: fake_node,
        pod: |_, _| {},
        pending_pod: fake_pending_pod,
        args: |_| PluginArgs::none(),
    },
    bench_node: |number, node| {
        if number.is_multiple_of(9) {
            let (key, effect) = ("busy".to_owned(), "PreferNoSchedule".to_owned());
            node.taints.push(TaintInput { key, value: String::new(), effect });
        }
    },
};

fn fake_node(rng: &mut Rng, node: &mut NodeInput) {
    if rng.uses(Feature::Taints) {
        node.taints = (0..rng.range(1..=3)).map(|_| fake::taint(rng)).collect();
    }
}

fn fake_pending_pod(rng: &mut Rng, pod: &mut PodInput) {
    if rng.uses(Feature::Taints) {
        let count = rng.range(1..=3);
        pod.tolerations.extend((0..count).map(|_| fake::toleration(rng)));
    }
}

/// Rejects a node with a hard taint that the pod does not tolerate.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    (!is_admitted(pod, &node.input)).then(|| {
        NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)")
    })
}

/// Whether the pod tolerates every hard taint of the node.
#[must_use]
pub fn is_admitted(pod: &PodInput, node: &NodeInput) -> bool {
    let is_hard = |taint: &&TaintInput| taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    node.taints.iter().filter(is_hard).all(|taint| is_tolerated(taint, &pod.tolerations))
}

/// How many soft taints the pod does not tolerate: fewer is better. Only tolerations for soft
/// taints, or for all effects, count.
#[must_use]
pub fn score(pod: &PodInput, node: &NaiveNode) -> i64 {
    let soft_tolerations: Vec<TolerationInput> = pod
        .tolerations
        .iter()
        .filter(|toleration| toleration.effect.is_empty() || toleration.effect == "PreferNoSchedule")
        .cloned()
        .collect();
    node.input
        .taints
        .iter()
        .filter(|taint| taint.effect == "PreferNoSchedule")
        .filter(|taint| !is_tolerated(taint, &soft_tolerations))
        .count() as i64
}

/// Whether any toleration covers the taint.
#[must_use]
pub fn is_tolerated(taint: &TaintInput, tolerations: &[TolerationInput]) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

fn tolerates(toleration: &TolerationInput, taint: &TaintInput) -> bool {
    let effect_fits = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key_fits = toleration.key.is_empty() || toleration.key == taint.key;
    let value_fits = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        // `Lt` and `Gt` belong to a gate that is off; the rest is unknown.
        _ => false,
    };
    effect_fits && key_fits && value_fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::normalize_reversed;
    use crate::testkit::{bare_node, empty, taint, toleration};

    fn tainted(taints: Vec<TaintInput>) -> NaiveNode {
        empty(NodeInput { taints, ..bare_node("n") })
    }

    fn tolerant(tolerations: Vec<TolerationInput>) -> PodInput {
        PodInput { tolerations, ..Default::default() }
    }

    #[test]
    fn filter_cases() {
        struct Case {
            name: &'static str,
            taints: Vec<TaintInput>,
            tolerations: Vec<TolerationInput>,
            fits: bool,
        }
        let team = |effect| vec![taint("team", "red", effect)];
        #[rustfmt::skip]
        let cases = [
            Case { name: "no taints", taints: vec![], tolerations: vec![], fits: true },
            Case { name: "no tolerations", taints: team("NoSchedule"), tolerations: vec![], fits: false },
            Case { name: "same key, value and effect", taints: team("NoSchedule"), tolerations: vec![toleration("team", "Equal", "red", "NoSchedule")], fits: true },
            Case { name: "no operator means Equal", taints: team("NoSchedule"), tolerations: vec![toleration("team", "", "red", "NoSchedule")], fits: true },
            Case { name: "another value", taints: team("NoSchedule"), tolerations: vec![toleration("team", "Equal", "blue", "NoSchedule")], fits: false },
            Case { name: "another key", taints: team("NoSchedule"), tolerations: vec![toleration("crew", "Equal", "red", "NoSchedule")], fits: false },
            Case { name: "another effect", taints: team("NoSchedule"), tolerations: vec![toleration("team", "Equal", "red", "NoExecute")], fits: false },
            Case { name: "no effect means all", taints: team("NoExecute"), tolerations: vec![toleration("team", "Equal", "red", "")], fits: true },
            Case { name: "Exists takes any value", taints: team("NoSchedule"), tolerations: vec![toleration("team", "Exists", "", "NoSchedule")], fits: true },
            Case { name: "Exists without a key takes all", taints: team("NoExecute"), tolerations: vec![toleration("", "Exists", "", "")], fits: true },
            Case { name: "Equal without a key compares the value only", taints: team("NoSchedule"), tolerations: vec![toleration("", "Equal", "red", "")], fits: true },
            Case { name: "Equal without a key, another value", taints: team("NoSchedule"), tolerations: vec![toleration("", "Equal", "", "")], fits: false },
            Case { name: "NoExecute keeps away too", taints: team("NoExecute"), tolerations: vec![], fits: false },
            Case { name: "a soft taint does not", taints: team("PreferNoSchedule"), tolerations: vec![], fits: true },
            Case { name: "an unknown effect does not", taints: team("Sometimes"), tolerations: vec![], fits: true },
            Case { name: "Gt is not honoured", taints: vec![taint("level", "9", "NoSchedule")], tolerations: vec![toleration("level", "Gt", "5", "NoSchedule")], fits: false },
            Case { name: "Lt is not honoured", taints: vec![taint("level", "1", "NoSchedule")], tolerations: vec![toleration("level", "Lt", "5", "NoSchedule")], fits: false },
            Case { name: "Equal beside Gt is", taints: vec![taint("level", "9", "NoSchedule")], tolerations: vec![toleration("level", "Gt", "5", ""), toleration("level", "Equal", "9", "")], fits: true },
            Case {
                name: "all of several taints tolerated",
                taints: vec![taint("team", "red", "NoSchedule"), taint("gpu", "", "NoExecute")],
                tolerations: vec![toleration("gpu", "Exists", "", ""), toleration("team", "Equal", "red", "NoSchedule")],
                fits: true,
            },
            Case {
                name: "one of several not tolerated",
                taints: vec![taint("team", "red", "NoSchedule"), taint("gpu", "", "NoExecute")],
                tolerations: vec![toleration("team", "Equal", "red", "NoSchedule")],
                fits: false,
            },
        ];
        for case in cases {
            let verdict = filter(&tolerant(case.tolerations), &tainted(case.taints));
            assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
        }
    }

    #[test]
    fn score_cases() {
        struct Case {
            name: &'static str,
            tolerations: Vec<TolerationInput>,
            /// Per node.
            taints: Vec<Vec<TaintInput>>,
            scores: &'static [i64],
        }
        let soft = |key| taint(key, "x", "PreferNoSchedule");
        #[rustfmt::skip]
        let cases = [
            Case {
                name: "a tolerated soft taint costs nothing",
                tolerations: vec![toleration("a", "Equal", "x", "PreferNoSchedule")],
                taints: vec![vec![soft("a")], vec![soft("b")]],
                scores: &[100, 0],
            },
            Case {
                name: "however many are tolerated",
                tolerations: vec![toleration("a", "Equal", "x", ""), toleration("b", "Exists", "", "PreferNoSchedule")],
                taints: vec![vec![], vec![soft("a")], vec![soft("a"), soft("b")]],
                scores: &[100, 100, 100],
            },
            Case {
                name: "the more, the lower",
                tolerations: vec![toleration("a", "Equal", "x", "")],
                taints: vec![vec![], vec![soft("b")], vec![soft("b"), soft("c")], vec![soft("a"), soft("c")]],
                scores: &[100, 50, 0, 50],
            },
            Case {
                name: "hard taints, and tolerations of them, do not matter",
                tolerations: vec![toleration("a", "Equal", "x", "NoSchedule"), toleration("b", "Exists", "", "NoExecute")],
                taints: vec![vec![], vec![taint("a", "x", "NoSchedule"), taint("b", "x", "NoExecute")], vec![soft("a"), soft("b")]],
                scores: &[100, 100, 0],
            },
            Case {
                name: "no tolerations: the clean node",
                tolerations: vec![],
                taints: vec![vec![], vec![soft("a")]],
                scores: &[100, 0],
            },
        ];
        for case in cases {
            let pod = tolerant(case.tolerations);
            let raw: Vec<i64> = case.taints.into_iter().map(|taints| score(&pod, &tainted(taints))).collect();
            assert_eq!(normalize_reversed(&raw), case.scores, "case: {}", case.name);
        }
    }
}
