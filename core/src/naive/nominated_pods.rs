//! Nominated pods: room that was made for other pods is not given away.
//!
//! Upstream: framework/runtime/framework.go `RunFilterPluginsWithNominatedPods`.

use super::schedule::{FilterState, Search, all_rejections};
use super::{NaiveCluster, NaiveNode, NaivePod, NaiveVerdict};

/// The other pods nominated to a node that the pod must leave room for: those of no lower priority.
#[must_use]
pub fn nominated_before<'a>(cluster: &'a NaiveCluster, pod: &NaivePod, node: &str) -> Vec<&'a NaivePod> {
    cluster
        .nominated
        .iter()
        .filter(|other| other.meta.nominated_node_name.as_deref() == Some(node))
        .filter(|other| other.priority >= pod.priority && !other.is_same(pod))
        .collect()
}

/// The first rejection of a node: with the nominated pods on it, else without them. Without them,
/// because affinity may be to a nominated pod, and that may yet go elsewhere.
#[must_use]
pub fn rejection(search: &Search<'_>, state: &FilterState, node: &NaiveNode) -> Option<NaiveVerdict> {
    first_rejection(search, state, node, &search.profile.filter_plugins)
}

/// The same, by some of the plugins only.
#[must_use]
pub fn first_rejection(
    search: &Search<'_>,
    state: &FilterState,
    node: &NaiveNode,
    plugins: &[&'static str],
) -> Option<NaiveVerdict> {
    let Search { profile, cluster, pod, skip, .. } = search;
    let first = |state: &FilterState, node: &NaiveNode| {
        let rejections = all_rejections(profile, cluster, pod, state, node, skip);
        rejections.into_iter().find(|verdict| plugins.contains(&verdict.plugin))
    };
    let nominated = nominated_before(cluster, pod, &node.input.name);
    if nominated.is_empty() {
        return first(state, node);
    }
    let (mut full_state, mut full_node) = (state.clone(), node.clone());
    for other in nominated {
        full_state.add_pod(pod, &mut full_node, other);
    }
    first(&full_state, &full_node).or_else(|| first(state, node))
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{NaiveDecision, NaiveProfile, Pick, schedule_pod};
    use super::*;
    use crate::input::PodInput;
    use crate::nominator::TryNominated;
    use crate::testkit::{NodeParts, PodParts, large_node, pod, term};

    fn named(name: &str, nominated: Option<&str>, input: PodInput) -> NaivePod {
        let mut pod = NaivePod::from(input);
        pod.meta.name = name.to_owned();
        pod.meta.nominated_node_name = nominated.map(str::to_owned);
        pod
    }

    /// Nodes a and b of ten cpus.
    fn cluster(nominated: &[NaivePod]) -> NaiveCluster {
        let mut cluster =
            NaiveCluster::new(["a", "b"].map(|name| large_node(name).labels(&format!("node={name}"))));
        cluster.nominated = nominated.to_vec();
        cluster
    }

    fn decide(cluster: &NaiveCluster, pod: &NaivePod) -> NaiveDecision {
        schedule_pod(&NaiveProfile::default(), cluster, pod, 0, Pick::First)
    }

    #[test]
    fn nominated_pods_of_equal_or_higher_priority_reserve() {
        struct Case {
            name: &'static str,
            nominated: NaivePod,
            feasible: &'static [&'static str],
        }
        let reserved = |priority| named("other", Some("a"), pod().cpu("8").priority(priority));
        #[rustfmt::skip]
        let cases = [
            Case { name: "higher priority", nominated: reserved(6), feasible: &["b"] },
            Case { name: "the same priority", nominated: reserved(5), feasible: &["b"] },
            Case { name: "lower priority", nominated: reserved(4), feasible: &["a", "b"] },
            Case { name: "the pod itself", nominated: named("pod", Some("a"), pod().cpu("8").priority(5)), feasible: &["a", "b"] },
            Case { name: "a pod of the same name elsewhere", nominated: named("pod", Some("a"), pod().cpu("8").priority(5).namespaced("other")), feasible: &["b"] },
            Case { name: "nominated to a node that is not there", nominated: named("other", Some("c"), pod().cpu("8").priority(5)), feasible: &["a", "b"] },
        ];
        for case in cases {
            let decision =
                decide(&cluster(&[case.nominated]), &named("pod", None, pod().cpu("4").priority(5)));
            assert_eq!(decision.feasible, case.feasible, "case: {}", case.name);
        }
    }

    #[test]
    fn affinity_is_not_satisfied_by_nominated_pod_alone() {
        let cluster = cluster(&[named("db", Some("a"), pod().labels("app=db"))]);
        let decision = decide(&cluster, &named("pod", None, pod().near(term("node", "app=db"))));
        assert!(decision.feasible.is_empty());
        assert_eq!(decision.rejected["a"].plugin, "InterPodAffinity");
    }

    #[test]
    fn anti_affinity_to_nominated_pod_rejects() {
        let cluster = cluster(&[named("db", Some("a"), pod().labels("app=db"))]);
        let decision = decide(&cluster, &named("pod", None, pod().away(term("node", "app=db"))));
        assert_eq!(decision.feasible, ["b"]);
    }

    /// Upstream does not ask a plugin again whose PreFilter found nothing to do.
    #[test]
    fn anti_affinity_of_nominated_pod_is_ignored_when_pre_filter_skips() {
        let shy = named("db", Some("a"), pod().labels("app=db").away(term("node", "app=web")));
        let decision =
            decide(&cluster(std::slice::from_ref(&shy)), &named("pod", None, pod().labels("app=web")));
        assert_eq!(decision.feasible, ["a", "b"]);
        let mut seen = cluster(std::slice::from_ref(&shy));
        seen.add_pod("b", NaivePod { meta: Default::default(), ..shy });
        let decision = decide(&seen, &named("pod", None, pod().labels("app=web")));
        assert!(decision.feasible.is_empty());
    }

    #[test]
    fn fitting_nominated_node_is_chosen_without_scores() {
        let mut cluster = cluster(&[]);
        cluster.add_pod("b", pod().cpu("5"));
        let on_b = decide(&cluster, &named("pod", Some("b"), pod().cpu("4").priority(5)));
        assert!(on_b.via_nominated);
        assert_eq!(on_b.chosen.as_deref(), Some("b"));
        assert_eq!((on_b.feasible, on_b.next_start), (vec!["b".to_owned()], 0));
    }

    #[test]
    fn nominated_node_is_scored_like_any_other_with_try_nominated_never() {
        let profile = NaiveProfile { try_nominated: TryNominated::Never, ..NaiveProfile::default() };
        let mut cluster = cluster(&[]);
        cluster.add_pod("b", pod().cpu("5"));
        let decision = schedule_pod(
            &profile,
            &cluster,
            &named("pod", Some("b"), pod().cpu("4").priority(5)),
            0,
            Pick::First,
        );
        assert!(!decision.via_nominated);
        assert_eq!(decision.feasible, ["a", "b"]);
        assert_eq!(decision.chosen.as_deref(), Some("a"), "by its scores");
    }

    #[test]
    fn unfit_nominated_node_ends_the_cycle_with_first_or_miss() {
        let profile = NaiveProfile { try_nominated: TryNominated::FirstOrMiss, ..NaiveProfile::default() };
        let mut cluster = cluster(&[]);
        cluster.add_pod("b", pod().cpu("8"));
        for (nominated, misses) in [("b", true), ("gone", true), ("a", false)] {
            let pod = named("pod", Some(nominated), pod().cpu("4").priority(5));
            let decision = schedule_pod(&profile, &cluster, &pod, 0, Pick::First);
            assert_eq!(decision.missed_nominated, misses, "{nominated}");
            assert_eq!(decision.via_nominated, !misses, "{nominated}");
            assert_eq!(decision.next_start, 0);
        }
    }

    #[test]
    fn unfit_nominated_node_falls_through_to_other_nodes() {
        let mut cluster = cluster(&[]);
        cluster.add_pod("b", pod().cpu("8"));
        for nominated in ["b", "gone"] {
            let decision = decide(&cluster, &named("pod", Some(nominated), pod().cpu("4").priority(5)));
            assert!(!decision.via_nominated);
            assert_eq!(decision.chosen.as_deref(), Some("a"));
        }
    }
}
