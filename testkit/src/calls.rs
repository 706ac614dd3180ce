//! The calls of a lab's scheduler: performed at once, unless the test holds or refuses them.

use std::collections::BTreeMap;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, ApiError, Binding, ConditionEdit, ConditionPatch, ConditionStatus, DISRUPTION_TARGET,
    NominatedNodeNamePatch, PREEMPTION_BY_SCHEDULER, PodStatusPatch, StatusReason,
};
use schedlab_cluster::runtime::{Bridge, bind_by_extender, write_claims, write_volumes};
use schedlab_core::api_call::{ApiCall, ConditionChange, StatusPatch};
use schedlab_core::binding::{CallFailure, CallId, OutgoingCall};
use schedlab_core::framework::extend::Verb;
use schedlab_core::framework::points;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::Scheduler;

/// What becomes of a call that the test has an eye on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It waits until the test lets it go.
    Hold,
    /// It is refused and has no effect.
    Refuse(CallFailure),
    /// It takes effect, but the answer says that it failed.
    LoseAnswer(CallFailure),
}

/// A call that was sent.
#[derive(Clone, Debug)]
struct Sent {
    text: String,
    call: OutgoingCall,
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Which.
    pub id: CallId,
    /// Whose.
    pub pod: PodUid,
    /// What the API said.
    pub result: Result<(), CallFailure>,
}

/// The calls of one scheduler.
#[derive(Debug, Default)]
pub struct Calls {
    log: Vec<String>,
    held: Vec<Sent>,
    /// Text that the call begins with, what becomes of it, and how often.
    rules: Vec<(String, Fate, usize)>,
}

impl Calls {
    /// From now on calls whose text begins like this have a fate.
    pub fn always(&mut self, what: &str, fate: Fate) {
        self.rules.push((what.to_owned(), fate, usize::MAX));
    }

    /// The next such call has a fate.
    pub fn once(&mut self, what: &str, fate: Fate) {
        self.rules.push((what.to_owned(), fate, 1));
    }

    /// Calls are performed again. What is held stays so.
    pub fn forget_rules(&mut self) {
        self.rules.clear();
    }

    /// The calls since this was asked last: `bind web n1`, `patch web nominate n1 Unschedulable`,
    /// `disrupt web`, `delete web`, `volumes web`.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// The calls that wait.
    pub fn held(&self) -> Vec<&str> {
        self.held.iter().map(|sent| sent.text.as_str()).collect()
    }

    fn fate_of(&mut self, text: &str) -> Option<Fate> {
        let at =
            self.rules.iter().position(|(what, _, left)| *left > 0 && text.starts_with(what.as_str()))?;
        let (_, fate, left) = &mut self.rules[at];
        *left -= 1;
        Some(*fate)
    }

    /// Takes the scheduler's calls and performs those that nobody holds.
    pub fn send(
        &mut self,
        api: &EmbeddedCluster,
        bridge: &mut Bridge,
        scheduler: &mut Scheduler,
        names: &BTreeMap<PodUid, String>,
    ) -> Vec<Outcome> {
        let mut calls = Vec::new();
        scheduler.take_calls(&mut calls);
        let mut outcomes = Vec::new();
        for call in calls {
            let sent = Sent { text: text_of(&call.call, scheduler, names), call };
            self.log.push(sent.text.clone());
            let fate = self.fate_of(&sent.text);
            let result = match fate {
                Some(Fate::Hold) => {
                    self.held.push(sent);
                    continue;
                }
                Some(Fate::Refuse(failure)) => Err(failure),
                Some(Fate::LoseAnswer(failure)) => {
                    perform(api, bridge, scheduler, &sent.call.call).expect("only the answer is lost");
                    Err(failure)
                }
                None => perform(api, bridge, scheduler, &sent.call.call),
            };
            outcomes.push(Outcome { id: sent.call.id, pod: sent.call.call.pod(), result });
        }
        outcomes
    }

    /// Performs held calls whose text begins like this.
    pub fn release(
        &mut self,
        what: &str,
        api: &EmbeddedCluster,
        bridge: &mut Bridge,
        scheduler: &Scheduler,
    ) -> Vec<Outcome> {
        let (released, held) =
            std::mem::take(&mut self.held).into_iter().partition(|sent| sent.text.starts_with(what));
        self.held = held;
        let released: Vec<Sent> = released;
        let outcome = |sent: Sent| Outcome {
            id: sent.call.id,
            pod: sent.call.call.pod(),
            result: perform(api, bridge, scheduler, &sent.call.call),
        };
        released.into_iter().map(outcome).collect()
    }
}

fn text_of(call: &ApiCall, scheduler: &Scheduler, names: &BTreeMap<PodUid, String>) -> String {
    let pod = names.get(&call.pod()).map_or("?", String::as_str);
    let node = |node| scheduler.world().node_name(node);
    match call {
        ApiCall::Bind { node: to, .. } => format!("bind {pod} {}", node(*to)),
        ApiCall::AddDisruptionTarget { .. } => format!("disrupt {pod}"),
        ApiCall::DeletePod { .. } => format!("delete {pod}"),
        ApiCall::BindVolumes(_) => format!("volumes {pod}"),
        ApiCall::WriteClaims(_) => format!("claims {pod}"),
        ApiCall::PatchPodGroupStatus(patch) => {
            format!("group {} {}", patch.name, patch.condition.reason)
        }
        ApiCall::PatchStatus(patch) => {
            let nomination = match patch.nomination {
                points::NominatingInfo::Keep => String::new(),
                points::NominatingInfo::Clear => " clear".to_owned(),
                points::NominatingInfo::Node(to) => format!(" nominate {}", node(to)),
            };
            let condition = match &patch.condition {
                None => String::new(),
                Some(ConditionChange::False { reason, .. }) => format!(" {}", reason.as_str()),
                Some(ConditionChange::Withdraw) => " withdraw".to_owned(),
            };
            format!("patch {pod}{nomination}{condition}")
        }
    }
}

/// As the runtime on real threads does it, one call at a time.
fn perform(
    api: &EmbeddedCluster,
    bridge: &mut Bridge,
    scheduler: &Scheduler,
    call: &ApiCall,
) -> Result<(), CallFailure> {
    let result = match call {
        ApiCall::Bind { pod, node } => {
            let binding = Binding { pod: *pod, node: bridge.name_of(*node, api, scheduler) };
            let binders: Vec<_> =
                scheduler.extenders().iter().filter(|it| it.does(Verb::Bind)).cloned().collect();
            match bind_by_extender(api, &binders, binding) {
                Some(result) => result,
                None => api.bind_pod(binding),
            }
        }
        ApiCall::AddDisruptionTarget { pod, message } => disrupt(api, *pod, message),
        ApiCall::DeletePod { pod } => api.delete_pod(*pod),
        ApiCall::BindVolumes(writes) => write_volumes(api, writes),
        ApiCall::WriteClaims(writes) => write_claims(api, writes),
        ApiCall::PatchPodGroupStatus(patch) => api.patch_pod_group_status(patch),
        ApiCall::PatchStatus(patch) => patch_status(api, bridge, scheduler, patch),
    };
    result.map_err(|error| match error.reason {
        StatusReason::NotFound => CallFailure::NotFound,
        StatusReason::Conflict => CallFailure::Conflict,
        StatusReason::InternalError | StatusReason::ServiceUnavailable | StatusReason::TooManyRequests => {
            CallFailure::Transient
        }
        _ => CallFailure::Other,
    })
}

fn disrupt(api: &EmbeddedCluster, pod: PodUid, message: &str) -> Result<(), ApiError> {
    let condition = ConditionPatch {
        type_: DISRUPTION_TARGET,
        status: ConditionStatus::True,
        reason: PREEMPTION_BY_SCHEDULER,
        message,
    };
    let (nomination, phase) = (NominatedNodeNamePatch::Keep, None);
    let patch = PodStatusPatch { pod, condition: Some(condition.into()), nomination, phase };
    api.patch_pod_status(patch).map(|_| ())
}

fn patch_status(
    api: &EmbeddedCluster,
    bridge: &mut Bridge,
    scheduler: &Scheduler,
    patch: &StatusPatch,
) -> Result<(), ApiError> {
    const TYPE: &str = "PodScheduled";
    let condition = patch.condition.as_ref().map(|change| match change {
        ConditionChange::False { reason, message, .. } => ConditionEdit::Set(ConditionPatch {
            type_: TYPE,
            status: ConditionStatus::False,
            reason: reason.as_str(),
            message,
        }),
        ConditionChange::Withdraw => ConditionEdit::Remove { type_: TYPE, reason: "NotReadyForScheduling" },
    });
    let nomination = match patch.nomination {
        points::NominatingInfo::Keep => NominatedNodeNamePatch::Keep,
        points::NominatingInfo::Clear => NominatedNodeNamePatch::Clear,
        points::NominatingInfo::Node(node) => {
            NominatedNodeNamePatch::Set(bridge.name_of(node, api, scheduler))
        }
    };
    api.patch_pod_status(PodStatusPatch { pod: patch.pod, condition, nomination, phase: None }).map(|_| ())
}
