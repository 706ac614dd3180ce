//! The pod table: rows by UID.
//!
//! ```text
//!   uid ──> chunk uid / 4096 ──> row uid % 4096        a chunk is freed when its last pod is gone
//! ```
//!
//! UIDs are dense and never given out again, so the UID is the place of the row. Chunks keep
//! rows where they are: the table grows without copying. The row of a removed pod stays readable
//! until its chunk is freed, so that a late call can still be told the pod's name.

use schedlab_core::ids::PodUid;

use crate::api::{ConditionSetId, NameId, NamespaceId, PodFlags, PodName, PodPhase, SpecId, StoredPodRow};

/// 256 KiB of rows: large enough to amortise the allocation, small enough to be freed.
const CHUNK_ROWS: usize = 4096;

const VACANT: StoredPodRow = StoredPodRow {
    uid: PodUid(0),
    resource_version: 0,
    created_ns: 0,
    transition_ns: 0,
    spec: SpecId(0),
    namespace: NamespaceId(0),
    name: PodName { prefix: NameId(0), number: PodName::NO_NUMBER },
    node: None,
    nominated: None,
    conditions: ConditionSetId(0),
    phase: PodPhase::Pending,
    flags: PodFlags::NONE,
};

#[derive(Clone)]
struct Chunk {
    /// `CHUNK_ROWS` rows; none once the chunk is freed.
    rows: Vec<StoredPodRow>,
    live_count: u32,
}

/// All pods, in the order of their creation.
#[derive(Clone)]
pub(super) struct PodRows {
    chunks: Vec<Chunk>,
    next_uid: u64,
    live_count: usize,
}

impl PodRows {
    pub(super) fn new() -> Self {
        // UID 0 is nobody's: it is the default of the type.
        Self { chunks: Vec::new(), next_uid: 1, live_count: 0 }
    }

    /// The UID of the next row.
    pub(super) fn next_uid(&self) -> PodUid {
        PodUid(self.next_uid)
    }

    pub(super) fn live_count(&self) -> usize {
        self.live_count
    }

    /// Appends the row of the next UID.
    pub(super) fn push(&mut self, row: StoredPodRow) {
        debug_assert_eq!(row.uid, self.next_uid());
        debug_assert!(row.flags.contains(PodFlags::LIVE));
        let (chunk_index, at) = place(row.uid);
        if chunk_index == self.chunks.len() {
            self.chunks.push(Chunk { rows: vec![VACANT; CHUNK_ROWS], live_count: 0 });
        }
        let chunk = &mut self.chunks[chunk_index];
        chunk.rows[at] = row;
        chunk.live_count += 1;
        self.live_count += 1;
        self.next_uid += 1;
    }

    /// The row of a pod that exists.
    pub(super) fn get(&self, uid: PodUid) -> Option<&StoredPodRow> {
        self.last_known(uid).filter(|row| row.flags.contains(PodFlags::LIVE))
    }

    /// The row of a pod that exists, to be changed.
    pub(super) fn get_mut(&mut self, uid: PodUid) -> Option<&mut StoredPodRow> {
        let (chunk, at) = place(uid);
        let row = self.chunks.get_mut(chunk)?.rows.get_mut(at)?;
        row.flags.contains(PodFlags::LIVE).then_some(row)
    }

    /// The row of a pod that exists, or existed a short while ago.
    pub(super) fn last_known(&self, uid: PodUid) -> Option<&StoredPodRow> {
        let (chunk, at) = place(uid);
        self.chunks.get(chunk)?.rows.get(at).filter(|row| row.uid == uid)
    }

    /// Takes a pod out of the table.
    pub(super) fn remove(&mut self, uid: PodUid) -> Option<StoredPodRow> {
        let row = self.get_mut(uid)?;
        let removed = *row;
        row.flags = row.flags.without(PodFlags::LIVE);
        let (chunk_index, _) = place(uid);
        let is_full = self.next_uid as usize >= (chunk_index + 1) * CHUNK_ROWS;
        let chunk = &mut self.chunks[chunk_index];
        chunk.live_count -= 1;
        self.live_count -= 1;
        if chunk.live_count == 0 && is_full {
            chunk.rows = Vec::new();
        }
        Some(removed)
    }

    /// The pods that exist, in the order of their creation.
    pub(super) fn iter(&self) -> impl Iterator<Item = &StoredPodRow> {
        let rows = self.chunks.iter().flat_map(|chunk| &chunk.rows);
        rows.filter(|row| row.flags.contains(PodFlags::LIVE))
    }

    /// The pods that exist, and those gone whose rows can still be read.
    pub(super) fn readable(&self) -> impl Iterator<Item = &StoredPodRow> {
        self.chunks.iter().flat_map(|chunk| &chunk.rows).filter(|row| row.uid != PodUid(0))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let rows: usize = self.chunks.iter().map(|chunk| chunk.rows.capacity()).sum();
        rows * size_of::<StoredPodRow>() + self.chunks.capacity() * size_of::<Chunk>()
    }
}

fn place(uid: PodUid) -> (usize, usize) {
    let index = uid.0 as usize;
    (index / CHUNK_ROWS, index % CHUNK_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(rows: &mut PodRows, count: usize) {
        for _ in 0..count {
            let uid = rows.next_uid();
            rows.push(StoredPodRow { uid, flags: PodFlags::LIVE, ..VACANT });
        }
    }

    #[test]
    fn a_chunk_is_freed_with_its_last_pod() {
        let mut rows = PodRows::new();
        // Three chunks exactly: nobody has UID 0.
        fill(&mut rows, 3 * CHUNK_ROWS - 1);
        let full_bytes = rows.memory_bytes();
        for uid in 1..2 * CHUNK_ROWS as u64 {
            assert!(rows.remove(PodUid(uid)).is_some());
        }
        assert!(rows.memory_bytes() < full_bytes / 2);
        assert_eq!(rows.live_count(), CHUNK_ROWS);
        assert_eq!(rows.iter().count(), CHUNK_ROWS);
        assert_eq!(rows.last_known(PodUid(1)), None);
    }

    #[test]
    fn removed_row_is_readable_but_not_live() {
        let mut rows = PodRows::new();
        fill(&mut rows, 2);
        let uid = PodUid(1);
        assert_eq!(rows.remove(uid).map(|row| row.uid), Some(uid));
        assert_eq!(rows.remove(uid), None);
        assert_eq!(rows.get(uid), None);
        assert_eq!(rows.get_mut(uid), None);
        assert_eq!(rows.last_known(uid).map(|row| row.uid), Some(uid));
        assert_eq!(rows.next_uid(), PodUid(3));
        assert_eq!(rows.get(PodUid(0)), None);
        assert_eq!(rows.get(PodUid(99_999)), None);
    }
}
