//! A workload's own floor or ceiling, as its file sets it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::data_items::{DataItem, METRIC_LABEL};

/// Which data item and bucket a threshold is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricSelector {
    /// Value of the item's `Metric` label.
    pub name: String,
    /// Labels the item must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Key in the item's data: `Average`.
    pub data_bucket: String,
    /// The threshold is a ceiling; otherwise a floor.
    #[serde(default)]
    pub expect_lower: bool,
}

impl Default for MetricSelector {
    /// Upstream: scheduler_perf.go `Workload.setDefaults`.
    fn default() -> MetricSelector {
        MetricSelector {
            name: "SchedulingThroughput".to_owned(),
            labels: BTreeMap::new(),
            data_bucket: "Average".to_owned(),
            expect_lower: false,
        }
    }
}

/// A threshold and how the workload did against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The metric compared: the selector's name.
    pub metric: String,
    /// The bound.
    pub value: f64,
    /// The measured value; the worst, when several items match.
    pub actual: Option<f64>,
    /// How the item was found.
    pub selector: MetricSelector,
    /// `None` when no item matched: the metric was not measured.
    pub pass: Option<bool>,
}

impl Threshold {
    /// Judges a workload's items; `None` when the file sets no bound, which is 0.
    ///
    /// Upstream: scheduler_perf.go `applyThreshold`: every matching item must hold, and the
    /// bound itself does not hold.
    pub fn evaluate(value: f64, selector: MetricSelector, items: &[DataItem]) -> Option<Threshold> {
        if value == 0.0 {
            return None;
        }
        let matching = items.iter().filter(|item| selector.matches(item));
        let values = matching.filter_map(|item| item.data.get(&selector.data_bucket).copied());
        let actual =
            if selector.expect_lower { values.max_by(f64::total_cmp) } else { values.min_by(f64::total_cmp) };
        let holds = |actual: f64| {
            if selector.expect_lower { actual < value } else { value < actual }
        };
        let pass = actual.map(holds);
        Some(Threshold { metric: selector.name.clone(), value, actual, selector, pass })
    }
}

impl MetricSelector {
    /// Whether a threshold with this selector speaks of `item`.
    pub(super) fn matches(&self, item: &DataItem) -> bool {
        item.labels.get(METRIC_LABEL) == Some(&self.name)
            && self.labels.iter().all(|(label, value)| item.labels.get(label) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(metric: &str, point: &str, average: f64) -> DataItem {
        let labels = [(METRIC_LABEL, metric), ("extension_point", point)];
        DataItem {
            data: BTreeMap::from([("Average".to_owned(), average)]),
            unit: "ms".to_owned(),
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        }
    }

    #[test]
    fn threshold_cases() {
        let items = [
            item("SchedulingThroughput", "", 500.0),
            item("points", "Filter", 2.0),
            item("points", "Score", 3.0),
        ];
        let points = |label: Option<&str>| MetricSelector {
            name: "points".to_owned(),
            labels: label.map(|v| ("extension_point".to_owned(), v.to_owned())).into_iter().collect(),
            data_bucket: "Average".to_owned(),
            expect_lower: true,
        };
        struct Case {
            name: &'static str,
            value: f64,
            selector: MetricSelector,
            /// Actual and pass; `None` for no threshold at all.
            wanted: Option<(Option<f64>, Option<bool>)>,
        }
        let throughput = MetricSelector::default;
        let other = MetricSelector { name: "absent".to_owned(), ..throughput() };
        let cases = [
            Case { name: "zero is no bound", value: 0.0, selector: throughput(), wanted: None },
            Case {
                name: "above the floor",
                value: 499.0,
                selector: throughput(),
                wanted: Some((Some(500.0), Some(true))),
            },
            Case {
                name: "the floor itself does not hold",
                value: 500.0,
                selector: throughput(),
                wanted: Some((Some(500.0), Some(false))),
            },
            Case {
                name: "below the ceiling, by label",
                value: 2.5,
                selector: points(Some("Filter")),
                wanted: Some((Some(2.0), Some(true))),
            },
            Case {
                name: "every matching item must hold",
                value: 2.5,
                selector: points(None),
                wanted: Some((Some(3.0), Some(false))),
            },
            Case {
                name: "a metric nobody measured is not judged",
                value: 1.0,
                selector: other,
                wanted: Some((None, None)),
            },
        ];
        for case in cases {
            let got = Threshold::evaluate(case.value, case.selector, &items);
            let got = got.map(|threshold| (threshold.actual, threshold.pass));
            assert_eq!(got, case.wanted, "case: {}", case.name);
        }
    }
}
