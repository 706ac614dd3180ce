//! Which row a UID has.
//!
//! The embedded cluster gives UIDs out in order, so a pod's UID is nearly its place: pages of rows,
//! found without a hash. A page goes when its last pod is gone, and pages before the first one that
//! is left are not counted, so the table stays as small as the pods that live. UIDs that lie far
//! from the others (another cluster's may be anything) are kept in a map.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ids::{PodId, PodUid};

/// 2 KiB a page: a handful of cache lines for pods that come together.
const PAGE_UIDS: u64 = 512;
/// Pages that may be absent between two that are there, beside as many as are there.
const GAP_PAGES: usize = 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Page {
    rows: Box<[u32]>,
    live: u32,
}

/// Rows by UID.
#[derive(Clone, Debug, Default)]
pub(super) struct UidIndex {
    /// The page of `first + i` at `i`.
    pages: VecDeque<Option<Page>>,
    first: u64,
    pages_used: usize,
    others: FxHashMap<PodUid, PodId>,
    len: usize,
}

fn place(uid: PodUid) -> (u64, usize) {
    (uid.0 / PAGE_UIDS, usize::try_from(uid.0 % PAGE_UIDS).expect("below a page's length"))
}

impl UidIndex {
    /// Pods known.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The row of a UID.
    #[inline]
    pub(super) fn get(&self, uid: PodUid) -> Option<PodId> {
        let (page, at) = place(uid);
        let page = usize::try_from(page.wrapping_sub(self.first)).ok();
        match page.and_then(|page| self.pages.get(page)) {
            Some(Some(page)) if page.rows[at] != NONE => Some(PodId(page.rows[at])),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&uid).copied(),
        }
    }

    /// Notes the row of a UID that has none.
    #[inline]
    pub(super) fn insert(&mut self, uid: PodUid, id: PodId) {
        debug_assert!(self.get(uid).is_none(), "a UID has one row");
        self.len += 1;
        let (page, at) = place(uid);
        match self.page_mut(page) {
            Some(page) => {
                page.rows[at] = id.0;
                page.live += 1;
            }
            None => {
                self.others.insert(uid, id);
            }
        }
    }

    /// The page, made if it lies near the others.
    #[inline]
    fn page_mut(&mut self, page: u64) -> Option<&mut Page> {
        if self.pages.is_empty() {
            self.first = page;
        }
        let at = usize::try_from(page.checked_sub(self.first)?).ok()?;
        if self.pages.len() <= at {
            if at > 2 * self.pages_used + GAP_PAGES {
                return None;
            }
            self.pages.resize(at + 1, None);
        }
        let slot = &mut self.pages[at];
        self.pages_used += usize::from(slot.is_none());
        Some(slot.get_or_insert_with(|| Page { rows: vec![NONE; PAGE_UIDS as usize].into(), live: 0 }))
    }

    /// Forgets a UID.
    pub(super) fn remove(&mut self, uid: PodUid) {
        let (number, at) = place(uid);
        let place = usize::try_from(number.wrapping_sub(self.first)).ok();
        let slot = place.and_then(|place| self.pages.get_mut(place));
        if let Some(slot) = slot
            && let Some(page) = slot
            && page.rows[at] != NONE
        {
            page.rows[at] = NONE;
            page.live -= 1;
            self.len -= 1;
            if page.live == 0 {
                *slot = None;
                self.pages_used -= 1;
                self.drop_leading();
            }
        } else if self.others.remove(&uid).is_some() {
            self.len -= 1;
        }
    }

    fn drop_leading(&mut self) {
        while let Some(None) = self.pages.front() {
            self.pages.pop_front();
            self.first += 1;
        }
    }

    /// Panics where pages and counts do not agree.
    pub(super) fn check(&self) {
        let pages = self.pages.iter().flatten();
        let live: usize = pages.clone().map(|page| page.live as usize).sum();
        assert_eq!(live + self.others.len(), self.len, "a UID is on a page or with the others");
        assert_eq!(pages.clone().count(), self.pages_used, "pages that are there are counted");
        assert!(!matches!(self.pages.front(), Some(None)), "the first page is there");
        for page in pages {
            let rows = page.rows.iter().filter(|&&row| row != NONE).count();
            assert!(page.live > 0, "a page goes with its last UID");
            assert_eq!(rows, page.live as usize, "a page counts its UIDs");
        }
        for uid in self.others.keys() {
            let (page, at) = place(*uid);
            let near =
                usize::try_from(page.wrapping_sub(self.first)).ok().and_then(|page| self.pages.get(page));
            let is_on_page = matches!(near, Some(Some(page)) if page.rows[at] != NONE);
            assert!(!is_on_page, "a UID is in one place");
        }
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.capacity() * size_of::<Option<Page>>()
            + self.pages_used * PAGE_UIDS as usize * size_of::<u32>()
            + self.others.capacity() * (size_of::<(PodUid, PodId)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::for_each_seed;

    /// UIDs in order, UIDs from anywhere, and pods that go: the index is a map.
    #[test]
    fn uid_index_equals_a_map() {
        for_each_seed("uid_index_equals_a_map", 200, |rng| {
            let mut index = UidIndex::default();
            let mut map: FxHashMap<PodUid, PodId> = FxHashMap::default();
            let mut next = rng.range(0..=2000) as u64;
            for turn in 0..3000u32 {
                let uid = match rng.range(0..=19) {
                    0 => PodUid(rng.next_u64()),
                    1 => PodUid(rng.range(0..=100_000) as u64),
                    _ => {
                        next += rng.range(1..=3) as u64;
                        PodUid(next)
                    }
                };
                map.entry(uid).or_insert_with(|| {
                    index.insert(uid, PodId(turn));
                    PodId(turn)
                });
                // The older, the likelier to be gone.
                let old = PodUid(rng.range(0..=usize::try_from(next).expect("small")) as u64);
                index.remove(old);
                map.remove(&old);
                for asked in [uid, old, PodUid(next + 1), PodUid(rng.range(0..=5000) as u64)] {
                    assert_eq!(index.get(asked), map.get(&asked).copied(), "{asked:?}");
                }
                assert_eq!(index.len(), map.len());
            }
            for (&uid, &id) in &map {
                assert_eq!(index.get(uid), Some(id));
                index.remove(uid);
            }
            assert_eq!((index.len(), index.pages_used, index.others.len()), (0, 0, 0));
        });
    }

    #[test]
    fn uid_index_of_churning_pods_holds_few_pages() {
        let mut index = UidIndex::default();
        for uid in 1..100_000u64 {
            index.insert(PodUid(uid), PodId(0));
            if uid > 1000 {
                index.remove(PodUid(uid - 1000));
            }
        }
        assert!(index.pages.len() <= 4, "{} pages", index.pages.len());
        assert!(index.others.is_empty());
    }
}
