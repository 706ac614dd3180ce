//! Topology keys in use: which domain each row is in.

use rustc_hash::FxHashMap;

use crate::ids::Symbol;
use crate::interner::Vocabulary;
use crate::snapshot::NodeSnapshot;

/// A topology key in use, or the pseudo key by which every node is its own domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(u32);

/// The domain of rows whose node lacks the key.
pub const NO_DOMAIN: u32 = 0;

/// Every node is its own domain, whatever its labels.
pub const EACH_NODE: KeyId = KeyId(0);

#[derive(Clone, Debug, Default)]
struct Column {
    key: Option<Symbol>,
    domain_of_row: Vec<u32>,
    /// Numbered from 1 on; a value keeps its number when its nodes leave.
    domain_of_value: FxHashMap<Symbol, u32>,
}

impl Column {
    fn fill(&mut self, nodes: &NodeSnapshot, vocabulary: &Vocabulary) {
        self.domain_of_row.clear();
        let Some(key) = self.key else {
            self.domain_of_row.extend((1..).take(nodes.node_count()));
            return;
        };
        for &labels in &nodes.columns().label_set {
            let domain = vocabulary.label(labels, key).map_or(NO_DOMAIN, |value| {
                let next = u32::try_from(self.domain_of_value.len() + 1).expect("fewer than 2^32 domains");
                *self.domain_of_value.entry(value).or_insert(next)
            });
            self.domain_of_row.push(domain);
        }
        debug_assert_eq!(self.domain_of_row.len(), nodes.node_count(), "a domain for each row");
    }
}

/// One column of domains for each key in use.
#[derive(Clone, Debug)]
pub struct Domains {
    columns: Vec<Column>,
    by_key: FxHashMap<Symbol, KeyId>,
}

impl Default for Domains {
    fn default() -> Self {
        Domains { columns: vec![Column::default()], by_key: FxHashMap::default() }
    }
}

impl Domains {
    /// The id of a key; its column is filled on first sight.
    pub fn key(&mut self, key: Symbol, nodes: &NodeSnapshot, vocabulary: &Vocabulary) -> KeyId {
        if let Some(&id) = self.by_key.get(&key) {
            return id;
        }
        let id = KeyId(u32::try_from(self.columns.len()).expect("few keys"));
        let mut column = Column { key: Some(key), ..Column::default() };
        column.fill(nodes, vocabulary);
        self.columns.push(column);
        self.by_key.insert(key, id);
        id
    }

    /// Panics where columns are not what nodes' labels say. See `Topology::check`.
    pub(super) fn check_labels(&self, nodes: &NodeSnapshot, vocabulary: &Vocabulary) {
        assert_eq!(self.columns[0].key, None, "the first column is that of each node by itself");
        assert_eq!(self.by_key.len() + 1, self.columns.len(), "a key has one column");
        for (&key, &id) in &self.by_key {
            let column = &self.columns[id.0 as usize];
            assert_eq!(column.key, Some(key), "a key is found by its own id");
            let mut numbers: Vec<u32> = column.domain_of_value.values().copied().collect();
            numbers.sort_unstable();
            let expected = (1..).take(numbers.len());
            assert!(numbers.iter().copied().eq(expected), "domains are numbered from 1 on, without a gap");
            for (&labels, &domain) in nodes.columns().label_set.iter().zip(&column.domain_of_row) {
                let value = vocabulary.label(labels, key);
                let of_value = value.and_then(|value| self.of_value(id, value));
                assert_eq!(of_value.unwrap_or(NO_DOMAIN), domain, "a row is in the domain of its label");
            }
        }
    }

    /// All keys in use.
    pub(super) fn keys(&self) -> impl Iterator<Item = KeyId> + use<> {
        (0..self.columns.len()).map(|at| KeyId(u32::try_from(at).expect("few keys")))
    }

    /// Reads all nodes again.
    pub fn refill(&mut self, nodes: &NodeSnapshot, vocabulary: &Vocabulary) {
        for column in &mut self.columns {
            column.fill(nodes, vocabulary);
        }
    }

    /// The domain of each row; [`NO_DOMAIN`] without the key.
    #[inline]
    #[must_use]
    pub fn of_rows(&self, key: KeyId) -> &[u32] {
        &self.columns[key.0 as usize].domain_of_row
    }

    /// The label key; `None` where every node is its own domain.
    #[must_use]
    pub fn label_key(&self, key: KeyId) -> Option<Symbol> {
        self.columns[key.0 as usize].key
    }

    /// The domain of a label value.
    #[must_use]
    pub fn of_value(&self, key: KeyId, value: Symbol) -> Option<u32> {
        self.columns[key.0 as usize].domain_of_value.get(&value).copied()
    }

    /// One more than the highest domain number.
    #[must_use]
    pub fn size(&self, key: KeyId) -> usize {
        let column = &self.columns[key.0 as usize];
        let domains =
            if column.key.is_some() { column.domain_of_value.len() } else { column.domain_of_row.len() };
        domains + 1
    }
}
