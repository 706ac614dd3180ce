//! A quantity that remembers how it was written, so that messages read as upstream's.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use schedlab_core::quantity::Quantity;
use serde_json::Value;

/// Amounts by the name of their resource.
pub type Amounts = BTreeMap<String, Amount>;

/// A quantity. It is shown with binary suffixes if the first that was added to it was written so.
///
/// Upstream: apimachinery pkg/api/resource/quantity.go `Quantity.Format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    quantity: Quantity,
    is_binary: bool,
}

impl Amount {
    /// So many whole ones.
    #[must_use]
    pub fn units(units: i64) -> Amount {
        Amount { quantity: Quantity::from_units(units), is_binary: false }
    }

    /// A quantity of the API; none if it is none.
    #[must_use]
    pub fn of(quantity: &ApiQuantity) -> Option<Amount> {
        let is_binary = quantity.0.ends_with('i');
        Some(Amount { quantity: Quantity::parse(&quantity.0).ok()?, is_binary })
    }

    /// A quantity as JSON: a text or a number.
    #[must_use]
    pub fn of_json(value: &Value) -> Option<Amount> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Amount::of(&ApiQuantity(text))
    }

    /// With this quantity.
    #[must_use]
    pub fn with(self, quantity: Quantity) -> Amount {
        Amount { quantity, ..self }
    }

    /// In thousandths.
    #[must_use]
    pub fn milli(self) -> i64 {
        self.quantity.milli_value()
    }

    /// Whether there is nothing of it.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.quantity.is_zero()
    }

    /// The sum. Nothing takes on the other's suffixes.
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        let is_binary = if self.is_zero() { other.is_binary } else { self.is_binary };
        Amount { quantity: self.quantity + other.quantity, is_binary }
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Amount) -> Amount {
        Amount { quantity: self.quantity - other.quantity, ..self }
    }

    /// So many times.
    #[must_use]
    pub fn times(self, count: u32) -> Amount {
        let nothing = Amount { quantity: Quantity::ZERO, ..self };
        // Doubling: a count of a million takes twenty steps.
        let (mut sum, mut power, mut left) = (nothing, self, count);
        while 0 < left {
            if left % 2 == 1 {
                sum = sum.plus(power);
            }
            power = power.plus(power);
            left /= 2;
        }
        sum
    }

    /// Whether this is at least the other.
    #[must_use]
    pub fn covers(self, other: Amount) -> bool {
        other.quantity <= self.quantity
    }

    /// How many times `step` fits between `from` and this; for ever if there is nothing of it.
    #[must_use]
    pub fn times_above(self, from: Amount, step: Amount) -> Option<u64> {
        if step.quantity <= Quantity::ZERO {
            return None;
        }
        let (mut low, mut high) = (0_u64, u64::from(u32::MAX));
        while low < high {
            let middle = low.midpoint(high) + (low + high) % 2;
            let count = u32::try_from(middle).unwrap_or(u32::MAX);
            if self.covers(from.plus(step.times(count))) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some(low)
    }
}

impl fmt::Display for Amount {
    /// The canonical form: no fraction, and the largest suffix that allows that. Upstream:
    /// `CanonicalizeBytes`; less than 1024 has no binary suffix.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let value = self.quantity.value();
        let is_whole = Quantity::from_units(value) == self.quantity;
        if !self.is_binary || !is_whole || value.unsigned_abs() < 1024 {
            return write!(formatter, "{}", self.quantity);
        }
        let (mut mantissa, mut suffix) = (value, 0);
        while mantissa % 1024 == 0 && suffix + 1 < SUFFIXES.len() {
            mantissa /= 1024;
            suffix += 1;
        }
        write!(formatter, "{mantissa}{}", SUFFIXES[suffix])
    }
}
