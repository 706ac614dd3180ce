//! Upstream's list of metrics, and what of it is left out here, with the reason.

/// A metric of upstream that is not measured.
#[derive(Debug)]
pub struct UnmeasuredMetric {
    /// Its name.
    pub name: &'static str,
    /// Why.
    pub reason: &'static str,
}

const GOROUTINES: &str = "there are no goroutines";
const BATCHING: &str = "opportunistic batching is not built; the class cache decides otherwise";
const DRA: &str = "nobody counts what happens to resource claims yet";
const POD_GROUPS: &str =
    "pod groups are not built (upstream registers it with the gate GenericWorkload only)";
const PLACEMENTS: &str = "topology-aware placement of pod groups is not built";
const NEVER_COUNTED: &str = "upstream registers it and never counts";
const OTHER_ENDPOINT: &str = "a series per pod, served at /metrics/resources and not by the scheduling loop";

const fn left_out(name: &'static str, reason: &'static str) -> UnmeasuredMetric {
    UnmeasuredMetric { name, reason }
}

/// Everything that is left out, by name.
pub static LEFT_OUT: [UnmeasuredMetric; 26] = [
    left_out("dynamic_resource_allocation_resourceclaim_creates_total", DRA),
    left_out("kube_pod_resource_limit", OTHER_ENDPOINT),
    left_out("kube_pod_resource_request", OTHER_ENDPOINT),
    left_out("scheduler_batch_attempts_total", BATCHING),
    left_out("scheduler_batch_cache_flushed_total", BATCHING),
    left_out("scheduler_batch_rescore_attempts_total", BATCHING),
    left_out("scheduler_batch_rescore_duration_seconds", BATCHING),
    left_out("scheduler_dra_bindingconditions_allocations_total", DRA),
    left_out("scheduler_dra_bindingconditions_wait_duration_seconds", DRA),
    left_out("scheduler_generated_placements_total", PLACEMENTS),
    left_out("scheduler_get_node_hint_duration_seconds", BATCHING),
    left_out("scheduler_goroutines", GOROUTINES),
    left_out("scheduler_placement_evaluation_duration_seconds", PLACEMENTS),
    left_out("scheduler_placement_evaluations_total", PLACEMENTS),
    left_out("scheduler_podgroup_schedule_attempts_total", POD_GROUPS),
    left_out("scheduler_podgroup_scheduling_algorithm_duration_seconds", POD_GROUPS),
    left_out("scheduler_podgroup_scheduling_attempt_duration_seconds", POD_GROUPS),
    left_out(
        "scheduler_pre_queueing_hint_evaluations_total",
        "only DynamicResources has such hints upstream; here a hint is asked once for all pods of a class",
    ),
    left_out("scheduler_preemption_evaluation_duration_seconds", POD_GROUPS),
    left_out("scheduler_preemption_execution_duration_seconds", POD_GROUPS),
    left_out("scheduler_preemption_pdb_violations_total", POD_GROUPS),
    left_out("scheduler_preemption_workload_disruptions", POD_GROUPS),
    left_out("scheduler_store_schedule_results_duration_seconds", BATCHING),
    left_out("scheduler_volume_binder_cache_requests_total", NEVER_COUNTED),
    left_out("scheduler_workload_preemption_attempts_total", POD_GROUPS),
    left_out("scheduler_workload_preemption_victims", POD_GROUPS),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::table::{Kind, Metric, Stability, TABLE};
    use super::LEFT_OUT;

    /// One line of upstream's list: name, type, labels, buckets, stability.
    fn upstream() -> Vec<[&'static str; 5]> {
        let lines = include_str!("upstream.txt").lines().filter(|line| !line.starts_with('#'));
        let fields = |line: &'static str| line.split(' ').collect::<Vec<_>>().try_into();
        lines.map(|line| fields(line).unwrap_or_else(|_| panic!("five fields: {line}"))).collect()
    }

    /// A metric of ours, written as upstream's list writes it.
    fn written(metric: &Metric) -> [String; 5] {
        let labels = if metric.labels.is_empty() { "-".to_owned() } else { metric.labels.join(",") };
        let buckets = match metric.kind {
            Kind::Histogram(buckets) => format!("{},{},{}", buckets.first, buckets.factor, buckets.count),
            Kind::Counter | Kind::Gauge => "-".to_owned(),
        };
        let stability = format!("{:?}", metric.stability).to_uppercase();
        [metric.name.to_owned(), metric.kind.label().to_owned(), labels, buckets, stability]
    }

    #[test]
    fn every_metric_of_upstream_is_measured_or_left_out_by_name() {
        let known: BTreeSet<&str> = upstream().iter().map(|line| line[0]).collect();
        assert_eq!(known.len(), 53, "upstream's list names each once");
        let ours = TABLE.iter().filter(|metric| metric.stability != Stability::Own).map(|metric| metric.name);
        let answered: Vec<&str> = ours.chain(LEFT_OUT.iter().map(|left_out| left_out.name)).collect();
        let missing: Vec<&&str> = known.iter().filter(|name| !answered.contains(name)).collect();
        assert!(missing.is_empty(), "neither measured nor left out: {missing:?}");
        for name in &answered {
            assert!(known.contains(name), "upstream has no {name}");
            assert_eq!(answered.iter().filter(|other| *other == name).count(), 1, "{name} once");
        }
    }

    #[test]
    fn types_labels_buckets_and_stability_are_upstreams() {
        let upstream = upstream();
        for metric in TABLE.iter().filter(|metric| metric.stability != Stability::Own) {
            let line = upstream.iter().find(|line| line[0] == metric.name);
            let line = line.unwrap_or_else(|| panic!("upstream has no {}", metric.name));
            assert_eq!(written(metric), *line);
        }
    }

    #[test]
    fn own_metrics_have_their_own_prefix() {
        for metric in TABLE {
            let is_own = metric.name.starts_with("schedlab_");
            assert_eq!(is_own, metric.stability == Stability::Own, "{}", metric.name);
        }
    }

    #[test]
    fn documentation_names_every_metric_and_every_one_left_out() {
        let page = include_str!("../../../docs/metrics.md");
        let names = TABLE.iter().map(|metric| metric.name).chain(LEFT_OUT.iter().map(|it| it.name));
        for name in names {
            assert!(page.contains(&format!("`{name}`")), "docs/metrics.md does not name {name}");
        }
    }
}
