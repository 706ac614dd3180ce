//! Pod bodies, each stored once.

use std::hash::Hasher;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::{FxHashMap, FxHasher};

use crate::api::{PodSpecEntry, SpecId};
use crate::convert::{ConvertError, pod_input};

/// What an entry costs beside its serialised text: typed fields, maps and strings take about as
/// much again. An estimate for `memory_bytes`; entries are shared, so it need not be exact.
const ENTRY_BYTES_PER_TEXT_BYTE: usize = 3;

/// The table of bodies. It only grows, so an id never goes stale.
#[derive(Debug, Default)]
pub(super) struct SpecTable {
    entries: Vec<Arc<PodSpecEntry>>,
    /// By the hash of the serialised body; bodies of one hash are compared.
    by_hash: FxHashMap<u64, Vec<SpecId>>,
    text_bytes: usize,
}

impl SpecTable {
    /// The id of a body, which is converted if it is new.
    pub(super) fn intern(&mut self, body: Pod) -> Result<SpecId, ConvertError> {
        let text = serde_json::to_vec(&body).expect("a typed object has a JSON form");
        let mut hasher = FxHasher::default();
        hasher.write(&text);
        let same_hash = self.by_hash.entry(hasher.finish()).or_default();
        let known = same_hash.iter().find(|id| *self.entries[id.0 as usize].object == body);
        if let Some(&id) = known {
            return Ok(id);
        }
        let (input, meta) = pod_input(&body)?;
        let id = SpecId(u32::try_from(self.entries.len()).expect("fewer than 2^32 pod bodies"));
        same_hash.push(id);
        self.text_bytes += text.len();
        self.entries.push(Arc::new(PodSpecEntry {
            input: Arc::new(input),
            object: Arc::new(body),
            start_time_s: meta.start_time_s,
        }));
        Ok(id)
    }

    /// The entry of an id this table gave out.
    pub(super) fn get(&self, id: SpecId) -> &Arc<PodSpecEntry> {
        &self.entries[id.0 as usize]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.text_bytes * ENTRY_BYTES_PER_TEXT_BYTE
            + self.entries.capacity() * size_of::<Arc<PodSpecEntry>>()
            + self.by_hash.capacity() * (size_of::<(u64, Vec<SpecId>)>() + size_of::<SpecId>() + 1)
    }
}
