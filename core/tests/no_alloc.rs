//! A scheduling cycle does not allocate once it is warm: neither to find a node nor to place the
//! pod there. A test binary of its own, because it brings its own allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use schedlab_core::binding::OutgoingCall;
use schedlab_core::cycle::engine::{ClassCache, EngineSettings};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::{ClassId, PodId, PodUid};
use schedlab_core::input::{
    ContainerInput, HostPortInput, LabelSelectorInput, NodeAffinityInput, NodeInput, NodeSelectorTermInput,
    PodAffinityTermInput, PodInput, RequirementInput, ResourceList, SpreadConstraintInput,
};
use schedlab_core::quantity::Quantity;
use schedlab_core::queue::event::ASSIGNED_POD_DELETE;
use schedlab_core::queue::events_of_interest::EventsOfInterest;
use schedlab_core::queue::{
    Event, PluginNumber, PluginNumberSet, PreCheck, ProfileNumber, QueuePlugins, QueueSettings, QueuedPod,
    SchedulingQueue,
};
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, ScheduleOneOutcome, Scheduler};

thread_local! {
    /// Of this thread only: the test harness has threads of its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
struct Counting;

#[allow(unsafe_code, reason = "an allocator can be counted only by being one")]
// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local
// integer that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    // An allocation after the thread-local is gone belongs to nobody.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

const NODE_COUNT: usize = 5000;
const WARM_CYCLES: u64 = 200;
const CYCLES: u64 = 1000;

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect("a quantity"))).collect()
}

fn node(index: usize) -> NodeInput {
    NodeInput {
        name: format!("node-{index}"),
        labels: [
            ("disk".to_owned(), if index.is_multiple_of(3) { "ssd" } else { "hdd" }.to_owned()),
            ("kubernetes.io/hostname".to_owned(), format!("node-{index}")),
            ("topology.kubernetes.io/zone".to_owned(), format!("zone-{}", index % 3)),
        ]
        .into(),
        allocatable: resources(&[("cpu", "16"), ("memory", "64Gi"), ("pods", "110")]),
        ..NodeInput::default()
    }
}

fn plain_pod() -> PodInput {
    let container = ContainerInput {
        image: "pause:3".to_owned(),
        requests: resources(&[("cpu", "100m"), ("memory", "128Mi")]),
        ..ContainerInput::default()
    };
    PodInput { containers: vec![container], ..PodInput::default() }
}

fn disk(value: &str) -> NodeSelectorTermInput {
    let requirement = RequirementInput {
        key: "disk".to_owned(),
        operator: "In".to_owned(),
        values: vec![value.to_owned()],
    };
    NodeSelectorTermInput { match_expressions: vec![requirement], match_fields: Vec::new() }
}

/// Must go to fast disks, or would like to.
fn affine_pod(required: Option<&str>, preferred: Option<&str>) -> PodInput {
    let affinity = NodeAffinityInput {
        required: required.map(|value| vec![disk(value)]),
        preferred: preferred.map(|value| vec![(5, disk(value))]),
        ..NodeAffinityInput::default()
    };
    PodInput { node_affinity: Some(affinity), ..plain_pod() }
}

fn port_pod() -> PodInput {
    let mut pod = plain_pod();
    pod.containers[0].host_ports =
        vec![HostPortInput { host_port: 8080, protocol: "TCP".to_owned(), ..HostPortInput::default() }];
    pod
}

/// A pod that may go to one node only.
fn named_pod() -> PodInput {
    let field = RequirementInput {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: vec!["node-17".to_owned()],
    };
    let term = NodeSelectorTermInput { match_expressions: Vec::new(), match_fields: vec![field] };
    let affinity = NodeAffinityInput { required: Some(vec![term]), ..NodeAffinityInput::default() };
    let mut pod = PodInput { node_affinity: Some(affinity), ..plain_pod() };
    // All of them fit on that node.
    pod.containers[0].requests = ResourceList::new();
    pod
}

fn blue() -> LabelSelectorInput {
    LabelSelectorInput {
        match_labels: [("color".to_owned(), "blue".to_owned())].into(),
        match_expressions: Vec::new(),
    }
}

/// A blue pod with an opinion about blue pods on its host.
fn social_pod(opinion: impl Fn(&mut PodInput, PodAffinityTermInput)) -> PodInput {
    let mut pod = PodInput { labels: blue().match_labels, ..plain_pod() };
    let term = PodAffinityTermInput {
        label_selector: Some(blue()),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTermInput::default()
    };
    opinion(&mut pod, term);
    pod
}

fn zone(term: PodAffinityTermInput) -> PodAffinityTermInput {
    PodAffinityTermInput { topology_key: "topology.kubernetes.io/zone".to_owned(), ..term }
}

fn spread_pod(key: &str, schedule_anyway: bool) -> PodInput {
    let constraint = SpreadConstraintInput {
        max_skew: 5,
        topology_key: key.to_owned(),
        schedule_anyway,
        label_selector: Some(blue()),
        ..SpreadConstraintInput::default()
    };
    PodInput { labels: blue().match_labels, spread_constraints: vec![constraint], ..plain_pod() }
}

fn warm_scheduler(class_cache: ClassCache, pod: PodInput, percentage: i32) -> Scheduler {
    let settings = EngineSettings { class_cache, ..EngineSettings::default() };
    let mut scheduler = Scheduler::new(settings, percentage);
    for index in 0..NODE_COUNT {
        let mut node = node(index);
        node.allocatable.insert("pods".to_owned(), Quantity::parse("9999").expect("a quantity"));
        scheduler.on_event(ObjectEvent::node(&Arc::new(node)), 0);
    }
    let class = scheduler.compile(&Arc::new(pod));
    for uid in 0..WARM_CYCLES + CYCLES {
        scheduler
            .on_event(ObjectEvent::pod(PodUpdate { uid: PodUid(uid), class, ..PodUpdate::default() }), 0);
    }
    scheduler
}

fn run(scheduler: &mut Scheduler, calls: &mut Vec<OutgoingCall>, cycles: u64) {
    for _ in 0..cycles {
        let step = scheduler.schedule_one(&mut NoProbe);
        assert!(matches!(step, ScheduleOneOutcome::Assumed { .. }));
        scheduler.take_calls(calls);
        calls.clear();
    }
}

#[test]
fn warm_scheduling_cycle_does_not_allocate() {
    let cases = [
        ("plain pods", plain_pod(), 0),
        ("plain pods, all nodes looked at", plain_pod(), 100),
        ("required node affinity", affine_pod(Some("ssd"), None), 0),
        ("preferred node affinity", affine_pod(None, Some("ssd")), 0),
        ("both", affine_pod(Some("hdd"), Some("ssd")), 0),
        ("host ports", port_pod(), 0),
        ("one named node", named_pod(), 0),
        ("required anti-affinity", social_pod(|pod, term| pod.pod_anti_affinity.required = vec![term]), 0),
        ("required affinity", social_pod(|pod, term| pod.pod_affinity.required = vec![zone(term)]), 0),
        ("preferred affinity", social_pod(|pod, term| pod.pod_affinity.preferred = vec![(5, zone(term))]), 0),
        ("hard spread", spread_pod("topology.kubernetes.io/zone", false), 0),
        ("soft spread", spread_pod("topology.kubernetes.io/zone", true), 0),
        ("soft spread over hosts", spread_pod("kubernetes.io/hostname", true), 0),
    ];
    for (name, pod, percentage) in cases {
        for class_cache in [ClassCache::On, ClassCache::Off] {
            let mut scheduler = warm_scheduler(class_cache, pod.clone(), percentage);
            let mut calls = Vec::with_capacity(8);
            run(&mut scheduler, &mut calls, WARM_CYCLES);
            let before = ALLOCATIONS.get();
            run(&mut scheduler, &mut calls, CYCLES);
            let allocations = ALLOCATIONS.get() - before;
            assert_eq!(allocations, 0, "case: {name}, class cache {class_cache:?}");
        }
    }
}

/// Every node has pods of lower priority, which may go, and one of higher priority with the port that the
/// pending pods want: a dry run on each node, and none of them finds room.
fn scheduler_without_room(node_count: usize, victims: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(EngineSettings::default(), 0);
    let classes = [(plain_pod(), 0), (port_pod(), 10), (port_pod(), 5)]
        .map(|(pod, priority)| scheduler.compile(&Arc::new(PodInput { priority, ..pod })));
    let [low, high, pending] = classes;
    let mut uids = 0..;
    for index in 0..node_count {
        let node = Arc::new(node(index));
        scheduler.on_event(ObjectEvent::node(&node), 0);
        let node = Some(scheduler.node_id(&node.name));
        for class in std::iter::repeat_n(low, victims).chain([high]) {
            let uid = PodUid(uids.next().expect("there are more"));
            let pod = PodUpdate { uid, class, node, ..PodUpdate::default() };
            scheduler.on_event(ObjectEvent::pod(pod), 0);
        }
    }
    for uid in 0..4 {
        let pod = PodUpdate { uid: PodUid(1 << 32 | uid), class: pending, ..PodUpdate::default() };
        scheduler.on_event(ObjectEvent::pod(pod), 0);
    }
    scheduler
}

/// Allocations of the fourth attempt.
fn allocations_of_a_failed_preemption(node_count: usize, victims: usize) -> u64 {
    let mut scheduler = scheduler_without_room(node_count, victims);
    let mut calls = Vec::with_capacity(8);
    let mut last = 0;
    for _ in 0..4 {
        let before = ALLOCATIONS.get();
        let step = scheduler.schedule_one(&mut NoProbe);
        last = ALLOCATIONS.get() - before;
        assert!(matches!(step, ScheduleOneOutcome::Unschedulable { .. }), "{step:?}");
        scheduler.take_calls(&mut calls);
        calls.clear();
    }
    last
}

/// What is found is allocated: why a row is no candidate, what is said of the attempt, and the lists of both
/// that grow by doubling. The search itself allocates nothing.
#[test]
fn dry_runs_of_preemption_allocate_a_reason_for_a_row_and_nothing_for_a_victim() {
    for node_count in [256, 4096] {
        let one = allocations_of_a_failed_preemption(node_count, 1);
        assert!(one <= node_count as u64 + 64, "{one} allocations for {node_count} nodes");
        let several = allocations_of_a_failed_preemption(node_count, 8);
        assert_eq!(several, one, "eight victims a node instead of one, {node_count} nodes");
    }
}

/// Lets everybody in.
struct Open;

impl QueuePlugins for Open {
    fn run_pre_enqueue_plugins(&mut self, _: &QueuedPod, _: Option<PluginNumber>) -> Option<PluginNumber> {
        None
    }

    fn queueing_hint(&mut self, _: PluginNumber, _: &QueuedPod, _: &Event) -> bool {
        true
    }
}

/// Fills the queue, lets every pod fail, wakes them all and lets them through.
fn through_the_queue(queue: &mut SchedulingQueue, round: u64) {
    let now_ns = round * 1_000_000_000;
    for number in 0..10_000 {
        let pod = QueuedPod {
            pod: PodId(number),
            uid: PodUid(u64::from(number)),
            class: ClassId(number % 5),
            priority: i32::from(number % 3 == 0),
            profile: ProfileNumber(0),
        };
        queue.add(pod, now_ns, &mut Open);
    }
    let rejected = (PluginNumberSet::one(PluginNumber(0)), PluginNumberSet::NONE);
    for _ in 0..10_000 {
        let pod = queue.pop().expect("as many as were added");
        queue.add_unschedulable_pod_if_not_present(pod, rejected, now_ns, &mut Open);
    }
    queue.move_all_to_active_or_backoff_queue(
        &Event::bare(ASSIGNED_POD_DELETE),
        PreCheck::Everyone,
        now_ns,
        &mut Open,
    );
    while let Some(pod) = queue.pop() {
        queue.done(pod);
    }
}

#[test]
fn warm_scheduling_queue_does_not_allocate() {
    let mut interest = EventsOfInterest::default();
    interest.register(PluginNumber(0), ASSIGNED_POD_DELETE);
    let mut queue = SchedulingQueue::new(QueueSettings::default(), vec![interest]);
    (0..3).for_each(|round| through_the_queue(&mut queue, round));
    let before = ALLOCATIONS.get();
    (3..6).for_each(|round| through_the_queue(&mut queue, round));
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

/// The counter counts: otherwise the test above would say nothing.
#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    let text = std::hint::black_box(String::from("somewhere on the heap"));
    assert_eq!(ALLOCATIONS.get() - before, 1, "{text}");
}
