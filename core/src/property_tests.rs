//! Properties over inputs that shrink: of an input that breaks one, proptest leaves out what it can and
//! says what is left. The seeded twins (`fake::for_each_seed`) find faults in whole clusters; here inputs
//! are short histories, and the shortest that fails is the report.
//!
//! Inputs are the same in every run, and nothing is kept on disk.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::ids::Symbol;
use crate::input::Labels;
use crate::interner::Vocabulary;
use crate::quantity::Quantity;
use crate::reclaim::Marks;
use crate::snapshot::mask::{NodeMask, lowest_bits, nth_bit};

/// Tries a property on so many inputs; panics with the smallest that breaks it.
pub(crate) fn holds<S: Strategy>(cases: u32, inputs: S, property: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, rng).run(&inputs, |input| {
        property(input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn broken_property_is_reported_with_its_smallest_input() {
    let outcome = std::panic::catch_unwind(|| {
        holds(256, vec(0u32..1000, 0..20), |numbers| {
            assert!(numbers.iter().all(|&number| number < 500), "large");
        });
    });
    let payload = outcome.expect_err("the property does not hold");
    let said = payload.downcast_ref::<String>().expect("a message");
    assert!(said.contains("minimal failing input: [\n    500,\n]"), "{said}");
}

#[test]
fn printed_quantity_is_read_as_the_same_quantity() {
    holds(2000, any::<i64>(), |milli| {
        let quantity = Quantity::from_milli(milli);
        assert_eq!(quantity.milli_value(), milli);
        assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity), "{quantity}");
    });
}

#[test]
fn any_text_is_a_quantity_that_prints_or_an_error_that_names_it() {
    let texts = prop_oneof!["[-+.0-9a-zA-Z]{0,12}", "[-+]?[0-9]{0,6}[.]?[0-9]{0,6}(n|u|m|k|M|Gi|Ki|e[0-9])?"];
    holds(4000, texts, |text| match Quantity::parse(&text) {
        Ok(quantity) => {
            let printed = quantity.to_string();
            assert_eq!(Quantity::parse(&printed), Ok(quantity), "{text:?} prints as {printed:?}");
        }
        Err(error) => assert!(error.to_string().contains(&format!("{text:?}")), "{error}"),
    });
}

#[test]
fn quantity_arithmetic_is_that_of_whole_numbers() {
    let milli = -(1i64 << 40)..1 << 40;
    holds(2000, (milli.clone(), milli), |(one, other)| {
        let [a, b] = [one, other].map(Quantity::from_milli);
        assert_eq!((a + b).milli_value(), one + other);
        assert_eq!((a - b).milli_value(), one - other);
        assert_eq!(a + b, b + a);
        assert_eq!(a.checked_add(b).and_then(|sum| sum.checked_sub(b)), Some(a));
        assert_eq!(a < b, one < other);
        // Upstream: resource.Quantity `Value` rounds up, away from zero.
        let units = one.div_euclid(1000) + i64::from(one.rem_euclid(1000) != 0);
        let away = if one < 0 { one.div_euclid(1000) } else { units };
        assert_eq!(a.value(), away);
    });
}

#[derive(Clone, Debug)]
enum MaskStep {
    Insert(usize),
    Remove(usize),
    Grow(usize),
    Reset(usize),
}

fn mask_steps() -> impl Strategy<Value = Vec<MaskStep>> {
    let step = prop_oneof![
        8 => (0usize..200).prop_map(MaskStep::Insert),
        4 => (0usize..200).prop_map(MaskStep::Remove),
        2 => (0usize..70).prop_map(MaskStep::Grow),
        1 => (0usize..200).prop_map(MaskStep::Reset),
    ];
    vec(step, 0..60)
}

#[test]
fn node_mask_is_a_set_of_rows() {
    holds(1000, (0usize..130, mask_steps()), |(rows, steps)| {
        let mut mask = NodeMask::all(rows);
        let mut set: BTreeSet<usize> = (0..rows).collect();
        for step in steps {
            let count = mask.node_count();
            match step {
                MaskStep::Insert(row) if row < count => {
                    mask.insert(row);
                    set.insert(row);
                }
                MaskStep::Remove(row) if row < count => {
                    mask.remove(row);
                    set.remove(&row);
                }
                MaskStep::Grow(more) => mask.grow(count + more),
                MaskStep::Reset(rows) => {
                    mask.reset(rows);
                    set.clear();
                }
                MaskStep::Insert(_) | MaskStep::Remove(_) => {}
            }
            mask.check(mask.node_count());
            assert!(mask.rows().eq(set.iter().copied()), "{mask:?} is not {set:?}");
            assert_eq!(mask.count(), set.len());
        }
    });
}

#[test]
fn lowest_bits_are_those_before_the_nth() {
    holds(4000, (any::<u64>(), any::<u64>(), 0u32..66), |(one, other, count)| {
        for bits in [one, one & other, one | other] {
            let kept = lowest_bits(bits, count);
            assert_eq!(kept & !bits, 0, "nothing is added");
            assert_eq!(kept.count_ones(), bits.count_ones().min(count));
            let dropped = bits & !kept;
            assert!(kept.leading_zeros() + dropped.trailing_zeros() >= 64, "what is kept is below");
            assert_eq!(nth_bit(bits, count).is_some(), count < bits.count_ones());
        }
    });
}

#[derive(Clone, Debug)]
enum Word {
    /// A text is asked for.
    Intern(u8),
    /// A label set is asked for, with a label for each bit.
    Labels(u8),
    /// All but the texts whose bit is set is swept.
    Sweep(u8),
}

#[test]
fn interned_things_keep_their_ids_until_they_are_swept() {
    let step = prop_oneof![
        6 => (0u8..8).prop_map(Word::Intern),
        4 => any::<u8>().prop_map(Word::Labels),
        2 => any::<u8>().prop_map(Word::Sweep),
    ];
    holds(1000, vec(step, 0..60), |steps| {
        let mut vocabulary = Vocabulary::default();
        let mut known: BTreeMap<u8, Symbol> = BTreeMap::new();
        for step in steps {
            match step {
                Word::Intern(at) => {
                    let id = vocabulary.symbols.intern(&format!("text {at}"));
                    assert_eq!(*known.entry(at).or_insert(id), id, "a text has one id");
                }
                Word::Labels(bits) => {
                    let of = |at: u8| (format!("key {at}"), format!("value {}", at % 3));
                    let labels: Labels = (0..8).filter(|at| bits >> at & 1 == 1).map(of).collect();
                    let set = vocabulary.label_set(&labels);
                    assert_eq!(vocabulary.labels(set).len(), labels.len());
                    assert_eq!(vocabulary.label_set(&labels), set, "equal sets share an id");
                }
                Word::Sweep(kept) => {
                    known.retain(|at, _| kept >> at & 1 == 1);
                    let mut marks = Marks::default();
                    known.values().for_each(|&id| marks.symbol(id));
                    vocabulary.sweep(&mut marks);
                }
            }
            vocabulary.check();
            for (at, &id) in &known {
                assert_eq!(vocabulary.symbols.text(id), format!("text {at}"));
            }
            let distinct: BTreeSet<Symbol> = known.values().copied().collect();
            assert_eq!(distinct.len(), known.len(), "no two texts share an id");
        }
    });
}
