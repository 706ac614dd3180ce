//! Who has to go, and when: KEP-2358's scenarios and the taint manager's.

use schedlab_core::input::{
    NodeAffinityInput, NodeSelectorTermInput, RequirementInput, TaintInput, TolerationInput,
};

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A shard with a clock, one node `n` and pods by number.
#[derive(Default)]
struct Lab {
    shard: Shard,
    now_ns: u64,
}

fn name(index: u32) -> NodeNameId {
    NodeNameId::from_index(index)
}

fn node(labels: &[(&str, &str)], taints: &[(&str, &str)]) -> NodeInput {
    NodeInput {
        name: "n".to_owned(),
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        taints: taints
            .iter()
            .map(|(key, effect)| TaintInput {
                key: (*key).to_owned(),
                value: String::new(),
                effect: (*effect).to_owned(),
            })
            .collect(),
        ..NodeInput::default()
    }
}

/// A pod that asks for `key operator value` while it runs.
fn bound_to(key: &str, operator: &str, value: &str) -> PodInput {
    let requirement = RequirementInput {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: (!value.is_empty()).then(|| value.to_owned()).into_iter().collect(),
    };
    let term = NodeSelectorTermInput { match_expressions: vec![requirement], match_fields: Vec::new() };
    let affinity =
        NodeAffinityInput { required_during_execution: Some(vec![term]), ..NodeAffinityInput::default() };
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
        self.shard.on_node(name(0), &node(labels, taints), self.now_ns);
    }

    fn pod(&mut self, uid: u64, input: &PodInput) {
        let spec = (SpecId(u32::try_from(uid).expect("small")), || Arc::new(input.clone()));
        self.shard.on_pod(PodUid(uid), name(0), spec, self.now_ns);
    }

    /// Who is to be evicted now; every eviction succeeds.
    fn evicted(&mut self) -> Vec<(u64, Cause)> {
        let evictions = self.shard.take_evictions();
        for eviction in &evictions {
            self.shard.on_answer(eviction.pod, &Ok(()), self.now_ns);
        }
        evictions.iter().map(|eviction| (eviction.pod.0, eviction.cause)).collect()
    }

    fn later(&mut self, seconds: u64) {
        self.now_ns += seconds * SECOND;
        self.shard.advance(self.now_ns);
    }
}

#[test]
fn removing_a_label_evicts_the_pods_that_ask_for_it_and_no_others() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache"), ("disk", "ssd")], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.pod(2, &bound_to("disk", "In", "ssd"));
    lab.pod(3, &PodInput::default());
    assert_eq!(lab.evicted(), []);
    lab.node(&[("disk", "ssd")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
    assert_eq!(lab.shard.counts().evicted_by_affinity, 1);
}

#[test]
fn a_label_that_falls_below_a_bound_evicts_those_who_need_more() {
    let mut lab = Lab::default();
    lab.node(&[("available-disk-gb", "100")], &[]);
    lab.pod(1, &bound_to("available-disk-gb", "Gt", "20"));
    lab.pod(2, &bound_to("available-disk-gb", "Gt", "10"));
    lab.node(&[("available-disk-gb", "15")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn the_term_that_is_ignored_during_execution_evicts_nobody() {
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
fn an_update_costs_the_pods_of_its_node_and_only_if_labels_or_taints_changed() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.shard.on_node(name(1), &node(&[("app", "cache")], &[]), 0);
    for uid in 1..=3 {
        lab.pod(uid, &bound_to("app", "In", "cache"));
    }
    for uid in 11..=30 {
        let input = bound_to("app", "In", "cache");
        lab.shard.on_pod(PodUid(uid), name(1), (SpecId(9), || Arc::new(input.clone())), 0);
    }
    let before = lab.shard.counts();
    assert_eq!((before.nodes_updated, before.pods_checked), (2, 23), "each pod once, as it came");
    lab.node(&[("app", "cache")], &[]);
    assert_eq!(lab.shard.counts(), before, "a heartbeat is no work");
    lab.node(&[("app", "cache"), ("x", "y")], &[]);
    let after = lab.shard.counts();
    assert_eq!((after.nodes_updated, after.pods_checked), (3, 26), "three pods more");
}

#[test]
fn a_pod_that_comes_to_a_node_that_changed_meanwhile_is_evicted() {
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn pods_are_heard_of_before_their_node_after_a_restart() {
    let mut lab = Lab::default();
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.pod(2, &bound_to("app", "Exists", ""));
    assert_eq!(lab.evicted(), [], "nothing is known of the node");
    lab.node(&[("app", "web")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn a_pod_is_evicted_once_whatever_is_heard_until_it_is_gone() {
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
fn a_node_that_goes_and_comes_back_is_compared_anew() {
    let mut lab = Lab::default();
    lab.node(&[("app", "cache")], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.shard.on_node_gone(name(0));
    assert_eq!(lab.evicted(), [], "pods of a missing node are not ours to judge");
    lab.node(&[], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)]);
}

#[test]
fn an_eviction_that_fails_is_tried_again_and_given_up_in_the_end() {
    let conflict = || Err(ApiError::conflict("pods", "p", "busy"));
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    for attempt in 1..=5 {
        let evictions = lab.shard.take_evictions();
        assert_eq!(evictions.len(), 1, "try {attempt}");
        lab.shard.on_answer(PodUid(1), &conflict(), lab.now_ns);
        assert!(lab.shard.take_evictions().is_empty(), "not at once");
        lab.now_ns += RETRY_AFTER_NS;
        lab.shard.advance(lab.now_ns);
    }
    assert!(lab.shard.take_evictions().is_empty(), "given up");
    let counts = lab.shard.counts();
    assert_eq!((counts.retried, counts.failed, counts.evicted()), (4, 1, 0));
    lab.node(&[("x", "y")], &[]);
    assert_eq!(lab.evicted(), [(1, Cause::Affinity)], "the next update is a new chance");
}

#[test]
fn a_pod_that_is_gone_already_is_counted_as_such() {
    let mut lab = Lab::default();
    lab.node(&[], &[]);
    lab.pod(1, &bound_to("app", "In", "cache"));
    lab.shard.take_evictions();
    lab.shard.on_answer(PodUid(1), &Err(ApiError::not_found("pods", "p")), 0);
    let counts = lab.shard.counts();
    assert_eq!((counts.already_gone, counts.retried, counts.evicted()), (1, 0, 0));
}

#[test]
fn taints_evict_as_tolerations_say() {
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
fn a_taint_that_goes_in_time_saves_the_pod_and_another_does_not_prolong_it() {
    let mut lab = Lab::default();
    lab.node(&[], &[("gpu", "NoExecute")]);
    lab.pod(1, &tolerating(&[("gpu", Some(30)), ("disk", Some(300))]));
    lab.later(20);
    lab.node(&[], &[]);
    lab.later(100);
    assert_eq!(lab.evicted(), []);
    assert_eq!(lab.shard.counts().reprieved, 1);
    lab.node(&[], &[("gpu", "NoExecute")]);
    lab.later(20);
    lab.node(&[], &[("disk", "NoExecute")]);
    lab.later(10);
    assert_eq!(lab.evicted(), [(1, Cause::Taint)], "thirty seconds after the first");
}

#[test]
fn affinity_does_not_wait_for_a_toleration() {
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
