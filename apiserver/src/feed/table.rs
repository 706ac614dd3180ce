//! The objects of a resource, and the ring of their changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use schedlab_cluster::ApiError;
use schedlab_cluster::api::EventKind;

use super::item::{Item, ItemKey, View};
use crate::selector::Selection;

/// Changes kept for watchers that are behind or come back: three seconds at 20,000 a second, and 100 MB if
/// all are pods that somebody has read.
const RING_CHANGES: usize = 1 << 16;

/// What happened to an object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: EventKind,
    pub(crate) item: Arc<Item>,
    /// Its state before; none for a new one.
    pub(crate) before: Option<Arc<Item>>,
    text: OnceLock<Bytes>,
}

/// What a watcher is to be told.
pub(crate) struct Told {
    pub(crate) kind: EventKind,
    pub(crate) text: Bytes,
}

impl Change {
    fn new(kind: EventKind, item: Arc<Item>, before: Option<Arc<Item>>) -> Self {
        Self { kind, item, before, text: OnceLock::new() }
    }

    /// What the change is for a client that sees some of the objects only: one that comes into its
    /// selection is new to it, one that leaves it is gone.
    ///
    /// Upstream: apiserver pkg/storage/cacher/cache_watcher.go `convertToWatchEvent`.
    pub(crate) fn kind_for(&self, selection: &Selection) -> Option<EventKind> {
        let is_selected = self.kind != EventKind::Deleted && self.item.is_selected(selection);
        let was_selected = self.before.as_ref().is_some_and(|before| before.is_selected(selection));
        match (was_selected, is_selected) {
            (false, true) => Some(EventKind::Added),
            (true, true) => Some(EventKind::Modified),
            (true, false) => Some(EventKind::Deleted),
            (false, false) => None,
        }
    }

    /// What a client is told, if it is told anything.
    pub(crate) fn told(&self, selection: &Selection, view: View) -> Option<Told> {
        let kind = match selection.is_everything() {
            true => self.kind,
            false => self.kind_for(selection)?,
        };
        let text = match &self.before {
            Some(before) if kind == EventKind::Deleted && self.kind != EventKind::Deleted => {
                before.at_version(self.item.resource_version).text(view)
            }
            _ if self.item.is_stored_as(view) => self.text.get_or_init(|| self.item.text(view)).clone(),
            _ => self.item.text(view),
        };
        Some(Told { kind, text })
    }
}

/// The next changes for a watcher.
pub(crate) struct Changes {
    pub(crate) changes: Vec<Arc<Change>>,
    /// All up to this version is in what the watcher has seen and `changes`.
    pub(crate) version: u64,
}

/// The objects of a resource.
#[derive(Debug, Default)]
pub(super) struct Table {
    objects: BTreeMap<ItemKey, Arc<Item>>,
    ring: VecDeque<Arc<Change>>,
    /// The version of the last change that is no longer in the ring.
    dropped_version: u64,
    last_version: u64,
}

impl Table {
    /// The version of the last change.
    pub(super) fn last_version(&self) -> u64 {
        self.last_version
    }

    pub(super) fn selected(&self, selection: &Selection) -> Vec<Arc<Item>> {
        let first = selection
            .namespace
            .as_deref()
            .map_or(Bound::Unbounded, |namespace| Bound::Included((Arc::from(namespace), String::new())));
        let from_here = self.objects.range((first, Bound::Unbounded));
        let inside = from_here.take_while(|((namespace, _), _)| {
            selection.namespace.as_deref().is_none_or(|wanted| wanted == &**namespace)
        });
        inside.map(|(_, item)| item).filter(|item| item.is_selected(selection)).cloned().collect()
    }

    /// Takes an object that was there before anybody watched.
    pub(super) fn load(&mut self, item: Item) {
        self.objects.insert(item.key(), Arc::new(item));
    }

    /// Nobody can be told what happened up to this version.
    pub(super) fn forget_until(&mut self, version: u64) {
        self.ring.clear();
        self.dropped_version = version;
        self.last_version = version;
    }

    /// Something happened. Whether it was news: what is older than what is known is not.
    pub(super) fn apply(&mut self, kind: EventKind, item: Item) -> bool {
        let version = item.resource_version;
        let key = item.key();
        let before = self.objects.get(&key).cloned();
        if version <= self.dropped_version
            || before.as_ref().is_some_and(|before| version <= before.resource_version)
        {
            return false;
        }
        let item = Arc::new(item);
        match kind {
            EventKind::Deleted => self.objects.remove(&key),
            EventKind::Added | EventKind::Modified => self.objects.insert(key, Arc::clone(&item)),
        };
        if self.ring.len() == RING_CHANGES
            && let Some(oldest) = self.ring.pop_front()
        {
            self.dropped_version = oldest.item.resource_version;
        }
        self.ring.push_back(Arc::new(Change::new(kind, item, before)));
        self.last_version = version;
        true
    }

    pub(super) fn changes_since(
        &self,
        version: u64,
        seen_by_all: u64,
        limit: usize,
    ) -> Result<Changes, ApiError> {
        if version < self.dropped_version {
            return Err(ApiError::gone(version, self.dropped_version));
        }
        let first = self.ring.partition_point(|change| change.item.resource_version <= version);
        let changes: Vec<_> = self.ring.range(first..).take(limit).cloned().collect();
        let is_all = first + changes.len() == self.ring.len();
        let last = changes.last().map_or(version, |change| change.item.resource_version);
        let version = if is_all { last.max(seen_by_all) } else { last };
        Ok(Changes { changes, version })
    }
}

#[cfg(test)]
mod tests {
    use schedlab_cluster::api::GenericObject;

    use super::super::item::Source;
    use super::*;
    use crate::selector::parse_labels;

    fn item(name: &str, version: u64, label: &str) -> Item {
        let mut object = GenericObject {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            resource_version: version,
            ..GenericObject::default()
        };
        object.metadata.name = Some(name.to_owned());
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.labels = Some([("app".to_owned(), label.to_owned())].into());
        Item { resource_version: version, source: Source::Other(Arc::new(object)) }
    }

    #[test]
    fn object_that_comes_into_a_selection_or_leaves_it_is_added_or_deleted() {
        let mut table = Table::default();
        for (kind, version, label) in [
            (EventKind::Added, 1, "web"),
            (EventKind::Modified, 2, "db"),
            (EventKind::Modified, 3, "web"),
            (EventKind::Modified, 4, "web"),
            (EventKind::Deleted, 5, "web"),
        ] {
            assert!(table.apply(kind, item("a", version, label)));
        }
        let web = Selection { labels: Some(parse_labels("app=web").unwrap()), ..Selection::default() };
        let changes = table.changes_since(0, 5, 100).expect("all are kept");
        let kinds: Vec<_> = changes.changes.iter().map(|change| change.kind_for(&web)).collect();
        let (added, modified, deleted) = (EventKind::Added, EventKind::Modified, EventKind::Deleted);
        assert_eq!(kinds, [Some(added), Some(deleted), Some(added), Some(modified), Some(deleted)]);
        assert!(table.objects.is_empty());
    }

    #[test]
    fn watch_behind_the_event_window_answers_410_gone() {
        let mut table = Table::default();
        for version in 1..=RING_CHANGES as u64 + 10 {
            table.apply(EventKind::Modified, item("a", version, "web"));
        }
        assert!(table.changes_since(9, 0, 1).is_err());
        let next = table.changes_since(10, 0, 3).expect("kept");
        assert_eq!((next.changes.len(), next.version), (3, 13));
    }

    #[test]
    fn event_that_is_older_than_what_was_loaded_is_no_news() {
        let mut table = Table::default();
        table.load(item("a", 5, "web"));
        table.forget_until(5);
        assert!(!table.apply(EventKind::Modified, item("a", 4, "db")));
        assert!(table.apply(EventKind::Modified, item("a", 6, "db")));
    }

    #[test]
    fn list_of_a_namespace_stops_at_its_end() {
        let mut table = Table::default();
        table.load(item("b", 1, "web"));
        table.load(item("a", 2, "web"));
        let of = |namespace: &str| {
            let selection = Selection { namespace: Some(namespace.to_owned()), ..Selection::default() };
            table.selected(&selection).iter().map(|item| item.key().1).collect::<Vec<_>>()
        };
        assert_eq!(of("default"), ["a", "b"]);
        assert!(of("defau").is_empty() && of("other").is_empty());
    }
}
