//! The recorders of the two threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use schedlab_cluster::api::WatchEvent;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::runtime::record::{BindRecorder, Bound, CycleOutcome, CycleRecorder};
use schedlab_core::cycle::probe::{Mark, Probe};

use super::reading::{EventTimes, event_name, merge_events};
use super::scope::PodScope;
use super::windows::Burst;
use crate::results::{LatencySummary, Stage};

/// A part's first cycles are all timed, so that short runs have numbers.
const TIMED_CYCLES_MIN: u32 = 256;
/// After those, one cycle of this many is timed: two clock readings a cycle would be several percent
/// of a cached cycle.
const CYCLES_EVERY: u32 = 16;

/// Extension points are timed in one cycle of this many: a clock reading costs about as much as
/// the whole of a cached Filter. Upstream samples its plugin metrics for the same reason.
pub const EXTENSION_POINTS_EVERY: u32 = 64;

/// Single plugins are timed in one cycle of this many: two clock readings a plugin.
pub const PLUGINS_EVERY: u32 = 256;

/// One event of this many is timed, and one pod of [`ATTEMPTS_EVERY`] of a batch.
const EVENTS_EVERY: u32 = 64;
const ATTEMPTS_EVERY: usize = 8;

/// Whether the measured part is on.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Turns measuring on.
    pub fn turn_on(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Turns measuring off.
    pub fn turn_off(&self) {
        self.0.store(false, Ordering::Release);
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Latencies by stage, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Latencies(BTreeMap<Stage, Histogram<u64>>);

impl Latencies {
    fn of(&mut self, stage: Stage) -> &mut Histogram<u64> {
        self.0.entry(stage).or_insert_with(new_histogram)
    }

    /// Values up to each bound, which ascend, of one stage; with their number and their sum in
    /// seconds. `None` when nothing was recorded.
    #[must_use]
    pub fn cumulative(&self, stage: Stage, bounds_s: &[f64]) -> Option<(Vec<u64>, u64, f64)> {
        self.0.get(&stage).filter(|histogram| !histogram.is_empty()).map(|it| cumulative(it, bounds_s))
    }

    /// Adds `count` equal durations.
    #[inline]
    pub fn record(&mut self, stage: Stage, elapsed_ns: u64, count: u64) {
        self.of(stage).saturating_record_n(elapsed_ns.max(1), count);
    }

    fn record_all(&mut self, stage: Stage, elapsed_ns: impl Iterator<Item = u64>) {
        let histogram = self.of(stage);
        elapsed_ns.for_each(|elapsed_ns| histogram.saturating_record(elapsed_ns.max(1)));
    }

    /// Adds another thread's latencies.
    pub fn merge(&mut self, other: &Latencies) {
        for (stage, histogram) in &other.0 {
            self.of(*stage).add(histogram).expect("all histograms have the same bounds");
        }
    }

    /// Percentiles by stage.
    #[must_use]
    pub fn summaries(&self) -> BTreeMap<Stage, LatencySummary> {
        self.0
            .iter()
            .filter_map(|(stage, histogram)| Some((*stage, LatencySummary::from_nanos(histogram)?)))
            .collect()
    }
}

fn new_histogram() -> Histogram<u64> {
    // One nanosecond to one hour, two digits: 1 % of any value, 30 kB a histogram.
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("constant bounds are valid")
}

/// Values of a histogram of nanoseconds up to each bound, their number and their sum in seconds.
#[must_use]
pub fn cumulative(histogram: &Histogram<u64>, bounds_s: &[f64]) -> (Vec<u64>, u64, f64) {
    let mut counts = vec![0; bounds_s.len()];
    for step in histogram.iter_recorded() {
        let value_s = step.value_iterated_to() as f64 / 1e9;
        // A value is known to a hundredth: it belongs to the bound it cannot be told from.
        let first = bounds_s.partition_point(|bound_s| bound_s * 1.01 < value_s);
        counts[first..].iter_mut().for_each(|count| *count += step.count_at_value());
    }
    (counts, histogram.len(), histogram.mean() * histogram.len() as f64 / 1e9)
}

/// What a measured part recorded.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Latencies by stage.
    pub latencies: Latencies,
    /// Bindings over time.
    pub bursts: Vec<Burst>,
    /// Cycles that found a node.
    pub assumed: u64,
    /// Cycles that found none.
    pub unschedulable: u64,
    /// Nodes looked at in cycles that found one.
    pub evaluated: u64,
    /// How long events took to handle, sampled.
    pub events: EventTimes,
}

/// The meters of one run.
#[derive(Debug, Default)]
pub struct Meters {
    /// Turns both on and off.
    pub switch: Switch,
    cycles: Shared<Readings>,
    binds: Shared<Readings>,
    scope: Shared<Option<PodScope>>,
    past: Shared<(Latencies, EventTimes)>,
}

/// Lets others read what the meters have recorded, in all parts so far.
#[derive(Clone, Debug)]
pub struct MetersView {
    cycles: Shared<Readings>,
    binds: Shared<Readings>,
    past: Shared<(Latencies, EventTimes)>,
}

impl MetersView {
    /// Latencies and times of events.
    #[must_use]
    pub fn read(&self) -> (Latencies, EventTimes) {
        let (mut latencies, mut events) = lock(&self.past).clone();
        for shared in [&self.cycles, &self.binds] {
            let readings = lock(shared);
            latencies.merge(&readings.latencies);
            merge_events(&mut events, &readings.events);
        }
        (latencies, events)
    }
}

type Shared<T> = Arc<Mutex<T>>;

impl Meters {
    /// Recorders for the two threads.
    #[must_use]
    pub fn recorders(&self) -> (CycleMeter, BindMeter) {
        let cycles = CycleMeter {
            switch: self.switch.clone(),
            shared: Arc::clone(&self.cycles),
            cycle_start_ns: 0,
            mark_ns: 0,
            count: 0,
            times_cycle: false,
            times_points: false,
            is_on: false,
            event_count: 0,
            own: RoundNotes::default(),
        };
        let binds = BindMeter {
            switch: self.switch.clone(),
            shared: Arc::clone(&self.binds),
            scope: Arc::clone(&self.scope),
            covered: Vec::new(),
            start_ns: 0,
            is_on: false,
        };
        (cycles, binds)
    }

    /// From now on only bindings of these pods count; all of them with `None`.
    pub fn set_scope(&self, scope: Option<PodScope>) {
        *lock(&self.scope) = scope;
    }

    /// Takes what was recorded since the last time. The threads hand in after each round, so this
    /// is complete once the runtime is at rest.
    #[must_use]
    pub fn take(&self) -> Readings {
        let mut readings = std::mem::take(&mut *lock(&self.cycles));
        let binds = std::mem::take(&mut *lock(&self.binds));
        readings.latencies.merge(&binds.latencies);
        readings.bursts = binds.bursts;
        let mut past = lock(&self.past);
        past.0.merge(&readings.latencies);
        merge_events(&mut past.1, &readings.events);
        readings
    }

    /// What lets others read along.
    #[must_use]
    pub fn view(&self) -> MetersView {
        MetersView {
            cycles: Arc::clone(&self.cycles),
            binds: Arc::clone(&self.binds),
            past: Arc::clone(&self.past),
        }
    }
}

fn lock<T>(shared: &Shared<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic of the other thread is reported when it is joined; its readings stay readable.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the scheduler thread keeps for itself between two rounds.
#[derive(Debug, Default)]
struct RoundNotes {
    assumed: u64,
    unschedulable: u64,
    evaluated: u64,
    /// Length of a cycle and time its pod had waited.
    cycles: Vec<(u64, u64)>,
    /// Lengths of cycles that found no node.
    refused: Vec<u64>,
    points: Vec<(Stage, u64)>,
    events: Vec<(String, u64)>,
}

/// Listens to the scheduler thread. Within a round it only appends to two small vectors; the
/// histograms are filled when the round is over.
#[derive(Debug)]
pub struct CycleMeter {
    switch: Switch,
    shared: Shared<Readings>,
    cycle_start_ns: u64,
    mark_ns: u64,
    count: u32,
    times_cycle: bool,
    times_points: bool,
    is_on: bool,
    event_count: u32,
    own: RoundNotes,
}

impl CycleMeter {
    fn hand_in(&mut self) {
        if self.own.assumed + self.own.unschedulable == 0 && self.own.events.is_empty() {
            return;
        }
        let mut shared = lock(&self.shared);
        let RoundNotes { assumed, unschedulable, evaluated, cycles, refused, points, events } = &mut self.own;
        shared.evaluated += std::mem::take(evaluated);
        shared.assumed += std::mem::take(assumed);
        shared.unschedulable += std::mem::take(unschedulable);
        // A stage is looked up once a round: per cycle it costs as much as the recording itself.
        shared.latencies.record_all(Stage::SchedulingCycle, cycles.iter().map(|&(elapsed_ns, _)| elapsed_ns));
        shared.latencies.record_all(Stage::Queueing, cycles.iter().map(|&(_, waited_ns)| waited_ns));
        for (stage, elapsed_ns) in points.drain(..) {
            shared.latencies.record(stage, elapsed_ns, 1);
        }
        cycles.clear();
        if !refused.is_empty() {
            shared.latencies.record_all(Stage::AttemptUnschedulable, refused.drain(..));
        }
        for (name, elapsed_ns) in events.drain(..) {
            let histogram = shared.events.entry(name).or_insert_with(new_histogram);
            histogram.saturating_record(elapsed_ns.max(1));
        }
    }

    /// `now_ns` is the time, if it was just read.
    #[inline]
    fn begin_cycle(&mut self, now_ns: Option<u64>) {
        self.count = self.count.saturating_add(1);
        self.times_cycle = self.count <= TIMED_CYCLES_MIN || self.count.is_multiple_of(CYCLES_EVERY);
        self.times_points = self.count.is_multiple_of(EXTENSION_POINTS_EVERY);
        if self.times_cycle {
            self.cycle_start_ns = now_ns.unwrap_or_else(monotonic_ns);
            self.mark_ns = self.cycle_start_ns;
        }
    }
}

const _: () = assert!(EXTENSION_POINTS_EVERY.is_multiple_of(CYCLES_EVERY));

impl Probe for CycleMeter {
    #[inline]
    fn mark(&mut self, mark: Mark) {
        if !self.times_points || !self.is_on {
            return;
        }
        let now_ns = monotonic_ns();
        let stage = match mark {
            Mark::PreFilter => Stage::PreFilter,
            Mark::Filter => Stage::Filter,
            Mark::PreScore => Stage::PreScore,
            Mark::Score => Stage::Score,
        };
        self.own.points.push((stage, now_ns - self.mark_ns));
        self.mark_ns = now_ns;
    }

    #[inline]
    fn times_plugins(&self) -> bool {
        self.is_on && self.count.is_multiple_of(PLUGINS_EVERY)
    }
}

impl CycleRecorder for CycleMeter {
    fn round_begins(&mut self) {
        self.hand_in();
        let was_on = std::mem::replace(&mut self.is_on, self.switch.is_on());
        if self.is_on {
            if !was_on {
                self.count = 0;
            }
            self.begin_cycle(None);
        }
    }

    #[inline]
    fn cycle_ended(&mut self, queued_ns: u64, outcome: CycleOutcome) {
        if !self.is_on {
            return;
        }
        match outcome {
            CycleOutcome::Assumed { evaluated } => {
                self.own.assumed += 1;
                self.own.evaluated += evaluated as u64;
            }
            CycleOutcome::Unschedulable => self.own.unschedulable += 1,
        }
        let mut now_ns = None;
        if self.times_cycle {
            let end_ns = monotonic_ns();
            let waited_ns = self.cycle_start_ns.saturating_sub(queued_ns);
            self.own.cycles.push((end_ns - self.cycle_start_ns, waited_ns));
            if outcome == CycleOutcome::Unschedulable {
                self.own.refused.push(end_ns - self.cycle_start_ns);
            }
            now_ns = Some(end_ns);
        }
        self.begin_cycle(now_ns);
    }

    fn rests(&mut self) {
        self.hand_in();
    }

    #[inline]
    fn times_event(&mut self) -> bool {
        self.event_count = self.event_count.wrapping_add(1);
        self.is_on && self.event_count.is_multiple_of(EVENTS_EVERY)
    }

    fn event_handled(&mut self, event: &WatchEvent, elapsed_ns: u64) {
        self.own.events.push((event_name(event), elapsed_ns));
    }
}

/// Listens to the binder thread.
#[derive(Debug)]
pub struct BindMeter {
    switch: Switch,
    shared: Shared<Readings>,
    scope: Shared<Option<PodScope>>,
    /// Of a batch, the pods in the scope.
    covered: Vec<Bound>,
    start_ns: u64,
    is_on: bool,
}

impl BindMeter {
    fn record(&self, bound: &[Bound], now_ns: u64) {
        if bound.is_empty() {
            return;
        }
        let mut shared = lock(&self.shared);
        shared.bursts.push(Burst { at_ns: now_ns, pods: bound.len() as u64 });
        // Pods of a batch were mostly sent together.
        for group in bound.chunk_by(|one, other| one.sent_ns == other.sent_ns) {
            let sent_ns = group[0].sent_ns.unwrap_or(self.start_ns);
            shared.latencies.record(Stage::Bind, now_ns.saturating_sub(sent_ns), group.len() as u64);
        }
        for group in bound.chunks(ATTEMPTS_EVERY) {
            let elapsed_ns = now_ns.saturating_sub(group[0].begun_ns);
            shared.latencies.record(Stage::AttemptScheduled, elapsed_ns, group.len() as u64);
        }
        // Pods of a batch were mostly created together: equal times are recorded at once.
        let end_to_end = shared.latencies.of(Stage::EndToEnd);
        for group in bound.chunk_by(|one, other| one.created_ns == other.created_ns) {
            let elapsed_ns = now_ns.saturating_sub(group[0].created_ns);
            end_to_end.saturating_record_n(elapsed_ns.max(1), group.len() as u64);
        }
    }
}

impl BindRecorder for BindMeter {
    fn binds_begin(&mut self) {
        self.is_on = self.switch.is_on();
        if self.is_on {
            self.start_ns = monotonic_ns();
        }
    }

    fn binds_ended(&mut self, bound: &[Bound]) {
        if !self.is_on {
            return;
        }
        let now_ns = monotonic_ns();
        let mut covered = std::mem::take(&mut self.covered);
        match &mut *lock(&self.scope) {
            None => self.record(bound, now_ns),
            Some(scope) => {
                covered.clear();
                covered.extend(bound.iter().filter(|bound| scope.covers(bound.pod)));
                self.record(&covered, now_ns);
            }
        }
        self.covered = covered;
    }
}
