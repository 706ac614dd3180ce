//! Kubernetes quantities: `100m`, `1.5Gi`, `12e6`.
//!
//! A quantity is exact: a whole number of billionths in 128 bits. That is the finest unit the API
//! keeps, so nothing is lost between the text and the sums over containers.
//!
//! Upstream: apimachinery/pkg/api/resource/quantity.go `ParseQuantity`, `Value`, `MilliValue`.
//! Differs: upstream keeps any size and lets `Value` and `MilliValue` overflow (wrap, or become 0);
//! here a quantity ends at about ±1.7e29 units and both stop at the ends of `i64`. See
//! `sizes_beyond_the_integers_stop_at_the_ends` in the tests.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

#[cfg(test)]
mod tests;

const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// The digits of one unit that are kept after the decimal point.
const NANO_DIGITS: i64 = 9;

/// Quantities with a binary suffix stop here, as upstream's `maxAllowed`.
const BINARY_NANOS_MAX: i128 = i64::MAX as i128 * NANOS_PER_UNIT;

/// An exact quantity in billionths (the finest unit the API keeps).
///
/// `+` and `-` stop at the ends of the range; use [`Quantity::checked_add`] where that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no text.
    #[error("quantity \"\": the text is empty; write a number, such as 100m or 1Gi")]
    Empty,
    /// A character that stands in no quantity, or not at this place.
    #[error(
        "quantity {text:?}: {found:?} at byte {at} does not belong there; \
         write a number and a suffix, such as 100m, 1.5Gi or 12e6"
    )]
    Malformed {
        /// The whole text.
        text: String,
        /// The character.
        found: char,
        /// Where it stands.
        at: usize,
    },
    /// What follows the number is neither a suffix nor an exponent.
    #[error(
        "quantity {text:?}: unknown suffix {suffix:?}; \
         use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
    )]
    Suffix {
        /// The whole text.
        text: String,
        /// What follows the number.
        suffix: String,
    },
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity { nanos: 0 };

    /// So many whole units: cores, bytes, devices.
    #[must_use]
    pub const fn from_units(units: i64) -> Quantity {
        Quantity { nanos: units as i128 * NANOS_PER_UNIT }
    }

    /// So many thousandths of a unit.
    #[must_use]
    pub const fn from_milli(milli: i64) -> Quantity {
        Quantity { nanos: milli as i128 * NANOS_PER_MILLI }
    }

    /// Reads a quantity as the API server reads it. What is finer than a billionth is rounded away
    /// from zero; a binary suffix stops at 2^63-1 units.
    ///
    /// # Errors
    ///
    /// When the text is empty, has a stray character, or an unknown suffix. As upstream, a missing
    /// number before a suffix is 0, and so is a lone sign or point.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        let parts = Parts::split(text)?;
        let magnitude = match parts.scale {
            Scale::Decimal(exponent) => decimal_nanos(parts.whole, parts.fraction, exponent),
            Scale::Binary(bits) => binary_nanos(parts.whole, parts.fraction, bits).min(BINARY_NANOS_MAX),
        };
        let nanos = if parts.is_negative { -magnitude } else { magnitude };
        Ok(Quantity { nanos })
    }

    /// Whole units, rounded away from zero, within `i64`.
    #[must_use]
    pub fn value(self) -> i64 {
        clamp_i64(div_away_from_zero(self.nanos, NANOS_PER_UNIT))
    }

    /// Thousandths, rounded away from zero, within `i64`.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        clamp_i64(div_away_from_zero(self.nanos, NANOS_PER_MILLI))
    }

    /// Whether this is exactly nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The sum, or `None` beyond the range.
    #[must_use]
    pub fn checked_add(self, other: Quantity) -> Option<Quantity> {
        let nanos = self.nanos.checked_add(other.nanos)?;
        Some(Quantity { nanos })
    }

    /// The difference, or `None` beyond the range.
    #[must_use]
    pub fn checked_sub(self, other: Quantity) -> Option<Quantity> {
        let nanos = self.nanos.checked_sub(other.nanos)?;
        Some(Quantity { nanos })
    }
}

impl Add for Quantity {
    type Output = Quantity;

    fn add(self, other: Quantity) -> Quantity {
        Quantity { nanos: self.nanos.saturating_add(other.nanos) }
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Quantity) {
        *self = *self + other;
    }
}

impl Sub for Quantity {
    type Output = Quantity;

    fn sub(self, other: Quantity) -> Quantity {
        Quantity { nanos: self.nanos.saturating_sub(other.nanos) }
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Quantity) {
        *self = *self - other;
    }
}

impl Neg for Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        Quantity { nanos: self.nanos.saturating_neg() }
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Quantity>>(quantities: I) -> Quantity {
        quantities.fold(Quantity::ZERO, Add::add)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        Quantity::parse(text)
    }
}

/// The canonical form with decimal suffixes: no fraction, and the largest suffix that allows that
/// (`1500m`, `100k`, `0`).
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        if self.is_zero() {
            return f.write_str("0");
        }
        let mut mantissa = self.nanos;
        let mut suffix = 0;
        while mantissa % 1000 == 0 && suffix + 1 < SUFFIXES.len() {
            mantissa /= 1000;
            suffix += 1;
        }
        write!(f, "{mantissa}{}", SUFFIXES[suffix])
    }
}

/// What the suffix multiplies the number by.
#[derive(Clone, Copy)]
enum Scale {
    /// 10 to the power of this.
    Decimal(i64),
    /// 2 to the power of this.
    Binary(u32),
}

/// A quantity's text, taken apart: `-1.025Ti` is negative, "1", "025", 2^40.
struct Parts<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    scale: Scale,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Parts<'a>, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Empty);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        check_suffix_characters(text, suffix)?;
        let scale = scale_of(suffix)
            .ok_or_else(|| QuantityError::Suffix { text: text.to_owned(), suffix: suffix.to_owned() })?;
        Ok(Parts { is_negative: text.starts_with('-'), whole, fraction, scale })
    }
}

/// The leading digits, and what follows them.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Letters that occur in suffixes, then a sign, then digits; nothing else.
fn check_suffix_characters(text: &str, suffix: &str) -> Result<(), QuantityError> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let (_, rest) = split_digits(rest);
    match rest.chars().next() {
        None => Ok(()),
        Some(found) => {
            Err(QuantityError::Malformed { text: text.to_owned(), found, at: text.len() - rest.len() })
        }
    }
}

fn scale_of(suffix: &str) -> Option<Scale> {
    let scale = match suffix {
        "n" => Scale::Decimal(-9),
        "u" => Scale::Decimal(-6),
        "m" => Scale::Decimal(-3),
        "" => Scale::Decimal(0),
        "k" => Scale::Decimal(3),
        "M" => Scale::Decimal(6),
        "G" => Scale::Decimal(9),
        "T" => Scale::Decimal(12),
        "P" => Scale::Decimal(15),
        "E" => Scale::Decimal(18),
        "Ki" => Scale::Binary(10),
        "Mi" => Scale::Binary(20),
        "Gi" => Scale::Binary(30),
        "Ti" => Scale::Binary(40),
        "Pi" => Scale::Binary(50),
        "Ei" => Scale::Binary(60),
        _ => Scale::Decimal(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(scale)
}

/// Billionths of `whole.fraction` times 10^exponent: a walk over the digits, where the exponent
/// only says how many of them stand before the (shifted) point.
fn decimal_nanos(whole: &str, fraction: &str, exponent: i64) -> i128 {
    let mut places_left = exponent.saturating_add(NANO_DIGITS).saturating_add(whole.len() as i64);
    let mut nanos: i128 = 0;
    let mut is_inexact = false;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = i128::from(digit - b'0');
        if places_left > 0 {
            nanos = nanos.saturating_mul(10).saturating_add(digit);
        } else {
            is_inexact |= digit != 0;
        }
        places_left = places_left.saturating_sub(1);
    }
    while places_left > 0 && nanos != 0 && nanos != i128::MAX {
        nanos = nanos.saturating_mul(10);
        places_left -= 1;
    }
    nanos.saturating_add(i128::from(is_inexact))
}

/// Billionths of `whole.fraction` times 2^bits, with bits at most 60.
fn binary_nanos(whole: &str, fraction: &str, bits: u32) -> i128 {
    let unit_nanos = NANOS_PER_UNIT << bits;
    let whole_units = decimal_nanos(whole, "", -NANO_DIGITS);
    // From the last digit to the first, dividing by ten at each step: the floor of the exact
    // value, since a floor of a floor loses nothing. At most 9 * 2^90 + 2^90.
    let mut fraction_nanos: i128 = 0;
    let mut is_inexact = false;
    for digit in fraction.bytes().rev() {
        let tenfold = i128::from(digit - b'0') * unit_nanos + fraction_nanos;
        is_inexact |= tenfold % 10 != 0;
        fraction_nanos = tenfold / 10;
    }
    whole_units
        .saturating_mul(unit_nanos)
        .saturating_add(fraction_nanos)
        .saturating_add(i128::from(is_inexact))
}

fn div_away_from_zero(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend / divisor;
    if dividend % divisor == 0 { quotient } else { quotient + dividend.signum() }
}

fn clamp_i64(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
