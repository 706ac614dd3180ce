//! Durations as Go writes them: `500ms`, `1m30s`, `1.5h`.
//!
//! Upstream: Go's time.ParseDuration, without its sign: a workload cannot wait a negative time.

use std::time::Duration;

const NANOS_PER_UNIT: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// How a duration is written, for error messages.
pub(crate) const EXPECTED: &str = "a Go duration such as \"500ms\", \"10s\" or \"1m30s\"";

/// Reads a Go duration; `None` if the text is not one, is negative or is too long for 64 bits.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_at_first(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_at_first(after, |c| c.is_ascii_digit() || c == '.');
        let number: f64 = number.parse().ok()?;
        let (_, factor) = NANOS_PER_UNIT.iter().find(|(name, _)| *name == unit)?;
        nanos += number * factor;
        rest = after;
    }
    (nanos <= i64::MAX as f64).then(|| Duration::from_nanos(nanos.round() as u64))
}

fn split_at_first(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let cases = [
            ("milliseconds", "500ms", Some(Duration::from_millis(500))),
            ("two units", "1m30s", Some(Duration::from_secs(90))),
            ("a fraction", "1.5h", Some(Duration::from_secs(5400))),
            ("a leading point", ".5s", Some(Duration::from_millis(500))),
            ("micro sign", "7µs", Some(Duration::from_micros(7))),
            ("zero needs no unit", "0", Some(Duration::ZERO)),
            ("a plus sign", "+2s", Some(Duration::from_secs(2))),
            ("no unit", "10", None),
            ("unknown unit", "1d", None),
            ("negative", "-1s", None),
            ("nothing", "", None),
            ("a sign alone", "+", None),
            ("a point alone", ".s", None),
            ("longer than 292 years", "3000000h", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(parse(text), expected, "case: {name}");
        }
    }
}
