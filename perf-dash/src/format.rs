//! Numbers as people read them: separators, units, no more digits than are known.

use schedlab_workloads::results::{ControllerResult, FigureMetric};

/// `12,345,678`.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if 0 < i && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate or ratio: whole from 100 on, else three digits or two decimals.
pub fn rate(value: f64) -> String {
    match value {
        v if 99.95 <= v => thousands(v.round() as u64),
        v if 9.995 <= v => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// How many times a bound: `1,413×`. Whole multiples are rounded down, as the terminal's are: what was
/// not reached is not said.
pub fn multiple(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}×"),
        v if 100.0 <= v => format!("{}×", rate(v.floor())),
        v => format!("{}×", rate(v)),
    }
}

/// A number somebody wrote, such as a bound: as it was written, with separators.
pub(crate) fn written(value: f64) -> String {
    match value {
        v if 0.0 <= v && v.fract() == 0.0 => thousands(v as u64),
        v => v.to_string(),
    }
}

/// A short rate for an axis: `250k`, `1.5M`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, suffix) = match value {
        v if 1e6 <= v => (v / 1e6, "M"),
        v if 1e3 <= v => (v / 1e3, "k"),
        v => (v, ""),
    };
    // Ticks are 1, 2, 2.5 or 5 times a power of ten: three decimals show every one exactly.
    let text = format!("{scaled:.3}");
    format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A time given in microseconds, in the unit that suits it: `820 ns`, `12.3 µs`, `1.24 ms`.
pub fn micros(us: f64) -> String {
    match us {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 0.9995 => format!("{} ns", three_digits(v * 1e3)),
        v if v < 999.5 => format!("{} µs", three_digits(v)),
        v if v < 999.5e3 => format!("{} ms", three_digits(v / 1e3)),
        v => format!("{} s", rate(v / 1e6)),
    }
}

/// A power of ten of microseconds, for an axis: `100 µs`.
pub(crate) fn decade_micros(exponent: i32) -> String {
    let (unit, zero) = match exponent {
        ..0 => ("ns", -3),
        0..3 => ("µs", 0),
        3..6 => ("ms", 3),
        6.. => ("s", 6),
    };
    format!("{} {unit}", 10_f64.powi(exponent - zero))
}

/// A time given in milliseconds.
pub(crate) fn millis(ms: f64) -> String {
    micros(ms * 1e3)
}

/// A value of a figure's metric, as a table says it.
#[must_use]
pub fn figure_value(metric: FigureMetric, value: f64) -> String {
    match metric {
        _ if metric.is_time() => micros(value),
        FigureMetric::Throughput => rate(value),
        FigureMetric::Patches
        | FigureMetric::Events
        | FigureMetric::Repeated
        | FigureMetric::RemovedWrongly
        | FigureMetric::NodesAdded
        | FigureMetric::Moved
        | FigureMetric::Conflicts
        | FigureMetric::Counted
        | FigureMetric::MostOnANode
        | FigureMetric::Pending
        | FigureMetric::AsDecided
        | FigureMetric::Evicted => thousands(value.round() as u64),
        FigureMetric::SameNode => format!("{value:.0} %"),
        FigureMetric::BytesPerPod | FigureMetric::BytesAtEnd => bytes(value),
        _ if 100.0 <= value => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Binary units: `32.0 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while 1023.5 <= scaled && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{} B", scaled.round()),
        _ => format!("{} {}", three_digits(scaled), UNITS[unit]),
    }
}

/// A share of one as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A ratio as the change it is: `+3.1 %`, or `15.7×`.
#[must_use]
pub fn signed_percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match percent.abs() {
        size if size < 0.0005 => "0 %".to_owned(),
        size if size < 1.0 => format!("{percent:+.2} %"),
        size if size < 1000.0 => format!("{percent:+.1} %"),
        _ => format!("{ratio:.1}×"),
    }
}

/// `2026-11-15 12:30 UTC` of an RFC 3339 time in UTC; anything else as it is.
#[must_use]
pub fn minute(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(10..11), rfc3339.get(11..16)) {
        (Some(day), Some("T"), Some(time)) if rfc3339.ends_with('Z') => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// `1 workload`, `2 workloads`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(count))
}

fn three_digits(value: f64) -> String {
    match value {
        v if 99.95 <= v => format!("{v:.0}"),
        v if 9.995 <= v => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// What a controller did, in one line: what it counted, and how long it took.
#[must_use]
pub fn controller(result: &ControllerResult) -> String {
    let counters = result.counters.iter().filter(|(_, count)| **count > 0);
    let counters: Vec<String> =
        counters.map(|(name, count)| format!("{} {}", words(name), thousands(*count))).collect();
    let mut parts = vec![if counters.is_empty() { "nothing to do".to_owned() } else { counters.join(", ") }];
    #[allow(clippy::cast_precision_loss, reason = "a time for people")]
    let micros = |us: u64| self::micros(us as f64);
    parts.extend(result.latency_us.iter().map(|(name, latency)| {
        let (name, count, per_s) = (words(name), thousands(latency.count), rate(latency.per_s));
        let [p50, p99, max] = [latency.p50, latency.p99, latency.max].map(micros);
        format!("{name} {count} at {per_s}/s, p50 {p50}, p99 {p99}, max {max}")
    }));
    parts.join("; ")
}

/// `nodes updated` of `nodes_updated`.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::results::ControllerLatency;

    use super::*;

    #[test]
    fn controller_report_is_one_line() {
        let mut result = ControllerResult::default();
        assert_eq!(controller(&result), "nothing to do");
        result.counters = [("pods_checked".to_owned(), 30_000), ("failed".to_owned(), 0)].into();
        assert_eq!(controller(&result), "pods checked 30,000");
        let latency = ControllerLatency { count: 7, per_s: 20.0, p50: 120, p99: 1500, max: 2000 };
        result.latency_us = [("pod_deletion".to_owned(), latency)].into();
        assert_eq!(
            controller(&result),
            "pods checked 30,000; pod deletion 7 at 20.0/s, p50 120 µs, p99 1.50 ms, max 2.00 ms"
        );
    }

    #[test]
    fn numbers_as_people_read_them() {
        let cases = [
            (thousands(0), "0"),
            (thousands(999), "999"),
            (thousands(1_000), "1,000"),
            (thousands(1_234_567), "1,234,567"),
            (rate(0.0), "0.00"),
            (rate(9.99), "9.99"),
            (rate(9.999), "10.0"),
            (rate(99.96), "100"),
            (rate(212_345.6), "212,346"),
            (multiple(0.414), "0.41×"),
            (multiple(15.26), "15.3×"),
            (multiple(1413.3), "1,413×"),
            (multiple(1817.96), "1,817×"),
            (written(70.0), "70"),
            (written(5000.0), "5,000"),
            (written(2.5), "2.5"),
            (short(0.0), "0"),
            (short(0.25), "0.25"),
            (short(250_000.0), "250k"),
            (short(1_500_000.0), "1.5M"),
            (micros(0.0), "0"),
            (micros(0.0421), "42.1 ns"),
            (micros(0.9999), "1.00 µs"),
            (micros(12.34), "12.3 µs"),
            (micros(999.6), "1.00 ms"),
            (micros(1_240.0), "1.24 ms"),
            (micros(2_050_000.0), "2.05 s"),
            (micros(3_600_000_000.0), "3,600 s"),
            (decade_micros(-2), "10 ns"),
            (decade_micros(0), "1 µs"),
            (decade_micros(5), "100 ms"),
            (decade_micros(7), "10 s"),
            (bytes(512.0), "512 B"),
            (bytes(1024.0), "1.00 KiB"),
            (bytes(25_769_803_776.0), "24.0 GiB"),
            (percent(0.1234), "12.3 %"),
            (minute("2026-11-15T12:30:45.5Z"), "2026-11-15 12:30 UTC"),
            (minute("yesterday, or so it was said"), "yesterday, or so it was said"),
            (counted(1, "workload"), "1 workload"),
            (counted(5000, "node"), "5,000 nodes"),
        ];
        for (actual, wanted) in cases {
            assert_eq!(actual, wanted);
        }
    }
}
