//! Cases that DynamicResources and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::dra::{DeviceRequestInput, DraInput, GeneratedClaim, PodClaimSource};
use crate::input::{NodeInput, PodInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::devices::{any_class, claim_of, claim_on, object, slice_object, slice_of, using, wants};
use crate::testkit::{NodeParts, PodParts, large_node, pod};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

fn nodes() -> [NodeInput; 3] {
    ["a", "b", "c"].map(|name| large_node(name).label("zone", name))
}

/// A case about a pod of namespace `default`, with node `a` of one device, node `b` of two, and these
/// objects.
fn case(name: &'static str, pod: PodInput, objects: Vec<DraInput>) -> PluginCase {
    PluginCase::new(name, &nodes(), pod).having(|cluster| {
        let slices = [slice_of("a", &["d0"]), slice_of("b", &["d0", "d1"])].map(slice_object);
        slices.into_iter().chain([any_class()]).chain(objects).for_each(|it| cluster.dra.put(it));
    })
}

const NONE: &str = "cannot allocate all claims";
const ELSEWHERE: &str = "resourceclaim not available on the node";

fn filter_cases() -> Vec<PluginCase> {
    let out = |node: &'static str, why: &'static str| (node, NaiveCode::UnschedulableAndUnresolvable, why);
    let plain = || pod().namespaced("default");
    let one = || using(plain(), &["one"]);
    let both = using(plain(), &["one", "two"]);
    let mut deleting = claim_of("one", 1);
    deleting.is_deleting = true;
    let mut foreign = claim_of("one", 1);
    foreign.controller = Some(("pod".to_owned(), "another".to_owned()));
    let mut generated = one();
    generated.resource_claims[0].source = PodClaimSource::Template(GeneratedClaim::Named("one".to_owned()));
    let mut crowded = claim_on("one", "a", "d0");
    crowded.reserved_for = (0..256).map(|at| format!("uid-{at}")).collect();
    let mut pending = one();
    pending.resource_claims[0].source = PodClaimSource::Template(GeneratedClaim::Pending);
    let mut not_needed = one();
    not_needed.resource_claims[0].source = PodClaimSource::Template(GeneratedClaim::NotNeeded);
    vec![
        case("no claim", plain(), Vec::new()),
        case("one device", one(), vec![object(claim_of("one", 1))]).rejects(&[out("c", NONE)]),
        case("two devices", one(), vec![object(claim_of("one", 2))])
            .rejects(&[out("a", NONE), out("c", NONE)]),
        case("two claims", both.clone(), vec![object(claim_of("one", 1)), object(claim_of("two", 1))])
            .rejects(&[out("a", NONE), out("c", NONE)]),
        case("a device in use", one(), vec![object(claim_of("one", 1)), object(claim_on("two", "a", "d0"))])
            .rejects(&[out("a", NONE), out("c", NONE)]),
        case("a claim with a device", one(), vec![object(claim_on("one", "a", "d0"))])
            .rejects(&[out("b", ELSEWHERE), out("c", ELSEWHERE)]),
        case(
            "one has a device elsewhere",
            both,
            vec![object(claim_on("one", "a", "d0")), object(claim_of("two", 1))],
        )
        .rejects(&[out("a", NONE), out("b", ELSEWHERE), out("c", NONE)]),
        case("a claim with as many consumers as it may have", one(), vec![object(crowded)])
            .rejects(&[out("b", ELSEWHERE), out("c", ELSEWHERE)]),
        case("a claim that is not there", one(), Vec::new()).rejects_all(),
        case("a claim that is being deleted", one(), vec![object(deleting)]).rejects_all(),
        case("a claim of another pod", generated, vec![object(foreign)]).rejects_all(),
        case("a claim that is not made yet", pending, vec![object(claim_of("one", 1))]).rejects_all(),
        case("no claim was needed", not_needed, vec![object(claim_of("one", 1))]),
    ]
}

fn score_cases() -> Vec<PluginCase> {
    let mut claim = claim_of("one", 1);
    let first_available = vec![("two".into(), wants(2)), ("one".into(), wants(1))];
    claim.requests = vec![DeviceRequestInput { name: "r".into(), exactly: None, first_available }];
    let pod = || using(pod().namespaced("default"), &["one"]);
    vec![
        case("the first alternative is better", pod(), vec![object(claim)])
            .only(&["a", "b"])
            .scores(&[87, 100]),
        case("without alternatives", pod(), vec![object(claim_of("one", 1))])
            .only(&["a", "b"])
            .scores(&[0, 0]),
    ]
}
