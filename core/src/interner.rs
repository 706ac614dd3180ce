//! Every string the engine compares is interned once; equality is then an integer compare.
//!
//! [`Vocabulary`] holds all tables that give ids to things: strings, label sets, taint lists and
//! image lists of nodes, and extended resource names. All of them only grow.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::ids::{ImageSetId, LabelSetId, Symbol, TaintSetId};
use crate::input::{ImageInput, Labels, TaintInput};
use crate::resources::{ScalarId, ScalarNames};

/// Distinct values in order of first sight, each held once: the index has their numbers only.
#[derive(Clone, Debug)]
struct Distinct<T> {
    index: HashTable<u32>,
    values: Vec<T>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Distinct { index: HashTable::new(), values: Vec::new() }
    }
}

impl<T> Distinct<T> {
    fn find<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
    {
        self.index.find(hash_of(value), |&id| self.values[id as usize].borrow() == value).copied()
    }

    fn intern<Q: Hash + Eq + ?Sized>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q> + for<'a> From<&'a Q>,
    {
        if let Some(id) = self.find(value) {
            return id;
        }
        let id = id_of(self.values.len());
        self.values.push(value.into());
        let values = &self.values;
        self.index.insert_unique(hash_of(value), id, |&id| hash_of(values[id as usize].borrow()));
        id
    }
}

fn hash_of<Q: Hash + ?Sized>(value: &Q) -> u64 {
    FxBuildHasher.hash_one(value)
}

/// Strings and their ids.
#[derive(Clone, Debug, Default)]
pub struct Interner(Distinct<Box<str>>);

impl Interner {
    /// The id of `text`, given out on first sight.
    pub fn intern(&mut self, text: &str) -> Symbol {
        Symbol(self.0.intern(text))
    }

    /// The id of `text` if it was ever interned.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.0.find(text).map(Symbol)
    }

    /// The text behind an id.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.0.values[symbol.index()]
    }
}

fn id_of(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 distinct values")
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaintEffect {
    /// No new pods.
    NoSchedule,
    /// Rather no new pods.
    PreferNoSchedule,
    /// No new pods, and running ones are evicted.
    NoExecute,
    /// Anything the API would have refused: matched by text, never acted upon.
    Unknown(Symbol),
}

/// A taint, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// The key.
    pub key: Symbol,
    /// The value.
    pub value: Symbol,
    /// The effect.
    pub effect: TaintEffect,
}

/// An image name on a node, with the size that node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeImage {
    /// The name as the node reports it.
    pub name: Symbol,
    /// The reported size.
    pub size_bytes: i64,
}

/// All interned things.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Strings.
    pub symbols: Interner,
    /// Extended resource names.
    pub scalars: ScalarNames,
    label_sets: Distinct<Box<[(Symbol, Symbol)]>>,
    taint_sets: Distinct<Box<[Taint]>>,
    image_sets: Distinct<Box<[NodeImage]>>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let mut vocabulary = Vocabulary {
            symbols: Interner::default(),
            scalars: ScalarNames::default(),
            label_sets: Distinct::default(),
            taint_sets: Distinct::default(),
            image_sets: Distinct::default(),
        };
        vocabulary.symbols.intern("");
        vocabulary.label_sets.intern(&[][..]);
        vocabulary.taint_sets.intern(&[][..]);
        vocabulary.image_sets.intern(&[][..]);
        vocabulary
    }
}

/// The empty string.
pub const EMPTY: Symbol = Symbol(0);
/// The empty taint list.
pub const NO_TAINTS: TaintSetId = TaintSetId(0);
/// The empty image list.
pub const NO_IMAGES: ImageSetId = ImageSetId(0);

impl Vocabulary {
    /// The id of a label set.
    pub fn label_set(&mut self, labels: &Labels) -> LabelSetId {
        let mut pairs: Vec<(Symbol, Symbol)> = labels
            .iter()
            .map(|(key, value)| (self.symbols.intern(key), self.symbols.intern(value)))
            .collect();
        pairs.sort_unstable();
        LabelSetId(self.label_sets.intern(pairs.as_slice()))
    }

    /// The labels of a set, ordered by the key's id.
    #[inline]
    #[must_use]
    pub fn labels(&self, id: LabelSetId) -> &[(Symbol, Symbol)] {
        &self.label_sets.values[id.index()]
    }

    /// The value of `key` in a label set.
    #[inline]
    #[must_use]
    pub fn label(&self, id: LabelSetId, key: Symbol) -> Option<Symbol> {
        let labels = self.labels(id);
        labels.binary_search_by_key(&key, |&(k, _)| k).ok().map(|at| labels[at].1)
    }

    /// The id of a taint list. Order is kept: it decides nothing, but texts show it.
    pub fn taint_set(&mut self, taints: &[TaintInput]) -> TaintSetId {
        let list: Vec<Taint> = taints
            .iter()
            .map(|taint| Taint {
                key: self.symbols.intern(&taint.key),
                value: self.symbols.intern(&taint.value),
                effect: self.taint_effect(&taint.effect),
            })
            .collect();
        TaintSetId(self.taint_sets.intern(list.as_slice()))
    }

    /// The taints of a list.
    #[inline]
    #[must_use]
    pub fn taints(&self, id: TaintSetId) -> &[Taint] {
        &self.taint_sets.values[id.index()]
    }

    /// A taint effect from its API text.
    pub fn taint_effect(&mut self, text: &str) -> TaintEffect {
        match text {
            "NoSchedule" => TaintEffect::NoSchedule,
            "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
            "NoExecute" => TaintEffect::NoExecute,
            other => TaintEffect::Unknown(self.symbols.intern(other)),
        }
    }

    /// The API's text of a taint effect.
    #[must_use]
    pub fn taint_effect_name(&self, effect: TaintEffect) -> &str {
        match effect {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
            TaintEffect::Unknown(text) => self.symbols.text(text),
        }
    }

    /// The id of a node's image list.
    pub fn image_set(&mut self, images: &[ImageInput]) -> ImageSetId {
        let list: Vec<NodeImage> = images
            .iter()
            .flat_map(|image| image.names.iter().map(move |name| (name, image.size_bytes)))
            .map(|(name, size_bytes)| NodeImage { name: self.symbols.intern(name), size_bytes })
            .collect();
        ImageSetId(self.image_sets.intern(list.as_slice()))
    }

    /// The images of a list.
    #[inline]
    #[must_use]
    pub fn images(&self, id: ImageSetId) -> &[NodeImage] {
        &self.image_sets.values[id.index()]
    }

    /// The name of an extended resource.
    #[must_use]
    pub fn scalar_name(&self, id: ScalarId) -> &str {
        self.symbols.text(self.scalars.symbol(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_share_an_id_whatever_their_order_of_arrival() {
        let mut vocabulary = Vocabulary::default();
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let first = vocabulary.label_set(&labels(&[("b", "2"), ("a", "1")]));
        let second = vocabulary.label_set(&labels(&[("a", "1"), ("b", "2")]));
        let third = vocabulary.label_set(&labels(&[("a", "1")]));
        assert_eq!(first, second);
        assert_ne!(first, third);
        let key = vocabulary.symbols.get("b").expect("interned above");
        assert_eq!(vocabulary.label(first, key), vocabulary.symbols.get("2"));
        assert_eq!(vocabulary.label(third, key), None);
    }

    #[test]
    fn the_reserved_ids_are_the_empty_values() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.symbols.text(EMPTY), "");
        assert_eq!(vocabulary.taint_set(&[]), NO_TAINTS);
        assert_eq!(vocabulary.image_set(&[]), NO_IMAGES);
    }
}
