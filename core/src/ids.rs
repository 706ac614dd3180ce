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
    /// An interned string. Good for as long as something that was made with it is there; then it is given
    /// out again (see [`crate::reclaim`]).
    Symbol
}
id! {
    /// A node's name, for as long as the node is there or something names it; given out again
    /// afterwards. Where the node stands in the columns is its row, which changes whenever the node
    /// list changes.
    NodeId
}
id! {
    /// A pod class: one compiled [`PodInput`](crate::input::PodInput). Given out again when no pod has had
    /// it for a while.
    ClassId
}
id! {
    /// A distinct set of labels. Goes when nothing has it.
    LabelSetId
}
id! {
    /// A distinct list of taints. Goes when no node has it.
    TaintSetId
}
id! {
    /// A distinct list of images on a node. Goes when no node has it.
    ImageSetId
}
id! {
    /// A pod the engine knows, from its arrival to its removal; given out again afterwards.
    PodId
}
id! {
    /// A claim's namespace and name, for as long as it is there or a placed pod names it.
    ClaimId
}
id! {
    /// A persistent volume's name, for as long as the volume is there or taken.
    VolumeId
}

id! {
    /// A pod group's namespace and name, for as long as the group is there or a pod names it; given out
    /// again afterwards.
    PodGroupId
}

/// A pod's identity at the API: unique for the life of a cluster, never given out again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodUid(pub u64);
