//! Cases of InterPodAffinity.

use super::NAME;
use super::hint_cases::hint_cases;
use super::naive::{AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY};
use crate::framework::args::{InterPodAffinityArgs, PluginArgs};
use crate::input::{NodeInput, PodAffinityTermInput};
use crate::naive::cases::{Cases, PluginCase};
use crate::naive::{NaiveCluster, NaiveCode};
use crate::testkit::{NodeParts, PodParts, labels, large_node, pod, selector, term};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

/// Two nodes of zone z1 and one of z2.
fn three() -> Vec<NodeInput> {
    [("a", "z1"), ("b", "z1"), ("c", "z2")]
        .map(|(name, zone)| large_node(name).labels(&format!("zone={zone} node={name} region=r")))
        .to_vec()
}

fn lonely(names: &[&'static str]) -> Vec<(&'static str, NaiveCode, &'static str)> {
    names.iter().map(|name| (*name, NaiveCode::UnschedulableAndUnresolvable, AFFINITY)).collect()
}

fn repelled(names: &[&'static str]) -> Vec<(&'static str, NaiveCode, &'static str)> {
    names.iter().map(|name| (*name, NaiveCode::Unschedulable, ANTI_AFFINITY)).collect()
}

fn refused(names: &[&'static str]) -> Vec<(&'static str, NaiveCode, &'static str)> {
    names.iter().map(|name| (*name, NaiveCode::Unschedulable, EXISTING_ANTI_AFFINITY)).collect()
}

fn in_namespaces(names: &[&str], term: PodAffinityTermInput) -> PodAffinityTermInput {
    PodAffinityTermInput { namespaces: names.iter().map(|name| (*name).to_owned()).collect(), ..term }
}

fn in_selected(text: &str, term: PodAffinityTermInput) -> PodAffinityTermInput {
    PodAffinityTermInput { namespace_selector: selector(text), ..term }
}

/// Namespaces `red` and `blue`, labelled with their team.
fn teams(cluster: &mut NaiveCluster) {
    for team in ["red", "blue"] {
        cluster.namespaces.insert(team.to_owned(), labels(&format!("team={team}")));
    }
}

fn affinity_filter_cases() -> Vec<PluginCase> {
    let (web, db) = (|| pod().labels("app=web"), || pod().labels("app=db tier=1"));
    let case = |name, pod| PluginCase::new(name, &three(), pod);
    let mut no_zone = three();
    no_zone[1].labels.remove("zone");
    #[rustfmt::skip]
    let cases = vec![
        case("no rules anywhere", web()).with(&[("a", db())]),
        case("near pods of the zone", web().near(term("zone", "app=db"))).with(&[("a", db())]).rejects(&lonely(&["c"])),
        case("near, with NotIn", web().near(term("zone", "app!=web|cache"))).with(&[("a", db())]).rejects(&lonely(&["c"])),
        case("near pods that are not there", web().near(term("zone", "app=cache"))).with(&[("a", db())]).rejects(&lonely(&["a", "b", "c"])),
        case("near pods of another namespace", web().near(term("zone", "app=db"))).with(&[("a", db().namespaced("red"))]).rejects(&lonely(&["a", "b", "c"])),
        case("near pods of a namespace that is named", web().near(in_namespaces(&["red"], term("zone", "app=db")))).with(&[("a", db().namespaced("red")), ("c", db())]).rejects(&lonely(&["c"])),
        case("several terms, all by one pod", web().near(term("zone", "app=db")).near(term("node", "tier"))).with(&[("a", db())]).rejects(&lonely(&["b", "c"])),
        case("several terms, each by a different pod", web().near(term("zone", "app=db")).near(term("zone", "tier"))).with(&[("a", pod().labels("app=db")), ("b", pod().labels("tier=1"))]).rejects(&lonely(&["a", "b", "c"])),
        case("one requirement of the selector does not hold", web().near(term("zone", "app=db !tier"))).with(&[("a", db())]).rejects(&lonely(&["a", "b", "c"])),
        case("an absent selector matches no pod", web().near(term("zone", "-"))).with(&[("a", db())]).rejects(&lonely(&["a", "b", "c"])),
        case("an empty selector matches every pod", web().near(term("zone", ""))).with(&[("a", db())]).rejects(&lonely(&["c"])),
        case("terminating pods count", web().near(term("zone", "app=db"))).with(&[("a", db().terminating())]).rejects(&lonely(&["c"])),
        case("the first of a group may go anywhere", web().near(term("zone", "app=web"))).all_fit(),
        case("the second may not", web().near(term("zone", "app=web"))).with(&[("a", web())]).rejects(&lonely(&["c"])),
        PluginCase::new("the first of a group, only where the topology is", &no_zone, web().near(term("zone", "app=web"))).rejects(&lonely(&["b"])),
        PluginCase::new("the first of a group, with two topologies", &no_zone, web().near(term("zone", "app=web")).near(term("node", "app=web"))).rejects(&lonely(&["b"])),
        case("the first of a group that matches one of its terms only", web().near(term("zone", "app=web")).near(term("zone", "tier"))).rejects(&lonely(&["a", "b", "c"])),
        case("the first, while pods elsewhere match", web().near(term("node", "app=web"))).with(&[("c", web())]).rejects(&lonely(&["a", "b"])),
        PluginCase::new("a match where the topology is not counts for nothing, and the pod is the first", &no_zone, web().near(term("zone", "app=web"))).with(&[("b", web())]).rejects(&lonely(&["b"])),
        case("a selector of namespaces", web().near(in_selected("team=red", term("zone", "app=db")))).having(teams).with(&[("a", db().namespaced("red")), ("c", db().namespaced("blue"))]).rejects(&lonely(&["c"])),
        case("a selector of namespaces that selects none", web().near(in_selected("team=green", term("zone", "app=db")))).having(teams).with(&[("a", db().namespaced("red"))]).rejects(&lonely(&["a", "b", "c"])),
        case("a selector of namespaces does not include the pod's own", web().near(in_selected("team=red", term("zone", "app=db")))).having(teams).with(&[("a", db())]).rejects(&lonely(&["a", "b", "c"])),
        case("an empty selector of namespaces is all of them, known or not", web().near(in_selected("", term("zone", "app=db")))).with(&[("a", db().namespaced("unknown"))]).rejects(&lonely(&["c"])),
        case("names and a selector of namespaces are both meant", web().near(in_namespaces(&["blue"], in_selected("team=red", term("zone", "app=db"))))).having(teams).with(&[("a", db().namespaced("red")), ("c", db().namespaced("blue"))]).all_fit(),
        case("a selector that cannot be read", web().near(term("zone", "bad*key=x"))).rejects_all(),
        case("a preference that cannot be read", web().dislikes(1, term("zone", "bad*key=x"))).rejects_all(),
    ];
    cases
}

fn anti_affinity_filter_cases() -> Vec<PluginCase> {
    let (web, db) = (|| pod().labels("app=web"), || pod().labels("app=db tier=1"));
    let shy = || db().away(term("zone", "app=web"));
    let case = |name, pod| PluginCase::new(name, &three(), pod);
    #[rustfmt::skip]
    let cases = vec![
        case("away from pods of the zone", web().away(term("zone", "app=db"))).with(&[("a", db())]).rejects(&repelled(&["a", "b"])),
        case("away from pods of the node", web().away(term("node", "app=db"))).with(&[("a", db())]).rejects(&repelled(&["a"])),
        case("away from pods of another namespace", web().away(term("zone", "app=db"))).with(&[("a", db().namespaced("red"))]).all_fit(),
        case("away by any of its terms", web().away(term("node", "app=db")).away(term("zone", "app=cache"))).with(&[("a", db()), ("c", pod().labels("app=cache"))]).rejects(&repelled(&["a", "c"])),
        case("a key that no node has keeps nobody away", web().away(term("rack", "app=db"))).with(&[("a", db())]).all_fit(),
        case("one of two keys that no node has", web().away(term("rack", "app=db")).away(term("node", "tier"))).with(&[("a", db())]).rejects(&repelled(&["a"])),
        case("away from itself is no reason on an empty cluster", web().away(term("zone", "app=web"))).all_fit(),
        case("pods that are there want to be away", web()).with(&[("a", shy())]).rejects(&refused(&["a", "b"])),
        case("pods that are there want to be away from others", pod().labels("app=cache")).with(&[("a", shy())]),
        case("pods that are there, of another namespace, mean their own", web()).with(&[("a", shy().namespaced("red"))]),
        case("pods that are there name the namespace", web()).with(&[("a", db().namespaced("red").away(in_namespaces(&["default"], term("zone", "app=web"))))]).rejects(&refused(&["a", "b"])),
        case("pods that are there, with a key that no node has", web()).with(&[("a", db().away(term("rack", "app=web")))]),
        case("pods that are there, on every node", web()).with(&[("a", shy()), ("c", db().away(term("node", "app")))]).rejects(&refused(&["a", "b", "c"])),
        case("pods that are there, by one of two terms", web()).with(&[("a", db().away(term("node", "app=web")).away(term("rack", "app=web")))]).rejects(&refused(&["a"])),
        case("two pods that are there, each by its own", web()).with(&[("a", db().away(term("node", "app=web")).away(term("zone", "app=cache"))), ("b", shy())]).rejects(&refused(&["a", "b"])),
        case("near and away, both hold", web().near(term("region", "app=db")).away(term("zone", "app=cache"))).with(&[("a", db()), ("c", pod().labels("app=cache"))]).rejects(&repelled(&["c"])),
        case("near comes before away", web().near(term("zone", "app=db")).away(term("zone", "app=db"))).with(&[("a", db())]).rejects(&[repelled(&["a", "b"]), lonely(&["c"])].concat()),
        case("away comes before being refused", web().away(term("node", "app=db"))).with(&[("a", shy())]).rejects(&[repelled(&["a"]), refused(&["b"])].concat()),
        case("near holds, but the pods there want to be away", web().near(term("zone", "app=db"))).with(&[("a", shy())]).rejects(&[refused(&["a", "b"]), lonely(&["c"])].concat()),
        case("each matches the other in part: away by the pod", pod().labels("app=web x=1").away(term("zone", "app=db")).away(term("zone", "y"))).with(&[("a", pod().labels("y=1").away(term("zone", "z")))]).rejects(&repelled(&["a", "b"])),
        case("each matches the other in part: away by the pod that is there", pod().labels("app=web x=1").away(term("zone", "z"))).with(&[("a", pod().labels("y=1").away(term("zone", "app=db")).away(term("zone", "x")))]).rejects(&refused(&["a", "b"])),
        case("a selector of namespaces", web().away(in_selected("team=red", term("zone", "app=db")))).having(teams).with(&[("a", db().namespaced("red")), ("c", db().namespaced("blue"))]).rejects(&repelled(&["a", "b"])),
        case("an empty selector of namespaces", web().away(in_selected("", term("node", "app=db")))).with(&[("a", db().namespaced("unknown")), ("c", db())]).rejects(&repelled(&["a", "c"])),
        case("a selector of namespaces that selects none", web().away(in_selected("team=green", term("zone", "app=db")))).having(teams).with(&[("a", db().namespaced("red"))]).all_fit(),
        case("pods that are there select the pod's namespace", web().namespaced("red")).having(teams).with(&[("a", db().away(in_selected("team=red", term("zone", "app=web"))))]).rejects(&refused(&["a", "b"])),
        case("pods that are there select another namespace", web().namespaced("blue")).having(teams).with(&[("a", db().away(in_selected("team=red", term("zone", "app=web"))))]),
        case("a namespace that nobody knows has no labels", web().namespaced("unknown")).having(teams).with(&[("a", db().away(in_selected("!team", term("zone", "app=web"))))]).rejects(&refused(&["a", "b"])),
        case("terms of a pod that is there and that cannot be read are left out", web()).with(&[("a", shy().away(term("zone", "bad*key=x")))]),
    ];
    cases
}

/// All cases of Filter.
fn filter_cases() -> Vec<PluginCase> {
    let mut cases = affinity_filter_cases();
    cases.extend(anti_affinity_filter_cases());
    cases
}

/// All cases of Score.
fn score_cases() -> Vec<PluginCase> {
    let (web, db) = (|| pod().labels("app=web"), || pod().labels("app=db tier=1"));
    let case = |name, pod| PluginCase::new(name, &three(), pod);
    let args = |hard_pod_affinity_weight, ignore_preferred_terms_of_existing_pods| {
        PluginArgs::InterPodAffinity(InterPodAffinityArgs {
            hard_pod_affinity_weight,
            ignore_preferred_terms_of_existing_pods,
        })
    };
    #[rustfmt::skip]
    let cases = vec![
        case("no preferences anywhere", web()).with(&[("a", db())]),
        case("preferences that match nothing", web().likes(5, term("zone", "app=cache"))).with(&[("a", db())]),
        case("a key that no node has", web().likes(5, term("rack", "app=db"))).with(&[("a", db())]),
        case("likes the zone of a pod", web().likes(5, term("zone", "app=db"))).with(&[("a", db())]).scores(&[100, 100, 0]),
        case("likes the node of a pod", web().likes(5, term("node", "app=db"))).with(&[("a", db())]).scores(&[100, 0, 0]),
        case("likes the region of all: equal scores are 0", web().likes(5, term("region", "app=db"))).with(&[("a", db())]).scores(&[0, 0, 0]),
        // a 3 x 2, b 2, c 2 x 1.
        case("more pods, more weight", web().likes(2, term("node", "app=db"))).with(&[("a", db()), ("a", db()), ("a", db()), ("c", db())]).scores(&[100, 0, 33]),
        // Operators: a 8 + 2, b 0, c 2.
        case("several preferences with several operators", web().likes(8, term("node", "app=db tier")).likes(2, term("node", "app!=web"))).with(&[("a", db()), ("b", web()), ("c", pod().labels("app=db"))]).scores(&[100, 0, 20]),
        case("dislikes the zone of a pod", web().dislikes(5, term("zone", "app=db"))).with(&[("a", db())]).scores(&[0, 0, 100]),
        case("dislikes a key that no node has", web().dislikes(5, term("rack", "app=db"))).with(&[("a", db())]),
        // a -4, b -2, c 0.
        case("dislikes more pods more", web().dislikes(2, term("node", "app=db"))).with(&[("a", db()), ("a", db()), ("b", db())]).scores(&[0, 50, 100]),
        // Likes zone z1 by 8, dislikes node a by 5: 3, 8, 0.
        case("likes the zone, dislikes the node", web().likes(8, term("zone", "app=db")).dislikes(5, term("node", "tier"))).with(&[("a", db())]).scores(&[37, 100, 0]),
        case("pods that are there like the pod", web()).with(&[("a", db().likes(5, term("zone", "app=web")))]).scores(&[100, 100, 0]),
        case("pods that are there dislike the pod", web()).with(&[("a", db().dislikes(5, term("node", "app=web")))]).scores(&[0, 100, 100]),
        case("pods that are there like other pods", web()).with(&[("a", db().likes(5, term("zone", "app=cache")))]),
        case("both ways: 5 for zone z1, 3 less for node a", web().likes(5, term("zone", "app=db"))).with(&[("a", db().dislikes(3, term("node", "app=web")))]).scores(&[40, 100, 0]),
        case("what adds up to nothing is still scored", web().likes(5, term("zone", "app=db"))).with(&[("a", db().dislikes(5, term("zone", "app=web")))]).scores(&[0, 0, 0]),
        // Required terms of pods that are there count 1 each: z1 2, z2 1.
        case("pods that are there require the pod", web()).with(&[("a", db().near(term("zone", "app=web"))), ("b", db().near(term("zone", "app"))), ("c", db().near(term("zone", "app=web")))]).scores(&[100, 100, 0]),
        case("the weight of that is an argument", web().likes(3, term("node", "app=cache"))).with_args(NAME, args(9, false)).with(&[("a", db().near(term("node", "app=web"))), ("b", pod().labels("app=cache"))]).scores(&[100, 33, 0]),
        case("a weight of 0 leaves it out", web()).with_args(NAME, args(0, false)).with(&[("a", db().near(term("zone", "app=web")))]),
        case("required terms of the pod itself do not score", web().near(term("zone", "app=db"))).with(&[("a", db())]),
        case("required anti-affinity does not score", web()).with(&[("a", db().away(term("zone", "app=web")))]),
        case("a pod without preferences, when those of others are ignored", web()).with_args(NAME, args(1, true)).with(&[("a", db().likes(5, term("zone", "app=web")))]),
        case("a pod with preferences, when those of others are ignored: they are not", web().likes(1, term("node", "app=db"))).with_args(NAME, args(1, true)).with(&[("a", db().likes(9, term("zone", "app=web"))), ("c", db())]).scores(&[100, 88, 0]),
        case("terminating pods count", web().likes(5, term("node", "app=db"))).with(&[("a", db().terminating())]).scores(&[100, 0, 0]),
        case("pods of another namespace do not count", web().likes(5, term("node", "app=db"))).with(&[("a", db().namespaced("red")), ("b", db())]).scores(&[0, 100, 0]),
        case("namespaces by name", web().likes(5, in_namespaces(&["red"], term("node", "app=db")))).with(&[("a", db().namespaced("red")), ("b", db())]).scores(&[100, 0, 0]),
        case("namespaces by selector", web().likes(5, in_selected("team=red", term("node", "app=db")))).having(teams).with(&[("a", db().namespaced("red")), ("b", db().namespaced("blue"))]).scores(&[100, 0, 0]),
        case("namespaces by name and selector", web().likes(5, in_namespaces(&["blue"], in_selected("team=red", term("node", "app=db"))))).having(teams).with(&[("a", db().namespaced("red")), ("b", db().namespaced("blue"))]).scores(&[100, 100, 0]),
        case("namespaces by what they are not", web().likes(5, in_selected("team!=red", term("node", "app=db")))).having(teams).with(&[("a", db().namespaced("red")), ("b", db().namespaced("blue"))]).scores(&[0, 100, 0]),
        case("dislikes by what namespaces are not", web().dislikes(5, in_selected("team!=red", term("node", "app=db")))).having(teams).with(&[("a", db().namespaced("red")), ("b", db().namespaced("blue"))]).scores(&[100, 0, 100]),
        case("an empty selector of namespaces", web().likes(5, in_selected("", term("node", "app=db")))).with(&[("a", db().namespaced("unknown"))]).scores(&[100, 0, 0]),
        case("pods that are there like the pod's namespace by selector", web().namespaced("red")).having(teams).with(&[("a", db().likes(5, in_selected("team=red", term("node", "app=web"))))]).scores(&[100, 0, 0]),
        case("pods that are there dislike the pod's namespace by selector", web().namespaced("red")).having(teams).with(&[("a", db().dislikes(5, in_selected("team=red", term("node", "app=web"))))]).scores(&[0, 100, 100]),
        case("pods that are there require the pod's namespace by name", web().namespaced("red")).with(&[("a", db().near(in_namespaces(&["red"], term("node", "app=web"))))]).scores(&[100, 0, 0]),
        case("pods that are there require pods of their own namespace", web().namespaced("red")).with(&[("a", db().near(term("node", "app=web")))]),
        case("two of three nodes", web().likes(5, term("zone", "app=db"))).with(&[("a", db())]).only(&["b", "c"]).scores(&[100, 0]),
    ];
    cases
}
