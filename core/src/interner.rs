//! Every string the engine compares is interned once; equality is then an integer compare.
//!
//! [`Vocabulary`] holds all tables that give ids to things: strings, label sets, taint lists and
//! image lists of nodes, and extended resource names. What nothing refers to any more is swept and its
//! id given out again (see [`crate::reclaim`]), but for what plugins were made with.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::ids::{ImageSetId, LabelSetId, Symbol, TaintSetId};
use crate::input::{ImageInput, Labels, TaintInput};
use crate::reclaim::{Bits, Marks, Uses, cut, give_back};
use crate::resources::{ScalarId, ScalarNames};

/// Distinct values, each held once: the index has their numbers only. A number is given out again
/// when its value was swept.
#[derive(Clone, Debug)]
struct Distinct<T> {
    index: HashTable<u32>,
    values: Vec<T>,
    free: Vec<u32>,
    /// Never swept.
    pinned: Bits,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Distinct { index: HashTable::new(), values: Vec::new(), free: Vec::new(), pinned: Bits::default() }
    }
}

impl<T> Distinct<T> {
    fn find<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
    {
        self.index.find(hash_of(value), |&id| self.values[id as usize].borrow() == value).copied()
    }

    /// The value's number, and whether it is new.
    fn intern<Q: Hash + Eq + ?Sized>(&mut self, value: &Q) -> (u32, bool)
    where
        T: Borrow<Q> + for<'a> From<&'a Q>,
    {
        if let Some(id) = self.find(value) {
            return (id, false);
        }
        let id = match self.free.pop() {
            Some(id) => {
                self.values[id as usize] = value.into();
                id
            }
            None => {
                self.values.push(value.into());
                id_of(self.values.len() - 1)
            }
        };
        let values = &self.values;
        self.index.insert_unique(hash_of(value), id, |&id| hash_of(values[id as usize].borrow()));
        (id, true)
    }

    fn len(&self) -> u64 {
        self.index.len() as u64
    }

    /// Whether the number stands for a value, and was not swept.
    fn is_live(&self, id: u32) -> bool
    where
        T: Hash + Eq,
    {
        self.values.get(id as usize).is_some_and(|value| self.find::<T>(value) == Some(id))
    }

    /// Panics where index, values and free numbers do not agree.
    fn check(&self) {
        assert_eq!(self.index.len() + self.free.len(), self.values.len(), "a number has a value or is free");
        for &id in &self.index {
            assert!((id as usize) < self.values.len(), "the index has numbers of values");
        }
        for &id in &self.free {
            assert!((id as usize) < self.values.len(), "a free number is one of the table");
            assert!(!self.pinned.contains(id as usize), "what is pinned is never free");
        }
    }

    fn pin_all(&mut self) {
        self.index.iter().for_each(|&id| self.pinned.insert(id as usize));
    }

    /// The values that stay.
    fn kept<'a>(&'a self, marks: &'a Bits) -> impl Iterator<Item = &'a T> {
        let stays = |id: &&u32| marks.contains(**id as usize) || self.pinned.contains(**id as usize);
        self.index.iter().filter(stays).map(|&id| &self.values[id as usize])
    }

    /// Forgets the values that are neither marked nor pinned.
    fn sweep(&mut self, marks: &Bits)
    where
        T: Default + Hash,
    {
        let Distinct { index, values, free, pinned } = self;
        let mut freed = Vec::new();
        index.retain(|&mut id| {
            let stays = marks.contains(id as usize) || pinned.contains(id as usize);
            if !stays {
                freed.push(id);
            }
            stays
        });
        freed.iter().for_each(|&id| values[id as usize] = T::default());
        let len = give_back(free, freed, values.len());
        cut(values, len);
        if index.capacity() > 4 * index.len() + 64 {
            index.shrink_to_fit(|&id| hash_of(&values[id as usize]));
        }
    }
}

fn hash_of<Q: Hash + ?Sized>(value: &Q) -> u64 {
    FxBuildHasher.hash_one(value)
}

/// What is noted of an id that is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) enum Watch<T> {
    /// Nothing.
    #[default]
    None,
    /// Who asks keeps it.
    Record(Vec<T>),
    /// It stays for good.
    Pin,
}

impl<T: Copy + Ord> Watch<T> {
    /// Notes an id; whether it is to be pinned.
    #[inline]
    pub(crate) fn note(&mut self, id: T) -> bool {
        match self {
            Watch::None => false,
            Watch::Record(ids) => {
                ids.push(id);
                false
            }
            Watch::Pin => true,
        }
    }

    pub(crate) fn start(&mut self) {
        if matches!(self, Watch::None) {
            *self = Watch::Record(Vec::new());
        }
    }

    /// What was noted since [`Watch::start`].
    pub(crate) fn take(&mut self) -> Box<[T]> {
        let Watch::Record(ids) = self else { return Box::default() };
        let mut ids = std::mem::take(ids);
        *self = Watch::None;
        ids.sort_unstable();
        ids.dedup();
        ids.into()
    }
}

/// Strings and their ids.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    texts: Distinct<Box<str>>,
    watch: Watch<Symbol>,
    /// New ones since the last sweep.
    grown: u64,
}

impl Interner {
    /// The id of `text`, given out on first sight.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let (id, is_new) = self.texts.intern(text);
        self.grown += u64::from(is_new);
        if self.watch.note(Symbol(id)) {
            self.texts.pinned.insert(id as usize);
        }
        Symbol(id)
    }

    /// The id of `text` if something has it.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.texts.find(text).map(Symbol)
    }

    /// Whether an id stands for a text.
    pub(crate) fn is_live(&self, symbol: Symbol) -> bool {
        self.texts.is_live(symbol.0)
    }

    /// The text behind an id.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts.values[symbol.index()]
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
    watch: Watch<LabelSetId>,
    /// New sets, and other things that are made from them, since the last sweep.
    grown: u64,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let mut vocabulary = Vocabulary {
            symbols: Interner::default(),
            scalars: ScalarNames::default(),
            label_sets: Distinct::default(),
            taint_sets: Distinct::default(),
            image_sets: Distinct::default(),
            watch: Watch::None,
            grown: 0,
        };
        vocabulary.symbols.intern("");
        vocabulary.label_sets.intern(&[][..]);
        vocabulary.taint_sets.intern(&[][..]);
        vocabulary.image_sets.intern(&[][..]);
        vocabulary.pin_all();
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
        let (id, is_new) = self.label_sets.intern(pairs.as_slice());
        self.grown += u64::from(is_new);
        if self.watch.note(LabelSetId(id)) {
            self.label_sets.pinned.insert(id as usize);
        }
        LabelSetId(id)
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
        let (id, is_new) = self.taint_sets.intern(list.as_slice());
        self.grown += u64::from(is_new);
        TaintSetId(id)
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
        let (id, is_new) = self.image_sets.intern(list.as_slice());
        self.grown += u64::from(is_new);
        ImageSetId(id)
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

/// What comes and goes.
impl Vocabulary {
    /// Makes something, and says what it keeps.
    pub(crate) fn recorded<T>(&mut self, make: impl FnOnce(&mut Vocabulary) -> T) -> (T, Uses) {
        self.symbols.watch.start();
        self.watch.start();
        self.scalars.watch_mut().start();
        let made = make(self);
        let symbols = self.symbols.watch.take();
        let uses = Uses { symbols, label_sets: self.watch.take(), scalars: self.scalars.watch_mut().take() };
        (made, uses)
    }

    /// All that is known stays for good: plugins were made with it.
    pub(crate) fn pin_all(&mut self) {
        self.symbols.texts.pin_all();
        self.label_sets.pin_all();
        self.taint_sets.pin_all();
        self.image_sets.pin_all();
        self.scalars.pin_all();
    }

    /// What is asked for from now on stays for good, until [`Vocabulary::stop_pinning`].
    pub(crate) fn start_pinning(&mut self) {
        self.symbols.watch = Watch::Pin;
        self.watch = Watch::Pin;
        *self.scalars.watch_mut() = Watch::Pin;
    }

    pub(crate) fn stop_pinning(&mut self) {
        self.symbols.watch = Watch::None;
        self.watch = Watch::None;
        *self.scalars.watch_mut() = Watch::None;
    }

    /// Something new was made from what is known; it weighs as much as so many strings.
    pub(crate) fn grow(&mut self, weight: u64) {
        self.grown += weight;
    }

    /// How much is new since the last sweep.
    pub(crate) fn grown(&self) -> u64 {
        self.symbols.grown + self.grown
    }

    /// Strings and sets.
    pub(crate) fn len(&self) -> u64 {
        let sets = self.label_sets.len() + self.taint_sets.len() + self.image_sets.len();
        self.symbols.texts.len() + sets
    }

    /// Whether an id stands for a label set.
    pub(crate) fn is_live_label_set(&self, id: LabelSetId) -> bool {
        self.label_sets.is_live(id.0)
    }

    /// Whether an id stands for a taint list.
    pub(crate) fn is_live_taint_set(&self, id: TaintSetId) -> bool {
        self.taint_sets.is_live(id.0)
    }

    /// Whether an id stands for an image list.
    pub(crate) fn is_live_image_set(&self, id: ImageSetId) -> bool {
        self.image_sets.is_live(id.0)
    }

    /// Panics where tables do not agree, or the empty things have lost their ids. See `World::check`.
    pub(crate) fn check(&self) {
        self.symbols.texts.check();
        self.label_sets.check();
        self.taint_sets.check();
        self.image_sets.check();
        self.scalars.check();
        assert_eq!(self.symbols.text(EMPTY), "", "the empty string keeps its id");
        assert!(self.taints(NO_TAINTS).is_empty(), "the empty taint list keeps its id");
        assert!(self.images(NO_IMAGES).is_empty(), "the empty image list keeps its id");
        for &id in &self.label_sets.index {
            let pairs = self.labels(LabelSetId(id));
            assert!(pairs.is_sorted_by_key(|&(key, _)| key), "labels stand in order of their keys");
        }
    }

    /// Forgets what is not in use.
    pub(crate) fn sweep(&mut self, marks: &mut Marks) {
        let Marks { symbols, label_sets, taint_sets, image_sets, scalars, .. } = marks;
        let mut keep = |symbol: Symbol| symbols.insert(symbol.index());
        for &(key, value) in self.label_sets.kept(label_sets).flatten() {
            keep(key);
            keep(value);
        }
        for taint in self.taint_sets.kept(taint_sets).flatten() {
            keep(taint.key);
            keep(taint.value);
            if let TaintEffect::Unknown(text) = taint.effect {
                keep(text);
            }
        }
        self.image_sets.kept(image_sets).flatten().for_each(|image| keep(image.name));
        self.scalars.sweep(scalars, keep);
        self.label_sets.sweep(label_sets);
        self.taint_sets.sweep(taint_sets);
        self.image_sets.sweep(image_sets);
        self.symbols.texts.sweep(symbols);
        self.symbols.grown = 0;
        self.grown = 0;
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
    fn reserved_ids_are_the_empty_values() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.symbols.text(EMPTY), "");
        assert_eq!(vocabulary.taint_set(&[]), NO_TAINTS);
        assert_eq!(vocabulary.image_set(&[]), NO_IMAGES);
    }
}
