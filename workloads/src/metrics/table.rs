//! The metrics: one row each, from which every output is made.
//!
//! Upstream: pkg/scheduler/metrics/metrics.go and framework/plugins/volumebinding/metrics. Names, types,
//! labels, buckets and stability are as there; help texts are ours, because some figures differ in what
//! they cover ([`Covers`]). [`super::upstream`] has upstream's own list and what is left out of it.

/// What a metric is.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Upstream's name, with its subsystem; `schedlab_` for what upstream does not have.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its labels, in upstream's order.
    pub labels: &'static [&'static str],
    /// How far upstream promises not to change it.
    pub stability: Stability,
    /// What it means.
    pub help: &'static str,
    /// What its figures cover.
    pub covers: Covers,
}

/// Types of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// How things stand.
    Gauge,
    /// Values in buckets.
    Histogram(Buckets),
}

impl Kind {
    /// The word of Prometheus' text format.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        }
    }
}

/// Upper bounds, each a multiple of the one before. Upstream: `ExponentialBuckets`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets {
    /// The first.
    pub first: f64,
    /// Of two neighbours.
    pub factor: f64,
    /// How many.
    pub count: usize,
}

impl Buckets {
    /// The bounds, ascending.
    #[must_use]
    pub fn bounds(self) -> Vec<f64> {
        std::iter::successors(Some(self.first), |bound| Some(bound * self.factor)).take(self.count).collect()
    }
}

/// Upstream's stability levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are upstream's own")]
pub enum Stability {
    Alpha,
    Beta,
    Stable,
    /// Upstream does not have the metric.
    Own,
}

/// What the figures of a metric cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// Every pod, attempt, call: exact.
    Everything,
    /// The moment of reading.
    Now,
    /// All of the measured parts.
    Measured,
    /// Some of the measured parts; the text says which.
    Sampled(&'static str),
}

const ATTEMPTS: &str =
    "of a batch of bindings one pod in 32; of attempts that fail one in 64; the first 64 cycles all";
const CYCLES: &str = "one cycle in 64; the first 64 all";
const EVENTS: &str = "one event in 512; the first 64 all";
const POINTS: &str = "PreFilter to Score one cycle in 256, of the first 64 one in 8; PostFilter one in 8 and the points of a binding cycle one in 256, or one in 8 if it waits at Permit or has PreBind work, the first 64 all; PreEnqueue one in 256, the first 64 all; Bind every pod";
const PLUGINS: &str = "Filter and Score one cycle in 512, of the first 64 one in 32; PostFilter and PreBind one in 8, the first 64 all";
const BINDING_CYCLES: &str = "one binding cycle in 8 of those that wait; the first 64 all";
const CALLS: &str = "one hint in 256; the first 64 all";

/// See its help.
pub static SCHEDULE_ATTEMPTS: Metric = Metric {
    name: "scheduler_schedule_attempts_total",
    kind: Kind::Counter,
    labels: &["result", "profile"],
    stability: Stability::Stable,
    help: "Attempts to schedule pods, by result: unschedulable is a pod that fits nowhere, error a fault of the scheduler.",
    covers: Covers::Everything,
};

/// See its help.
pub static ATTEMPT_DURATION: Metric = Metric {
    name: "scheduler_scheduling_attempt_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.001, factor: 2.0, count: 15 }),
    labels: &["result", "profile"],
    stability: Stability::Stable,
    help: "From the start of an attempt's scheduling cycle to its end: algorithm and binding.",
    covers: Covers::Sampled(ATTEMPTS),
};

/// See its help.
pub static ALGORITHM_DURATION: Metric = Metric {
    name: "scheduler_scheduling_algorithm_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.001, factor: 2.0, count: 15 }),
    labels: &[],
    stability: Stability::Beta,
    help: "Latency of the scheduling algorithm, PostFilter included.",
    covers: Covers::Sampled(CYCLES),
};

/// See its help.
pub static EVENT_HANDLING: Metric = Metric {
    name: "scheduler_event_handling_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.0001, factor: 2.0, count: 12 }),
    labels: &["event"],
    stability: Stability::Alpha,
    help: "Latency of handling an event of the watch.",
    covers: Covers::Sampled(EVENTS),
};

/// See its help.
pub static PREEMPTION_VICTIMS: Metric = Metric {
    name: "scheduler_preemption_victims",
    kind: Kind::Histogram(Buckets { first: 1.0, factor: 2.0, count: 7 }),
    labels: &[],
    stability: Stability::Stable,
    help: "Victims of the preemptions that were initiated by a pod.",
    covers: Covers::Everything,
};

/// See its help.
pub static PREEMPTION_ATTEMPTS: Metric = Metric {
    name: "scheduler_preemption_attempts_total",
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Stable,
    help: "Times that preemption was tried.",
    covers: Covers::Everything,
};

/// See its help.
pub static PENDING_PODS: Metric = Metric {
    name: "scheduler_pending_pods",
    kind: Kind::Gauge,
    labels: &["queue"],
    stability: Stability::Stable,
    help: "Pending pods by queue: active, backoff, unschedulable, gated.",
    covers: Covers::Now,
};

/// See its help.
pub static QUEUED_ENTITIES: Metric = Metric {
    name: "scheduler_queued_entities",
    kind: Kind::Gauge,
    labels: &["queue", "type"],
    stability: Stability::Alpha,
    help: "Queued entities by queue; every entity is a pod.",
    covers: Covers::Now,
};

/// See its help.
pub static SLI_DURATION: Metric = Metric {
    name: "scheduler_pod_scheduling_sli_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.01, factor: 2.0, count: 20 }),
    labels: &["attempts"],
    stability: Stability::Beta,
    help: "From a pod's creation to its binding, over all attempts, by their number.",
    covers: Covers::Everything,
};

/// See its help.
pub static POD_ATTEMPTS: Metric = Metric {
    name: "scheduler_pod_scheduling_attempts",
    kind: Kind::Histogram(Buckets { first: 1.0, factor: 2.0, count: 5 }),
    labels: &[],
    stability: Stability::Stable,
    help: "Attempts that pods took that were scheduled.",
    covers: Covers::Everything,
};

/// See its help.
pub static SCHEDULED_AFTER_FLUSH: Metric = Metric {
    name: "scheduler_pod_scheduled_after_flush_total",
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Alpha,
    help: "Pods that were scheduled after a timeout brought them back, not an event.",
    covers: Covers::Everything,
};

/// See its help.
pub static POINT_DURATION: Metric = Metric {
    name: "scheduler_framework_extension_point_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.0001, factor: 2.0, count: 12 }),
    labels: &["extension_point", "status", "profile"],
    stability: Stability::Stable,
    help: "Latency of all plugins of an extension point.",
    covers: Covers::Sampled(POINTS),
};

/// See its help.
pub static PLUGIN_DURATION: Metric = Metric {
    name: "scheduler_plugin_execution_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.00001, factor: 1.5, count: 20 }),
    labels: &["plugin", "extension_point", "status"],
    stability: Stability::Beta,
    help: "Duration of a plugin's call at an extension point, for all nodes at hand.",
    covers: Covers::Sampled(PLUGINS),
};

/// See its help.
pub static INCOMING_PODS: Metric = Metric {
    name: "scheduler_queue_incoming_pods_total",
    kind: Kind::Counter,
    labels: &["queue", "event"],
    stability: Stability::Stable,
    help: "Pods added to scheduling queues, by event and queue.",
    covers: Covers::Everything,
};

/// See its help.
pub static INCOMING_ENTITIES: Metric = Metric {
    name: "scheduler_queue_incoming_entities_total",
    kind: Kind::Counter,
    labels: &["queue", "event", "type"],
    stability: Stability::Alpha,
    help: "Entities added to scheduling queues; every entity is a pod.",
    covers: Covers::Everything,
};

/// See its help.
pub static PERMIT_WAIT: Metric = Metric {
    name: "scheduler_permit_wait_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.001, factor: 2.0, count: 15 }),
    labels: &["result"],
    stability: Stability::Beta,
    help: "Time that pods waited at Permit.",
    covers: Covers::Sampled(BINDING_CYCLES),
};

/// See its help.
pub static CACHE_SIZE: Metric = Metric {
    name: "scheduler_cache_size",
    kind: Kind::Gauge,
    labels: &["type"],
    stability: Stability::Alpha,
    help: "Nodes, pods and assumed pods that the scheduler knows.",
    covers: Covers::Now,
};

/// See its help.
pub static UNSCHEDULABLE_PODS: Metric = Metric {
    name: "scheduler_unschedulable_pods",
    kind: Kind::Gauge,
    labels: &["plugin", "profile"],
    stability: Stability::Beta,
    help: "Queued pods by the plugin that rejected them or holds them back; a pod counts for each of them.",
    covers: Covers::Now,
};

/// See its help.
pub static PLUGIN_EVALUATION: Metric = Metric {
    name: "scheduler_plugin_evaluation_total",
    kind: Kind::Counter,
    labels: &["plugin", "extension_point", "profile"],
    stability: Stability::Beta,
    help: "Attempts to schedule pods in which a plugin took part, at PreFilter, Filter, PreScore and Score.",
    covers: Covers::Everything,
};

/// See its help.
pub static HINT_DURATION: Metric = Metric {
    name: "scheduler_queueing_hint_execution_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.00001, factor: 1.5, count: 20 }),
    labels: &["plugin", "event", "hint"],
    stability: Stability::Alpha,
    help: "Duration of a plugin's queueing hint.",
    covers: Covers::Sampled(CALLS),
};

/// See its help.
pub static IN_FLIGHT_EVENTS: Metric = Metric {
    name: "scheduler_inflight_events",
    kind: Kind::Gauge,
    labels: &["event"],
    stability: Stability::Alpha,
    help: "Events that are kept for pods in flight, and those pods.",
    covers: Covers::Now,
};

/// See its help.
pub static PREEMPTION_GOROUTINES_DURATION: Metric = Metric {
    name: "scheduler_preemption_goroutines_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.01, factor: 2.0, count: 20 }),
    labels: &["result"],
    stability: Stability::Alpha,
    help: "Time in which victims were let go beside the loop.",
    covers: Covers::Measured,
};

/// See its help.
pub static PREEMPTION_GOROUTINES: Metric = Metric {
    name: "scheduler_preemption_goroutines_execution_total",
    kind: Kind::Counter,
    labels: &["result"],
    stability: Stability::Alpha,
    help: "Preemptions whose victims were let go beside the loop.",
    covers: Covers::Everything,
};

/// See its help.
pub static API_CALLS: Metric = Metric {
    name: "scheduler_async_api_call_execution_total",
    kind: Kind::Counter,
    labels: &["call_type", "result"],
    stability: Stability::Alpha,
    help: "API calls that were made, by kind and result.",
    covers: Covers::Everything,
};

/// See its help.
pub static API_CALL_DURATION: Metric = Metric {
    name: "scheduler_async_api_call_execution_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.001, factor: 2.0, count: 15 }),
    labels: &["call_type", "result"],
    stability: Stability::Alpha,
    help: "From sending an API call to its answer.",
    covers: Covers::Measured,
};

/// See its help.
pub static PENDING_API_CALLS: Metric = Metric {
    name: "scheduler_pending_async_api_calls",
    kind: Kind::Gauge,
    labels: &["call_type"],
    stability: Stability::Alpha,
    help: "API calls that wait in line.",
    covers: Covers::Now,
};

/// See its help.
pub static VOLUME_ERRORS: Metric = Metric {
    name: "scheduler_volume_scheduling_stage_error_total",
    kind: Kind::Counter,
    labels: &["operation"],
    stability: Stability::Alpha,
    help: "Writes for a pod's volumes that the API refused for good.",
    covers: Covers::Everything,
};

/// See its help.
pub static QUEUE_WAIT: Metric = Metric {
    name: "schedlab_queue_wait_duration_seconds",
    kind: Kind::Histogram(Buckets { first: 0.0001, factor: 2.0, count: 20 }),
    labels: &[],
    stability: Stability::Own,
    help: "From becoming ready to being popped.",
    covers: Covers::Sampled(CYCLES),
};

/// All of them.
pub static TABLE: [&Metric; 28] = [
    &SCHEDULE_ATTEMPTS,
    &ATTEMPT_DURATION,
    &ALGORITHM_DURATION,
    &EVENT_HANDLING,
    &PREEMPTION_VICTIMS,
    &PREEMPTION_ATTEMPTS,
    &PENDING_PODS,
    &QUEUED_ENTITIES,
    &SLI_DURATION,
    &POD_ATTEMPTS,
    &SCHEDULED_AFTER_FLUSH,
    &POINT_DURATION,
    &PLUGIN_DURATION,
    &INCOMING_PODS,
    &INCOMING_ENTITIES,
    &PERMIT_WAIT,
    &CACHE_SIZE,
    &UNSCHEDULABLE_PODS,
    &PLUGIN_EVALUATION,
    &HINT_DURATION,
    &IN_FLIGHT_EVENTS,
    &PREEMPTION_GOROUTINES_DURATION,
    &PREEMPTION_GOROUTINES,
    &API_CALLS,
    &API_CALL_DURATION,
    &PENDING_API_CALLS,
    &VOLUME_ERRORS,
    &QUEUE_WAIT,
];
