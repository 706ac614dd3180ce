//! The names of the ops.

use std::fmt;

/// Which op it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is upstream's opcode of the same name")]
pub enum Opcode {
    AllocResourceClaims,
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePodGroups,
    CreatePodSets,
    CreatePods,
    CreateResourceClaims,
    DeletePods,
    Sleep,
    StartCollectingMetrics,
    StartCollectingProfile,
    StopCollectingMetrics,
    StopCollectingProfile,
    UpdateAny,
}

impl Opcode {
    /// Every opcode, in the order of the enum, which is alphabetical but for createPods.
    pub const ALL: [Self; 17] = [
        Self::AllocResourceClaims,
        Self::Barrier,
        Self::Churn,
        Self::CreateAny,
        Self::CreateNamespaces,
        Self::CreateNodes,
        Self::CreatePodGroups,
        Self::CreatePodSets,
        Self::CreatePods,
        Self::CreateResourceClaims,
        Self::DeletePods,
        Self::Sleep,
        Self::StartCollectingMetrics,
        Self::StartCollectingProfile,
        Self::StopCollectingMetrics,
        Self::StopCollectingProfile,
        Self::UpdateAny,
    ];

    /// The names of [`Opcode::ALL`], in the same order.
    pub const NAMES: [&str; 17] = [
        "allocResourceClaims",
        "barrier",
        "churn",
        "createAny",
        "createNamespaces",
        "createNodes",
        "createPodGroups",
        "createPodSets",
        "createPods",
        "createResourceClaims",
        "deletePods",
        "sleep",
        "startCollectingMetrics",
        "startCollectingProfile",
        "stopCollectingMetrics",
        "stopCollectingProfile",
        "updateAny",
    ];

    /// The name as it stands in a config file.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The opcode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|opcode| opcode.name() == name)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_opcodes_are_in_the_same_order() {
        for (opcode, name) in Opcode::ALL.into_iter().zip(Opcode::NAMES) {
            assert_eq!(format!("{opcode:?}").to_lowercase(), name.to_lowercase());
            assert_eq!(Opcode::from_name(name), Some(opcode));
        }
    }
}
