//! What a scheduler says of itself: kube-scheduler's metrics in the text format of Prometheus, between two
//! readings.

use std::collections::BTreeMap;

use schedlab_workloads::metrics::{Kind, Metric, MetricSpread, MetricValues, TABLE, table};

/// A name and its labels.
type Series = (String, BTreeMap<String, String>);

/// Readings by series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrape(BTreeMap<Series, f64>);

impl Scrape {
    /// Reads the text; lines that are no samples are left out.
    pub(crate) fn parse(text: &str) -> Scrape {
        let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(sample);
        Scrape(samples.collect())
    }

    /// What was counted since an earlier reading.
    pub(crate) fn since(&self, earlier: &Scrape) -> MetricValues {
        let mut values = MetricValues::default();
        for metric in TABLE {
            // Measured from outside.
            if metric.name == table::SLI_DURATION.name {
                continue;
            }
            match metric.kind {
                Kind::Counter => self.add_counters(earlier, metric, &mut values),
                Kind::Histogram(_) => self.add_histograms(earlier, metric, &mut values),
                Kind::Gauge => {}
            }
        }
        values
    }

    fn since_of(&self, series: &Series, earlier: &Scrape) -> f64 {
        let then = earlier.0.get(series).copied().unwrap_or(0.0);
        (self.0.get(series).copied().unwrap_or(0.0) - then).max(0.0)
    }

    /// The series of a name, with the values of a metric's labels.
    fn of<'a>(
        &'a self,
        name: &'a str,
        metric: &'static Metric,
    ) -> impl Iterator<Item = (&'a Series, Vec<&'a str>)> {
        self.0.keys().filter(move |(own, _)| own == name).filter_map(|series| {
            let values = metric.labels.iter().map(|label| series.1.get(*label).map(String::as_str));
            Some((series, values.collect::<Option<Vec<_>>>()?))
        })
    }

    fn add_counters(&self, earlier: &Scrape, metric: &'static Metric, into: &mut MetricValues) {
        for (series, labels) in self.of(metric.name, metric) {
            let count = self.since_of(series, earlier);
            if 0.0 < count {
                into.count(metric, &labels, whole(count));
            }
        }
    }

    fn add_histograms(&self, earlier: &Scrape, metric: &'static Metric, into: &mut MetricValues) {
        if !metric.name.ends_with("_seconds") {
            return;
        }
        let (bucket, sum) = (format!("{}_bucket", metric.name), format!("{}_sum", metric.name));
        let mut by_labels: BTreeMap<Vec<&str>, Vec<(f64, f64)>> = BTreeMap::new();
        for (series, labels) in self.of(&bucket, metric) {
            let bound = series.1.get("le").and_then(|bound| bound.parse::<f64>().ok());
            let Some(bound) = bound else { continue };
            by_labels.entry(labels).or_default().push((bound, self.since_of(series, earlier)));
        }
        let sums: BTreeMap<Vec<&str>, f64> =
            self.of(&sum, metric).map(|(series, labels)| (labels, self.since_of(series, earlier))).collect();
        for (labels, mut buckets) in by_labels {
            buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let sum_s = sums.get(&labels).copied().unwrap_or(0.0);
            if let Some(spread) = spread_of(&buckets, sum_s) {
                into.spread(metric, &labels, spread);
            }
        }
    }
}

/// A histogram with this sum: all values stand at the same place between the bounds of their buckets, at the
/// one that gives the sum. So the mean is exact, and percentiles are within their bucket.
fn spread_of(buckets: &[(f64, f64)], sum_s: f64) -> Option<MetricSpread> {
    let mut parts: Vec<(f64, f64, f64)> = Vec::new();
    let (mut low_s, mut below) = (0.0, 0.0);
    for &(bound_s, up_to) in buckets {
        // Beyond the last bound nothing is known but that.
        let high_s = if bound_s.is_finite() { bound_s } else { low_s * 2.0 };
        if below < up_to {
            parts.push((low_s, high_s, up_to - below));
        }
        (low_s, below) = (high_s, up_to.max(below));
    }
    if parts.is_empty() {
        return None;
    }
    let least_s: f64 = parts.iter().map(|(low_s, _, count)| low_s * count).sum();
    let width_s: f64 = parts.iter().map(|(low_s, high_s, count)| (high_s - low_s) * count).sum();
    let place = if 0.0 < width_s { ((sum_s - least_s) / width_s).clamp(0.0, 1.0) } else { 1.0 };
    let durations = parts
        .iter()
        .map(|(low_s, high_s, count)| (whole((low_s + place * (high_s - low_s)) * 1e9), whole(*count)));
    Some(MetricSpread::of_durations(durations))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times are far below 2^53"
)]
fn whole(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

/// `name{label="value",…} number`.
fn sample(line: &str) -> Option<(Series, f64)> {
    let (head, value) = match line.rsplit_once('}') {
        Some((head, value)) => (head, value),
        None => line.split_once(' ')?,
    };
    let value = value.split_whitespace().next()?.parse().ok()?;
    let (name, labels) = head.split_once('{').unwrap_or((head, ""));
    Some(((name.trim().to_owned(), labels_of(labels)?), value))
}

fn labels_of(text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, letter) => value.push(letter),
            }
        };
        labels.insert(name.trim().to_owned(), value);
        rest = behind[end + 1..].trim_start_matches(',').trim();
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::metrics::MetricValue;

    use super::*;

    const EARLIER: &str = "# HELP scheduler_schedule_attempts_total x\n\
        scheduler_schedule_attempts_total{profile=\"a\",result=\"scheduled\"} 10\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 4\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.002\"} 4\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"+Inf\"} 4\n\
        scheduler_scheduling_algorithm_duration_seconds_sum 0.002\n";
    const LATER: &str = "scheduler_schedule_attempts_total{profile=\"a\",result=\"scheduled\"} 25\n\
        scheduler_schedule_attempts_total{profile=\"a\\\"b\",result=\"unschedulable\"} 1\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 14\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.002\"} 24\n\
        scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"+Inf\"} 24\n\
        scheduler_scheduling_algorithm_duration_seconds_sum 0.014 1700000000\n\
        go_goroutines 7\n\
        this is no sample\n";

    #[test]
    fn metrics_between_two_scrapes_keep_their_mean() {
        let values = Scrape::parse(LATER).since(&Scrape::parse(EARLIER));
        let results = values.results();
        let counts: Vec<(String, MetricValue)> = results
            .iter()
            .filter(|series| series.name == "scheduler_schedule_attempts_total")
            .map(|series| (series.labels["profile"].clone(), series.value))
            .collect();
        assert_eq!(
            counts,
            [("a".to_owned(), MetricValue::Counter(15)), ("a\"b".to_owned(), MetricValue::Counter(1))]
        );
        let algorithm = results.iter().find(|series| series.name.contains("algorithm")).unwrap();
        let MetricValue::Histogram(summary) = algorithm.value else { panic!("{algorithm:?}") };
        assert_eq!(summary.count, 20);
        // 12 ms over 20 attempts; the histogram knows a value to a hundredth.
        assert!((summary.mean - 0.0006).abs() < 0.00001, "{summary:?}");
        assert!(summary.p90 <= 0.002, "{summary:?}");
    }
}
