//! The figures of a run by metric and labels: what every output is made from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::spread::{HistogramSummary, MetricSpread};
use super::table::{Kind, Metric};

/// A metric and the values of its labels, in the order of the table.
#[derive(Clone, Debug)]
pub struct Key {
    /// The metric.
    pub metric: &'static Metric,
    /// One for each of its labels.
    pub values: Vec<String>,
}

impl Key {
    /// A series of a metric.
    ///
    /// # Panics
    /// When the metric has another number of labels.
    #[must_use]
    pub fn new(metric: &'static Metric, values: &[&str]) -> Key {
        assert_eq!(metric.labels.len(), values.len(), "labels of {}", metric.name);
        Key { metric, values: values.iter().map(|&value| value.to_owned()).collect() }
    }

    /// The value of a label.
    #[must_use]
    pub fn value(&self, label: &str) -> Option<&str> {
        let at = self.metric.labels.iter().position(|name| *name == label)?;
        Some(&self.values[at])
    }

    /// Labels with their values.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &str)> + '_ {
        self.metric.labels.iter().copied().zip(self.values.iter().map(String::as_str))
    }

    fn order(&self) -> (&'static str, &[String]) {
        (self.metric.name, &self.values)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

/// What a series says.
#[derive(Clone, Debug)]
pub enum Value {
    /// Of a counter.
    Count(u64),
    /// Of a gauge.
    Level(u64),
    /// Of a histogram.
    Spread(MetricSpread),
}

/// Series by metric and labels.
#[derive(Clone, Debug, Default)]
pub struct MetricValues(BTreeMap<Key, Value>);

impl MetricValues {
    /// Adds to a counter.
    pub fn count(&mut self, metric: &'static Metric, values: &[&str], count: u64) {
        self.add(Key::new(metric, values), &Value::Count(count));
    }

    /// Sets a gauge.
    pub fn level(&mut self, metric: &'static Metric, values: &[&str], level: u64) {
        debug_assert_eq!(metric.kind, Kind::Gauge);
        self.0.insert(Key::new(metric, values), Value::Level(level));
    }

    /// Adds to a histogram.
    pub fn spread(&mut self, metric: &'static Metric, values: &[&str], spread: MetricSpread) {
        self.add(Key::new(metric, values), &Value::Spread(spread));
    }

    fn add(&mut self, key: Key, more: &Value) {
        debug_assert!(
            matches!(
                (more, key.metric.kind),
                (Value::Count(_), Kind::Counter)
                    | (Value::Level(_), Kind::Gauge)
                    | (Value::Spread(_), Kind::Histogram(_))
            ),
            "{} is another kind of metric",
            key.metric.name
        );
        match (self.0.get_mut(&key), more) {
            (None, more) => drop(self.0.insert(key, more.clone())),
            (Some(Value::Count(all)), Value::Count(more)) => *all += more,
            // How things stand does not add up: the later scheduler's is true.
            (Some(Value::Level(all)), Value::Level(more)) => *all = *more,
            (Some(Value::Spread(all)), Value::Spread(more)) => all.merge(more),
            _ => unreachable!("a metric is of one kind"),
        }
    }

    /// Adds what another scheduler, or another run, counted and measured.
    pub fn merge(&mut self, other: &MetricValues) {
        for (key, value) in &other.0 {
            self.add(key.clone(), value);
        }
    }

    /// The same when its scheduler has ended: nothing waits any more.
    #[must_use]
    pub fn ended(mut self) -> MetricValues {
        for value in self.0.values_mut() {
            if let Value::Level(level) = value {
                *level = 0;
            }
        }
        self
    }

    /// Only spreads of durations: what is pooled over runs.
    #[must_use]
    pub fn durations_only(&self) -> MetricValues {
        let is_duration = |value: &Value| matches!(value, Value::Spread(MetricSpread::Durations(_)));
        let durations = self.0.iter().filter(|(_, value)| is_duration(value));
        MetricValues(durations.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// Everything else: what is told of one run.
    #[must_use]
    pub fn counts_only(&self) -> MetricValues {
        let is_duration = |value: &Value| matches!(value, Value::Spread(MetricSpread::Durations(_)));
        let counts = self.0.iter().filter(|(_, value)| !is_duration(value));
        MetricValues(counts.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// What was counted since an earlier reading of the same scheduler; gauges stay.
    #[must_use]
    pub fn since(mut self, earlier: &MetricValues) -> MetricValues {
        for (key, value) in &mut self.0 {
            match (value, earlier.0.get(key)) {
                (Value::Count(now), Some(Value::Count(then))) => *now -= then,
                (
                    Value::Spread(MetricSpread::Bucketed { counts, sum }),
                    Some(Value::Spread(MetricSpread::Bucketed { counts: then, sum: sum_then })),
                ) => {
                    counts.iter_mut().zip(then).for_each(|(now, then)| *now -= then);
                    *sum -= sum_then;
                }
                _ => {}
            }
        }
        self
    }

    /// All series, those of one metric beside each other.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> + '_ {
        self.0.iter()
    }

    /// The series of a metric.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Key, &'a Value)> + 'a {
        self.0.iter().filter(move |(key, _)| key.metric.name == name)
    }

    /// As `result.json` has them. What is empty is not there.
    #[must_use]
    pub fn results(&self) -> Vec<MetricSeries> {
        let labels = |key: &Key| {
            key.labels()
                .map(|(label, value)| (label.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        self.0
            .iter()
            .filter_map(|(key, value)| {
                let value = MetricValue::of(key.metric, value)?;
                Some(MetricSeries { name: key.metric.name.to_owned(), labels: labels(key), value })
            })
            .collect()
    }
}

/// One series in `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// The metric.
    pub name: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What it says.
    #[serde(flatten)]
    pub value: MetricValue,
}

/// What a series says in `result.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricValue {
    /// Of a counter: in the measured part.
    Counter(u64),
    /// Of a gauge: at the end of the measured part.
    Gauge(u64),
    /// Of a histogram.
    Histogram(HistogramSummary),
}

impl MetricValue {
    /// `None` of a histogram without values.
    pub(super) fn of(metric: &Metric, value: &Value) -> Option<MetricValue> {
        match (value, metric.kind) {
            (Value::Count(count), _) => Some(MetricValue::Counter(*count)),
            (Value::Level(level), _) => Some(MetricValue::Gauge(*level)),
            (Value::Spread(spread), Kind::Histogram(buckets)) => {
                spread.summary(buckets).map(MetricValue::Histogram)
            }
            (Value::Spread(_), Kind::Counter | Kind::Gauge) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{PENDING_PODS, POD_ATTEMPTS, SCHEDULE_ATTEMPTS, SLI_DURATION};
    use super::*;

    fn sample(scheduled: u64) -> MetricValues {
        let mut series = MetricValues::default();
        series.count(&SCHEDULE_ATTEMPTS, &["scheduled", "one"], scheduled);
        series.level(&PENDING_PODS, &["active"], scheduled);
        series.spread(&SLI_DURATION, &["1"], MetricSpread::of_durations([(1_000_000, scheduled)]));
        series.spread(
            &POD_ATTEMPTS,
            &[],
            MetricSpread::Bucketed { counts: vec![scheduled; 6], sum: scheduled },
        );
        series
    }

    fn told(series: &MetricValues, name: &str) -> MetricValue {
        let results = series.results();
        results.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name} in {results:?}")).value
    }

    #[test]
    fn counters_and_histograms_are_merged_and_gauges_are_not() {
        let mut all = sample(3).ended();
        assert_eq!(told(&all, PENDING_PODS.name), MetricValue::Gauge(0), "nothing waits any more");
        all.merge(&sample(4));
        assert_eq!(told(&all, SCHEDULE_ATTEMPTS.name), MetricValue::Counter(7));
        assert_eq!(told(&all, PENDING_PODS.name), MetricValue::Gauge(4));
        let MetricValue::Histogram(summary) = told(&all, SLI_DURATION.name) else { panic!("a histogram") };
        assert_eq!(summary.count, 7);
    }

    #[test]
    fn metrics_since_give_the_difference_of_counters() {
        let part = sample(10).since(&sample(4));
        assert_eq!(told(&part, SCHEDULE_ATTEMPTS.name), MetricValue::Counter(6));
        assert_eq!(told(&part, PENDING_PODS.name), MetricValue::Gauge(10));
        let MetricValue::Histogram(attempts) = told(&part, POD_ATTEMPTS.name) else { panic!("a histogram") };
        assert_eq!((attempts.count, attempts.sum), (36, 6.0));
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let results = sample(2).results();
        let text = serde_json::to_string(&results).expect("plain data");
        assert!(text.contains(r#""labels":{"profile":"one","result":"scheduled"},"counter":2"#), "{text}");
        assert_eq!(serde_json::from_str::<Vec<MetricSeries>>(&text).expect("our own form"), results);
    }
}
