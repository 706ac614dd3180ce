//! NodeName: a pod that names a node goes there or nowhere.
//!
//! Upstream: plugins/nodename/node_name.go.

use std::collections::BTreeSet;

use super::NAME;
use crate::fake::{self, Feature};
use crate::framework::args::PluginArgs;
use crate::input::PodInput;
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, any_node, no_counts};
use crate::naive::{NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, node),
        benches: || {
            let named = PodInput { node_name: Some("node-000007".to_owned()), ..plain() };
            vec![BenchPod::new("node_name", named).keeping(0..2)]
        },
    }),
    score: None,
    fakes: Fakes {
        node: |_, _| {},
        pod: |_, _| {},
        pending_pod: |rng, pod| {
            if rng.uses(Feature::NodeName) {
                pod.node_name = Some(fake::node_name(rng));
            }
        },
        args: |_| PluginArgs::none(),
    },
    bench_node: any_node,
};

/// Only the named node is looked at.
#[must_use]
pub fn pre_filter(pod: &PodInput) -> NaivePreFilter {
    match wanted(pod) {
        Some(name) => NaivePreFilter::Nodes(BTreeSet::from([name.to_owned()])),
        None => NaivePreFilter::AllNodes,
    }
}

/// Rejects every node but the named one.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    if wanted(pod).is_none_or(|name| name == node.input.name) {
        return None;
    }
    Some(NaiveVerdict::new(
        NAME,
        NaiveCode::UnschedulableAndUnresolvable,
        "node(s) didn't match the requested node name",
    ))
}

fn wanted(pod: &PodInput) -> Option<&str> {
    pod.node_name.as_deref().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{bare_node, empty};

    #[test]
    fn node_name_cases() {
        struct Case {
            name: &'static str,
            wanted: Option<&'static str>,
            is_restricted: bool,
            fits: bool,
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "no node named", wanted: None, is_restricted: false, fits: true },
            Case { name: "an empty name is no name", wanted: Some(""), is_restricted: false, fits: true },
            Case { name: "this node named", wanted: Some("n1"), is_restricted: true, fits: true },
            Case { name: "another node named", wanted: Some("n2"), is_restricted: true, fits: false },
        ];
        for case in &cases {
            let pod = PodInput { node_name: case.wanted.map(str::to_owned), ..Default::default() };
            let expected = match case.wanted {
                Some(name) if case.is_restricted => NaivePreFilter::Nodes(BTreeSet::from([name.to_owned()])),
                _ => NaivePreFilter::AllNodes,
            };
            assert_eq!(pre_filter(&pod), expected, "case: {}", case.name);
            let verdict = filter(&pod, &empty(bare_node("n1")));
            assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
            if let Some(verdict) = verdict {
                assert_eq!(verdict.code, NaiveCode::UnschedulableAndUnresolvable);
            }
        }
    }
}
