//! The series of a run as Prometheus text: names, labels and buckets that kube-scheduler's operators
//! know.
//!
//! The table of `schedlab_workloads::metrics` says what there is; this only writes it down. The text
//! format is version 0.0.4: one HELP and one TYPE a metric, then its series; buckets add up, and the
//! last, `+Inf`, equals `_count`.

use std::fmt::Write as _;

use schedlab_workloads::metrics::{Covers, Key, Kind, Metric, MetricSpread, MetricValues, Value};

/// The text for a reading.
#[must_use]
pub fn prometheus_text(series: &MetricValues) -> String {
    let mut page = Page::default();
    for (key, value) in series.iter() {
        match value {
            Value::Spread(spread) if spread.count() == 0 && !key.metric.labels.is_empty() => {}
            Value::Spread(spread) => {
                page.head(key.metric);
                page.spread(key, spread);
            }
            Value::Count(count) | Value::Level(count) => {
                page.head(key.metric);
                page.value(key.metric.name, &labels_of(key), *count);
            }
        }
    }
    page.text
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
    /// The metric whose series are being written.
    metric: Option<&'static str>,
}

impl Page {
    /// Announces a metric, once.
    fn head(&mut self, metric: &'static Metric) {
        if self.metric.replace(metric.name) == Some(metric.name) {
            return;
        }
        let Metric { name, help, kind, covers, .. } = metric;
        let sampled = match covers {
            Covers::Sampled(which) => format!(" Sampled: {which}."),
            Covers::Everything | Covers::Now | Covers::Measured => String::new(),
        };
        let help = escaped_help(&format!("{help}{sampled}"));
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.label());
    }

    fn value(&mut self, name: &str, labels: &str, value: u64) {
        let _ = writeln!(self.text, "{name}{} {value}", braced(labels));
    }

    fn spread(&mut self, key: &Key, spread: &MetricSpread) {
        let Kind::Histogram(buckets) = key.metric.kind else { return };
        let (name, labels) = (key.metric.name, labels_of(key));
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, below) in buckets.bounds().iter().zip(spread.cumulative(buckets)) {
            let _ = writeln!(self.text, "{name}_bucket{{{labels}{comma}le=\"{}\"}} {below}", number(*bound));
        }
        let (count, sum) = (spread.count(), spread.sum());
        let _ = writeln!(self.text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
        let braces = braced(&labels);
        let _ = writeln!(self.text, "{name}_sum{braces} {sum}\n{name}_count{braces} {count}");
    }
}

/// Labels in alphabetical order, as Go's client writes them.
fn labels_of(key: &Key) -> String {
    let mut labels: Vec<(&str, &str)> = key.labels().collect();
    labels.sort_unstable();
    let texts = labels.into_iter().map(|(label, value)| format!("{label}=\"{}\"", escaped_value(value)));
    texts.collect::<Vec<String>>().join(",")
}

fn escaped_value(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn escaped_help(help: &str) -> String {
    help.replace('\\', "\\\\").replace('\n', "\\n")
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

/// As Go prints a bucket's bound: 1e-05, 0.0001, 5242.88; no digits of the binary fraction.
fn number(value: f64) -> String {
    if value < 0.0001 {
        let text = format!("{value:.10e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e-0{}", exponent.trim_start_matches('-'));
    }
    let text = format!("{value:.12}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schedlab_workloads::metrics::table::{
        ALGORITHM_DURATION, ATTEMPT_DURATION, PENDING_PODS, PLUGIN_DURATION, POINT_DURATION,
        PREEMPTION_VICTIMS, SCHEDULE_ATTEMPTS, SLI_DURATION,
    };

    use super::*;

    fn durations() -> MetricSpread {
        MetricSpread::of_durations([(50_000, 4), (150_000, 3), (900_000, 2), (5_000_000_000, 1)])
    }

    fn measured() -> MetricValues {
        let mut series = MetricValues::default();
        series.spread(&ALGORITHM_DURATION, &[], durations());
        series.spread(&SLI_DURATION, &["1"], durations());
        series.spread(&SLI_DURATION, &["15+"], durations());
        series.spread(&POINT_DURATION, &["Filter", "Success", "default-scheduler"], durations());
        series.spread(&PLUGIN_DURATION, &["NodeResourcesFit", "Filter", "Success"], durations());
        series.spread(&ATTEMPT_DURATION, &["error", "never"], MetricSpread::of_durations([]));
        series.count(&SCHEDULE_ATTEMPTS, &["scheduled", "default-scheduler"], 1000);
        series.count(&SCHEDULE_ATTEMPTS, &["scheduled", "a \"quoted\"\nback\\slash"], 10);
        series.level(&PENDING_PODS, &["backoff"], 7);
        let victims = MetricSpread::Bucketed { counts: vec![0, 0, 1, 0, 0, 0, 0, 0], sum: 3 };
        series.spread(&PREEMPTION_VICTIMS, &[], victims);
        series
    }

    #[test]
    fn text_has_upstreams_names_and_buckets() {
        let text = prometheus_text(&measured());
        for line in [
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1000",
            "scheduler_pending_pods{queue=\"backoff\"} 7",
            "scheduler_preemption_victims_bucket{le=\"2\"} 0",
            "scheduler_preemption_victims_bucket{le=\"4\"} 1",
            "scheduler_preemption_victims_sum 3",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 9",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 10",
            "scheduler_scheduling_algorithm_duration_seconds_count 10",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts=\"15+\",le=\"5242.88\"} 10",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",profile=\"default-scheduler\",status=\"Success\",le=\"0.0001\"} 4",
            "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"Filter\",plugin=\"NodeResourcesFit\",status=\"Success\",le=\"1e-05\"} 0",
            "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"Filter\",plugin=\"NodeResourcesFit\",status=\"Success\",le=\"5.0625e-05\"} 4",
        ] {
            assert!(text.lines().any(|other| other == line), "no {line} in\n{text}");
        }
        assert!(!text.contains("scheduling_attempt_duration"), "what was not measured is not there");
    }

    /// What a scraper makes of a line of values: the name, the labels with their values, the value.
    fn parsed(line: &str) -> (String, BTreeMap<String, String>, f64) {
        let (head, value) = line.rsplit_once(' ').expect("a value");
        let value = value.parse().expect("a number");
        let Some((name, rest)) = head.split_once('{') else {
            return (head.to_owned(), BTreeMap::new(), value);
        };
        let mut rest = rest.strip_suffix('}').expect("a closing brace");
        let mut labels = BTreeMap::new();
        while !rest.is_empty() {
            let (label, after) = rest.split_once("=\"").expect("a label");
            let mut text = String::new();
            let mut letters = after.char_indices();
            let end = loop {
                match letters.next().expect("a closing quote") {
                    (at, '"') => break at,
                    (_, '\\') => text.push(match letters.next().expect("an escaped letter").1 {
                        'n' => '\n',
                        other => other,
                    }),
                    (_, other) => text.push(other),
                }
            };
            assert!(labels.insert(label.to_owned(), text).is_none(), "{label} twice in {line}");
            rest = after[end + 1..].trim_start_matches(',');
        }
        (name.to_owned(), labels, value)
    }

    #[test]
    fn text_is_well_formed() {
        let text = prometheus_text(&measured());
        assert!(text.ends_with('\n'));
        let mut announced: Vec<(&str, &str)> = Vec::new();
        let mut cumulative: BTreeMap<String, (f64, u64)> = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let name = help.split_once(' ').expect("a help text").0;
                let kind =
                    lines.next().and_then(|line| line.strip_prefix("# TYPE ")).expect("TYPE after HELP");
                let kind = kind.strip_prefix(name).expect("of the same metric").trim();
                assert!(announced.iter().all(|(other, _)| *other != name), "{name} is announced twice");
                announced.push((name, kind));
                continue;
            }
            let (name, mut labels, value) = parsed(line);
            let &(metric, kind) = announced.last().expect("announced before its values");
            let suffix = name.strip_prefix(metric).unwrap_or_else(|| panic!("{line} is of {metric}"));
            let wanted: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(wanted.contains(&suffix), "{line} of a {kind}");
            let bound = labels.remove("le");
            assert_eq!(suffix == "_bucket", bound.is_some(), "{line}");
            let series = format!("{metric} {labels:?}");
            if let Some(bound) = bound {
                let bound: f64 =
                    if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("a bound") };
                let count = value as u64;
                let before = cumulative.insert(series, (bound, count));
                assert!(before.is_none_or(|(low, below)| low < bound && below <= count), "{line}");
            } else if suffix == "_count" {
                let last = cumulative.get(&series).copied();
                assert_eq!(last, Some((f64::INFINITY, value as u64)), "{line}: +Inf is the count");
            }
        }
        assert_eq!(announced.len(), 7, "{announced:?}");
        let profiles: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("scheduler_schedule_attempts_total"))
            .map(|line| parsed(line).1["profile"].clone())
            .collect();
        assert!(profiles.contains(&"a \"quoted\"\nback\\slash".to_owned()), "{profiles:?}");
    }

    #[test]
    fn bounds_are_written_as_go_writes_them() {
        let cases =
            [(1e-5, "1e-05"), (1.5e-5, "1.5e-05"), (0.0001, "0.0001"), (0.001, "0.001"), (64.0, "64")];
        for (value, wanted) in cases {
            assert_eq!(number(value), wanted);
        }
    }
}
