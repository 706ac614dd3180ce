//! The facts behind rejections, as data and as a line of text.

use std::collections::BTreeMap;

use schedlab_core::framework::detail::{AffinityRule, Detail, PodAffinityDetail, SpreadDetail};
use schedlab_core::ids::{ClassId, PodUid};
use schedlab_core::resources::ResourceKind;
use schedlab_core::topology::domains::NO_DOMAIN;
use schedlab_core::world::World;
use serde::Serialize;

use super::amount::{bytes, milli_cpu};

/// Distinct details that a group of nodes shows before it counts the rest.
const GROUP_DETAILS_MAX: usize = 3;

/// A fact that a rejection rests on. Upstream says only the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetailReport {
    /// The fact in one line.
    pub text: String,
    /// The same for programs.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What a rejection can rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// A taint that is not tolerated.
    Taint {
        /// Its key.
        key: String,
        /// Its value, often empty.
        value: String,
        /// Its effect.
        effect: String,
    },
    /// Too little of a resource is free. Amounts are written as in a pod's requests.
    Resource {
        /// Its name; `pods` for the number of pods.
        resource: String,
        /// What the pod asks for.
        requested: String,
        /// What the node has left.
        free: String,
        /// What the node has.
        allocatable: String,
    },
    /// A topology spread constraint that one pod more would break.
    TopologySpread {
        /// `topologyKey`.
        topology_key: String,
        /// The node's value of it; absent when it has no such label.
        #[serde(skip_serializing_if = "Option::is_none")]
        domain: Option<String>,
        /// Pods in the domain that match.
        count: i64,
        /// The lowest count of a domain.
        min: i64,
        /// What the skew would be with the pod there.
        skew: i64,
        /// `maxSkew`.
        max_skew: i64,
    },
    /// A term of pod affinity or anti-affinity.
    PodAffinity {
        /// `affinity`, `anti_affinity` or `existing_anti_affinity`.
        rule: &'static str,
        /// `topologyKey`.
        topology_key: String,
        /// The pods that the term selects.
        selector: String,
        /// Where they are looked for.
        namespaces: String,
        /// The node's value of the key; absent when it has no such label.
        #[serde(skip_serializing_if = "Option::is_none")]
        domain: Option<String>,
        /// For `affinity`, pods that match in all domains; otherwise pods in this domain.
        pod_count: i64,
        /// The first of them, `namespace/name`.
        pods: Vec<String>,
    },
}

/// A detail and how many nodes of a group it holds for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetailCount {
    /// [`DetailReport::text`].
    pub text: String,
    /// How many nodes.
    pub nodes: usize,
}

/// A hard topology spread constraint of the pod, with the counts it is judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpreadReport {
    /// `topologyKey`.
    pub topology_key: String,
    /// `maxSkew`.
    pub max_skew: i64,
    /// The lowest count of a domain; 0 when there are fewer domains than `minDomains`.
    pub min: i64,
    /// The pod itself matches, so that it counts where it goes.
    pub counts_itself: bool,
    /// Pods that match, by domain, lowest first.
    pub domains: Vec<DomainCount>,
}

/// Pods of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DomainCount {
    /// The label's value.
    pub domain: String,
    /// Pods that match.
    pub count: i64,
    /// Nodes in the domain.
    pub nodes: usize,
}

/// Turns a pod's identity into `namespace/name`.
pub(super) type PodNamer<'a> = &'a dyn Fn(PodUid) -> String;

impl DetailReport {
    pub(super) fn of(detail: &Detail, world: &World, name_of: PodNamer<'_>) -> DetailReport {
        match detail {
            Detail::Taint { key, value, effect } => taint(key, value, effect),
            Detail::Resource { kind, requested, used, allocatable } => {
                resource(world, *kind, *requested, allocatable - used, *allocatable)
            }
            Detail::Spread(spread) => topology_spread(spread),
            Detail::PodAffinity(term) => pod_affinity(term, name_of),
        }
    }

    /// Whether it stands behind this reason; a rejection for lack of two resources has two reasons.
    fn is_behind(&self, reason: &str) -> bool {
        match &self.fact {
            Fact::Resource { resource, .. } if resource == "pods" => reason == "Too many pods",
            Fact::Resource { resource, .. } => reason.strip_prefix("Insufficient ") == Some(resource),
            _ => true,
        }
    }
}

fn taint(key: &str, value: &str, effect: &str) -> DetailReport {
    let equals = if value.is_empty() { "" } else { "=" };
    let fact = Fact::Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() };
    DetailReport { text: format!("{key}{equals}{value}:{effect}"), fact }
}

fn resource(
    world: &World,
    kind: Option<ResourceKind>,
    requested: i64,
    free: i64,
    allocatable: i64,
) -> DetailReport {
    let (name, write): (&str, fn(i64) -> String) = match kind {
        None => ("pods", |count| count.to_string()),
        Some(ResourceKind::Cpu) => ("cpu", milli_cpu),
        Some(ResourceKind::Memory) => ("memory", bytes),
        Some(ResourceKind::EphemeralStorage) => ("ephemeral-storage", bytes),
        Some(ResourceKind::Scalar(id)) => match world.vocabulary.scalar_name(id) {
            name if name.starts_with("hugepages-") => (name, bytes),
            name => (name, |count| count.to_string()),
        },
    };
    let [requested, free, allocatable] = [requested, free, allocatable].map(write);
    DetailReport {
        text: format!("{name}: requested {requested}, free {free} of {allocatable} allocatable"),
        fact: Fact::Resource { resource: name.to_owned(), requested, free, allocatable },
    }
}

fn topology_spread(spread: &SpreadDetail) -> DetailReport {
    let SpreadDetail { topology_key, domain, count, min, skew, max_skew } = spread.clone();
    let text = match &domain {
        None => format!("the node has no label {topology_key}"),
        Some(value) => {
            format!(
                "{topology_key}={value}: {count} matching, lowest {min}, skew {skew} > maxSkew {max_skew}"
            )
        }
    };
    DetailReport { text, fact: Fact::TopologySpread { topology_key, domain, count, min, skew, max_skew } }
}

fn pod_affinity(term: &PodAffinityDetail, name_of: PodNamer<'_>) -> DetailReport {
    let PodAffinityDetail { rule, topology_key, selector, namespaces, domain, pod_count, .. } = term.clone();
    let pods: Vec<String> = term.pods.iter().map(|&uid| name_of(uid)).collect();
    let more = usize::try_from(pod_count).unwrap_or(0).saturating_sub(pods.len());
    let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let listed = format!("{}{and_more}", pods.join(", "));
    let whom = format!("pods {selector} in {namespaces}");
    let text = match (rule, &domain) {
        (AffinityRule::Affinity, None) => {
            format!("affinity to {whom}: the node has no label {topology_key}")
        }
        (AffinityRule::Affinity, Some(value)) => {
            let elsewhere =
                if pod_count == 0 { "none elsewhere".into() } else { format!("elsewhere {listed}") };
            format!("affinity to {whom}: none in {topology_key}={value}, {elsewhere}")
        }
        (AffinityRule::AntiAffinity, value) => {
            let value = value.as_deref().unwrap_or_default();
            format!("anti-affinity to {whom}: {pod_count} in {topology_key}={value}: {listed}")
        }
        (AffinityRule::ExistingAntiAffinity, value) => {
            let value = value.as_deref().unwrap_or_default();
            format!("{listed} in {topology_key}={value} keep away {whom}")
        }
    };
    let rule = match rule {
        AffinityRule::Affinity => "affinity",
        AffinityRule::AntiAffinity => "anti_affinity",
        AffinityRule::ExistingAntiAffinity => "existing_anti_affinity",
    };
    let fact = Fact::PodAffinity { rule, topology_key, selector, namespaces, domain, pod_count, pods };
    DetailReport { text, fact }
}

/// The details of the nodes of a group, most frequent first, and how many distinct ones are left out.
#[derive(Default)]
pub(super) struct GroupDetails<'a>(BTreeMap<&'a str, usize>);

impl<'a> GroupDetails<'a> {
    pub(super) fn count(&mut self, details: &'a [DetailReport], reason: &str) {
        for detail in details.iter().filter(|detail| detail.is_behind(reason)) {
            *self.0.entry(&detail.text).or_default() += 1;
        }
    }

    pub(super) fn most_frequent(self) -> (Vec<DetailCount>, usize) {
        let mut all: Vec<DetailCount> =
            self.0.into_iter().map(|(text, nodes)| DetailCount { text: text.to_owned(), nodes }).collect();
        all.sort_by_key(|detail| std::cmp::Reverse(detail.nodes));
        let left_out = all.len().saturating_sub(GROUP_DETAILS_MAX);
        all.truncate(GROUP_DETAILS_MAX);
        (all, left_out)
    }
}

/// The pod's hard constraints and the counts of all their domains.
pub(super) fn spread_reports(world: &World, class: ClassId) -> Vec<SpreadReport> {
    let topology = world.topology();
    let Some(state) = topology.spread(class) else { return Vec::new() };
    let report = |spread: &schedlab_core::topology::spread::Spread| {
        let key = topology.domains().label_key(spread.key)?;
        let counter = topology.get(spread.counter);
        let mut domains: BTreeMap<&str, DomainCount> = BTreeMap::new();
        for (row, &domain) in topology.domains().of_rows(spread.key).iter().enumerate() {
            let Some(value) = world.node_label(row, key).filter(|_| domain != NO_DOMAIN) else { continue };
            let count = i64::from(counter.counts()[domain as usize]);
            let new = || DomainCount { domain: value.to_owned(), count, nodes: 0 };
            domains.entry(value).or_insert_with(new).nodes += 1;
        }
        let mut domains: Vec<DomainCount> = domains.into_values().collect();
        domains.sort_by_key(|domain| domain.count);
        let is_short = counter.domain_count() < spread.min_domains;
        Some(SpreadReport {
            topology_key: world.vocabulary.symbols.text(key).to_owned(),
            max_skew: i64::from(spread.max_skew),
            min: if is_short || domains.is_empty() { 0 } else { i64::from(counter.lowest()) },
            counts_itself: spread.self_match == 1,
            domains,
        })
    };
    state.hard.iter().filter_map(report).collect()
}
