//! Cases of DefaultPreemption: a cluster, a pod that fits nowhere, and who would have to go.

use super::super::schedule::{NaiveProfile, Pick, schedule_pod};
use super::super::{NaiveCluster, NaivePod};
use super::{NaivePreemption, NaivePreemptionArgs, preempt};
use crate::input::{DisruptionBudgetInput, NodeInput, PodInput, PreemptionPolicy};
use crate::testkit::{NodeParts, PodParts, hard, labels, large_node, pod, selector, term};

/// Candidates as (node, victims, violations).
pub type Candidates = &'static [(&'static str, &'static [&'static str], usize)];

/// One pod that looks for room.
#[derive(Clone, Debug)]
pub struct PreemptionCase {
    /// What it is about.
    pub name: &'static str,
    /// Nodes, pods on them, nominated pods and budgets.
    pub cluster: NaiveCluster,
    /// The pod.
    pub pod: NaivePod,
    /// How many candidates to find.
    pub args: NaivePreemptionArgs,
    /// Where the search begins.
    pub offset: usize,
    /// Why it may not preempt.
    pub ineligible: Option<&'static str>,
    /// Nodes that evictions help.
    pub candidates: Candidates,
    /// Potential nodes that evictions do not help, as (node, reason).
    pub failed: &'static [(&'static str, &'static str)],
    /// The best candidates.
    pub best: &'static [&'static str],
    /// Pods that lose their nomination.
    pub cleared: &'static [&'static str],
}

/// How the plain twin answers.
#[must_use]
pub fn naive_answer(case: &PreemptionCase) -> NaivePreemption {
    let profile = NaiveProfile { percentage_of_nodes_to_score: 100, ..NaiveProfile::default() };
    let decision = schedule_pod(&profile, &case.cluster, &case.pod, 0, Pick::First);
    preempt(&profile, &case.args, &case.cluster, &case.pod, &decision, case.offset)
}

/// Asks for the answer to every case.
///
/// # Panics
///
/// When an answer is not the expected one, with the name of the case.
pub fn check(cases: Vec<PreemptionCase>, answer: impl Fn(&PreemptionCase) -> NaivePreemption) {
    for case in cases {
        let found = answer(&case);
        let name = case.name;
        assert_eq!(found.ineligible, case.ineligible, "eligible, case: {name}");
        let candidates: Vec<(&str, Vec<&str>, usize)> = found
            .candidates
            .iter()
            .map(|it| {
                let victims = it.victims.iter().map(|victim| victim.meta.name.as_str()).collect();
                (it.node.as_str(), victims, it.violations)
            })
            .collect();
        let expected: Vec<(&str, Vec<&str>, usize)> =
            case.candidates.iter().map(|(node, victims, count)| (*node, victims.to_vec(), *count)).collect();
        assert_eq!(candidates, expected, "candidates, case: {name}");
        let failed: Vec<(&str, String)> =
            found.failed.iter().map(|(node, verdict)| (node.as_str(), verdict.reasons.join(", "))).collect();
        let expected: Vec<(&str, String)> =
            case.failed.iter().map(|(node, reason)| (*node, (*reason).to_owned())).collect();
        assert_eq!(failed, expected, "failed, case: {name}");
        assert_eq!(found.best, case.best, "best, case: {name}");
        assert_eq!(found.nominations_cleared, case.cleared, "nominations cleared, case: {name}");
    }
}

/// Nodes of ten cpus in two zones.
fn nodes(names: &[&str]) -> Vec<NodeInput> {
    names
        .iter()
        .enumerate()
        .map(|(at, name)| large_node(name).labels(&format!("node={name} zone=z{}", at % 2 + 1)))
        .collect()
}

/// A pod that starts at a second.
fn named(name: &str, start_s: i64, input: PodInput) -> NaivePod {
    let mut pod = NaivePod::from(input);
    pod.meta.name = name.to_owned();
    pod.meta.start_time_s = Some(start_s);
    pod
}

/// A case about a pod on these nodes, with bound pods as (name, node, pod), in the order they
/// started.
fn case(
    name: &'static str,
    names: &[&str],
    pod: PodInput,
    pods: &[(&str, &str, PodInput)],
) -> PreemptionCase {
    let mut cluster = NaiveCluster::new(nodes(names));
    for (start_s, (name, node, input)) in (1..).zip(pods) {
        cluster.add_pod(node, named(name, start_s, input.clone()));
    }
    let mut pod = named("pod", 0, pod);
    pod.meta.start_time_s = None;
    PreemptionCase {
        name,
        cluster,
        pod,
        args: NaivePreemptionArgs::default(),
        offset: 0,
        ineligible: None,
        candidates: &[],
        failed: &[],
        best: &[],
        cleared: &[],
    }
}

fn budget(text: &str, disruptions_allowed: i32) -> DisruptionBudgetInput {
    DisruptionBudgetInput {
        namespace: "default".to_owned(),
        name: "budget".to_owned(),
        selector: selector(text),
        disruptions_allowed,
        ..Default::default()
    }
}

impl PreemptionCase {
    fn finds(self, candidates: Candidates, best: &'static [&'static str]) -> PreemptionCase {
        PreemptionCase { candidates, best, ..self }
    }

    fn fails(self, failed: &'static [(&'static str, &'static str)]) -> PreemptionCase {
        PreemptionCase { failed, ..self }
    }

    fn protecting(mut self, budget: DisruptionBudgetInput) -> PreemptionCase {
        self.cluster.budgets.push(budget);
        self
    }

    fn nominating(mut self, name: &str, node: &str, pod: PodInput) -> PreemptionCase {
        let mut pod = named(name, 0, pod);
        pod.meta.nominated_node_name = Some(node.to_owned());
        self.cluster.nominated.push(pod);
        self
    }

    /// The pod itself is nominated.
    fn nominated_to(mut self, node: &str) -> PreemptionCase {
        self.pod.meta.nominated_node_name = Some(node.to_owned());
        self.cluster.nominated.push(self.pod.clone());
        self
    }

    /// A bound pod is on its way out.
    fn leaving(mut self, name: &str, is_preempted: bool) -> PreemptionCase {
        for pod in self.cluster.nodes.iter_mut().flat_map(|node| &mut node.pods) {
            if pod.meta.name == name {
                pod.input.is_terminating = true;
                pod.meta.is_terminating = true;
                pod.meta.is_preempted = is_preempted;
            }
        }
        self
    }

    /// A bound pod has not started.
    fn unstarted(mut self, name: &str) -> PreemptionCase {
        for pod in self.cluster.nodes.iter_mut().flat_map(|node| &mut node.pods) {
            if pod.meta.name == name {
                pod.meta.start_time_s = None;
            }
        }
        self
    }

    fn cordoned(mut self, name: &str) -> PreemptionCase {
        for node in &mut self.cluster.nodes {
            node.input.unschedulable |= node.input.name == name;
        }
        self
    }

    fn finding(self, candidates_min_percent: usize, candidates_min: usize, offset: usize) -> PreemptionCase {
        PreemptionCase {
            args: NaivePreemptionArgs { candidates_min_percent, candidates_min },
            offset,
            ..self
        }
    }
}

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

fn victim_cases() -> Vec<PreemptionCase> {
    let app = |text: &str, cpu, priority| pod().cpu(cpu).priority(priority).labels(text);
    #[rustfmt::skip]
    let cases = vec![
        case("room for all: nothing to do", &["a"], pod().cpu("4").priority(10), &[("p", "a", pod().cpu("4"))]),
        case("one has to go", &["a"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4"))]).finds(&[("a", &["p"], 0)], &["a"]),
        case("pods of the same priority stay", &["a"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4").priority(10))]).fails(&[("a", NO_VICTIMS)]),
        case("pods of higher priority stay", &["a", "b"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4").priority(11)), ("q", "b", pod().cpu("4").priority(12))]).fails(&[("a", NO_VICTIMS), ("b", NO_VICTIMS)]),
        case("too large for any node: not even tried", &["a"], pod().cpu("11").priority(10), &[("p", "a", pod().cpu("4"))]),
        case("not enough, even without them", &["a"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4")), ("q", "a", pod().cpu("4").priority(20))]).fails(&[("a", "Insufficient cpu")]),
        case("nobody to go here, not enough there", &["a", "b"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4").priority(20)), ("q", "b", pod().cpu("4").priority(20)), ("r", "b", pod().cpu("1"))]).fails(&[("a", NO_VICTIMS), ("b", "Insufficient cpu")]),
        case("a small pod of lower priority stays", &["a"], pod().cpu("5").priority(10), &[("small", "a", pod().cpu("1")), ("large", "a", pod().cpu("7").priority(5))]).finds(&[("a", &["large"], 0)], &["a"]),
        case("the more important come back first", &["a"], pod().cpu("5").priority(10), &[("low", "a", pod().cpu("5")), ("mid", "a", pod().cpu("5").priority(5))]).finds(&[("a", &["low"], 0)], &["a"]),
        case("as many come back as fit", &["a"], pod().cpu("5").priority(10), &[("p1", "a", pod().cpu("2").priority(1)), ("p2", "a", pod().cpu("3").priority(2)), ("p3", "a", pod().cpu("1").priority(3)), ("p4", "a", pod().cpu("4"))]).finds(&[("a", &["p1", "p4"], 0)], &["a"]),
        case("of equal priority, the older come back first", &["a"], pod().cpu("5").priority(10), &[("old", "a", pod().cpu("5")), ("young", "a", pod().cpu("5"))]).finds(&[("a", &["young"], 0)], &["a"]),
        case("a pod that has not started is the youngest", &["a"], pod().cpu("5").priority(10), &[("pending", "a", pod().cpu("5")), ("started", "a", pod().cpu("5"))]).unstarted("pending").finds(&[("a", &["pending"], 0)], &["a"]),
        case("victims are named in order of importance", &["a"], pod().cpu("10").priority(10), &[("p1", "a", pod().cpu("2").priority(1)), ("p2", "a", pod().cpu("2").priority(3)), ("p3", "a", pod().cpu("2").priority(1))]).finds(&[("a", &["p2", "p1", "p3"], 0)], &["a"]),
        case("a pod that it must be away from goes, another stays", &["a"], PodInput { priority: 10, ..pod().away(term("node", "app=db")) }, &[("db", "a", app("app=db", "1", 0)), ("web", "a", app("app=web", "1", 0))]).finds(&[("a", &["db"], 0)], &["a"]),
        case("a pod that wants to be away from it goes", &["a"], pod().labels("app=web").priority(10), &[("shy", "a", pod().cpu("1").away(term("node", "app=web")))]).finds(&[("a", &["shy"], 0)], &["a"]),
        case("pods of the zone but not of the node cannot be helped", &["a", "b", "c"], PodInput { priority: 10, ..pod().away(term("zone", "app=db")) }, &[("p", "a", app("app=db", "1", 0)), ("q", "b", app("app=db", "1", 0))])
            .fails(&[("c", NO_VICTIMS)]).finds(&[("a", &["p"], 0), ("b", &["q"], 0)], &["b"]),
        case("affinity to a victim is lost with it", &["a"], PodInput { priority: 10, ..pod().cpu("8").priority(10).near(term("node", "app=db")) }, &[("db", "a", app("app=db", "4", 0))]).fails(&[("a", "node(s) didn't match pod affinity rules")]),
        // b is full of pods that stay; a has one more than b, so that one has to go.
        case("too many in the domain: one goes", &["a", "b"], PodInput { priority: 10, ..app("app=web", "1", 10).spread(hard(1, "node", "app=web")) }, &[("p", "a", app("app=web", "1", 0)), ("q", "a", app("app=web", "1", 0)), ("r", "b", app("app=web", "10", 20))])
            .fails(&[("b", NO_VICTIMS)]).finds(&[("a", &["q"], 0)], &["a"]),
        // A terminating pod is not counted, but discounted when it is taken off and counted when it
        // comes back: a goes from 2 to -1, to 1 with p and q, and t is one too many.
        case("a terminating pod counts once it has been taken off", &["a", "b"], PodInput { priority: 10, ..app("app=web", "1", 10).spread(hard(1, "node", "app=web")) }, &[("p", "a", app("app=web", "1", 0)), ("q", "a", app("app=web", "1", 0)), ("t", "a", app("app=web", "1", 0)), ("r", "b", app("app=web", "10", 20))])
            .leaving("t", false).fails(&[("b", NO_VICTIMS)]).finds(&[("a", &["t"], 0)], &["a"]),
    ];
    cases
}

fn budget_cases() -> Vec<PreemptionCase> {
    let app = |cpu, priority| pod().cpu(cpu).priority(priority).labels("app=db");
    let two = |name| {
        let web = pod().cpu("5").priority(1).labels("app=web");
        case(name, &["a"], pod().cpu("5").priority(10), &[("db", "a", app("5", 0)), ("web", "a", web)])
    };
    let same = |name| {
        case(name, &["a"], pod().cpu("10").priority(10), &[("p", "a", app("5", 0)), ("q", "a", app("5", 0))])
    };
    let gone = |name: &str, budget: DisruptionBudgetInput| DisruptionBudgetInput {
        disrupted_pods: [name.to_owned()].into(),
        ..budget
    };
    #[rustfmt::skip]
    let cases = vec![
        two("without a budget the lower priority goes").finds(&[("a", &["db"], 0)], &["a"]),
        two("a protected pod comes back before others").protecting(budget("app=db", 0)).finds(&[("a", &["web"], 0)], &["a"]),
        two("a budget that allows it protects nobody").protecting(budget("app=db", 1)).finds(&[("a", &["db"], 0)], &["a"]),
        two("a budget of another namespace").protecting(DisruptionBudgetInput { namespace: "other".to_owned(), ..budget("app=db", 0) }).finds(&[("a", &["db"], 0)], &["a"]),
        two("a budget with an empty selector protects nobody").protecting(budget("", 0)).finds(&[("a", &["db"], 0)], &["a"]),
        two("a budget without a selector protects nobody").protecting(budget("-", 0)).finds(&[("a", &["db"], 0)], &["a"]),
        two("a budget that cannot be read protects nobody").protecting(budget("bad*key", 0)).finds(&[("a", &["db"], 0)], &["a"]),
        case("a pod without labels is never protected", &["a"], pod().cpu("8").priority(10), &[("p", "a", pod().cpu("4"))]).protecting(budget("!app", 0)).finds(&[("a", &["p"], 0)], &["a"]),
        same("two of one budget that allows none").protecting(budget("app=db", 0)).finds(&[("a", &["p", "q"], 2)], &["a"]),
        same("two of one budget that allows one").protecting(budget("app=db", 1)).finds(&[("a", &["p", "q"], 1)], &["a"]),
        same("one of them is being evicted already").protecting(gone("q", budget("app=db", 1))).finds(&[("a", &["p", "q"], 0)], &["a"]),
        same("another one is being evicted already").protecting(gone("r", budget("app=db", 1))).finds(&[("a", &["p", "q"], 1)], &["a"]),
        same("both budgets must allow it").protecting(budget("app=db", 2)).protecting(budget("app", 0)).finds(&[("a", &["p", "q"], 2)], &["a"]),
        case("fewer violations beat a lower priority", &["a", "b"], pod().cpu("8").priority(10), &[("p", "a", app("4", 0)), ("q", "b", pod().cpu("4").priority(5))]).protecting(budget("app=db", 0)).finds(&[("a", &["p"], 1), ("b", &["q"], 0)], &["b"]),
    ];
    cases
}

fn choice_cases() -> Vec<PreemptionCase> {
    let w = |cpu: &str, priority| pod().cpu(cpu).priority(priority);
    #[rustfmt::skip]
    let cases = vec![
        case("equal in all but age: the younger goes", &["a", "b"], w("8", 10), &[("p", "a", w("4", 0)), ("q", "b", w("4", 0))]).finds(&[("a", &["p"], 0), ("b", &["q"], 0)], &["b"]),
        case("equal in all: either", &["a", "b"], w("8", 10), &[("p", "a", w("4", 0)), ("q", "b", w("4", 0))]).unstarted("p").unstarted("q").finds(&[("a", &["p"], 0), ("b", &["q"], 0)], &["a", "b"]),
        case("the lower of the highest priorities", &["a", "b"], w("10", 10), &[("p", "a", w("4", 6)), ("q", "b", w("4", 5)), ("r", "b", w("4", 5))]).finds(&[("a", &["p"], 0), ("b", &["q", "r"], 0)], &["b"]),
        case("the lower sum of priorities", &["a", "b"], w("10", 10), &[("p1", "a", w("4", 5)), ("p2", "a", w("4", 3)), ("q1", "b", w("4", 5)), ("q2", "b", w("4", 4))]).finds(&[("a", &["p1", "p2"], 0), ("b", &["q1", "q2"], 0)], &["a"]),
        case("more pods sum up to more, however low", &["a", "b"], w("10", 10), &[("p1", "a", w("4", -5)), ("q1", "b", w("4", -5)), ("q2", "b", w("4", -9))]).finds(&[("a", &["p1"], 0), ("b", &["q1", "q2"], 0)], &["a"]),
        // The lowest of priorities adds nothing to the sum.
        case("equal sums: the fewer pods", &["a", "b"], w("10", 10), &[("q1", "b", w("4", 5)), ("p1", "a", w("4", 5)), ("p2", "a", w("4", i32::MIN))]).finds(&[("a", &["p1", "p2"], 0), ("b", &["q1"], 0)], &["b"]),
        case("the earliest of the most important decides, the latest wins", &["a", "b"], w("10", 10), &[("p1", "a", w("4", 5)), ("q2", "b", w("4", 3)), ("q1", "b", w("4", 5)), ("p2", "a", w("4", 3))]).finds(&[("a", &["p1", "p2"], 0), ("b", &["q1", "q2"], 0)], &["b"]),
        case("only so many candidates", &["a", "b", "c", "d", "e"], w("8", 10), &[("pa", "a", w("4", 0)), ("pb", "b", w("4", 0)), ("pc", "c", w("4", 0)), ("pd", "d", w("4", 0)), ("pe", "e", w("4", 0))]).finding(40, 1, 4).finds(&[("a", &["pa"], 0), ("e", &["pe"], 0)], &["e"]),
        case("at least so many candidates", &["a", "b", "c"], w("8", 10), &[("pa", "a", w("4", 0)), ("pb", "b", w("4", 0)), ("pc", "c", w("4", 0))]).finding(1, 2, 0).finds(&[("a", &["pa"], 0), ("b", &["pb"], 0)], &["b"]),
        case("nodes that fail are no candidates", &["a", "b", "c", "d"], w("8", 10), &[("pa", "a", w("4", 0)), ("pb", "b", w("4", 20)), ("pc", "c", w("4", 0)), ("pd", "d", w("4", 0))]).finding(50, 1, 0).fails(&[("b", NO_VICTIMS)]).finds(&[("a", &["pa"], 0), ("c", &["pc"], 0)], &["c"]),
        case("the search goes on until one violates nothing", &["a", "b", "c", "d"], w("8", 10), &[("pa", "a", PodInput { labels: labels("app=db"), ..w("4", 0) }), ("pb", "b", PodInput { labels: labels("app=db"), ..w("4", 0) }), ("pc", "c", w("4", 0)), ("pd", "d", w("4", 0))])
            .protecting(budget("app=db", 0)).finding(1, 1, 0).finds(&[("a", &["pa"], 1), ("c", &["pc"], 0)], &["c"]),
    ];
    cases
}

fn nomination_cases() -> Vec<PreemptionCase> {
    let w = |cpu: &str, priority| pod().cpu(cpu).priority(priority);
    let never = PodInput { preemption: PreemptionPolicy::Never, ..w("8", 10) };
    let one = |name| case(name, &["a"], w("8", 10), &[("p", "a", w("4", 0))]);
    const LEAVING: &str = "not eligible due to a terminating pod on the nominated node.";
    #[rustfmt::skip]
    let cases = vec![
        PreemptionCase { ineligible: Some("not eligible due to preemptionPolicy=Never."), ..case("a pod that never preempts", &["a"], never, &[("p", "a", w("4", 0))]) },
        PreemptionCase { ineligible: Some(LEAVING), ..one("victims of its own are leaving").nominated_to("a").leaving("p", true) },
        one("pods leave for other reasons").nominated_to("a").leaving("p", false).finds(&[("a", &["p"], 0)], &["a"]),
        one("victims leave, but the pod is not nominated").leaving("p", true).finds(&[("a", &["p"], 0)], &["a"]),
        one("nominated to a node that is not there").nominated_to("gone").leaving("p", true).finds(&[("a", &["p"], 0)], &["a"]),
        case("a pod of no lower priority leaves", &["a", "b"], w("8", 10), &[("p", "a", w("4", 10)), ("q", "b", w("4", 0))]).nominated_to("a").leaving("p", true).fails(&[("a", NO_VICTIMS)]).finds(&[("b", &["q"], 0)], &["b"]),
        case("its nominated node cannot be helped any more", &["a", "b"], w("8", 10), &[("p", "a", w("4", 0)), ("q", "b", w("4", 0))]).nominated_to("a").cordoned("a").leaving("p", true).finds(&[("b", &["q"], 0)], &["b"]),
        one("room is kept for nominated pods of the same priority").nominating("n", "a", w("4", 10)).fails(&[("a", "Insufficient cpu")]),
        PreemptionCase { cleared: &["default/n"], ..one("but not for those of lower priority, which lose it").nominating("n", "a", w("4", 9)).finds(&[("a", &["p"], 0)], &["a"]) },
        one("nominated to other nodes, they keep it").nominating("n", "b", w("4", 9)).finds(&[("a", &["p"], 0)], &["a"]),
        PreemptionCase { cleared: &["default/pod"], ..case("nothing helps: its own nomination ends", &["a"], w("8", 10), &[("p", "a", w("4", 20))]).nominated_to("a").fails(&[("a", NO_VICTIMS)]) },
        case("nothing helps, and there was no nomination", &["a"], w("8", 10), &[("p", "a", w("4", 20))]).nominating("n", "a", w("1", 0)).fails(&[("a", NO_VICTIMS)]),
    ];
    cases
}

/// All cases.
#[must_use]
pub fn cases() -> Vec<PreemptionCase> {
    let mut cases = victim_cases();
    cases.extend(budget_cases());
    cases.extend(choice_cases());
    cases.extend(nomination_cases());
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naive_preemption_answers_every_case() {
        check(cases(), naive_answer);
    }
}
