//! The allocator against the plain one, and what has no twin: extended resources.

use std::cell::Cell;
use std::sync::Arc;

use super::{NaiveDra, Node, allocate};
use crate::dra::DraStore;
use crate::dra::allocator::{self, NodeAllocation};
use crate::fake::{self, Feature, for_each_seed};
use crate::framework::plugin::FilterPlugin;
use crate::framework::status::Code;
use crate::input::dra::{
    CounterConsumptionInput, CounterSetInput, DeviceClassInput, DeviceTaintInput, DeviceTaintRuleInput,
    DraInput, PodIdentityInput, Quantities, ResourceClaimInput, ResourceSliceInput,
};
use crate::input::{ContainerInput, PodInput};
use crate::plugins::dynamic_resources::{DynamicResources, decide_devices};
use crate::quantity::Quantity;
use crate::scheduler::{ObjectEvent, ObjectInput, Standing};
use crate::testkit::devices::{any_class, claim_of, claim_on, object, slice_object, slice_of, using};
use crate::testkit::{NodeParts, PodParts, SchedulerLab, large_node, node, pod, resources};
use crate::world::World;

/// Same devices for the same requests in the same order, or the same reason that there are none.
#[test]
fn allocator_equals_its_plain_twin() {
    let counts = [const { Cell::new(0) }; 3];
    let count = |at: usize| counts[at].set(counts[at].get() + 1);
    for_each_seed("allocator_equals_its_plain_twin", 3000, |rng| {
        rng.favor(&[Feature::Devices]);
        let (mut store, mut plain) = (DraStore::default(), NaiveDra::default());
        for object in fake::dra_with_all(rng) {
            store.upsert(&object);
            plain.put(object);
        }
        let node = node(&format!("n{}", rng.range(0..=7))).label("disk", "ssd").label("cores", "4");
        let claims: Vec<Arc<ResourceClaimInput>> = store
            .claims()
            .filter(|claim| claim.allocation.is_none() && fake_classes_exist(&store, claim))
            .take(rng.range(1..=3))
            .cloned()
            .collect();
        let ours = allocator::allocate(&store, &Node(&node), &claims);
        let borrowed: Vec<&ResourceClaimInput> = claims.iter().map(|claim| &**claim).collect();
        let theirs = allocate(&plain, &node, &borrowed);
        match (ours, theirs) {
            (NodeAllocation::Found(allocations), Ok(taken)) => {
                let ours: Vec<(usize, String)> = allocations
                    .iter()
                    .enumerate()
                    .flat_map(|(claim, it)| {
                        it.results.iter().map(move |result| (claim, result.request.clone()))
                    })
                    .collect();
                let theirs: Vec<(usize, String)> =
                    taken.iter().map(|it| (it.claim, it.full_name())).collect();
                assert_eq!(ours, theirs);
                count(0);
            }
            (NodeAllocation::NotFound, Err(why)) => {
                assert_eq!(why, "cannot allocate all claims");
                count(1);
            }
            (NodeAllocation::InvalidPools, Err(why)) => {
                assert_eq!(why, "invalid resource pools were encountered");
                count(2);
            }
            (ours, theirs) => panic!("{ours:?}, plainly {theirs:?}"),
        }
    });
    assert!(
        std::env::var_os("SCHEDLAB_SEED").is_some() || counts.iter().all(|count| count.get() > 0),
        "found, not found and invalid pools: {counts:?}"
    );
}

fn fake_classes_exist(store: &DraStore, claim: &ResourceClaimInput) -> bool {
    let exact =
        |it: &crate::input::dra::ExactDeviceRequestInput| store.class(&it.device_class_name).is_some();
    claim.requests.iter().all(|request| {
        request.exactly.iter().all(exact) && request.first_available.iter().all(|(_, it)| exact(it))
    })
}

fn class_for(resource: &str) -> DraInput {
    DraInput::DeviceClass(Arc::new(DeviceClassInput {
        name: "any".into(),
        extended_resource_name: Some(resource.to_owned()),
        ..DeviceClassInput::default()
    }))
}

fn asking(containers: &[(&str, &str)], init: &[(&str, &str)]) -> PodInput {
    let container = |&(name, count): &(&str, &str)| ContainerInput {
        name: name.to_owned(),
        requests: resources(&[("cpu", "1"), ("x.com/gpu", count)]),
        ..ContainerInput::default()
    };
    PodInput {
        namespace: "default".to_owned(),
        containers: containers.iter().map(container).collect(),
        init_containers: init.iter().map(container).collect(),
        identity: Some(PodIdentityInput { name: "pod".to_owned(), uid: "pod-uid".to_owned() }),
        ..PodInput::default()
    }
}

fn decided(pod: PodInput, plugin_devices: &str) -> (World, Option<crate::dra::DeviceReservation>) {
    let mut world = World::default();
    world.upsert_dra(&class_for("x.com/gpu"));
    world.upsert_dra(&slice_object(slice_of("a", &["d0", "d1", "d2", "d3"])));
    let mut node = large_node("a");
    node.allocatable.extend(resources(&[("x.com/gpu", plugin_devices)]));
    world.upsert_node(&node);
    world.settle();
    let class = world.compile(&Arc::new(pod));
    let decided = decide_devices(&world, world.class(class), 0);
    (world, decided)
}

/// Upstream: extendeddynamicresources_test.go.
#[test]
fn extended_resources_become_requests_and_init_containers_use_those_of_later_ones() {
    let (_, decided) = decided(asking(&[("one", "1"), ("two", "2")], &[("early", "4")]), "0");
    let extended = decided.expect("a claim").extended.expect("one for extended resources");
    let requests: Vec<String> = extended
        .claim
        .requests
        .iter()
        .map(|it| format!("{} {:?}", it.name, it.exactly.as_ref().map(|it| it.mode)))
        .collect();
    let count = |name: &str, count: i64| format!("{name} Some(ExactCount({count}))");
    let expected = [
        count("container-0-request-1", 1),
        count("container-1-request-1", 1),
        count("container-2-request-1", 2),
    ];
    assert_eq!(requests, expected);
    let mappings: Vec<String> =
        extended.mappings.iter().map(|it| format!("{} {}", it.container_name, it.request_name)).collect();
    let expected = [
        "one container-1-request-1",
        "two container-2-request-1",
        "early container-1-request-1",
        "early container-2-request-1",
        "early container-0-request-1",
    ];
    assert_eq!(mappings, expected);
}

#[test]
fn node_with_a_device_plugin_needs_no_devices_of_a_class() {
    let (_, decided) = decided(asking(&[("one", "1")], &[]), "4");
    assert!(decided.is_none_or(|it| it.allocations.is_empty() && it.extended.is_none()));
}

#[test]
fn reserved_devices_are_in_use_until_the_pod_gives_them_back_or_its_claims_have_them() {
    let mut store = DraStore::default();
    let claim = claim_on("one", "a", "d0");
    let allocation = claim.allocation.clone().expect("it has a device");
    let device = allocation.results[0].device.clone();
    let open = ResourceClaimInput { allocation: None, ..claim.clone() };
    let pod = crate::ids::PodUid(1);
    let reservation = || crate::dra::DeviceReservation {
        allocations: vec![crate::dra::PendingAllocation {
            claim: Arc::new(open.clone()),
            allocation: Arc::clone(&allocation),
        }],
        ..Default::default()
    };
    store.upsert(&object(open.clone()));
    store.reserve(pod, reservation());
    assert!(store.allocated().is_exclusive(&device) && store.is_pending("uid-one"));
    store.unreserve(pod);
    assert!(!store.allocated().is_exclusive(&device) && !store.is_pending("uid-one"));
    store.reserve(pod, reservation());
    store.upsert(&object(claim));
    assert!(!store.is_pending("uid-one"), "the API has it");
    store.unreserve(pod);
    assert!(store.allocated().is_exclusive(&device));
    store.upsert(&object(open));
    assert!(!store.allocated().is_exclusive(&device));
}

/// Upstream: resourceslice/tracker/tracker.go `syncSlice`.
#[test]
fn device_taint_rule_requeues_pods_only_if_devices_have_other_taints() {
    let mut lab = SchedulerLab::obliging(&[("a", "4")]);
    let tell =
        |lab: &mut SchedulerLab, object: &DraInput| lab.event(ObjectEvent::Added(ObjectInput::Dra(object)));
    let rule = |driver: &str| {
        let taint = DeviceTaintInput { effect: "NoSchedule".to_owned(), ..DeviceTaintInput::default() };
        let (name, driver) = ("rule".to_owned(), Some(driver.to_owned()));
        let rule = DeviceTaintRuleInput { name, driver, taint, ..DeviceTaintRuleInput::default() };
        DraInput::DeviceTaintRule(Arc::new(rule))
    };
    for object in [any_class(), slice_object(slice_of("a", &["d0"])), object(claim_of("one", 1)), rule("gpu")]
    {
        tell(&mut lab, &object);
    }
    lab.pod(7, using(pod().cpu("1").namespaced("default"), &["one"]));
    lab.run();
    lab.later();
    assert_eq!(lab.standing(7), Some(Standing::Unschedulable), "its device is tainted");
    tell(&mut lab, &rule("gpu"));
    assert_eq!(lab.standing(7), Some(Standing::Unschedulable), "as it was before");
    tell(&mut lab, &rule("nic"));
    assert_eq!(lab.standing(7), Some(Standing::Queued), "no device is tainted any more");
}

/// The shortest history in which allocator and plain twin differed: they must not.
/// Upstream: allocator_incubating.go `deviceCapacityInUse`, `checkAvailableCounters`.
#[test]
fn counters_of_a_shareable_device_that_one_claim_has_to_itself_are_charged_again_for_an_admin() {
    let units = |amount: i64| Quantities::from([("units".into(), Quantity::from_units(amount))]);
    let fits = |available: i64, share: Option<&str>| {
        let mut slice = slice_of("a", &["d0"]);
        slice.slice_count = 2;
        slice.devices[0].allow_multiple_allocations = true;
        slice.devices[0].consumes_counters = vec![CounterConsumptionInput {
            counter_set: "set".into(),
            counters: units(2),
            has_compatibility_groups: false,
        }];
        let set = CounterSetInput { name: "set".into(), counters: units(available) };
        let counters = ResourceSliceInput {
            name: "counters".to_owned(),
            devices: Vec::new(),
            shared_counters: vec![set],
            ..slice.clone()
        };
        let mut holder = claim_on("holder", "a", "d0");
        let allocation = Arc::make_mut(holder.allocation.as_mut().expect("it has a device"));
        allocation.results[0].share_id = share.map(Into::into);
        let mut admin = claim_of("admin", 1);
        admin.requests[0].exactly.as_mut().expect("one").admin_access = true;
        let (mut store, mut plain) = (DraStore::default(), NaiveDra::default());
        for object in [any_class(), slice_object(slice), slice_object(counters), object(holder)] {
            store.upsert(&object);
            plain.put(object);
        }
        let node = node("a");
        let ours = allocator::allocate(&store, &Node(&node), &[Arc::new(admin.clone())]);
        let ours = matches!(ours, NodeAllocation::Found(_));
        assert_eq!(ours, allocate(&plain, &node, &[&admin]).is_ok(), "the plain twin agrees");
        ours
    };
    assert_eq!([fits(3, None), fits(4, None)], [false, true], "the holder is charged, and the admin too");
    assert_eq!([fits(1, Some("s")), fits(2, Some("s"))], [true, true], "a share is charged already");
}

/// What the plugin says of a pod on node `a`, in a world of these objects.
fn verdict(pod: PodInput, objects: &[DraInput], nodes: &[(&str, &str)]) -> (Code, Vec<String>) {
    let mut world = World::default();
    for object in objects {
        world.upsert_dra(object);
    }
    let mut node = large_node("a");
    node.allocatable.extend(resources(nodes));
    world.upsert_node(&node);
    let class = world.compile(&Arc::new(pod));
    world.settle();
    let plugin = DynamicResources::default();
    let mut reasons = Vec::new();
    let code = FilterPlugin::verdict(&plugin, &world, world.class(class), 0, &mut reasons);
    (code, reasons.iter().map(|reason| reason.text(&world.vocabulary).into_owned()).collect())
}

#[test]
fn node_with_none_of_an_extended_resource_is_rejected_here() {
    let mut pod = asking(&[("one", "1")], &[]);
    pod.containers[0].requests.extend(resources(&[("y.com/nic", "1")]));
    let objects = [class_for("x.com/gpu"), slice_object(slice_of("a", &["d0"]))];
    let rejected = (Code::UnschedulableAndUnresolvable, vec!["cannot fit resource".to_owned()]);
    assert_eq!(verdict(pod.clone(), &objects, &[]), rejected, "as upstream");
    assert_eq!(
        verdict(pod.clone(), &objects, &[("y.com/nic", "0")]),
        rejected,
        "upstream leaves it to the fit"
    );
    assert_eq!(verdict(pod, &objects, &[("y.com/nic", "1")]).0, Code::Success);
}

#[test]
fn claim_whose_devices_wait_is_unavailable_once_it_has_a_timestamp() {
    let pod = || using(pod().namespaced("default"), &["one"]);
    let waiting = |has_timestamp: bool| {
        let mut claim = claim_on("one", "a", "d0");
        let allocation = Arc::make_mut(claim.allocation.as_mut().expect("it has a device"));
        allocation.has_timestamp = has_timestamp;
        allocation.results[0].binding_conditions = Some(vec!["Ready".to_owned()]);
        object(claim)
    };
    assert_eq!(verdict(pod(), &[any_class(), waiting(false)], &[]).0, Code::Success);
    let elsewhere = vec!["resourceclaim not available on the node".to_owned()];
    assert_eq!(
        verdict(pod(), &[any_class(), waiting(true)], &[]),
        (Code::UnschedulableAndUnresolvable, elsewhere),
        "upstream waits for as long as `bindingTimeout` says"
    );
}
