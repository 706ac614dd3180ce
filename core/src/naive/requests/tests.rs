use super::*;
use crate::input::{ContainerStatusInput, PodResourceStatus};
use crate::testkit::{PodParts, container, pod, resources, sidecar};

type List = &'static [(&'static str, &'static str)];

const SPEC: RequestOptions = RequestOptions {
    source: NaiveRequestSource::Spec,
    pod_level: PodLevel::Counts,
    container_defaults: ResourceList::new(),
};

fn running(container: ContainerInput, allocated: Option<List>, actual: Option<List>) -> ContainerInput {
    ContainerInput {
        status: Some(ContainerStatusInput {
            allocated: allocated.map(resources),
            actual_requests: actual.map(resources),
        }),
        ..container
    }
}

#[test]
fn spec_request_cases() {
    struct Case {
        name: &'static str,
        init: Vec<ContainerInput>,
        main: Vec<ContainerInput>,
        overhead: List,
        requests: List,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "no containers", init: vec![], main: vec![], overhead: &[], requests: &[] },
        Case {
            name: "containers add up, resource by resource",
            init: vec![],
            main: vec![container(&[("cpu", "1"), ("memory", "1Gi")]), container(&[("cpu", "500m"), ("example.com/gpu", "2")])],
            overhead: &[],
            requests: &[("cpu", "1500m"), ("example.com/gpu", "2"), ("memory", "1Gi")],
        },
        Case {
            name: "the largest init container, when larger than the sum",
            init: vec![container(&[("cpu", "3")]), container(&[("cpu", "2"), ("memory", "4Gi")])],
            main: vec![container(&[("cpu", "1"), ("memory", "1Gi")]), container(&[("cpu", "1")])],
            overhead: &[],
            requests: &[("cpu", "3"), ("memory", "4Gi")],
        },
        Case {
            name: "the sum, when larger than any init container",
            init: vec![container(&[("cpu", "3")])],
            main: vec![container(&[("cpu", "2")]), container(&[("cpu", "2")])],
            overhead: &[],
            requests: &[("cpu", "4")],
        },
        Case {
            name: "overhead comes on top",
            init: vec![container(&[("cpu", "3")])],
            main: vec![container(&[("cpu", "1")])],
            overhead: &[("cpu", "100m"), ("memory", "1Mi")],
            requests: &[("cpu", "3100m"), ("memory", "1Mi")],
        },
        Case {
            name: "a sidecar runs beside the containers",
            init: vec![sidecar(&[("cpu", "1")])],
            main: vec![container(&[("cpu", "2")])],
            overhead: &[],
            requests: &[("cpu", "3")],
        },
        Case {
            name: "several sidecars",
            init: vec![sidecar(&[("cpu", "1")]), sidecar(&[("cpu", "2")]), sidecar(&[("memory", "1Gi")])],
            main: vec![container(&[("cpu", "2")])],
            overhead: &[],
            requests: &[("cpu", "5"), ("memory", "1Gi")],
        },
        Case {
            name: "an init container runs beside the sidecars before it",
            init: vec![sidecar(&[("cpu", "1")]), container(&[("cpu", "5")]), sidecar(&[("cpu", "2")])],
            main: vec![container(&[("cpu", "1")])],
            overhead: &[],
            requests: &[("cpu", "6")],
        },
        Case {
            name: "and not beside those after it",
            init: vec![container(&[("cpu", "5")]), sidecar(&[("cpu", "1")]), sidecar(&[("cpu", "2")])],
            main: vec![container(&[("cpu", "1")])],
            overhead: &[],
            requests: &[("cpu", "5")],
        },
        Case {
            name: "a request of zero is a request",
            init: vec![],
            main: vec![container(&[("cpu", "0")])],
            overhead: &[],
            requests: &[("cpu", "0")],
        },
    ];
    for case in cases {
        let pod = PodInput {
            init_containers: case.init,
            containers: case.main,
            overhead: resources(case.overhead),
            ..Default::default()
        };
        assert_eq!(pod_requests(&pod, &SPEC), resources(case.requests), "case: {}", case.name);
    }
}

#[test]
fn pod_level_request_cases() {
    struct Case {
        name: &'static str,
        pod_level: Option<List>,
        main: List,
        init: List,
        requests: List,
        requests_without: List,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "absent", pod_level: None, main: &[("cpu", "1")], init: &[], requests: &[("cpu", "1")], requests_without: &[("cpu", "1")] },
        Case { name: "empty", pod_level: Some(&[]), main: &[("cpu", "1")], init: &[], requests: &[("cpu", "1")], requests_without: &[("cpu", "1")] },
        Case { name: "no container requests", pod_level: Some(&[("memory", "2Gi")]), main: &[], init: &[], requests: &[("memory", "2Gi")], requests_without: &[] },
        Case { name: "overrides what it names", pod_level: Some(&[("memory", "2Gi")]), main: &[("cpu", "1"), ("memory", "1Gi")], init: &[], requests: &[("cpu", "1"), ("memory", "2Gi")], requests_without: &[("cpu", "1"), ("memory", "1Gi")] },
        Case { name: "overrides downwards too", pod_level: Some(&[("cpu", "1")]), main: &[("cpu", "2")], init: &[("cpu", "3")], requests: &[("cpu", "1")], requests_without: &[("cpu", "3")] },
        Case { name: "huge pages count", pod_level: Some(&[("hugepages-2Mi", "4Mi")]), main: &[("hugepages-2Mi", "2Mi"), ("hugepages-1Gi", "1Gi")], init: &[], requests: &[("hugepages-1Gi", "1Gi"), ("hugepages-2Mi", "4Mi")], requests_without: &[("hugepages-1Gi", "1Gi"), ("hugepages-2Mi", "2Mi")] },
        Case { name: "other resources do not", pod_level: Some(&[("cpu", "2"), ("ephemeral-storage", "9"), ("example.com/gpu", "9")]), main: &[("ephemeral-storage", "1")], init: &[], requests: &[("cpu", "2"), ("ephemeral-storage", "1")], requests_without: &[("ephemeral-storage", "1")] },
        Case { name: "only other resources", pod_level: Some(&[("example.com/gpu", "9")]), main: &[("cpu", "1")], init: &[], requests: &[("cpu", "1")], requests_without: &[("cpu", "1")] },
    ];
    for case in &cases {
        let pod = PodInput {
            pod_requests: case.pod_level.map(resources),
            init_containers: vec![container(case.init)],
            overhead: resources(&[("cpu", "10m")]),
            ..pod().requests(case.main)
        };
        let with_overhead = |list| {
            let mut requests = resources(list);
            add(&mut requests, &pod.overhead);
            requests
        };
        let got = pod_requests(&pod, &SPEC);
        assert_eq!(got, with_overhead(case.requests), "case: {}", case.name);
        let skipped = RequestOptions { pod_level: PodLevel::Skipped, ..SPEC };
        let got = pod_requests(&pod, &skipped);
        assert_eq!(got, with_overhead(case.requests_without), "case: {}", case.name);
    }
}

#[test]
fn resized_pod_cases() {
    struct Case {
        name: &'static str,
        main: Vec<ContainerInput>,
        init: Vec<ContainerInput>,
        status: PodResourceStatus,
        requests: List,
    }
    let infeasible = || PodResourceStatus { resize_infeasible: true, ..Default::default() };
    let two = || container(&[("cpu", "2")]);
    #[rustfmt::skip]
    let cases = [
        Case { name: "no status yet", main: vec![two()], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "2")] },
        Case { name: "an empty status", main: vec![running(two(), None, None)], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "2")] },
        Case { name: "growing: the spec is more", main: vec![running(two(), Some(&[("cpu", "1")]), Some(&[("cpu", "1")]))], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "2")] },
        Case { name: "shrinking: still allocated", main: vec![running(two(), Some(&[("cpu", "3")]), Some(&[("cpu", "2")]))], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "3")] },
        Case { name: "shrinking: still in use", main: vec![running(two(), Some(&[("cpu", "2")]), Some(&[("cpu", "4")]))], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "4")] },
        Case { name: "in use falls back to allocated", main: vec![running(two(), Some(&[("cpu", "5")]), None)], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "5")] },
        Case { name: "each resource has its own most", main: vec![running(container(&[("cpu", "3"), ("memory", "1"), ("example.com/a", "1")]), Some(&[("cpu", "1"), ("memory", "3"), ("example.com/a", "2")]), Some(&[("cpu", "2"), ("memory", "2"), ("example.com/a", "3")]))], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "3"), ("example.com/a", "3"), ("memory", "3")] },
        Case { name: "the most of sums, not the sum of mosts", main: vec![running(container(&[("cpu", "4")]), Some(&[("cpu", "1")]), Some(&[("cpu", "1")])), running(container(&[("cpu", "1")]), Some(&[("cpu", "3")]), Some(&[("cpu", "3")]))], init: vec![], status: PodResourceStatus::default(), requests: &[("cpu", "5")] },
        Case { name: "infeasible: the spec is a wish", main: vec![running(two(), Some(&[("cpu", "1")]), Some(&[("cpu", "1")]))], init: vec![], status: infeasible(), requests: &[("cpu", "1")] },
        Case { name: "infeasible, and another resize under way", main: vec![running(container(&[("cpu", "9")]), Some(&[("cpu", "1")]), Some(&[("cpu", "2")]))], init: vec![], status: infeasible(), requests: &[("cpu", "2")] },
        Case { name: "infeasible without a status is nothing", main: vec![two()], init: vec![], status: infeasible(), requests: &[] },
        Case { name: "sidecars too", main: vec![container(&[("cpu", "1")])], init: vec![running(sidecar(&[("cpu", "2")]), Some(&[("cpu", "4")]), None)], status: PodResourceStatus::default(), requests: &[("cpu", "5")] },
        Case { name: "infeasible sidecar", main: vec![running(container(&[("cpu", "1")]), Some(&[("cpu", "1")]), None)], init: vec![running(sidecar(&[("cpu", "9")]), Some(&[("cpu", "4")]), None)], status: infeasible(), requests: &[("cpu", "5")] },
        Case { name: "deferred counts as wished", main: vec![running(two(), Some(&[("cpu", "1")]), None)], init: vec![], status: PodResourceStatus { resize_deferred: true, ..Default::default() }, requests: &[("cpu", "2")] },
        Case {
            name: "the pod's own status replaces those of its containers",
            main: vec![running(two(), Some(&[("cpu", "8")]), Some(&[("cpu", "9")]))],
            init: vec![],
            status: PodResourceStatus { has_resources: true, requests: Some(resources(&[("cpu", "3")])), allocated: Some(resources(&[("cpu", "4"), ("memory", "1")])), ..Default::default() },
            requests: &[("cpu", "4"), ("memory", "1")],
        },
        Case {
            name: "but only if it is whole",
            main: vec![running(two(), Some(&[("cpu", "8")]), None)],
            init: vec![],
            status: PodResourceStatus { has_resources: true, requests: Some(resources(&[("cpu", "3")])), ..Default::default() },
            requests: &[("cpu", "8")],
        },
    ];
    for case in cases {
        let pod = PodInput {
            containers: case.main,
            init_containers: case.init,
            resource_status: case.status,
            ..Default::default()
        };
        let got = pod_requests(&pod, &placed_options());
        assert_eq!(got, resources(case.requests), "case: {}", case.name);
        let spec_only = pod_requests(&pod, &SPEC);
        let sum: Quantity = pod
            .containers
            .iter()
            .chain(&pod.init_containers)
            .filter_map(|c| c.requests.get("cpu").copied())
            .sum();
        assert_eq!(spec_only.get("cpu"), Some(&sum), "case: {}", case.name);
    }
}

#[test]
fn resized_pod_level_cases() {
    struct Case {
        name: &'static str,
        status: PodResourceStatus,
        requests: List,
    }
    let status = |requests: Option<List>, allocated: Option<List>| PodResourceStatus {
        has_resources: true,
        requests: requests.map(resources),
        allocated: allocated.map(resources),
        ..Default::default()
    };
    // The pod level asks for 2 cores, its container for 1.
    #[rustfmt::skip]
    let cases = [
        Case { name: "no status", status: PodResourceStatus::default(), requests: &[("cpu", "2")] },
        Case { name: "allocated without status resources is not looked at", status: PodResourceStatus { has_resources: false, ..status(None, Some(&[("cpu", "5")])) }, requests: &[("cpu", "2")] },
        Case { name: "in use", status: status(Some(&[("cpu", "3")]), None), requests: &[("cpu", "3")] },
        Case { name: "allocated", status: status(Some(&[("cpu", "3")]), Some(&[("cpu", "4")])), requests: &[("cpu", "4")] },
        Case { name: "the spec is more", status: status(Some(&[("cpu", "1")]), Some(&[("cpu", "1")])), requests: &[("cpu", "2")] },
        Case { name: "infeasible", status: PodResourceStatus { resize_infeasible: true, ..status(Some(&[("cpu", "1")]), Some(&[("cpu", "1500m")])) }, requests: &[("cpu", "1500m")] },
    ];
    for case in cases {
        let pod = PodInput {
            pod_requests: Some(resources(&[("cpu", "2")])),
            resource_status: case.status,
            ..pod().requests(&[("cpu", "1")])
        };
        let got = pod_requests(&pod, &placed_options());
        assert_eq!(got, resources(case.requests), "case: {}", case.name);
        assert_eq!(fit_request(&pod).cpu_milli, 2000, "case: {}", case.name);
    }
}

#[test]
fn occupied_cases() {
    struct Case {
        name: &'static str,
        pod: PodInput,
        cpu_milli: i64,
        memory_bytes: i64,
        nonzero_cpu_milli: i64,
        nonzero_memory_bytes: i64,
    }
    let mib = 1024 * 1024;
    let with_pod_level = |pod_level: List, main: List| PodInput {
        pod_requests: Some(resources(pod_level)),
        ..pod().requests(main)
    };
    #[rustfmt::skip]
    let cases = [
        Case { name: "nothing requested", pod: pod().requests(&[]), cpu_milli: 0, memory_bytes: 0, nonzero_cpu_milli: 100, nonzero_memory_bytes: 200 * mib },
        Case { name: "requested zero stays zero", pod: pod().requests(&[("cpu", "0"), ("memory", "0")]), cpu_milli: 0, memory_bytes: 0, nonzero_cpu_milli: 0, nonzero_memory_bytes: 0 },
        Case { name: "one of two requested", pod: pod().requests(&[("cpu", "1")]), cpu_milli: 1000, memory_bytes: 0, nonzero_cpu_milli: 1000, nonzero_memory_bytes: 200 * mib },
        Case { name: "every container gets its own default", pod: PodInput { containers: vec![container(&[]), container(&[("cpu", "1")])], ..Default::default() }, cpu_milli: 1000, memory_bytes: 0, nonzero_cpu_milli: 1100, nonzero_memory_bytes: 400 * mib },
        Case { name: "sidecars and init containers too", pod: PodInput { init_containers: vec![sidecar(&[]), container(&[])], ..pod().requests(&[]) }, cpu_milli: 0, memory_bytes: 0, nonzero_cpu_milli: 200, nonzero_memory_bytes: 400 * mib },
        Case { name: "no containers", pod: PodInput::default(), cpu_milli: 0, memory_bytes: 0, nonzero_cpu_milli: 0, nonzero_memory_bytes: 0 },
        Case { name: "overhead comes on top of the default", pod: PodInput { overhead: resources(&[("cpu", "10m")]), ..pod().requests(&[]) }, cpu_milli: 10, memory_bytes: 0, nonzero_cpu_milli: 110, nonzero_memory_bytes: 200 * mib },
        Case { name: "pod level names both", pod: with_pod_level(&[("cpu", "2"), ("memory", "1Mi")], &[]), cpu_milli: 2000, memory_bytes: mib, nonzero_cpu_milli: 2000, nonzero_memory_bytes: mib },
        Case { name: "pod level names one, nobody the other", pod: with_pod_level(&[("cpu", "2")], &[]), cpu_milli: 2000, memory_bytes: 0, nonzero_cpu_milli: 2000, nonzero_memory_bytes: 200 * mib },
        Case { name: "pod level names one, a container the other", pod: PodInput { containers: vec![container(&[("memory", "1Mi")]), container(&[])], ..with_pod_level(&[("cpu", "2")], &[]) }, cpu_milli: 2000, memory_bytes: mib, nonzero_cpu_milli: 2000, nonzero_memory_bytes: mib },
        Case { name: "fractions are rounded up", pod: pod().requests(&[("cpu", "100u"), ("memory", "1500m")]), cpu_milli: 1, memory_bytes: 2, nonzero_cpu_milli: 1, nonzero_memory_bytes: 2 },
        Case { name: "and only after adding up", pod: PodInput { containers: vec![container(&[("cpu", "500u"), ("memory", "0")]), container(&[("cpu", "500u"), ("memory", "0")])], ..Default::default() }, cpu_milli: 1, memory_bytes: 0, nonzero_cpu_milli: 1, nonzero_memory_bytes: 0 },
    ];
    for case in cases {
        let got = occupied(&case.pod);
        assert_eq!(got.requested.cpu_milli, case.cpu_milli, "case: {}", case.name);
        assert_eq!(got.requested.memory_bytes, case.memory_bytes, "case: {}", case.name);
        assert_eq!(got.nonzero_cpu_milli, case.nonzero_cpu_milli, "case: {}", case.name);
        assert_eq!(got.nonzero_memory_bytes, case.nonzero_memory_bytes, "case: {}", case.name);
    }
}

#[test]
fn a_list_in_scheduling_units_drops_unknown_names() {
    let got = Resources::from_list(&resources(&[
        ("cpu", "1500m"),
        ("memory", "1Ki"),
        ("ephemeral-storage", "2Ki"),
        ("pods", "110"),
        ("example.com/gpu", "3"),
        ("hugepages-2Mi", "4Mi"),
        ("attachable-volumes-csi", "5"),
        ("storage", "9"),
        ("requests.example.com/gpu", "9"),
    ]));
    let expected = Resources {
        cpu_milli: 1500,
        memory_bytes: 1024,
        ephemeral_storage_bytes: 2048,
        pods: 110,
        scalars: BTreeMap::from([
            ("example.com/gpu".to_owned(), 3),
            ("hugepages-2Mi".to_owned(), 4 * 1024 * 1024),
            ("attachable-volumes-csi".to_owned(), 5),
        ]),
    };
    assert_eq!(got, expected);
}

#[test]
fn fit_and_balanced_scores_default_requests_differently() {
    let pod = PodInput { pod_requests: Some(resources(&[("cpu", "2")])), ..pod().requests(&[]) };
    assert_eq!(fit_score_request(&pod, "cpu"), DEFAULT_CPU_MILLI);
    assert_eq!(fit_score_request(&pod, "memory"), DEFAULT_MEMORY_BYTES);
    assert_eq!(fit_score_request(&pod, "example.com/gpu"), 0);
    assert_eq!(balanced_score_request(&pod, "cpu"), 2000);
    assert_eq!(balanced_score_request(&pod, "memory"), 0);
}
