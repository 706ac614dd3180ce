//! What scheduling reads of pods, once for all that are alike in it.
//!
//! An API server makes pods of one template differ, in the names of their token volumes for one; what
//! scheduling reads of them does not. So the table goes by that, not by the object.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use rustc_hash::{FxHashMap, FxHasher};
use schedlab_cluster::api::{PodSpecEntry, SpecId};
use schedlab_core::input::PodInput;

struct Known {
    entry: Arc<PodSpecEntry>,
    hash: u64,
    pods: usize,
}

/// The table. An id never stands for another entry; one that no pod has any more is forgotten and reads as
/// one without a spec.
pub(crate) struct SpecTable {
    entries: FxHashMap<u32, Known>,
    by_hash: FxHashMap<u64, Vec<u32>>,
    next: u32,
    /// The object of every entry: nobody asks more of it than that it has a spec.
    object: Arc<Pod>,
    forgotten: Arc<PodSpecEntry>,
}

impl Default for SpecTable {
    fn default() -> Self {
        SpecTable {
            entries: FxHashMap::default(),
            by_hash: FxHashMap::default(),
            next: 0,
            object: Arc::new(Pod { spec: Some(PodSpec::default()), ..Pod::default() }),
            forgotten: Arc::default(),
        }
    }
}

impl SpecTable {
    /// The id of what a pod asks for. The pod counts as one that has it until it is released.
    pub(crate) fn take(
        &mut self,
        input: PodInput,
        start_time_s: Option<i64>,
        pod_group: Option<&str>,
    ) -> SpecId {
        let mut hasher = FxHasher::default();
        (&input, start_time_s, pod_group).hash(&mut hasher);
        let hash = hasher.finish();
        let same_hash = self.by_hash.entry(hash).or_default();
        let is_it = |entry: &PodSpecEntry| {
            *entry.input == input
                && entry.start_time_s == start_time_s
                && entry.pod_group.as_deref() == pod_group
        };
        if let Some(&id) = same_hash.iter().find(|id| is_it(&self.entries[*id].entry)) {
            self.entries.get_mut(&id).expect("both maps agree").pods += 1;
            return SpecId(id);
        }
        let id = self.next;
        self.next = self.next.checked_add(1).expect("fewer than 2^32 pod specs");
        same_hash.push(id);
        let (input, pod_group) = (Arc::new(input), pod_group.map(Arc::from));
        let entry = PodSpecEntry { input, object: Arc::clone(&self.object), start_time_s, pod_group };
        self.entries.insert(id, Known { entry: Arc::new(entry), hash, pods: 1 });
        SpecId(id)
    }

    /// A pod has it no more.
    pub(crate) fn release(&mut self, id: SpecId) {
        let Some(known) = self.entries.get_mut(&id.0) else { return };
        known.pods -= 1;
        if 0 < known.pods {
            return;
        }
        let hash = known.hash;
        self.entries.remove(&id.0);
        if let Some(same_hash) = self.by_hash.get_mut(&hash) {
            same_hash.retain(|&other| other != id.0);
            if same_hash.is_empty() {
                self.by_hash.remove(&hash);
            }
        }
    }

    /// The entry of an id.
    pub(crate) fn get(&self, id: SpecId) -> Arc<PodSpecEntry> {
        Arc::clone(self.entries.get(&id.0).map_or(&self.forgotten, |known| &known.entry))
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(scheduler_name: &str) -> PodInput {
        PodInput { scheduler_name: scheduler_name.to_owned(), ..PodInput::default() }
    }

    #[test]
    fn pods_alike_share_an_entry_that_goes_with_the_last_of_them() {
        let mut specs = SpecTable::default();
        let one = specs.take(input("a"), None, None);
        assert_eq!(specs.take(input("a"), None, None), one);
        let others = [
            specs.take(input("b"), None, None),
            specs.take(input("a"), Some(7), None),
            specs.take(input("a"), None, Some("gang")),
        ];
        assert!(!others.contains(&one) && specs.len() == 4);
        assert!(specs.get(one).object.spec.is_some());
        specs.release(one);
        assert_eq!(specs.len(), 4, "another pod has it");
        specs.release(one);
        assert_eq!(specs.len(), 3);
        assert!(specs.get(one).object.spec.is_none(), "forgotten");
        assert_ne!(specs.take(input("a"), None, None), one, "ids are not used again");
    }
}
