//! Amounts as a pod's requests write them.

use schedlab_core::quantity::Quantity;

const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];

/// Whole numbers of binary units as such: `4Gi`, not `4294967296`.
pub(super) fn quantity(amount: Quantity) -> String {
    let value = amount.value();
    let is_whole = Quantity::parse(&value.to_string()) == Ok(amount);
    if is_whole { bytes(value) } else { amount.to_string() }
}

/// Bytes, in the largest unit of which they are a whole number.
pub(super) fn bytes(value: i64) -> String {
    let unit = UNITS.iter().find(|(_, size)| value != 0 && value % size == 0);
    unit.map_or_else(|| value.to_string(), |(name, size)| format!("{}{name}", value / size))
}

/// Thousandths of a processor.
pub(super) fn milli_cpu(value: i64) -> String {
    if value % 1000 == 0 { (value / 1000).to_string() } else { format!("{value}m") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_in_whole_units() {
        assert_eq!([0, 1 << 30, 3 << 29, 1000].map(bytes), ["0", "1Gi", "1536Mi", "1000"]);
        assert_eq!([0, 500, 2000, -250].map(milli_cpu), ["0", "500m", "2", "-250m"]);
    }
}
