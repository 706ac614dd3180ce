//! The recorders of the two threads.

use std::sync::{Arc, Mutex, PoisonError};

use schedlab_cluster::api::WatchEvent;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::runtime::record::{
    BindRecorder, Bound, CallEnd, CallKind, CycleOutcome, CyclePod, CycleRecorder,
};
use schedlab_core::cycle::probe::{Mark, Probe};
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::queue::ProfileNumber;
use schedlab_core::scheduler::{Span, Timed, label};

use super::durations::{AttemptEnd, DurationKind, Durations};
use super::reading::event_name;
use super::scope::PodScope;
use super::switch::Switch;
use super::windows::Burst;
use crate::metrics::MetricValues;
use crate::placements::PlacementLog;

/// A part's first cycles are all timed, so that short runs have numbers.
const TIMED_CYCLES_MIN: u32 = 64;
/// After those, one cycle of this many is timed: two clock readings a cycle would be several percent
/// of a cached cycle.
const CYCLES_EVERY: u32 = 64;

/// Extension points are timed in one cycle of this many: a clock reading costs about as much as
/// the whole of a cached Filter. Upstream samples its plugin metrics for the same reason.
pub const EXTENSION_POINTS_EVERY: u32 = 256;
/// Of a part's first cycles, one of this many.
const POINTS_EVERY_AT_FIRST: u32 = 8;

/// Single plugins are timed in one cycle of this many: two clock readings a plugin.
pub const PLUGINS_EVERY: u32 = 512;
const PLUGINS_EVERY_AT_FIRST: u32 = 32;

/// After the first ones, one event of this many is timed; and of a batch one pod of [`ATTEMPTS_EVERY`].
const EVENTS_EVERY: u32 = 512;
const EVENTS_TIMED_MIN: u32 = 64;
const ATTEMPTS_EVERY: usize = 32;

/// A thread keeps so many durations to itself before it fills the histograms, or until it rests: by the
/// next round their memory has left the caches again, and fetching it costs more than recording.
const NOTES_MAX: usize = 256;

/// What a measured part recorded.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Durations, and what was counted, by metric and labels.
    pub series: MetricValues,
    /// Bindings over time.
    pub bursts: Vec<Burst>,
    /// Cycles that found a node.
    pub assumed: u64,
    /// Cycles that found none, or failed.
    pub unschedulable: u64,
    /// Nodes looked at in cycles that found one.
    pub evaluated: u64,
}

/// What one thread has handed in.
#[derive(Debug, Default)]
struct Notes {
    durations: Durations,
    bursts: Vec<Burst>,
    assumed: u64,
    unschedulable: u64,
    evaluated: u64,
}

/// What the threads and their readers share.
#[derive(Debug, Default)]
struct Shared {
    cycles: Mutex<Notes>,
    binds: Mutex<Notes>,
    scope: Mutex<Option<PodScope>>,
    /// Names of profiles, by number.
    profiles: Mutex<Vec<String>>,
    /// Recorded in this part, when numbers meant other profiles.
    renamed: Mutex<MetricValues>,
    /// Of parts that are over.
    past: Mutex<MetricValues>,
}

impl Shared {
    /// Durations of the part under way.
    fn part(&self) -> MetricValues {
        let profiles = lock(&self.profiles);
        let mut series = lock(&self.renamed).clone();
        for notes in [&self.cycles, &self.binds] {
            series.merge(&lock(notes).durations.series(&profiles));
        }
        series
    }

    /// Numbers mean other profiles from now on.
    fn rename(&self, names: Vec<String>) {
        if *lock(&self.profiles) == names {
            return;
        }
        let before = self.part();
        *lock(&self.renamed) = before;
        for notes in [&self.cycles, &self.binds] {
            lock(notes).durations = Durations::default();
        }
        *lock(&self.profiles) = names;
    }
}

/// The meters of one run.
#[derive(Debug, Default)]
pub struct Meters {
    /// Turns both on and off.
    pub switch: Switch,
    shared: Arc<Shared>,
}

/// Lets others read what the meters have recorded, in all parts so far.
#[derive(Clone, Debug)]
pub struct MetersView(Arc<Shared>);

impl MetersView {
    /// Durations.
    #[must_use]
    pub fn read(&self) -> MetricValues {
        let mut series = lock(&self.0.past).clone();
        series.merge(&self.0.part());
        series
    }
}

impl Meters {
    /// Recorders for the two threads.
    #[must_use]
    pub fn recorders(&self) -> (CycleMeter, BindMeter) {
        let cycles = CycleMeter {
            switch: self.switch.clone(),
            shared: Arc::clone(&self.shared),
            cycle_start_ns: 0,
            mark_ns: 0,
            count: 0,
            times_cycle: false,
            times_points: false,
            times_plugins: false,
            is_on: false,
            event_count: 0,
            marks: Vec::new(),
            own: RoundNotes::default(),
        };
        let binds = BindMeter {
            switch: self.switch.clone(),
            shared: Arc::clone(&self.shared),
            covered: Vec::new(),
            start_ns: 0,
            is_on: false,
            own: BindNotes::default(),
            attempts: None,
        };
        (cycles, binds)
    }

    /// From now on only bindings of these pods count; all of them with `None`.
    pub fn set_scope(&self, scope: Option<PodScope>) {
        *lock(&self.shared.scope) = scope;
    }

    /// Takes what was recorded since the last time. The threads hand in when they have much and when
    /// they rest, so this is complete once the runtime is at rest.
    #[must_use]
    pub fn take(&self) -> Readings {
        let series = self.shared.part();
        *lock(&self.shared.renamed) = MetricValues::default();
        let cycles = std::mem::take(&mut *lock(&self.shared.cycles));
        let binds = std::mem::take(&mut *lock(&self.shared.binds));
        lock(&self.shared.past).merge(&series);
        let Notes { assumed, unschedulable, evaluated, .. } = cycles;
        Readings { series, bursts: binds.bursts, assumed, unschedulable, evaluated }
    }

    /// What lets others read along.
    #[must_use]
    pub fn view(&self) -> MetersView {
        MetersView(Arc::clone(&self.shared))
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
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
    /// Lengths of cycles that ended the attempt.
    ended: Vec<(DurationKind, u64)>,
    points: Vec<(Timed, u64)>,
    events: Vec<(String, u64)>,
}

impl RoundNotes {
    fn has_counts(&self) -> bool {
        0 < self.assumed + self.unschedulable
    }

    /// Durations.
    fn len(&self) -> usize {
        2 * self.cycles.len() + self.ended.len() + self.points.len() + self.events.len()
    }
}

/// Listens to the scheduler thread. Within a round it only appends to small vectors; the histograms
/// are filled between rounds, once there is enough.
#[derive(Debug)]
pub struct CycleMeter {
    switch: Switch,
    shared: Arc<Shared>,
    cycle_start_ns: u64,
    mark_ns: u64,
    count: u32,
    times_cycle: bool,
    times_points: bool,
    times_plugins: bool,
    is_on: bool,
    event_count: u32,
    /// Of the cycle under way.
    marks: Vec<(Mark, u64)>,
    own: RoundNotes,
}

impl CycleMeter {
    /// A round is over.
    fn hand_in_if_much(&mut self) {
        if NOTES_MAX <= self.own.len() {
            self.hand_in();
        }
    }

    fn hand_in(&mut self) {
        if self.own.len() == 0 && !self.own.has_counts() {
            return;
        }
        let mut shared = lock(&self.shared.cycles);
        let RoundNotes { assumed, unschedulable, evaluated, cycles, ended, points, events } = &mut self.own;
        shared.evaluated += std::mem::take(evaluated);
        shared.assumed += std::mem::take(assumed);
        shared.unschedulable += std::mem::take(unschedulable);
        let durations = &mut shared.durations;
        if !cycles.is_empty() {
            // Looked up once a round: per cycle it costs as much as the recording itself.
            durations.record_all(&DurationKind::Algorithm, cycles.iter().map(|&(elapsed_ns, _)| elapsed_ns));
            durations.record_all(&DurationKind::QueueWait, cycles.iter().map(|&(_, waited_ns)| waited_ns));
            cycles.clear();
        }
        for (timed, elapsed_ns) in points.drain(..) {
            durations.record(&DurationKind::of(timed), elapsed_ns, 1);
        }
        for (what, elapsed_ns) in ended.drain(..) {
            durations.record(&what, elapsed_ns, 1);
        }
        for (name, elapsed_ns) in events.drain(..) {
            durations.record(&DurationKind::Event(name), elapsed_ns, 1);
        }
    }

    /// `now_ns` is the time, if it was just read.
    #[inline]
    fn begin_cycle(&mut self, now_ns: Option<u64>) {
        self.count = self.count.wrapping_add(1);
        if is_timed(self.count) {
            self.begin_timed_cycle(now_ns);
        }
    }

    #[cold]
    fn begin_timed_cycle(&mut self, now_ns: Option<u64>) {
        self.times_cycle = true;
        self.times_points = is_one_of(self.count, POINTS_EVERY_AT_FIRST, EXTENSION_POINTS_EVERY);
        self.times_plugins = is_one_of(self.count, PLUGINS_EVERY_AT_FIRST, PLUGINS_EVERY);
        self.cycle_start_ns = now_ns.unwrap_or_else(monotonic_ns);
        self.mark_ns = self.cycle_start_ns;
    }

    /// Returns the time.
    #[cold]
    fn end_timed_cycle(&mut self, end: Option<AttemptEnd>, pod: CyclePod) -> u64 {
        let end_ns = monotonic_ns();
        let elapsed_ns = end_ns - self.cycle_start_ns;
        self.own.cycles.push((elapsed_ns, self.cycle_start_ns.saturating_sub(pod.queued_ns)));
        self.own.ended.extend(end.map(|end| (DurationKind::Attempt(end, pod.profile), elapsed_ns)));
        self.take_marks(pod.profile);
        self.time_nothing();
        end_ns
    }

    fn time_nothing(&mut self) {
        (self.times_cycle, self.times_points, self.times_plugins) = (false, false, false);
        self.marks.clear();
    }

    /// The cycle's extension points, now that its profile is known.
    fn take_marks(&mut self, profile: ProfileNumber) {
        let point = |(mark, elapsed_ns)| {
            let (point, status) = match mark {
                Mark::PreFilter => (ExtensionPoint::PreFilter, label::SUCCESS),
                Mark::PreFilterRejected => (ExtensionPoint::PreFilter, label::UNRESOLVABLE),
                Mark::Filter => (ExtensionPoint::Filter, label::SUCCESS),
                Mark::PreScore => (ExtensionPoint::PreScore, label::SUCCESS),
                Mark::Score => (ExtensionPoint::Score, label::SUCCESS),
            };
            (Timed::Point { point: point.label(), status, profile }, elapsed_ns)
        };
        self.own.points.extend(self.marks.drain(..).map(point));
    }
}

/// Whether the cycle of this number, from 1 on, is timed at all.
#[inline]
fn is_timed(count: u32) -> bool {
    count <= TIMED_CYCLES_MIN || count.is_multiple_of(CYCLES_EVERY)
}

/// Whether it is one of those that are looked at closer: one of `at_first` of the first ones.
fn is_one_of(count: u32, at_first: u32, later: u32) -> bool {
    let every = if count <= TIMED_CYCLES_MIN { at_first } else { later };
    count.is_multiple_of(every)
}

const _: () = assert!(EXTENSION_POINTS_EVERY.is_multiple_of(CYCLES_EVERY));
const _: () = assert!(PLUGINS_EVERY.is_multiple_of(CYCLES_EVERY));

impl Probe for CycleMeter {
    #[inline]
    fn mark(&mut self, mark: Mark) {
        if self.times_points {
            let now_ns = monotonic_ns();
            self.marks.push((mark, now_ns - self.mark_ns));
            self.mark_ns = now_ns;
        }
    }

    #[inline]
    fn times_plugins(&self) -> bool {
        self.times_plugins
    }
}

impl CycleRecorder for CycleMeter {
    fn round_begins(&mut self) {
        let was_on = std::mem::replace(&mut self.is_on, self.switch.is_on());
        if was_on && !self.is_on {
            self.hand_in();
        } else {
            self.hand_in_if_much();
        }
        self.time_nothing();
        if self.is_on {
            // The cycle that was begun at the end of the last round never came: its number is used now.
            self.count = if was_on { self.count.saturating_sub(1) } else { 0 };
            self.begin_cycle(None);
        }
    }

    #[inline]
    fn cycle_ended(&mut self, outcome: CycleOutcome, pod: impl FnOnce() -> CyclePod) {
        if !self.is_on {
            return;
        }
        let end = match outcome {
            CycleOutcome::Assumed { evaluated } => {
                self.own.assumed += 1;
                self.own.evaluated += evaluated as u64;
                None
            }
            CycleOutcome::Unschedulable => Some(AttemptEnd::Unschedulable),
            CycleOutcome::Failed => Some(AttemptEnd::Error),
        };
        self.own.unschedulable += u64::from(end.is_some());
        let mut now_ns = None;
        if self.times_cycle {
            now_ns = Some(self.end_timed_cycle(end, pod()));
        }
        self.begin_cycle(now_ns);
    }

    fn rests(&mut self) {
        self.hand_in();
        // Spans are noted by the scheduler while this says so, also between two rounds.
        self.is_on = self.is_on && self.switch.is_on();
        self.time_nothing();
    }

    #[inline]
    fn times_event(&mut self) -> bool {
        if !self.is_on {
            return false;
        }
        self.event_count = self.event_count.wrapping_add(1);
        self.event_count <= EVENTS_TIMED_MIN || self.event_count.is_multiple_of(EVENTS_EVERY)
    }

    fn event_handled(&mut self, event: &WatchEvent, elapsed_ns: u64) {
        self.own.events.push((event_name(event), elapsed_ns));
    }

    #[inline]
    fn times_spans(&self) -> bool {
        self.switch.is_on()
    }

    fn spans(&mut self, spans: &mut Vec<Span>) {
        self.own.points.extend(spans.drain(..).map(|Span { timed, elapsed_ns }| (timed, elapsed_ns)));
    }

    fn profiles(&mut self, names: Vec<String>) {
        self.hand_in();
        self.shared.rename(names);
    }
}

/// What the thread that binds keeps for itself until there is enough.
#[derive(Debug, Default)]
struct BindNotes {
    bursts: Vec<Burst>,
    /// So many pods, and how long each took.
    durations: Vec<(Binding, u64, u64)>,
}

/// What is timed of a pod that was bound.
#[derive(Clone, Copy, Debug)]
enum Binding {
    Call(ProfileNumber),
    Attempt(ProfileNumber),
    Sli { attempts: u32 },
}

impl Binding {
    fn what(self) -> DurationKind {
        match self {
            Binding::Call(profile) => {
                let point = ExtensionPoint::Bind.label();
                DurationKind::Span(Timed::Point { point, status: label::SUCCESS, profile })
            }
            Binding::Attempt(profile) => DurationKind::Attempt(AttemptEnd::Scheduled, profile),
            Binding::Sli { attempts } => DurationKind::sli(attempts),
        }
    }
}

/// Listens to the thread that binds.
#[derive(Debug)]
pub struct BindMeter {
    switch: Switch,
    shared: Arc<Shared>,
    /// Of a batch, the pods in the scope.
    covered: Vec<Bound>,
    start_ns: u64,
    is_on: bool,
    own: BindNotes,
    /// Who wants to know how often each bound pod was tried, measured or not.
    attempts: Option<PlacementLog>,
}

impl BindMeter {
    /// From now on the attempts of every bound pod go there.
    pub fn tell_attempts(&mut self, log: Option<&PlacementLog>) {
        self.attempts = log.cloned();
    }

    fn record(&mut self, bound: &[Bound], now_ns: u64) {
        let Some(first) = bound.first() else { return };
        self.own.bursts.push(Burst { at_ns: now_ns, pods: bound.len() as u64 });
        // Pods of a batch are mostly alike in all that is looked at here: one pass finds that out.
        if bound.iter().all(|other| is_alike(first, other)) {
            self.record_alike(bound, now_ns);
        } else {
            self.record_mixed(bound, now_ns);
        }
        if NOTES_MAX <= self.own.durations.len() {
            self.hand_in();
        }
    }

    /// Pods that were sent and created together, tried as often, and are of one profile.
    fn record_alike(&mut self, bound: &[Bound], now_ns: u64) {
        let (Bound { created_ns, attempts, profile, sent_ns, .. }, count) = (bound[0], bound.len() as u64);
        let sent_ns = sent_ns.unwrap_or(self.start_ns);
        self.note(Binding::Call(profile), now_ns.saturating_sub(sent_ns), count);
        self.note_attempts(bound, now_ns);
        self.note(Binding::Sli { attempts }, now_ns.saturating_sub(created_ns), count);
    }

    /// The same of any pods: what is equal is recorded at once.
    fn record_mixed(&mut self, bound: &[Bound], now_ns: u64) {
        for of_profile in bound.chunk_by(|one, other| one.profile == other.profile) {
            let call = Binding::Call(of_profile[0].profile);
            for group in of_profile.chunk_by(|one, other| one.sent_ns == other.sent_ns) {
                let sent_ns = group[0].sent_ns.unwrap_or(self.start_ns);
                self.note(call, now_ns.saturating_sub(sent_ns), group.len() as u64);
            }
            self.note_attempts(of_profile, now_ns);
        }
        let same =
            |one: &Bound, other: &Bound| one.created_ns == other.created_ns && one.attempts == other.attempts;
        for group in bound.chunk_by(same) {
            let Bound { created_ns, attempts, .. } = group[0];
            self.note(Binding::Sli { attempts }, now_ns.saturating_sub(created_ns), group.len() as u64);
        }
    }

    /// Of pods of one profile.
    fn note_attempts(&mut self, bound: &[Bound], now_ns: u64) {
        let attempt = Binding::Attempt(bound[0].profile);
        for group in bound.chunks(ATTEMPTS_EVERY) {
            self.note(attempt, now_ns.saturating_sub(group[0].begun_ns), group.len() as u64);
        }
    }

    fn note(&mut self, what: Binding, elapsed_ns: u64, count: u64) {
        self.own.durations.push((what, elapsed_ns, count));
    }

    fn hand_in(&mut self) {
        let BindNotes { bursts, durations } = &mut self.own;
        if bursts.is_empty() {
            return;
        }
        let mut shared = lock(&self.shared.binds);
        shared.bursts.append(bursts);
        for (what, elapsed_ns, count) in durations.drain(..) {
            shared.durations.record(&what.what(), elapsed_ns, count);
        }
    }
}

/// Whether all is equal that a meter looks at, but for when the cycles began.
fn is_alike(one: &Bound, other: &Bound) -> bool {
    let of = |bound: &Bound| (bound.created_ns, bound.sent_ns, bound.attempts, bound.profile);
    of(one) == of(other)
}

impl BindRecorder for BindMeter {
    fn binds_begin(&mut self) {
        self.is_on = self.switch.is_on();
        if self.is_on {
            self.start_ns = monotonic_ns();
        }
    }

    fn binds_ended(&mut self, bound: &[Bound]) {
        if let Some(log) = &self.attempts {
            bound.iter().for_each(|bound| log.tried(bound.pod, bound.attempts));
        }
        if !self.is_on {
            return;
        }
        let now_ns = monotonic_ns();
        let mut covered = std::mem::take(&mut self.covered);
        covered.clear();
        let is_scoped = match &mut *lock(&self.shared.scope) {
            None => false,
            Some(scope) => {
                covered.extend(bound.iter().filter(|bound| scope.covers(bound.pod)));
                true
            }
        };
        self.record(if is_scoped { &covered } else { bound }, now_ns);
        self.covered = covered;
    }

    fn rests(&mut self) {
        self.hand_in();
    }

    fn times_calls(&self) -> bool {
        self.switch.is_on()
    }

    fn call_ended(&mut self, kind: CallKind, end: CallEnd, elapsed_ns: u64) {
        lock(&self.shared.binds).durations.record(&DurationKind::Call(kind, end), elapsed_ns, 1);
    }
}

#[cfg(test)]
mod tests {
    use schedlab_core::ids::PodUid;

    use super::*;
    use crate::metrics::{MetricSeries, MetricValue};

    fn bound(uid: u64) -> Bound {
        let profile = ProfileNumber(0);
        Bound {
            pod: PodUid(uid),
            created_ns: 100,
            begun_ns: 1_000 + uid,
            attempts: 1,
            profile,
            sent_ns: None,
        }
    }

    #[test]
    fn batch_of_like_pods_is_recorded_as_a_mixed_one_would_be() {
        let pods: Vec<Bound> = (0..100).map(bound).collect();
        let recorded = |record: fn(&mut BindMeter, &[Bound], u64)| {
            let meters = Meters::default();
            let mut meter = meters.recorders().1;
            meter.own.bursts.push(Burst { at_ns: 9_000, pods: 100 });
            record(&mut meter, &pods, 9_000);
            meter.rests();
            meters.take().series.results()
        };
        let alike = recorded(BindMeter::record_alike);
        assert_eq!(alike, recorded(BindMeter::record_mixed));
        assert_eq!(alike.len(), 4, "the call, its extension point, the attempt, the whole way: {alike:?}");
    }

    #[test]
    fn bindings_are_handed_in_when_there_are_many_and_at_rest() {
        let meters = Meters::default();
        let mut meter = meters.recorders().1;
        let pods = |meters: &Meters| meters.take().bursts.iter().map(|burst| burst.pods).sum::<u64>();
        meter.record(&[bound(1)], 9_000);
        assert_eq!(pods(&meters), 0, "one is kept");
        meter.rests();
        assert_eq!(pods(&meters), 1);
        (0..NOTES_MAX as u64).for_each(|uid| meter.record(&[bound(uid)], 9_000));
        let early = pods(&meters);
        assert!(NOTES_MAX as u64 / 2 < early, "many are not kept until rest: {early}");
        meter.rests();
        assert_eq!(early + pods(&meters), NOTES_MAX as u64, "each is handed in once");
    }

    #[test]
    fn batch_of_several_profiles_and_ages_is_recorded_by_each() {
        let meters = Meters::default();
        let (mut cycles, mut meter) = meters.recorders();
        cycles.profiles(vec!["default-scheduler".to_owned(), "other".to_owned()]);
        let other = Bound { profile: ProfileNumber(1), created_ns: 200, attempts: 2, ..bound(3) };
        meter.record(&[bound(1), bound(2), other], 9_000);
        meter.rests();
        let counts: Vec<String> = meters
            .take()
            .series
            .results()
            .into_iter()
            .map(|MetricSeries { name, labels, value }| {
                let MetricValue::Histogram(summary) = value else { panic!("{name} is a histogram") };
                let labels: Vec<String> = labels.into_values().collect();
                format!("{name} {} {}", labels.join(","), summary.count)
            })
            .collect();
        assert_eq!(
            counts,
            [
                "scheduler_async_api_call_execution_duration_seconds pod_binding,success 3",
                "scheduler_framework_extension_point_duration_seconds Bind,default-scheduler,Success 2",
                "scheduler_framework_extension_point_duration_seconds Bind,other,Success 1",
                "scheduler_pod_scheduling_sli_duration_seconds 1 2",
                "scheduler_pod_scheduling_sli_duration_seconds 2 1",
                "scheduler_scheduling_attempt_duration_seconds default-scheduler,scheduled 2",
                "scheduler_scheduling_attempt_duration_seconds other,scheduled 1",
            ]
        );
    }
}
