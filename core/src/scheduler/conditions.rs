//! Condition messages by id, so that a pod's row can say which one it carries.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::calls::{ConditionChange, ConditionReason};
use crate::framework::diagnosis::Diagnosis;
use crate::world::World;

/// No condition was written.
pub(super) const NO_CONDITION: u32 = 0;

/// A reason and a message.
type Said = (ConditionReason, Arc<str>);

/// All that was ever said.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    ids: FxHashMap<Said, u32>,
    said: Vec<Said>,
    last: Option<(Arc<Diagnosis>, u32)>,
}

impl Conditions {
    /// The id of a condition.
    pub(super) fn id(&mut self, reason: ConditionReason, message: &Arc<str>) -> u32 {
        let said = &mut self.said;
        *self.ids.entry((reason, Arc::clone(message))).or_insert_with(|| {
            said.push((reason, Arc::clone(message)));
            u32::try_from(said.len()).expect("fewer than 2^32 messages")
        })
    }

    /// The id of the condition that a diagnosis is told by. Pods of one class share a diagnosis.
    pub(super) fn of(&mut self, diagnosis: &Arc<Diagnosis>, world: &World) -> u32 {
        if let Some((known, id)) = &self.last
            && Arc::ptr_eq(known, diagnosis)
        {
            return *id;
        }
        let text: Arc<str> = diagnosis.message(&world.vocabulary).into();
        let id = self.id(ConditionReason::Unschedulable, &text);
        self.last = Some((Arc::clone(diagnosis), id));
        id
    }

    /// What an id stands for.
    pub(super) fn get(&self, id: u32) -> Option<&Said> {
        self.said.get((id as usize).checked_sub(1)?)
    }

    /// The change that says it.
    pub(super) fn change(&self, id: u32) -> ConditionChange {
        match self.get(id) {
            Some((reason, message)) => {
                ConditionChange::False { reason: *reason, message: Arc::clone(message) }
            }
            None => ConditionChange::Withdraw,
        }
    }
}
