//! Ids: small integers that stand for things the engine was told about once.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// An interned string. Never stale: the interner only grows.
    Symbol
}
id! {
    /// A node's name, from its first mention on. Never stale: a node that leaves and comes back has
    /// the same id. Where the node stands in the columns is its row, which changes whenever the node
    /// list changes.
    NodeId
}
id! {
    /// A pod class: one compiled [`PodInput`](crate::input::PodInput). Never stale.
    ClassId
}
id! {
    /// A distinct set of labels. Never stale.
    LabelSetId
}
id! {
    /// A distinct list of taints. Never stale.
    TaintSetId
}
id! {
    /// A distinct list of images on a node. Never stale.
    ImageSetId
}
id! {
    /// A pod the engine knows, from its arrival to its removal; given out again afterwards.
    PodId
}
id! {
    /// A claim's namespace and name, from the first mention on. Never stale.
    ClaimId
}
id! {
    /// A persistent volume's name, from the first mention on. Never stale.
    VolumeId
}

/// A pod's identity at the API: unique for the life of a cluster, never given out again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodUid(pub u64);
