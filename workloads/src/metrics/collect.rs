//! Which series a test case collects: `metricsCollectorConfig`, or upstream's default.
//!
//! Upstream: test/integration/scheduler_perf/util.go `metricsCollector.collect`, `uniqueLVCombos`: for
//! every combination of the labels' values all series that have them are added up; without labels, all
//! series of the metric.
//!
//! Differs: upstream collects histograms only and says nothing of a counter or a gauge that a file
//! asks for, as upstream's own starvation suite does; here they are collected
//! (`counters_that_a_file_asks_for_are_collected`). By default the two durations that every page of ours
//! shows are collected beside upstream's list.

use std::collections::{BTreeMap, BTreeSet};

use super::series::{Key, MetricSeries, MetricValues, Value};
use super::table::{ALGORITHM_DURATION, SLI_DURATION};
use crate::schema::{DEFAULT_METRICS, MetricsCollectorConfig};

type Labels = BTreeMap<String, String>;

/// What a test case collects of the series of a run.
#[must_use]
pub fn collected(series: &MetricValues, config: Option<&MetricsCollectorConfig>) -> Vec<MetricSeries> {
    let mut all = Vec::new();
    match config {
        Some(config) => {
            for (name, labels) in &config.metrics {
                for combination in combinations(labels.iter().map(|it| (it.label.as_str(), &it.values))) {
                    all.extend(added_up(series, name, combination));
                }
            }
        }
        None => {
            let own: [(&str, &[&str]); 2] = [(SLI_DURATION.name, &[]), (ALGORITHM_DURATION.name, &[])];
            for (name, labels) in DEFAULT_METRICS.into_iter().chain(own) {
                for combination in seen(series, name, labels) {
                    all.extend(added_up(series, name, combination));
                }
            }
        }
    }
    all
}

/// Every combination of the values of some labels; one without labels if there are none.
fn combinations<'a>(labels: impl DoubleEndedIterator<Item = (&'a str, &'a Vec<String>)>) -> Vec<Labels> {
    labels.rev().fold(vec![Labels::new()], |rest, (label, values)| {
        let mut all = Vec::with_capacity(values.len() * rest.len());
        for value in values {
            for combination in &rest {
                let mut with = combination.clone();
                with.insert(label.to_owned(), value.clone());
                all.push(with);
            }
        }
        all
    })
}

/// The combinations of these labels that a metric's series have: upstream's default lists name every
/// value that there is.
fn seen(series: &MetricValues, name: &str, labels: &[&str]) -> BTreeSet<Labels> {
    let of_key = |key: &Key| {
        let labels = key.labels().filter(|(label, _)| labels.contains(label));
        labels.map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
    };
    series.of(name).map(|(key, _)| of_key(key)).collect()
}

/// All series of a metric that have these labels, as one; `None` when there are none, or no values.
fn added_up(series: &MetricValues, name: &str, labels: Labels) -> Option<MetricSeries> {
    let has_labels = |key: &Key| labels.iter().all(|(label, value)| key.value(label) == Some(value));
    let mut sum: Option<(Key, Value)> = None;
    for (key, value) in series.of(name).filter(|(key, _)| has_labels(key)) {
        match (&mut sum, value) {
            (None, value) => sum = Some((key.clone(), value.clone())),
            (Some((_, Value::Count(all) | Value::Level(all))), Value::Count(more) | Value::Level(more)) => {
                *all += more;
            }
            (Some((_, Value::Spread(all))), Value::Spread(more)) => all.merge(more),
            _ => unreachable!("a metric is of one kind"),
        }
    }
    let (key, value) = sum?;
    let value = super::series::MetricValue::of(key.metric, &value)?;
    Some(MetricSeries { name: name.to_owned(), labels, value })
}

#[cfg(test)]
mod tests {
    use super::super::series::MetricValue;
    use super::super::spread::MetricSpread;
    use super::super::table::{ATTEMPT_DURATION, INCOMING_PODS, POINT_DURATION};
    use super::*;
    use crate::schema::LabelValues;

    fn series() -> MetricValues {
        let mut series = MetricValues::default();
        let durations = |us: u64, count| MetricSpread::of_durations([(us * 1000, count)]);
        for (result, profile, us, count) in
            [("scheduled", "a", 100, 3), ("scheduled", "b", 300, 1), ("unschedulable", "a", 50, 2)]
        {
            series.spread(&ATTEMPT_DURATION, &[result, profile], durations(us, count));
        }
        series.spread(&POINT_DURATION, &["Filter", "Success", "a"], durations(10, 5));
        series.spread(&SLI_DURATION, &["1"], durations(900, 4));
        series.spread(&SLI_DURATION, &["2"], durations(1800, 2));
        series.count(&INCOMING_PODS, &["active", "UnscheduledPodAdd"], 6);
        series.count(&INCOMING_PODS, &["active", "BackoffComplete"], 2);
        series.count(&INCOMING_PODS, &["backoff", "ScheduleAttemptFailure"], 2);
        series
    }

    /// A label and the values of it that are collected.
    type Wanted<'a> = (&'a str, &'a [&'a str]);

    fn config(metrics: &[(&str, &[Wanted<'_>])]) -> MetricsCollectorConfig {
        let values = |(label, values): &(&str, &[&str])| LabelValues {
            label: (*label).to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let metrics = metrics.iter();
        MetricsCollectorConfig {
            metrics: metrics
                .map(|(name, labels)| ((*name).to_owned(), labels.iter().map(values).collect()))
                .collect(),
        }
    }

    /// Name, labels and count or number of values.
    fn told(config: Option<&MetricsCollectorConfig>) -> Vec<(String, String, u64)> {
        let count = |value: MetricValue| match value {
            MetricValue::Counter(count) | MetricValue::Gauge(count) => count,
            MetricValue::Histogram(summary) => summary.count,
        };
        let labels = |labels: &Labels| {
            labels.iter().map(|(label, value)| format!("{label}={value}")).collect::<Vec<_>>().join(",")
        };
        let collected = collected(&series(), config);
        collected.into_iter().map(|it| (it.name, labels(&it.labels), count(it.value))).collect()
    }

    fn row(name: &str, labels: &str, count: u64) -> (String, String, u64) {
        (name.to_owned(), labels.to_owned(), count)
    }

    #[test]
    fn default_collects_upstreams_list_by_its_labels() {
        assert_eq!(
            told(None),
            [
                row(POINT_DURATION.name, "extension_point=Filter", 5),
                row(ATTEMPT_DURATION.name, "result=scheduled", 4),
                row(ATTEMPT_DURATION.name, "result=unschedulable", 2),
                row(SLI_DURATION.name, "", 6),
            ]
        );
    }

    #[test]
    fn config_decides_which_metrics_and_labels_are_collected() {
        let asked = config(&[
            (ATTEMPT_DURATION.name, &[("result", &["scheduled", "error"]), ("profile", &["a", "b"])]),
            (SLI_DURATION.name, &[]),
            ("scheduler_pod_scheduling_duration_seconds", &[]),
        ]);
        assert_eq!(
            told(Some(&asked)),
            [
                row(SLI_DURATION.name, "", 6),
                row(ATTEMPT_DURATION.name, "profile=a,result=scheduled", 3),
                row(ATTEMPT_DURATION.name, "profile=b,result=scheduled", 1),
            ],
            "what has no values, and what upstream no longer has, is not there"
        );
    }

    #[test]
    fn counters_that_a_file_asks_for_are_collected() {
        let asked = config(&[(INCOMING_PODS.name, &[("queue", &["active", "backoff", "unschedulable"])])]);
        let wanted =
            [row(INCOMING_PODS.name, "queue=active", 8), row(INCOMING_PODS.name, "queue=backoff", 2)];
        assert_eq!(told(Some(&asked)), wanted);
    }
}
