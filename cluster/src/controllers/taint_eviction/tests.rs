//! Which pods are evicted, and when: KEP-2358's scenarios and the taint manager's.

use schedlab_core::input::{NodeAffinityInput, TolerationInput};
use schedlab_testkit::input::{bare_node, label_pairs, node_term, requirement, taint};

use super::*;
use crate::EmbeddedCluster;

const SECOND: u64 = 1_000_000_000;

/// A shard with a clock, one node `n` and pods by number.
struct Lab {
    shard: TaintEviction,
    api: EmbeddedCluster,
    now_ns: u64,
}

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            shard: TaintEviction::with_mutants(ControllerMutants::default()),
            api: EmbeddedCluster::new(Arc::new(|| 0)),
            now_ns: 0,
        }
    }
}

fn name(index: u32) -> NodeNameId {
    NodeNameId::from_index(index)
}

fn tainted(labels: &[(&str, &str)], taints: &[(&str, &str)]) -> NodeInput {
    let taints = taints.iter().map(|(key, effect)| taint(key, "", effect)).collect();
    NodeInput { labels: label_pairs(labels), taints, ..bare_node("n") }
}

/// A pod that asks for `key operator value` while it runs.
fn bound_to(key: &str, operator: &str, value: &str) -> PodInput {
    let values: &[&str] = if value.is_empty() { &[] } else { &[value] };
    let terms = vec![node_term(&[requirement(key, operator, values)])];
    let affinity =
        NodeAffinityInput { required_during_execution: Some(terms), ..NodeAffinityInput::default() };
    PodInput { node_affinity: Some(affinity), ..PodInput::default() }
}

fn tolerating(list: &[(&str, Option<i64>)]) -> PodInput {
    let toleration = |&(key, seconds): &(&str, Option<i64>)| TolerationInput {
        key: key.to_owned(),
        operator: "Exists".to_owned(),
        effect: "NoExecute".to_owned(),
        seconds,
        ..TolerationInput::default()
    };
    PodInput { tolerations: list.iter().map(toleration).collect(), ..PodInput::default() }
}

impl Lab {
    fn node(&mut self, labels: &[(&str, &str)], taints: &[(&str, &str)]) {
        self.shard.on_node(name(0), &tainted(labels, taints), self.now_ns);
    }

    fn pod(&mut self, uid: u64, input: &PodInput) {
        let spec = (SpecId(u32::try_from(uid).expect("small")), || Arc::new(input.clone()));
        self.shard.on_pod(PodUid(uid), name(0), spec, self.now_ns);
    }

    /// The calls that are wanted now.
    fn calls(&mut self) -> Vec<ControllerCall> {
        let mut calls = Vec::new();
        self.shard.take_calls(ControllerContext::new(&self.api, self.now_ns), &mut calls);
        calls
    }

    fn answer(&mut self, call: &ControllerCall, answer: &Result<ControllerAnswer, ApiError>) {
        self.shard.on_answer(call.token, answer, ControllerContext::new(&self.api, self.now_ns));
    }

    /// The pods that are evicted now; every call succeeds.
    fn evicted(&mut self) -> Vec<(u64, Cause)> {
        let mut evicted = Vec::new();
        loop {
            let calls = self.calls();
            if calls.is_empty() {
                return evicted;
            }
            for call in &calls {
                if let ControllerRequest::DeletePod(pod) = call.request {
                    evicted.push((pod.0, self.shard.calls[&pod].1.cause));
                }
                self.answer(call, &Ok(ControllerAnswer::Done));
            }
        }
    }

    fn later_ns(&mut self, ns: u64) {
        self.now_ns += ns;
        self.shard.advance(ControllerContext::new(&self.api, self.now_ns));
    }

    fn later(&mut self, seconds: u64) {
        self.later_ns(seconds * SECOND);
    }
}

#[test]
fn removed_label_evicts_pods_whose_execution_terms_need_it() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache"), ("disk", "ssd")], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.pod(2, &bound_to("disk", "In", "ssd"));
    lab.pod(3, &PodInput::default());
    assert_eq!(lab.evicted(), []);
    lab.node(&[("disk", "ssd")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
    assert_eq!(lab.shard.counts.evicted_by_affinity, 1);
}

#[test]
fn label_below_gt_bound_evicts_pods_that_need_more() {
    let mut lab = Lab::default();
    lab.node(&[("available-disk-gb", "100")], &[]);
    lab.pod(1, &bound_to("available-disk-gb", "Gt", "20"));
    lab.pod(2, &bound_to("available-disk-gb", "Gt", "10"));
    lab.node(&[("available-disk-gb", "15")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn ignored_during_execution_term_evicts_no_pod() {
    let mut input = bound_to("app", "In", "cache");
    let affinity = input.node_affinity.as_mut().expect("it has one");
    affinity.required = affinity.required_during_execution.take();
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.pod(1, &input);
    lab.node(&[], &[]);
    assert_eq!(lab.evicted(), []);
}

#[test]
fn node_update_checks_its_own_pods_only_if_labels_or_taints_changed() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.shard.on_node(name(1), &tainted(&[("app", "cache")], &[]), 0);
    for uid in 1..=3 {
        lab.pod(uid, &bound_to("app", "In", "cache"));
    }
    for uid in 11..=30 {
        let input = bound_to("app", "In", "cache");
        lab.shard.on_pod(PodUid(uid), name(1), (SpecId(9), || Arc::new(input.clone())), 0);
    }
    let before = lab.shard.counts;
    assert_eq!((before.nodes_updated, before.pods_checked), (2, 23), "each pod once, as it came");
    lab.node(&[("app", "cache")], &[]);
    assert_eq!(lab.shard.counts, before, "a heartbeat is no work");
    lab.node(&[("app", "cache"), ("x", "y")], &[]);
    let after = lab.shard.counts;
    assert_eq!((after.nodes_updated, after.pods_checked), (3, 26), "three pods more");
}

#[test]
fn pod_bound_to_node_that_changed_meanwhile_is_evicted() {
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn pods_listed_before_their_node_are_checked_when_it_comes() {
    let mut lab = Lab::default();
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.pod(2, &bound_to("app", "Exists", ""));
    assert_eq!(lab.evicted(), [], "nothing is known of the node");
    lab.node(&[("app", "web")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn leaving_pod_is_not_evicted_twice() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.node(&[], &[]);
    lab.node(&[("x", "y")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)], "one eviction for two updates");
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    assert_eq!(lab.evicted(), [], "the tombstone stands");
    lab.shard.on_pod_gone(PodUid(1));
    lab.shard.on_pod_gone(PodUid(1));
    lab.pod(1, &bound_to("app", "In", "cache"));
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)], "the name came back");
}

#[test]
fn recreated_node_is_compared_with_its_pods_anew() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.shard.on_node_gone(name(0));
    assert_eq!(lab.evicted(), [], "pods of a missing node are not ours to judge");
    lab.node(&[], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn refused_eviction_is_tried_five_times_10_ms_apart() {
    let conflict = Err(ApiError::conflict("pods", "p", "busy"));
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    for attempt in 1..=5 {
        let calls = lab.calls();
        assert_eq!(calls.len(), 1, "try {attempt}");
        // The condition is refused, or the deletion behind it.
        if attempt % 2 == 0 {
            lab.answer(&calls[0], &Ok(ControllerAnswer::Version(7)));
            let deletion = lab.calls();
            assert!(matches!(deletion[0].request, ControllerRequest::DeletePod(PodUid(1))));
            lab.answer(&deletion[0], &conflict);
        } else {
            lab.answer(&calls[0], &conflict);
        }
        let is_last = attempt == 5;
        assert_eq!(lab.shard.remaining() == Remaining::Work, !is_last);
        lab.later_ns(RETRY_AFTER_NS - 1);
        assert!(lab.calls().is_empty(), "not yet");
        lab.later_ns(1);
    }
    assert!(lab.calls().is_empty(), "given up");
    let counts = lab.shard.counts;
    assert_eq!((counts.retried, counts.failed, counts.evicted_by_affinity), (4, 1, 0));
    lab.node(&[("x", "y")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)], "the next update is a new chance");
}

#[test]
fn eviction_of_pod_that_is_gone_already_is_not_tried_again() {
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    let calls = lab.calls();
    lab.answer(&calls[0], &Err(ApiError::not_found("pods", "p")));
    let counts = lab.shard.counts;
    assert_eq!((counts.already_gone, counts.retried, counts.evicted_by_affinity), (1, 0, 0));
    assert_eq!(lab.shard.remaining(), Remaining::Nothing);
}

#[test]
fn eviction_is_counted_when_the_watch_is_faster_than_the_answer() {
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    let condition = lab.calls();
    lab.answer(&condition[0], &Ok(ControllerAnswer::Version(7)));
    let deletion = lab.calls();
    lab.shard.on_pod_gone(PodUid(1));
    assert_eq!(lab.shard.remaining(), Remaining::Work, "an answer is to come");
    lab.answer(&deletion[0], &Ok(ControllerAnswer::Done));
    assert_eq!(lab.shard.counts.evicted_by_affinity, 1);
    assert_eq!(lab.shard.remaining(), Remaining::Nothing);
}

#[test]
fn disruption_target_condition_is_written_before_the_pod_is_deleted() {
    for (input, taints, reason) in [
        (bound_to("app", "In", "cache"), vec![], "DeletionByNodeAffinityManager"),
        (PodInput::default(), vec![("gpu", "NoExecute")], "DeletionByTaintManager"),
    ] {
        let mut lab = Lab::default();
        lab.node(&[], &taints);
        lab.pod(1, &input);
        let calls = lab.calls();
        let [ControllerCall { request: ControllerRequest::PatchPodStatus { condition, .. }, .. }] = &*calls
        else {
            panic!("{calls:?}");
        };
        let condition = condition.as_ref().expect("it sets one");
        assert_eq!((&*condition.type_, condition.status), ("DisruptionTarget", ConditionStatus::True));
        assert_eq!(condition.reason, reason);
    }
}

#[test]
fn added_toleration_is_seen_and_removed_pods_leave_nothing_behind() {
    let mut lab = Lab::default();
    lab.node(&[], &[("gpu", "NoExecute")]);
    lab.pod(1, &tolerating(&[("gpu", Some(30))]));
    let forever = tolerating(&[("gpu", None)]);
    lab.shard.on_pod(PodUid(1), name(0), (SpecId(99), || Arc::new(forever)), lab.now_ns);
    assert_eq!(lab.shard.counts.reprieved, 1);
    lab.pod(2, &tolerating(&[("gpu", Some(30))]));
    assert_eq!(lab.shard.remaining(), Remaining::Timers);
    lab.shard.on_pod_gone(PodUid(2));
    assert_eq!((lab.shard.remaining(), lab.shard.next_wake_ns()), (Remaining::Nothing, None));
}

#[test]
fn no_execute_taints_evict_by_toleration_seconds() {
    let taint = ("gpu", "NoExecute");
    let cases = [
        ("not tolerated", PodInput::default(), vec![taint], Some(0)),
        ("tolerated for ever", tolerating(&[("gpu", None)]), vec![taint], None),
        ("tolerated for a while", tolerating(&[("gpu", Some(30))]), vec![taint], Some(30)),
        ("tolerated for no time", tolerating(&[("gpu", Some(0))]), vec![taint], Some(0)),
        ("tolerated for less than no time", tolerating(&[("gpu", Some(-1))]), vec![taint], Some(0)),
        (
            "the least time of all taints counts",
            tolerating(&[("gpu", Some(60)), ("disk", Some(20))]),
            vec![taint, ("disk", "NoExecute")],
            Some(20),
        ),
        (
            "one of two not tolerated",
            tolerating(&[("gpu", None)]),
            vec![taint, ("disk", "NoExecute")],
            Some(0),
        ),
        ("another effect", PodInput::default(), vec![("gpu", "NoSchedule")], None),
    ];
    for (name, input, taints, leaves_after_s) in cases {
        let mut lab = Lab::default();
        lab.node(&[], &[]);
        lab.pod(1, &input);
        lab.node(&[], &taints);
        match leaves_after_s {
            None => {
                lab.later(1_000_000);
                assert_eq!(lab.evicted(), [], "case: {name}");
            }
            Some(0) => assert_eq!(lab.evicted(), [(1, Cause::Taint)], "case: {name}"),
            Some(seconds) => {
                lab.later(seconds - 1);
                assert_eq!(lab.evicted(), [], "case: {name}, a second early");
                lab.later(1);
                assert_eq!(lab.evicted(), [(1, Cause::Taint)], "case: {name}");
            }
        }
    }
}

#[test]
fn removed_taint_cancels_eviction_and_another_taint_does_not_prolong_it() {
    let mut lab = Lab::default();
    lab.node(&[], &[("gpu", "NoExecute")]);
    lab.pod(1, &tolerating(&[("gpu", Some(30)), ("disk", Some(300))]));
    lab.later(20);
    lab.node(&[], &[]);
    lab.later(100);
    assert_eq!(lab.evicted(), []);
    assert_eq!(lab.shard.counts.reprieved, 1);
    lab.node(&[], &[("gpu", "NoExecute")]);
    lab.later(20);
    lab.node(&[], &[("disk", "NoExecute")]);
    lab.later(10);
    assert_eq!(lab.evicted(), [(1, Cause::Taint)], "thirty seconds after the first");
}

#[test]
fn node_affinity_eviction_does_not_wait_for_toleration_seconds() {
    let mut input = bound_to("app", "In", "cache");
    input.tolerations = tolerating(&[("gpu", Some(30))]).tolerations;
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[("gpu", "NoExecute")]);
    lab.pod(1, &input);
    lab.node(&[], &[("gpu", "NoExecute")]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
    lab.later(100);
    assert_eq!(lab.evicted(), []);
}
