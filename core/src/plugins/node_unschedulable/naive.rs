//! NodeUnschedulable: cordoned nodes are only for pods that tolerate the taint of that name.
//!
//! Upstream: plugins/nodeunschedulable/node_unschedulable.go.

use super::NAME;
use crate::fake::Feature;
use crate::framework::args::PluginArgs;
use crate::input::{PodInput, TaintInput, TolerationInput};
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, all_nodes, any_node, no_counts};
use crate::naive::{NaiveCode, NaiveNode, NaiveVerdict};
use crate::plugins::taint_toleration::naive::is_tolerated;

/// The taint that a cordoned node stands for.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: all_nodes,
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, node),
        benches: || vec![BenchPod::new("node_unschedulable", plain())],
    }),
    score: None,
    fakes: Fakes {
        node: |rng, node| node.unschedulable = rng.uses(Feature::Cordons),
        pod: |_, _| {},
        pending_pod: |rng, pod| {
            if rng.uses(Feature::Cordons) {
                pod.tolerations.push(TolerationInput {
                    key: CORDON.to_owned(),
                    operator: "Exists".to_owned(),
                    ..Default::default()
                });
            }
        },
        args: |_| PluginArgs::none(),
    },
    bench_node: any_node,
};

/// Rejects a cordoned node.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let cordon = TaintInput { key: CORDON.to_owned(), value: String::new(), effect: "NoSchedule".to_owned() };
    if !node.input.unschedulable || is_tolerated(&cordon, &pod.tolerations) {
        return None;
    }
    Some(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, "node(s) were unschedulable"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{NodeInput, TolerationInput};
    use crate::testkit::{bare_node, empty, toleration};

    #[test]
    fn node_unschedulable_cases() {
        struct Case {
            name: &'static str,
            unschedulable: bool,
            tolerations: Vec<TolerationInput>,
            fits: bool,
        }
        let key = CORDON;
        #[rustfmt::skip]
        let cases = [
            Case { name: "open node", unschedulable: false, tolerations: vec![], fits: true },
            Case { name: "cordoned node", unschedulable: true, tolerations: vec![], fits: false },
            Case { name: "tolerated by key and effect", unschedulable: true, tolerations: vec![toleration(key, "", "", "NoSchedule")], fits: true },
            Case { name: "tolerated by key", unschedulable: true, tolerations: vec![toleration(key, "Exists", "", "")], fits: true },
            Case { name: "everything tolerated", unschedulable: true, tolerations: vec![toleration("", "Exists", "", "")], fits: true },
            Case { name: "only NoExecute tolerated", unschedulable: true, tolerations: vec![toleration(key, "Exists", "", "NoExecute")], fits: false },
            Case { name: "another key tolerated", unschedulable: true, tolerations: vec![toleration("gpu", "Exists", "", "")], fits: false },
        ];
        for case in cases {
            let node = empty(NodeInput { unschedulable: case.unschedulable, ..bare_node("n") });
            let pod = PodInput { tolerations: case.tolerations, ..Default::default() };
            assert_eq!(filter(&pod, &node).is_none(), case.fits, "case: {}", case.name);
        }
    }
}
