//! Pod bodies, each stored once.

use std::hash::Hasher;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use schedlab_objects::pod_text;

use crate::api::{PodSpecEntry, SpecId};
use crate::convert::{ConvertError, pod_input};
use crate::validate::{Invalid, validate_pod_body};

/// Why a body is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

/// What an entry costs beside its serialised text: typed fields, maps and strings take about as
/// much again. An estimate for `memory_bytes`; entries are shared, so it need not be exact.
const ENTRY_BYTES_PER_TEXT_BYTE: usize = 3;

#[derive(Clone, Debug)]
struct Known {
    entry: Arc<PodSpecEntry>,
    hash: u64,
    text_bytes: usize,
    /// Asked for since the last sweep: whoever has its id may be about to use it.
    is_touched: bool,
}

/// The table of bodies. An id never stands for another body: those that nothing has any more are
/// forgotten, and should one come back it gets another id.
#[derive(Clone, Debug, Default)]
pub(super) struct SpecTable {
    entries: FxHashMap<u32, Known>,
    /// By the hash of the serialised body; bodies of one hash are compared.
    by_hash: FxHashMap<u64, Vec<SpecId>>,
    next: u32,
    text_bytes: usize,
    /// What a body that is forgotten reads as: one without a spec.
    forgotten: Arc<PodSpecEntry>,
}

impl SpecTable {
    /// The id of a body, which is checked and converted if it is new: of ten thousand replicas once.
    pub(super) fn intern(&mut self, body: Pod) -> Result<SpecId, BodyError> {
        let text = pod_text(&body).expect("a typed object has a JSON form");
        let mut hasher = FxHasher::default();
        hasher.write(&text);
        let hash = hasher.finish();
        let same_hash = self.by_hash.get(&hash).map_or(&[][..], Vec::as_slice);
        let known = same_hash.iter().find(|id| *self.entries[&id.0].entry.object == body).copied();
        if let Some(id) = known {
            self.entries.get_mut(&id.0).expect("both maps agree").is_touched = true;
            return Ok(id);
        }
        validate_pod_body(&body)?;
        let (input, meta) = pod_input(&body)?;
        let id = SpecId(self.next);
        self.next = self.next.checked_add(1).expect("fewer than 2^32 pod bodies");
        self.by_hash.entry(hash).or_default().push(id);
        self.text_bytes += text.len();
        let entry = Arc::new(PodSpecEntry {
            input: Arc::new(input),
            object: Arc::new(body),
            start_time_s: meta.start_time_s,
            pod_group: meta.pod_group.map(Arc::from),
        });
        self.entries.insert(id.0, Known { entry, hash, text_bytes: text.len(), is_touched: true });
        Ok(id)
    }

    /// The entry of an id this table gave out; one without a spec if it is forgotten.
    pub(super) fn get(&self, id: SpecId) -> &Arc<PodSpecEntry> {
        self.entries.get(&id.0).map_or(&self.forgotten, |known| &known.entry)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many there ever were.
    pub(super) fn given_out(&self) -> u64 {
        u64::from(self.next)
    }

    /// Forgets bodies that are not in use: neither named here, nor held by somebody outside, nor asked
    /// for since the last time.
    pub(super) fn sweep(&mut self, used: &FxHashSet<u32>) {
        let SpecTable { entries, by_hash, text_bytes, .. } = self;
        entries.retain(|&id, known| {
            let PodSpecEntry { input, object, .. } = &*known.entry;
            let is_held = Arc::strong_count(&known.entry) > 1
                || Arc::strong_count(input) > 1
                || Arc::strong_count(object) > 1;
            let stays = std::mem::take(&mut known.is_touched) || is_held || used.contains(&id);
            if !stays {
                *text_bytes -= known.text_bytes;
                if let Some(same_hash) = by_hash.get_mut(&known.hash) {
                    same_hash.retain(|other| other.0 != id);
                    if same_hash.is_empty() {
                        by_hash.remove(&known.hash);
                    }
                }
            }
            stays
        });
        entries.shrink_to(2 * entries.len());
        by_hash.shrink_to(2 * by_hash.len());
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.text_bytes * ENTRY_BYTES_PER_TEXT_BYTE
            + self.entries.capacity() * (size_of::<(u32, Known)>() + 1)
            + self.by_hash.capacity() * (size_of::<(u64, Vec<SpecId>)>() + size_of::<SpecId>() + 1)
    }
}
