//! NodePorts: a host port is taken once for each address and protocol.
//!
//! Upstream: plugins/nodeports/node_ports.go, kube-scheduler/framework `HostPortInfo`.

use super::NAME;
use crate::input::{HostPortInput, PodInput};
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, any_node, no_counts};
use crate::naive::{NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, node),
        benches: || {
            let mut pod = plain();
            pod.containers[0].host_ports = vec![HostPortInput { host_port: 8080, ..Default::default() }];
            vec![BenchPod::new("node_ports", pod)]
        },
    }),
    score: None,
    fakes: Fakes::NONE,
    bench_node: any_node,
};

/// The address that stands for all addresses of a host.
const ANY_ADDRESS: &str = "0.0.0.0";

/// Pods without host ports are not looked at.
#[must_use]
pub fn pre_filter(pod: &PodInput) -> NaivePreFilter {
    if host_ports(pod).is_empty() { NaivePreFilter::Skip } else { NaivePreFilter::AllNodes }
}

/// Rejects a node where a wanted port is taken.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let is_free = |port: &&HostPortInput| node.freed_ports.iter().any(|freed| is_same(port, freed));
    let used: Vec<&HostPortInput> =
        node.pods.iter().flat_map(|pod| host_ports(pod)).filter(|port| !is_free(port)).collect();
    let is_taken =
        host_ports(pod).into_iter().any(|wanted| used.iter().any(|taken| conflicts(wanted, taken)));
    is_taken.then(|| {
        NaiveVerdict::new(
            NAME,
            NaiveCode::Unschedulable,
            "node(s) didn't have free ports for the requested pod ports",
        )
    })
}

/// The ports a pod holds while it runs: those of its sidecars and containers, not those of init
/// containers that end.
#[must_use]
pub fn host_ports(pod: &PodInput) -> Vec<&HostPortInput> {
    let sidecars = pod.init_containers.iter().filter(|c| c.is_sidecar);
    sidecars
        .chain(&pod.containers)
        .flat_map(|container| &container.host_ports)
        .filter(|port| port.host_port > 0)
        .collect()
}

/// Whether both are the same port of the same address.
#[must_use]
pub fn is_same(a: &HostPortInput, b: &HostPortInput) -> bool {
    a.host_port == b.host_port && protocol(a) == protocol(b) && address(a) == address(b)
}

fn conflicts(a: &HostPortInput, b: &HostPortInput) -> bool {
    let addresses = [address(a), address(b)];
    a.host_port == b.host_port
        && protocol(a) == protocol(b)
        && (addresses[0] == addresses[1] || addresses.contains(&ANY_ADDRESS))
}

fn address(port: &HostPortInput) -> &str {
    if port.host_ip.is_empty() { ANY_ADDRESS } else { &port.host_ip }
}

fn protocol(port: &HostPortInput) -> &str {
    if port.protocol.is_empty() { "TCP" } else { &port.protocol }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ContainerInput;
    use crate::testkit::{bare_node, container, empty, host_port, sidecar};

    fn pod_with_ports(ports: &[(&str, &str, i32)]) -> PodInput {
        PodInput { containers: vec![with_ports(container(&[]), ports)], ..Default::default() }
    }

    fn with_ports(container: ContainerInput, ports: &[(&str, &str, i32)]) -> ContainerInput {
        ContainerInput {
            host_ports: ports.iter().map(|(ip, protocol, port)| host_port(ip, protocol, *port)).collect(),
            ..container
        }
    }

    #[test]
    fn host_port_of_two_pods_is_free_when_either_is_removed() {
        let named = |name: &str| {
            let mut pod = crate::naive::NaivePod::from(pod_with_ports(&[("", "", 80)]));
            pod.meta.name = name.to_owned();
            pod
        };
        let mut node = empty(bare_node("n"));
        node.add_pod(named("a"));
        node.add_pod(named("b"));
        node.remove_pod(&named("a"));
        let other = pod_with_ports(&[("0.0.0.0", "TCP", 80)]);
        assert_eq!(filter(&other, &node), None);
        node.add_pod(named("c"));
        assert!(filter(&other, &node).is_some());
    }

    #[test]
    fn conflict_cases() {
        struct Case {
            name: &'static str,
            wanted: &'static [(&'static str, &'static str, i32)],
            used: &'static [(&'static str, &'static str, i32)],
            fits: bool,
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "nothing used", wanted: &[("", "TCP", 80)], used: &[], fits: true },
            Case { name: "another port", wanted: &[("10.0.0.1", "UDP", 80)], used: &[("10.0.0.1", "UDP", 81)], fits: true },
            Case { name: "same UDP port", wanted: &[("10.0.0.1", "UDP", 80)], used: &[("10.0.0.1", "UDP", 80)], fits: false },
            Case { name: "same TCP port", wanted: &[("10.0.0.1", "TCP", 80)], used: &[("10.0.0.1", "TCP", 80)], fits: false },
            Case { name: "another address", wanted: &[("10.0.0.1", "TCP", 80)], used: &[("10.0.0.2", "TCP", 80)], fits: true },
            Case { name: "another protocol", wanted: &[("10.0.0.1", "UDP", 80)], used: &[("10.0.0.1", "TCP", 80)], fits: true },
            Case { name: "SCTP is a protocol of its own", wanted: &[("", "SCTP", 80)], used: &[("", "TCP", 80), ("", "UDP", 80)], fits: true },
            Case { name: "no protocol means TCP", wanted: &[("", "", 80)], used: &[("", "TCP", 80)], fits: false },
            Case { name: "the second wanted port is taken", wanted: &[("10.0.0.1", "TCP", 79), ("10.0.0.1", "UDP", 80)], used: &[("10.0.0.1", "UDP", 80)], fits: false },
            Case { name: "the second used port is in the way", wanted: &[("10.0.0.1", "TCP", 80)], used: &[("10.0.0.1", "UDP", 80), ("10.0.0.1", "TCP", 80)], fits: false },
            Case { name: "wanted on all addresses", wanted: &[("0.0.0.0", "TCP", 80)], used: &[("10.0.0.1", "TCP", 80)], fits: false },
            Case { name: "used on all addresses", wanted: &[("10.0.0.1", "TCP", 80)], used: &[("0.0.0.0", "TCP", 80)], fits: false },
            Case { name: "no address means all", wanted: &[("", "UDP", 80)], used: &[("10.0.0.1", "UDP", 80)], fits: false },
            Case { name: "all addresses, another protocol", wanted: &[("0.0.0.0", "UDP", 80)], used: &[("10.0.0.1", "TCP", 80)], fits: true },
            Case { name: "the IPv6 wildcard is an address like any other", wanted: &[("::", "TCP", 80)], used: &[("10.0.0.1", "TCP", 80)], fits: true },
            Case { name: "but meets the IPv4 wildcard", wanted: &[("::", "TCP", 80)], used: &[("0.0.0.0", "TCP", 80)], fits: false },
        ];
        for case in &cases {
            let mut node = empty(bare_node("n"));
            node.pods.push(pod_with_ports(case.used).into());
            let wanted = pod_with_ports(case.wanted);
            assert_eq!(pre_filter(&wanted), NaivePreFilter::AllNodes);
            let verdict = filter(&wanted, &node);
            assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
            if let Some(verdict) = verdict {
                assert_eq!(verdict.code, NaiveCode::Unschedulable);
            }
        }
    }

    #[test]
    fn only_containers_and_sidecars_hold_host_ports() {
        let ports = &[("", "TCP", 80)][..];
        let plain_init = PodInput {
            init_containers: vec![with_ports(container(&[]), ports)],
            containers: vec![container(&[])],
            ..Default::default()
        };
        assert_eq!(pre_filter(&plain_init), NaivePreFilter::Skip);

        let with_sidecar =
            PodInput { init_containers: vec![with_ports(sidecar(&[]), ports)], ..Default::default() };
        assert_eq!(pre_filter(&with_sidecar), NaivePreFilter::AllNodes);
        let mut node = empty(bare_node("n"));
        node.pods.push(plain_init.into());
        assert!(filter(&with_sidecar, &node).is_none());
        node.pods.push(with_sidecar.clone().into());
        assert!(filter(&with_sidecar, &node).is_some());
    }

    #[test]
    fn pods_without_host_ports_are_skipped() {
        assert_eq!(pre_filter(&pod_with_ports(&[])), NaivePreFilter::Skip);
        assert_eq!(pre_filter(&pod_with_ports(&[("", "TCP", 0)])), NaivePreFilter::Skip);
    }
}
