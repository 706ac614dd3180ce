//! A plugin that does as the test says, and remembers what it was asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use schedlab_core::api_call::ApiCall;
use schedlab_core::class::PodClass;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::plugin::{
    FilterPlugin, Normalization, Plugin, PreEnqueuePlugin, PreEnqueueResult, PreFilter, PreScore, QueueKey,
    QueueSortPlugin, Reads, ScorePlugin,
};
use schedlab_core::framework::points::{
    ActionType, Bind, BindPlugin, ClusterEvent, EnqueueExtensions, EventResource, Failed, Handle,
    ObjectChange, Permit, PermitPlugin, PodRef, PostBindPlugin, PostFilter, PostFilterPlugin, PreBindPlugin,
    PreBindProgress, PreBindStep, PreFlight, QueueingHint, RegisteredEvent, ReservePlugin, Status,
};
use schedlab_core::framework::status::{Code, Reason};
use schedlab_core::ids::NodeId;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

/// The label by which a plugin tells pods apart.
pub const WHO: &str = "who";

type NodeTest = Box<dyn Fn(&str) -> bool + Send>;
type Scores = Box<dyn Fn(&str) -> i64 + Send>;
type OnPermit = Box<dyn FnMut(&mut Handle<'_>, PodRef<'_>) -> Permit + Send>;

/// What a plugin answers, and what it was asked.
pub struct Script {
    /// What it was asked: `reserve web`, the pod told by its label [`WHO`].
    pub log: Vec<String>,
    /// PreEnqueue: why pods wait.
    pub closed: Option<&'static str>,
    /// What their status is to say meanwhile.
    pub says: Option<&'static str>,
    /// PreFilter: no node at all.
    pub pre_filter: Option<Code>,
    /// Filter: the nodes that pass, and the verdict on the others.
    pub passes: NodeTest,
    /// The code of its rejections.
    pub rejects_with: Code,
    /// Score.
    pub scores: Scores,
    /// What becomes of its scores.
    pub normalization: Normalization,
    /// PostFilter.
    pub post_filter: Option<PostFilter>,
    /// Reserve.
    pub reserve: Option<Status>,
    /// Permit.
    pub permit: OnPermit,
    /// PreBindPreFlight.
    pub pre_flight: PreFlight,
    /// PreBind: the next answers; nothing to do when there are none.
    pub pre_bind: Vec<PreBindStep>,
    /// Bind.
    pub binds: bool,
    /// The events it waits for.
    pub events: Vec<RegisteredEvent>,
    /// What it says of events that it has a say in.
    pub hint: QueueingHint,
    version: u64,
}

/// The plugin.
#[derive(Clone)]
pub struct Scripted {
    name: &'static str,
    points: Vec<ExtensionPoint>,
    script: Arc<Mutex<Script>>,
}

/// PreBind has work.
pub const WORK: PreFlight = PreFlight::Run { allow_parallel: false };
/// PreBind has none.
pub const NO_WORK: PreFlight = PreFlight::Skip { allow_parallel: false };

/// A rejection that events may end.
pub fn unschedulable(why: &'static str) -> Status {
    Status::unschedulable(Reason::Text(why))
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("name", &self.name).field("points", &self.points).finish()
    }
}

impl Scripted {
    /// A plugin at some points that lets everything pass.
    pub fn new(name: &'static str, points: &[ExtensionPoint]) -> Scripted {
        let script = Script {
            log: Vec::new(),
            closed: None,
            says: None,
            pre_filter: None,
            passes: Box::new(|_| true),
            rejects_with: Code::Unschedulable,
            scores: Box::new(|_| 0),
            normalization: Normalization::None,
            post_filter: None,
            reserve: None,
            permit: Box::new(|_, _| Permit::Approve),
            pre_flight: NO_WORK,
            pre_bind: Vec::new(),
            binds: false,
            events: Vec::new(),
            hint: QueueingHint::Queue,
            version: 0,
        };
        Scripted { name, points: points.to_vec(), script: Arc::new(Mutex::new(script)) }
    }

    /// Changes what it does.
    pub fn set(&self, change: impl FnOnce(&mut Script)) {
        let mut script = self.script();
        change(&mut script);
        script.version += 1;
    }

    /// The plugin, changed.
    pub fn with(self, change: impl FnOnce(&mut Script)) -> Scripted {
        self.set(change);
        self
    }

    /// What it was asked since this was asked last.
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.script().log)
    }

    /// How often it was asked something.
    pub fn count(&self, what: &str) -> usize {
        self.script().log.iter().filter(|line| line.starts_with(what)).count()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no test panics while it holds the script")
    }

    fn note(&self, what: &str, class: &PodClass) {
        let who = class.input.labels.get(WHO).map_or("", String::as_str);
        self.script().log.push(format!("{what} {who}").trim_end().to_owned());
    }

    fn at(&self, point: ExtensionPoint) -> Option<&Self> {
        self.points.contains(&point).then_some(self)
    }
}

impl Plugin for Scripted {
    fn name(&self) -> &'static str {
        self.name
    }

    fn plan_version(&self, _: &World, _: &PodClass) -> Option<u64> {
        Some(self.script().version)
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        self.at(ExtensionPoint::PreEnqueue).map(|it| it as _)
    }

    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        self.at(ExtensionPoint::QueueSort).map(|it| it as _)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        self.at(ExtensionPoint::Filter).map(|it| it as _)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        self.at(ExtensionPoint::Score).map(|it| it as _)
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        self.at(ExtensionPoint::PostFilter).map(|it| it as _)
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        self.at(ExtensionPoint::Reserve).map(|it| it as _)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        self.at(ExtensionPoint::Permit).map(|it| it as _)
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        self.at(ExtensionPoint::PreBind).map(|it| it as _)
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        self.at(ExtensionPoint::Bind).map(|it| it as _)
    }

    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        self.at(ExtensionPoint::PostBind).map(|it| it as _)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for Scripted {
    fn pre_enqueue(&self, _: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        self.note("pre-enqueue", class);
        let script = self.script();
        let message = script.says.map(Arc::from);
        script.closed.map(|reason| PreEnqueueResult { reason: reason.to_owned(), message })
    }
}

/// The youngest first.
impl QueueSortPlugin for Scripted {
    fn less(&self, one: QueueKey, other: QueueKey) -> bool {
        one.queued_ns > other.queued_ns
    }
}

impl FilterPlugin for Scripted {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_filter<'a>(&self, _: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        self.note("pre-filter", class);
        match self.script().pre_filter {
            None => PreFilter::Run,
            Some(code) => PreFilter::Reject(code, Reason::Text("not before noon")),
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        self.note("filter", class);
        let node = world.node_name(world.nodes().columns().id[row]);
        let script = self.script();
        if (script.passes)(node) {
            return Code::Success;
        }
        reasons.push(Reason::Text("not this one"));
        script.rejects_with
    }
}

impl ScorePlugin for Scripted {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_score(&self, _: &World, class: &PodClass) -> PreScore {
        self.note("pre-score", class);
        PreScore::Run
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        self.note("score", class);
        let script = self.script();
        for (&row, score) in rows.iter().zip(scores) {
            let node = world.nodes().columns().id[row as usize];
            *score = (script.scores)(world.node_name(node));
        }
    }

    fn normalization(&self) -> Normalization {
        self.script().normalization
    }
}

impl PostFilterPlugin for Scripted {
    fn post_filter(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: &Failed<'_>) -> PostFilter {
        self.note("post-filter", pod.class);
        self.script().post_filter.clone().unwrap_or_else(|| PostFilter::unschedulable(None))
    }
}

impl ReservePlugin for Scripted {
    fn reserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        self.note("reserve", pod.class);
        self.script().reserve.clone().map_or(Ok(()), Err)
    }

    fn unreserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.note("unreserve", pod.class);
    }
}

impl PermitPlugin for Scripted {
    fn permit(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        self.note("permit", pod.class);
        (self.script().permit)(handle, pod)
    }
}

impl PreBindPlugin for Scripted {
    fn pre_bind_pre_flight(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId) -> PreFlight {
        self.script().pre_flight.clone()
    }

    fn pre_bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId, _: &PreBindProgress) -> PreBindStep {
        self.note("pre-bind", pod.class);
        let mut script = self.script();
        if script.pre_bind.is_empty() { PreBindStep::Done } else { script.pre_bind.remove(0) }
    }
}

impl BindPlugin for Scripted {
    fn bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, node: NodeId) -> Bind {
        self.note("bind", pod.class);
        if self.script().binds { Bind::Call(ApiCall::Bind { pod: pod.uid, node }) } else { Bind::Skip }
    }
}

impl PostBindPlugin for Scripted {
    fn post_bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.note("post-bind", pod.class);
    }
}

impl EnqueueExtensions for Scripted {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        self.script().events.clone()
    }

    fn queueing_hint(
        &self,
        _: &World,
        pod: PodRef<'_>,
        _: ClusterEvent,
        _: &ObjectChange<'_>,
    ) -> QueueingHint {
        self.note("hint", pod.class);
        self.script().hint
    }
}

/// A new storage class: an event that no other plugin of these tests cares for.
pub fn on_new_class() -> RegisteredEvent {
    RegisteredEvent::always(EventResource::StorageClass, ActionType::ADD)
}
