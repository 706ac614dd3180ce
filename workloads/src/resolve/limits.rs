//! How much a workload may ask for. A slip of the finger should not fill the machine's memory.

/// Nodes of one workload: 200 times upstream's largest real clusters.
pub const NODES_MAX: u32 = 1_000_000;
/// Pods of one workload: ten for each of the most nodes.
pub const PODS_MAX: u32 = 10_000_000;
/// Namespaces of one op.
pub const NAMESPACES_MAX: u32 = 100_000;
/// Sets of one createPodSets op; each becomes an op of its own.
pub const POD_SETS_MAX: u32 = 100_000;
/// Other objects of one op.
pub const OBJECTS_MAX: u32 = 10_000_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is documented at its constant")]
pub enum Limit {
    Nodes,
    Pods,
    Namespaces,
    PodSets,
    Objects,
}

impl Limit {
    /// The most there may be.
    pub fn max(self) -> u32 {
        match self {
            Self::Nodes => NODES_MAX,
            Self::Pods => PODS_MAX,
            Self::Namespaces => NAMESPACES_MAX,
            Self::PodSets => POD_SETS_MAX,
            Self::Objects => OBJECTS_MAX,
        }
    }

    /// What is counted, in words.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
            Self::PodSets => "pod sets",
            Self::Objects => "objects",
        }
    }
}
