//! Tolerations compiled to interned form.
//!
//! Upstream: api/core/v1/toleration.go `ToleratesTaint`, with the comparison operators off
//! (`TaintTolerationComparisonOperators` is alpha): `Lt` and `Gt` tolerate nothing.

use crate::ids::Symbol;
use crate::input::TolerationInput;
use crate::interner::{EMPTY, Taint, TaintEffect, Vocabulary};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ValueTest {
    Any,
    Equal(Symbol),
    Never,
}

/// One toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// `None` matches every key.
    key: Option<Symbol>,
    /// `None` matches every effect.
    effect: Option<TaintEffect>,
    value: ValueTest,
}

impl Toleration {
    /// Compiles a toleration.
    pub fn compile(input: &TolerationInput, vocabulary: &mut Vocabulary) -> Toleration {
        let key = vocabulary.symbols.intern(&input.key);
        Toleration {
            key: (key != EMPTY).then_some(key),
            effect: (!input.effect.is_empty()).then(|| vocabulary.taint_effect(&input.effect)),
            value: match input.operator.as_str() {
                "" | "Equal" => ValueTest::Equal(vocabulary.symbols.intern(&input.value)),
                "Exists" => ValueTest::Any,
                _ => ValueTest::Never,
            },
        }
    }

    /// Whether the toleration covers the taint.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.is_none_or(|key| key == taint.key)
            && match self.value {
                ValueTest::Any => true,
                ValueTest::Equal(value) => value == taint.value,
                ValueTest::Never => false,
            }
    }

    /// Whether the toleration speaks of `PreferNoSchedule` taints at all.
    #[must_use]
    pub fn concerns_preference(&self) -> bool {
        matches!(self.effect, None | Some(TaintEffect::PreferNoSchedule))
    }
}
