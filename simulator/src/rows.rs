//! Pods by identity. A store numbers its pods one after the other, so that a table is all it takes;
//! it is read for every pod after every event.

use schedlab_core::ids::PodUid;

use schedlab_cluster::api::StoredPodRow;

/// Pods, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct PodRows {
    rows: Vec<Option<StoredPodRow>>,
    len: usize,
}

fn place(pod: PodUid) -> usize {
    usize::try_from(pod.0).expect("a scenario has few pods")
}

impl PodRows {
    pub(super) fn get(&self, pod: &PodUid) -> Option<&StoredPodRow> {
        self.rows.get(place(*pod))?.as_ref()
    }

    pub(super) fn contains_key(&self, pod: &PodUid) -> bool {
        self.get(pod).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, row: StoredPodRow) {
        let at = place(row.uid);
        if self.rows.len() <= at {
            self.rows.resize(at + 1, None);
        }
        self.len += usize::from(self.rows[at].replace(row).is_none());
    }

    pub(super) fn remove(&mut self, pod: PodUid) {
        let old = self.rows.get_mut(place(pod)).and_then(Option::take);
        self.len -= usize::from(old.is_some());
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &StoredPodRow> + Clone {
        self.rows.iter().flatten()
    }
}
