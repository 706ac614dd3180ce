//! Condition messages by id, so that a pod's row can say which one it carries.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::post_filter::PostFilterWords;
use crate::api_call::{ConditionChange, ConditionReason};
use crate::framework::diagnosis::Diagnosis;
use crate::preemption::nobody_to_evict;
use crate::reclaim::{Bits, cut, give_back};
use crate::world::World;

/// No condition was written.
pub(super) const NO_CONDITION: u32 = 0;
/// Writing one failed: nobody knows what the status says.
pub(super) const UNSURE: u32 = u32::MAX;

/// A reason and a message.
type Said = (ConditionReason, Arc<str>);

/// All that is said of pods.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    ids: FxHashMap<Said, u32>,
    /// By id less 1.
    said: Vec<Option<Said>>,
    /// Places in `said`.
    free: Vec<u32>,
    /// Of the last diagnosis: without a word on preemption, and with nobody to evict.
    last: Option<(Arc<Diagnosis>, [Option<u32>; 2])>,
}

impl Conditions {
    /// The id of a condition.
    pub(super) fn id(&mut self, reason: ConditionReason, message: &Arc<str>) -> u32 {
        let Conditions { ids, said, free, .. } = self;
        *ids.entry((reason, Arc::clone(message))).or_insert_with(|| {
            let new = Some((reason, Arc::clone(message)));
            match free.pop() {
                Some(at) => {
                    said[at as usize] = new;
                    at + 1
                }
                None => {
                    said.push(new);
                    u32::try_from(said.len()).expect("fewer than 2^32 messages")
                }
            }
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Panics where ids and messages do not agree. See `Scheduler::check`.
    pub(super) fn check(&self) {
        assert_eq!(self.ids.len() + self.free.len(), self.said.len(), "an id has a message or is free");
        for (said, &id) in &self.ids {
            assert_ne!(id, NO_CONDITION, "a message has an id of its own");
            assert_eq!(self.get(id), Some(said), "a message is found by its id");
        }
        for &at in &self.free {
            assert!(self.said[at as usize].is_none(), "a free id has no message");
        }
    }

    /// Forgets what no pod's row says any more.
    pub(super) fn sweep(&mut self, rows: impl Iterator<Item = u32>) {
        let mut kept = Bits::default();
        rows.filter(|&id| id != NO_CONDITION && id != UNSURE).for_each(|id| kept.insert(id as usize));
        let mut freed = Vec::new();
        self.ids.retain(|_, id| {
            let stays = kept.contains(*id as usize);
            if !stays {
                freed.push(*id - 1);
            }
            stays
        });
        freed.iter().for_each(|&at| self.said[at as usize] = None);
        let len = give_back(&mut self.free, freed, self.said.len());
        cut(&mut self.said, len);
        self.ids.shrink_to(2 * self.ids.len());
        self.last = None;
    }

    /// The id of the condition that a diagnosis and what PostFilter came to are told by. Pods of one
    /// class share a diagnosis.
    pub(super) fn of(&mut self, diagnosis: &Arc<Diagnosis>, words: &PostFilterWords, world: &World) -> u32 {
        let tail = match words {
            PostFilterWords::None => None,
            PostFilterWords::NobodyToEvict => Some(nobody_to_evict(diagnosis)),
            PostFilterWords::Text(text) => {
                let text = format!("{} {text}", diagnosis.message(&world.vocabulary)).into();
                return self.id(ConditionReason::Unschedulable, &text);
            }
        };
        let at = usize::from(tail.is_some());
        match &self.last {
            Some((known, ids)) if Arc::ptr_eq(known, diagnosis) => {
                if let Some(id) = ids[at] {
                    return id;
                }
            }
            _ => self.last = Some((Arc::clone(diagnosis), [None; 2])),
        }
        let mut text = diagnosis.message(&world.vocabulary);
        if let Some(tail) = tail {
            text.push(' ');
            text.push_str(&tail);
        }
        let id = self.id(ConditionReason::Unschedulable, &text.into());
        if let Some((_, ids)) = &mut self.last {
            ids[at] = Some(id);
        }
        id
    }

    /// What an id stands for.
    pub(super) fn get(&self, id: u32) -> Option<&Said> {
        self.said.get((id as usize).checked_sub(1)?)?.as_ref()
    }

    /// The change from one to another.
    pub(super) fn change(&self, before: u32, id: u32) -> ConditionChange {
        match self.get(id) {
            Some((reason, message)) => ConditionChange::False {
                reason: *reason,
                message: Arc::clone(message),
                is_first: before == NO_CONDITION,
            },
            None => ConditionChange::Withdraw,
        }
    }
}
