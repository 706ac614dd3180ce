use super::*;
use crate::input::ContainerInput;
use crate::testkit::{NodeParts, PodParts, bare_node, container, empty, pod, resources, sidecar, strings};

type List = &'static [(&'static str, &'static str)];

/// A node of 10 millicores, 20 bytes and so on, with one pod on it that uses `used`.
fn node_using(used: &[(&str, &str)]) -> NaiveNode {
    let mut node = empty(bare_node("n").has(&[
        ("cpu", "10m"),
        ("memory", "20"),
        ("pods", "32"),
        ("ephemeral-storage", "20"),
        ("example.com/a", "5"),
        ("kubernetes.io/thing", "5"),
        ("hugepages-2Mi", "5"),
    ]));
    node.pods.push(pod().requests(used).into());
    node
}

fn init_pod(init: Vec<ContainerInput>, main: Vec<ContainerInput>) -> PodInput {
    PodInput { init_containers: init, containers: main, ..Default::default() }
}

#[test]
fn filter_cases() {
    struct Case {
        name: &'static str,
        pod: PodInput,
        used: List,
        reasons: &'static [&'static str],
        is_unresolvable: bool,
    }
    let c = container;
    let pod_level = |pod_requests: List, main: List| PodInput {
        pod_requests: Some(resources(pod_requests)),
        ..pod().requests(main)
    };
    let overhead =
        |overhead: List, main: List| PodInput { overhead: resources(overhead), ..pod().requests(main) };
    #[rustfmt::skip]
    let cases = [
        Case { name: "nothing requested fits a full node", pod: pod().requests(&[]), used: &[("cpu", "10m"), ("memory", "20")], reasons: &[], is_unresolvable: false },
        Case { name: "nothing requested fits an overcommitted node", pod: pod().requests(&[]), used: &[("cpu", "12m"), ("memory", "30")], reasons: &[], is_unresolvable: false },
        Case { name: "zero requested fits an overcommitted node", pod: pod().requests(&[("cpu", "0"), ("memory", "0")]), used: &[("cpu", "12m"), ("memory", "30")], reasons: &[], is_unresolvable: false },
        Case { name: "one resource requested, the other overcommitted", pod: pod().requests(&[("cpu", "1m"), ("memory", "0")]), used: &[("memory", "30")], reasons: &[], is_unresolvable: false },
        Case { name: "both fit", pod: pod().requests(&[("cpu", "1m"), ("memory", "1")]), used: &[("cpu", "5m"), ("memory", "5")], reasons: &[], is_unresolvable: false },
        Case { name: "exactly full", pod: pod().requests(&[("cpu", "5m"), ("memory", "1")]), used: &[("cpu", "5m"), ("memory", "19")], reasons: &[], is_unresolvable: false },
        Case { name: "exactly the whole node", pod: pod().requests(&[("cpu", "10m"), ("memory", "20")]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "both short", pod: pod().requests(&[("cpu", "1m"), ("memory", "1")]), used: &[("cpu", "10m"), ("memory", "20")], reasons: &["Insufficient cpu", "Insufficient memory"], is_unresolvable: false },
        Case { name: "cpu short", pod: pod().requests(&[("cpu", "2m"), ("memory", "1")]), used: &[("cpu", "9m"), ("memory", "5")], reasons: &["Insufficient cpu"], is_unresolvable: false },
        Case { name: "memory short", pod: pod().requests(&[("cpu", "1m"), ("memory", "2")]), used: &[("cpu", "5m"), ("memory", "19")], reasons: &["Insufficient memory"], is_unresolvable: false },
        Case { name: "more than the node has", pod: pod().requests(&[("cpu", "11m"), ("memory", "1")]), used: &[("memory", "20")], reasons: &["Insufficient cpu", "Insufficient memory"], is_unresolvable: true },
        Case { name: "parts of a unit count as whole", pod: pod().requests(&[("cpu", "9100u")]), used: &[("cpu", "100u")], reasons: &["Insufficient cpu"], is_unresolvable: false },
        // Init containers and sidecars.
        Case { name: "init container too large", pod: init_pod(vec![c(&[("cpu", "3m")])], vec![c(&[("cpu", "1m")])]), used: &[("cpu", "8m")], reasons: &["Insufficient cpu"], is_unresolvable: false },
        Case { name: "largest init container too large", pod: init_pod(vec![c(&[("memory", "1")]), c(&[("memory", "3")])], vec![c(&[("memory", "1")])]), used: &[("memory", "18")], reasons: &["Insufficient memory"], is_unresolvable: false },
        Case { name: "init containers do not add up", pod: init_pod(vec![c(&[("cpu", "2m")]), c(&[("cpu", "2m")])], vec![c(&[("cpu", "1m")]), c(&[("cpu", "1m")])]), used: &[("cpu", "8m")], reasons: &[], is_unresolvable: false },
        Case { name: "sidecars do", pod: init_pod(vec![sidecar(&[("cpu", "1m")]), sidecar(&[("cpu", "1m")])], vec![c(&[("cpu", "1m")])]), used: &[("cpu", "8m")], reasons: &["Insufficient cpu"], is_unresolvable: false },
        Case { name: "sidecars that fit", pod: init_pod(vec![sidecar(&[("cpu", "1m")])], vec![c(&[("cpu", "1m")])]), used: &[("cpu", "8m")], reasons: &[], is_unresolvable: false },
        // Scalar resources.
        Case { name: "extended resource fits", pod: pod().requests(&[("example.com/a", "5")]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "extended resource in use", pod: pod().requests(&[("example.com/a", "1")]), used: &[("example.com/a", "5")], reasons: &["Insufficient example.com/a"], is_unresolvable: false },
        Case { name: "extended resource beyond the node", pod: pod().requests(&[("example.com/a", "6")]), used: &[], reasons: &["Insufficient example.com/a"], is_unresolvable: true },
        Case { name: "extended resource over several containers", pod: init_pod(vec![], vec![c(&[("example.com/a", "3")]), c(&[("example.com/a", "3")])]), used: &[], reasons: &["Insufficient example.com/a"], is_unresolvable: true },
        Case { name: "extended resource over several init containers", pod: init_pod(vec![c(&[("example.com/a", "3")]), c(&[("example.com/a", "3")])], vec![]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "a resource the node does not know", pod: pod().requests(&[("example.com/b", "1")]), used: &[], reasons: &["Insufficient example.com/b"], is_unresolvable: true },
        Case { name: "the same, but zero of it", pod: pod().requests(&[("example.com/b", "0")]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "a native prefixed resource", pod: pod().requests(&[("kubernetes.io/thing", "6")]), used: &[], reasons: &["Insufficient kubernetes.io/thing"], is_unresolvable: true },
        Case { name: "huge pages", pod: pod().requests(&[("hugepages-2Mi", "3")]), used: &[("hugepages-2Mi", "3")], reasons: &["Insufficient hugepages-2Mi"], is_unresolvable: false },
        Case { name: "extended resource of an init container fits", pod: init_pod(vec![c(&[("example.com/a", "5")])], vec![c(&[("example.com/a", "1")])]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "extended resource of an init container in use", pod: init_pod(vec![c(&[("example.com/a", "1")])], vec![]), used: &[("example.com/a", "5")], reasons: &["Insufficient example.com/a"], is_unresolvable: false },
        Case { name: "extended resource of an init container beyond the node", pod: init_pod(vec![c(&[("example.com/a", "1")]), c(&[("example.com/a", "6")])], vec![]), used: &[], reasons: &["Insufficient example.com/a"], is_unresolvable: true },
        Case { name: "an init container's resource the node does not know", pod: init_pod(vec![c(&[("example.com/b", "1")])], vec![]), used: &[], reasons: &["Insufficient example.com/b"], is_unresolvable: true },
        Case { name: "an init container's native prefixed resource", pod: init_pod(vec![c(&[("kubernetes.io/thing", "6")])], vec![]), used: &[], reasons: &["Insufficient kubernetes.io/thing"], is_unresolvable: true },
        Case { name: "huge pages of an init container", pod: init_pod(vec![c(&[("hugepages-2Mi", "6")])], vec![]), used: &[], reasons: &["Insufficient hugepages-2Mi"], is_unresolvable: true },
        Case { name: "huge pages over several containers", pod: init_pod(vec![], vec![c(&[("hugepages-2Mi", "3")]), c(&[("hugepages-2Mi", "3")])]), used: &[], reasons: &["Insufficient hugepages-2Mi"], is_unresolvable: true },
        Case { name: "pod level huge pages fit", pod: pod_level(&[("hugepages-2Mi", "5")], &[("hugepages-2Mi", "2")]), used: &[], reasons: &[], is_unresolvable: false },
        Case { name: "pod level fits whatever its init containers and containers add up to", pod: PodInput { pod_requests: Some(resources(&[("cpu", "5m"), ("memory", "5")])), ..init_pod(vec![sidecar(&[("cpu", "3m")]), c(&[("memory", "4")])], vec![c(&[("cpu", "3m")])]) }, used: &[("cpu", "5m"), ("memory", "15")], reasons: &[], is_unresolvable: false },
        Case { name: "an unprefixed unknown resource is not looked at", pod: pod().requests(&[("storage", "1E")]), used: &[], reasons: &[], is_unresolvable: false },
        // Ephemeral storage.
        Case { name: "ephemeral storage fits", pod: pod().requests(&[("ephemeral-storage", "10")]), used: &[("ephemeral-storage", "10")], reasons: &[], is_unresolvable: false },
        Case { name: "ephemeral storage short", pod: pod().requests(&[("ephemeral-storage", "11")]), used: &[("ephemeral-storage", "10")], reasons: &["Insufficient ephemeral-storage"], is_unresolvable: false },
        Case { name: "ephemeral storage beyond the node", pod: pod().requests(&[("ephemeral-storage", "25")]), used: &[], reasons: &["Insufficient ephemeral-storage"], is_unresolvable: true },
        // Overhead and pod level.
        Case { name: "overhead fits", pod: overhead(&[("cpu", "3m")], &[("cpu", "1m")]), used: &[("cpu", "5m")], reasons: &[], is_unresolvable: false },
        Case { name: "overhead does not fit", pod: overhead(&[("memory", "15")], &[("memory", "1")]), used: &[("memory", "5")], reasons: &["Insufficient memory"], is_unresolvable: false },
        Case { name: "pod level fits", pod: pod_level(&[("cpu", "5m")], &[("cpu", "1m")]), used: &[("cpu", "5m")], reasons: &[], is_unresolvable: false },
        Case { name: "pod level cpu does not fit", pod: pod_level(&[("cpu", "6m")], &[("cpu", "1m")]), used: &[("cpu", "5m")], reasons: &["Insufficient cpu"], is_unresolvable: false },
        Case { name: "pod level memory does not fit", pod: pod_level(&[("memory", "21")], &[("cpu", "1m")]), used: &[], reasons: &["Insufficient memory"], is_unresolvable: true },
        Case { name: "pod level huge pages do not fit", pod: pod_level(&[("hugepages-2Mi", "6")], &[]), used: &[], reasons: &["Insufficient hugepages-2Mi"], is_unresolvable: true },
    ];
    for case in cases {
        let verdict = filter(&case.pod, &FitArgs::default(), &node_using(case.used));
        let (reasons, code) = verdict.map_or((vec![], None), |v| (v.reasons, Some(v.code)));
        assert_eq!(reasons, strings(case.reasons), "case: {}", case.name);
        let expected = match (case.reasons.is_empty(), case.is_unresolvable) {
            (true, _) => None,
            (false, false) => Some(NaiveCode::Unschedulable),
            (false, true) => Some(NaiveCode::UnschedulableAndUnresolvable),
        };
        assert_eq!(code, expected, "case: {}", case.name);
    }
}

#[test]
fn the_number_of_pods_is_limited_whatever_they_request() {
    let full = |pods| {
        let mut node = empty(bare_node("n").has(&[("cpu", "10"), ("pods", pods)]));
        node.pods.push(pod().requests(&[("cpu", "5")]).into());
        node
    };
    let reasons = |request: List, node: &NaiveNode| {
        filter(&pod().requests(request), &FitArgs::default(), node).map(|v| (v.reasons, v.code))
    };
    assert_eq!(reasons(&[], &full("2")), None);
    let too_many = Some((strings(&["Too many pods"]), NaiveCode::Unschedulable));
    assert_eq!(reasons(&[], &full("1")), too_many);
    assert_eq!(reasons(&[("cpu", "5")], &full("1")), too_many);
    let both = strings(&["Too many pods", "Insufficient cpu"]);
    assert_eq!(reasons(&[("cpu", "6")], &full("1")), Some((both.clone(), NaiveCode::Unschedulable)));
    assert_eq!(reasons(&[("cpu", "11")], &full("1")), Some((both, NaiveCode::UnschedulableAndUnresolvable)));
    let limitless = empty(bare_node("n").has(&[("cpu", "10")]));
    assert_eq!(reasons(&[], &limitless), too_many);
}

#[test]
fn ignored_resources_are_not_checked() {
    let args = FitArgs {
        ignored_resources: BTreeSet::from(["example.com/b".to_owned(), "cpu".to_owned()]),
        ignored_resource_groups: BTreeSet::from(["acme.org".to_owned(), "kubernetes.io".to_owned()]),
        ..FitArgs::default()
    };
    let reasons = |request: List| {
        filter(&pod().requests(request), &args, &node_using(&[])).map_or(vec![], |v| v.reasons)
    };
    assert!(reasons(&[("example.com/b", "1")]).is_empty());
    assert!(reasons(&[("acme.org/x", "1"), ("acme.org/y", "1")]).is_empty());
    assert_eq!(reasons(&[("example.com/c", "1"), ("acme.org/x", "1")]), ["Insufficient example.com/c"]);
    // Only extended resources can be ignored.
    assert_eq!(reasons(&[("cpu", "1")]), ["Insufficient cpu"]);
    assert_eq!(reasons(&[("kubernetes.io/other", "1")]), ["Insufficient kubernetes.io/other"]);
}

fn spec(name: &str, weight: i64) -> ResourceSpec {
    ResourceSpec { name: name.to_owned(), weight }
}

#[test]
fn least_and_most_allocated_cases() {
    struct Case {
        name: &'static str,
        resources: Vec<ResourceSpec>,
        request: List,
        allocatable: List,
        used: &'static [List],
        least: i64,
        most: i64,
    }
    let both = default_resources;
    let gpu = || vec![spec("cpu", 1), spec("memory", 1), spec("example.com/gpu", 2)];
    #[rustfmt::skip]
    let cases = [
        // 100m of 4000m and 200Mi of 10000Mi.
        Case { name: "nothing requested, nothing there", resources: both(), request: &[], allocatable: &[("cpu", "4"), ("memory", "10000Mi")], used: &[], least: (97 + 98) / 2, most: (2 + 2) / 2 },
        Case { name: "requests of zero, nothing there", resources: both(), request: &[("cpu", "0"), ("memory", "0")], allocatable: &[("cpu", "4"), ("memory", "10000Mi")], used: &[], least: 100, most: 0 },
        // 3 of 4 cores and 5000 of 10000 bytes.
        Case { name: "requested, nothing there", resources: both(), request: &[("cpu", "3"), ("memory", "5000")], allocatable: &[("cpu", "4"), ("memory", "10000")], used: &[], least: (25 + 50) / 2, most: (75 + 50) / 2 },
        Case { name: "nothing requested, pods there", resources: both(), request: &[("cpu", "0"), ("memory", "0")], allocatable: &[("cpu", "10"), ("memory", "20000")], used: &[&[("cpu", "3"), ("memory", "5000")], &[("cpu", "3"), ("memory", "0")]], least: (40 + 75) / 2, most: (60 + 25) / 2 },
        Case { name: "pods there count with their defaults", resources: vec![spec("cpu", 1)], request: &[("cpu", "0")], allocatable: &[("cpu", "1")], used: &[&[], &[]], least: 80, most: 20 },
        Case { name: "requested, pods there", resources: both(), request: &[("cpu", "3"), ("memory", "5000")], allocatable: &[("cpu", "10"), ("memory", "20000")], used: &[&[("cpu", "3"), ("memory", "5000")]], least: (40 + 50) / 2, most: (60 + 50) / 2 },
        Case { name: "beyond capacity", resources: both(), request: &[("cpu", "6"), ("memory", "0")], allocatable: &[("cpu", "4"), ("memory", "10000")], used: &[], least: 100 / 2, most: 100 / 2 },
        Case { name: "a node without anything", resources: both(), request: &[("cpu", "1")], allocatable: &[], used: &[&[("cpu", "1")]], least: 0, most: 0 },
        Case { name: "a node without one of them", resources: both(), request: &[("cpu", "1")], allocatable: &[("cpu", "4")], used: &[], least: 75, most: 25 },
        Case { name: "weights", resources: vec![spec("cpu", 1), spec("memory", 2)], request: &[("cpu", "3"), ("memory", "5000")], allocatable: &[("cpu", "4"), ("memory", "10000")], used: &[], least: (25 + 2 * 50) / 3, most: (75 + 2 * 50) / 3 },
        Case { name: "an extended resource not requested", resources: gpu(), request: &[("cpu", "2"), ("memory", "5000")], allocatable: &[("cpu", "4"), ("memory", "10000"), ("example.com/gpu", "4")], used: &[&[("cpu", "0"), ("memory", "0"), ("example.com/gpu", "4")]], least: 50, most: 50 },
        Case { name: "an extended resource requested", resources: gpu(), request: &[("cpu", "2"), ("memory", "5000"), ("example.com/gpu", "1")], allocatable: &[("cpu", "4"), ("memory", "10000"), ("example.com/gpu", "4")], used: &[], least: (50 + 50 + 2 * 75) / 4, most: (50 + 50 + 2 * 25) / 4 },
        Case { name: "an extended resource the node lacks", resources: gpu(), request: &[("cpu", "2"), ("memory", "5000"), ("example.com/gpu", "1")], allocatable: &[("cpu", "4"), ("memory", "10000")], used: &[], least: 50, most: 50 },
        Case { name: "ephemeral storage counts unrequested", resources: vec![spec("ephemeral-storage", 1)], request: &[], allocatable: &[("ephemeral-storage", "100")], used: &[&[("ephemeral-storage", "30")]], least: 70, most: 30 },
        Case { name: "a name that is no resource of a node", resources: vec![spec("pods", 1), spec("storage", 1)], request: &[], allocatable: &[("pods", "10"), ("storage", "10")], used: &[], least: 0, most: 0 },
    ];
    for case in &cases {
        let mut node = empty(bare_node("n").has(case.allocatable));
        node.pods = case.used.iter().map(|used| pod().requests(used).into()).collect();
        for (strategy, expected) in [
            (NaiveScoringStrategyType::LeastAllocated, case.least),
            (NaiveScoringStrategyType::MostAllocated, case.most),
        ] {
            let args = FitArgs { strategy, resources: case.resources.clone(), ..FitArgs::default() };
            let got = score(&pod().requests(case.request), &args, &node);
            assert_eq!(got, expected, "case: {}, {:?}", case.name, args.strategy);
        }
    }
}

#[test]
fn sidecars_count_in_scores() {
    let with_sidecar = init_pod(vec![sidecar(&[("cpu", "2")])], vec![container(&[("cpu", "1")])]);
    let args = FitArgs { resources: vec![spec("cpu", 1)], ..FitArgs::default() };
    let mut node = empty(bare_node("n").has(&[("cpu", "10")]));
    assert_eq!(score(&with_sidecar, &args, &node), 70);
    node.pods.push(with_sidecar.clone().into());
    assert_eq!(score(&with_sidecar, &args, &node), 40);
}

fn points(list: &[(i64, i64)]) -> Vec<ShapePoint> {
    list.iter().map(|&(utilization, score)| ShapePoint { utilization, score }).collect()
}

#[test]
fn shape_cases() {
    struct Case {
        name: &'static str,
        shape: &'static [(i64, i64)],
        /// (utilization, score)
        scores: &'static [(i64, i64)],
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "falling", shape: &[(0, 10), (100, 0)], scores: &[(0, 100), (1, 99), (50, 50), (99, 1), (100, 0)] },
        Case { name: "rising", shape: &[(0, 0), (100, 10)], scores: &[(0, 0), (1, 1), (50, 50), (100, 100)] },
        Case { name: "level outside of the points", shape: &[(10, 1), (90, 9)], scores: &[(0, 10), (10, 10), (50, 50), (90, 90), (100, 90)] },
        Case { name: "a corner between", shape: &[(0, 0), (40, 10), (100, 4)], scores: &[(20, 50), (40, 100), (50, 90), (70, 70), (100, 40)] },
        Case { name: "division drops the rest", shape: &[(0, 0), (3, 1)], scores: &[(1, 3), (2, 6), (3, 10)] },
        Case { name: "falling division too", shape: &[(0, 1), (3, 0)], scores: &[(1, 7), (2, 4), (3, 0)] },
        Case { name: "one point", shape: &[(50, 5)], scores: &[(0, 50), (100, 50)] },
    ];
    for case in &cases {
        for (utilization, expected) in case.scores {
            let got = shape_score(&points(case.shape), *utilization);
            assert_eq!(got, *expected, "case: {} at {utilization}", case.name);
        }
    }
}

#[test]
fn requested_to_capacity_ratio_cases() {
    struct Case {
        name: &'static str,
        shape: &'static [(i64, i64)],
        resources: Vec<ResourceSpec>,
        request: List,
        score: i64,
    }
    let rising = &[(0, 0), (100, 10)][..];
    // The node has 4 cores and 10000 bytes, all free, and 8 devices, half of them used.
    #[rustfmt::skip]
    let cases = [
        Case { name: "mean of both", shape: &[(0, 10), (100, 0)], resources: default_resources(), request: &[("cpu", "3"), ("memory", "5000")], score: 38 },
        Case { name: "half is rounded up", shape: rising, resources: default_resources(), request: &[("cpu", "3"), ("memory", "5000")], score: 63 },
        Case { name: "a resource that scores zero does not count", shape: rising, resources: default_resources(), request: &[("cpu", "2"), ("memory", "0")], score: 50 },
        Case { name: "nothing counts", shape: rising, resources: default_resources(), request: &[("cpu", "0"), ("memory", "0")], score: 0 },
        Case { name: "beyond capacity is full", shape: rising, resources: default_resources(), request: &[("cpu", "9"), ("memory", "5000")], score: 75 },
        Case { name: "weights", shape: rising, resources: vec![spec("cpu", 3), spec("memory", 1)], request: &[("cpu", "1"), ("memory", "5000")], score: 31 },
        Case { name: "an extended resource", shape: rising, resources: vec![spec("example.com/gpu", 1)], request: &[("example.com/gpu", "2")], score: 75 },
        Case { name: "an extended resource not requested", shape: rising, resources: vec![spec("example.com/gpu", 1)], request: &[], score: 0 },
        Case { name: "extended resources of different weight", shape: rising, resources: vec![spec("example.com/gpu", 2), spec("cpu", 1)], request: &[("example.com/gpu", "4"), ("cpu", "1")], score: 75 },
    ];
    for case in &cases {
        let mut node =
            empty(bare_node("n").has(&[("cpu", "4"), ("memory", "10000"), ("example.com/gpu", "8")]));
        node.pods.push(pod().requests(&[("cpu", "0"), ("memory", "0"), ("example.com/gpu", "4")]).into());
        let args = FitArgs {
            strategy: NaiveScoringStrategyType::RequestedToCapacityRatio(points(case.shape)),
            resources: case.resources.clone(),
            ..FitArgs::default()
        };
        let got = score(&pod().requests(case.request), &args, &node);
        assert_eq!(got, case.score, "case: {}", case.name);
    }
}
