//! What happens to pod groups, drawn from a seed.

use std::fmt;

use schedlab_core::cycle::select::Draws;

use super::GROUPS;
use crate::scenario::{ScriptAction, ScriptEvent};

/// Something that happens to pod groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodGroupAction {
    /// A group of this number is made, with this minCount, 0 for a basic one; whether it is disrupted as one.
    CreateGroup(u8, u8, bool),
    /// The group of this number is deleted; its pods stay.
    DeleteGroup(u8),
    /// A pod of the group of this number comes, whether the group is there or not.
    CreateMember(u8),
    /// One of the pods of the group of this number is deleted: of those there are, the one of the second.
    DeleteMember(u8, u8),
    /// A pod without a group comes that asks for so much CPU; whether it is important.
    CreateSingle(u8, bool),
    /// One of the pods without a group is deleted.
    DeleteSingle(u8),
    /// The scheduler ends, and another one begins; calls under way are done or lost.
    Restart,
    /// The next binding fails: 0 for now, 1 as a conflict, 2 without an answer although it is done.
    FailBinding(u8),
}

impl fmt::Display for PodGroupAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PodGroupAction::CreateGroup(group, 0, _) => {
                write!(f, "create basic group g{group}")
            }
            PodGroupAction::CreateGroup(group, min_count, all) => {
                let mode = if *all { "all" } else { "single" };
                write!(f, "create gang g{group} of minCount {min_count}, disruption mode {mode}")
            }
            PodGroupAction::DeleteGroup(group) => write!(f, "delete group g{group}"),
            PodGroupAction::CreateMember(group) => write!(f, "create a member of g{group}"),
            PodGroupAction::DeleteMember(group, nth) => write!(f, "delete member {nth} of g{group}"),
            PodGroupAction::CreateSingle(cpu, important) => {
                write!(f, "create a pod of {cpu} cpu{}", if *important { ", important" } else { "" })
            }
            PodGroupAction::DeleteSingle(nth) => write!(f, "delete pod {nth} of those without a group"),
            PodGroupAction::Restart => write!(f, "restart the scheduler"),
            PodGroupAction::FailBinding(0) => write!(f, "the next binding fails for now"),
            PodGroupAction::FailBinding(1) => write!(f, "the next binding meets a conflict"),
            PodGroupAction::FailBinding(_) => write!(f, "the next binding is done without an answer"),
        }
    }
}

fn random_action(draws: &mut Draws) -> PodGroupAction {
    let group = u8::try_from(draws.below(usize::from(GROUPS))).expect("few groups");
    let mut small = |below: usize| u8::try_from(draws.below(below)).expect("a small number");
    match small(20) {
        0..=2 => {
            let min_count = small(5);
            PodGroupAction::CreateGroup(group, min_count, small(2) == 0)
        }
        3 => PodGroupAction::DeleteGroup(group),
        4..=11 => PodGroupAction::CreateMember(group),
        12 | 13 => PodGroupAction::DeleteMember(group, small(4)),
        14 | 15 => PodGroupAction::CreateSingle(1 + small(4), small(3) == 0),
        16 => PodGroupAction::DeleteSingle(small(4)),
        17 | 18 => PodGroupAction::Restart,
        _ => PodGroupAction::FailBinding(small(3)),
    }
}

/// The script of a seed.
pub(crate) fn script(seed: u64) -> Vec<ScriptEvent> {
    let mut draws = Draws::new(seed ^ 0x67_726f_7570);
    let count = 10 + draws.below(50);
    let event = |number: usize| {
        // Most things happen while calls of those before are under way.
        let after_us = [50, 500, 5_000, 1_000_000][draws.below(4)] * (1 + draws.below(3) as u64);
        let action = match draws.below(12) {
            0 => ScriptAction::Settle,
            _ => ScriptAction::PodGroup(random_action(&mut draws)),
        };
        ScriptEvent { number: u32::try_from(number).expect("few events"), after_us, action }
    };
    (0..count).map(event).collect()
}
