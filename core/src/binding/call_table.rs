//! Calls on the books. A call's id says which row it has, so that an answer finds its call without a
//! search, and ids ascend in the order in which calls were wanted.
//!
//! ```text
//!   CallId = number of the call << 24 | row
//! ```

use super::api_dispatcher::CallId;
use crate::api_call::ApiCall;

/// 16 million calls at once, and a million million in all.
const ROW_BITS: u32 = 24;
const ROWS_MAX: usize = 1 << ROW_BITS;

/// How a call gets to the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Road {
    /// At once, beside all others.
    Direct,
    /// Through its pod's lane.
    Lane,
}

/// A call that waits, or is on its way.
#[derive(Clone, Debug)]
pub(super) struct Call {
    id: CallId,
    pub(super) call: ApiCall,
    pub(super) road: Road,
    /// It was handed out and is to be answered.
    pub(super) is_out: bool,
    pub(super) tries: u8,
}

/// The calls.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTable {
    rows: Vec<Option<Call>>,
    free: Vec<u32>,
    numbers: u64,
}

impl CallTable {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.len() == self.free.len()
    }

    /// Panics where rows and free rows do not agree.
    pub(super) fn check(&self) {
        let taken = self.rows.iter().flatten().count();
        assert_eq!(taken + self.free.len(), self.rows.len(), "a row has a call or is free");
        for &row in &self.free {
            assert!(self.rows[row as usize].is_none(), "a free row has no call");
        }
        for (at, call) in self.rows.iter().enumerate() {
            let Some(call) = call else { continue };
            assert_eq!(row_of(call.id), at, "a call's id says its row");
            assert!(call.id.0 >> ROW_BITS <= self.numbers, "a call has a number that was given out");
        }
    }

    pub(super) fn insert(&mut self, call: ApiCall, road: Road) -> CallId {
        let row = self.free.pop().unwrap_or_else(|| {
            assert!(self.rows.len() < ROWS_MAX, "fewer than 2^24 calls are on the books");
            self.rows.push(None);
            (self.rows.len() - 1) as u32
        });
        self.numbers += 1;
        let id = CallId(self.numbers << ROW_BITS | u64::from(row));
        debug_assert!(self.rows[row as usize].is_none(), "a row has one call");
        self.rows[row as usize] = Some(Call { id, call, road, is_out: false, tries: 0 });
        id
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.rows.get(row_of(id))?.as_ref().filter(|call| call.id == id)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        self.rows.get_mut(row_of(id))?.as_mut().filter(|call| call.id == id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ApiCall> {
        self.rows.iter().flatten().map(|call| &call.call)
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.rows.get_mut(row_of(id))?.take_if(|call| call.id == id)?;
        self.free.push(row_of(id) as u32);
        Some(call)
    }
}

fn row_of(id: CallId) -> usize {
    (id.0 & (ROWS_MAX as u64 - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PodUid;

    fn delete(pod: u64) -> ApiCall {
        ApiCall::DeletePod { pod: PodUid(pod) }
    }

    #[test]
    fn reused_call_row_gets_a_new_id() {
        let mut table = CallTable::default();
        let [first, second] = [1, 2].map(|pod| table.insert(delete(pod), Road::Direct));
        assert_eq!(table.remove(first).map(|call| call.call), Some(delete(1)));
        assert!(table.remove(first).is_none(), "a call is removed once");
        let third = table.insert(delete(3), Road::Lane);
        assert_eq!(row_of(third), row_of(first));
        assert!(first < second && second < third, "ids ascend");
        assert!(table.get(first).is_none() && table.get_mut(first).is_none());
        assert_eq!(table.get(third).map(|call| &call.call), Some(&delete(3)));
        assert!(table.get(CallId::UNTRACKED).is_none());
        table.remove(second);
        assert!(!table.is_empty());
        table.remove(third);
        assert!(table.is_empty());
    }
}
