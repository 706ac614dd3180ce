//! The facts behind a rejection: which taint, what amounts, which domain, which pods.
//!
//! A [`Reason`](crate::framework::status::Reason) is upstream's text and is compared with it, so it
//! stays as upstream writes it. A detail is what a reader asks next. It is made on request only,
//! for one node, with names in full.

use crate::ids::PodUid;
use crate::resources::ResourceKind;

/// Pods that a detail names before it counts the rest.
pub const PODS_NAMED_MAX: usize = 5;

/// A fact that a rejection rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A taint that the pod does not tolerate.
    Taint {
        /// Its key.
        key: String,
        /// Its value, often empty.
        value: String,
        /// Its effect.
        effect: String,
    },
    /// A resource of which too little is free.
    Resource {
        /// Which; `None` is the number of pods.
        kind: Option<ResourceKind>,
        /// What the pod asks for, in column units.
        requested: i64,
        /// What the pods on the node hold.
        used: i64,
        /// What the node has.
        allocatable: i64,
    },
    /// A topology spread constraint that one pod more would break.
    Spread(SpreadDetail),
    /// A term of pod affinity or anti-affinity.
    PodAffinity(PodAffinityDetail),
}

/// A topology spread constraint, seen from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadDetail {
    /// `topologyKey`.
    pub topology_key: String,
    /// The node's value of it; `None` when it has no such label.
    pub domain: Option<String>,
    /// Pods that match in the domain.
    pub count: i64,
    /// The lowest count of a domain; 0 when there are fewer domains than `minDomains`.
    pub min: i64,
    /// What the skew would be with the pod there.
    pub skew: i64,
    /// `maxSkew`.
    pub max_skew: i64,
}

/// Whose rule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityRule {
    /// The pod's required affinity: pods that are asked for are missing.
    Affinity,
    /// The pod's required anti-affinity: pods that are kept away from are there.
    AntiAffinity,
    /// Required anti-affinity of pods that are there.
    ExistingAntiAffinity,
}

/// A term that is not met, seen from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodAffinityDetail {
    /// Whose it is.
    pub rule: AffinityRule,
    /// `topologyKey`.
    pub topology_key: String,
    /// The pods that the term selects, as `kubectl` writes a selector.
    pub selector: String,
    /// Where they are looked for.
    pub namespaces: String,
    /// The node's value of the key; `None` when it has no such label.
    pub domain: Option<String>,
    /// For affinity: pods that match, in all domains. Otherwise: pods in this domain that match, or
    /// that carry the term.
    pub pod_count: i64,
    /// The first of them.
    pub pods: Vec<PodUid>,
}
