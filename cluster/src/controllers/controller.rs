//! What a controller is: a state machine between a watch and an API.
//!
//! Upstream: a controller of kube-controller-manager reads informers, has a work queue, and calls the API
//! from its workers. Here the informers' events, the time and the answers come in as arguments and the
//! calls go out as values, so that a controller runs on threads and in a simulation alike.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeStatus, Pod};
use schedlab_core::ids::PodUid;

use super::ControllerReport;
use crate::api::{
    Api, ApiError, Binding, ConditionEdit, ConditionPatch, ConditionSetId, ConditionStatus, CreatedPods,
    NamespaceId, NodeNameId, NominatedNodeNamePatch, Object, ObjectKey, PodConditionEntry, PodName, PodPhase,
    PodSpecEntry, PodStatusPatch, PodTemplateRef, SpecId, WatchEvent,
};

/// A controller, or the part of one that some of the nodes are given to.
///
/// Events may come twice, and the same state under another kind: a controller compares what is with what
/// should be (level-triggered) and does not count events. After a restart everything is listed again.
pub trait Controller: Send {
    /// An object is there, has changed, or is gone. Only what the descriptor's scope covers comes, and
    /// possibly more pods and nodes than it needs.
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>);

    /// Time has passed. Called at [`Controller::next_wake_ns`] or later, and at any time in between.
    fn advance(&mut self, context: ControllerContext<'_>);

    /// When [`Controller::advance`] has something to do.
    fn next_wake_ns(&self) -> Option<u64>;

    /// Hands over the calls to be made now, in order. Each is answered once, unless the controller is
    /// stopped before. Calls of one kind that follow each other travel in one batch.
    fn take_calls(&mut self, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>);

    /// How a call ended.
    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    );

    /// What is left to do.
    fn remaining(&self) -> Remaining;

    /// What was done so far. Reports of the shards of a controller are added up by name.
    fn report(&self) -> ControllerReport;
}

/// What a controller has left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remaining {
    /// Nothing, until something changes in the cluster. A periodic look that would find nothing new counts
    /// as nothing.
    Nothing,
    /// Nothing now, but something that is sure to change the cluster later, as the end of
    /// `tolerationSeconds`. A run's end does not wait for it.
    Timers,
    /// Calls to make, answers to come, or calls to try again soon.
    Work,
}

/// A number by which a controller knows an answer again; its meaning is the controller's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallToken(pub u64);

/// The moment at which a controller is called, and its client's memory.
#[derive(Clone, Copy)]
pub struct ControllerContext<'a> {
    /// The time. For an event it is when the event arrived.
    pub now_ns: u64,
    /// What ids of rows stand for.
    pub tables: SideTables<'a>,
}

impl<'a> ControllerContext<'a> {
    /// At this time, with the memory of this client.
    #[must_use]
    pub fn new(api: &'a dyn Api, now_ns: u64) -> ControllerContext<'a> {
        ControllerContext { now_ns, tables: SideTables { api } }
    }
}

/// The tables of a client: what ids stand for. Nothing here is an API call, and nothing tells what the
/// cluster is like now: that only events do.
#[derive(Clone, Copy)]
pub struct SideTables<'a> {
    api: &'a dyn Api,
}

impl SideTables<'_> {
    /// What a [`SpecId`] of a row stands for.
    #[must_use]
    pub fn pod_spec(&self, spec: SpecId) -> Arc<PodSpecEntry> {
        self.api.pod_spec(spec)
    }

    /// The name behind a [`NodeNameId`].
    #[must_use]
    pub fn node_name(&self, node: NodeNameId) -> Arc<str> {
        self.api.node_name(node)
    }

    /// The id of a node's name; the node need not exist.
    #[must_use]
    pub fn node_name_id(&self, name: &str) -> NodeNameId {
        self.api.node_name_id(name)
    }

    /// The name behind a [`NamespaceId`].
    #[must_use]
    pub fn namespace_name(&self, namespace: NamespaceId) -> Arc<str> {
        self.api.namespace_name(namespace)
    }

    /// The text of a pod's name.
    #[must_use]
    pub fn pod_name(&self, name: PodName) -> String {
        self.api.pod_name(name)
    }

    /// What a [`ConditionSetId`] of a row stands for.
    #[must_use]
    pub fn pod_conditions(&self, conditions: ConditionSetId) -> Arc<[PodConditionEntry]> {
        self.api.pod_conditions(conditions)
    }

    /// Prepares pods that differ only in name, for [`ControllerRequest::CreatePods`].
    pub fn pod_template(&self, pod: Pod, namespace: &str) -> Result<PodTemplateRef, ApiError> {
        self.api.pod_template(pod, namespace)
    }
}

/// A call that a controller wants made.
#[derive(Clone, Debug)]
pub struct ControllerCall {
    /// What the answer comes with.
    pub token: CallToken,
    /// What is to be done.
    pub request: ControllerRequest,
}

/// What a call does, in the API's terms.
#[derive(Clone, Debug)]
pub enum ControllerRequest {
    /// POST of an object.
    Create(Object),
    /// POSTs of pods of a template.
    CreatePods {
        /// What they are like.
        template: PodTemplateRef,
        /// How many.
        count: u32,
    },
    /// PUT of an object. With a `metadata.resourceVersion` it is a conflict if the object has changed.
    Update(Object),
    /// PUT on the status subresource.
    UpdateStatus(Object),
    /// PATCH on nodes/status: the fields that the status has are replaced.
    PatchNodeStatus {
        /// The node's name.
        node: String,
        /// The fields.
        status: Box<NodeStatus>,
    },
    /// DELETE of an object that is no pod.
    Delete {
        /// Which.
        key: ObjectKey,
        /// Only if it still has this UID.
        uid: Option<String>,
    },
    /// PATCH on pods/status.
    PatchPodStatus {
        /// The pod; its UID is the precondition.
        pod: PodUid,
        /// A condition to be set.
        condition: Option<ConditionWrite>,
        /// What happens to the nomination.
        nomination: NominatedNodeNamePatch,
        /// The new phase.
        phase: Option<PodPhase>,
    },
    /// POST on pods/binding.
    BindPod(Binding),
    /// DELETE of a pod; its UID is the precondition.
    DeletePod(PodUid),
    /// POST on pods/eviction; its UID is the precondition.
    EvictPod(PodUid),
}

/// A condition that a controller sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionWrite {
    /// `type`, as in `DisruptionTarget`.
    pub type_: Cow<'static, str>,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`.
    pub reason: Cow<'static, str>,
    /// `message`.
    pub message: Cow<'static, str>,
}

/// What the API answered to a call that it took.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerAnswer {
    /// It is done, and there is nothing more to say.
    Done,
    /// The object as it is stored now.
    Object(Box<Object>),
    /// The pods that were made.
    Pods(CreatedPods),
    /// The resource version that the pod has now.
    Version(u64),
}

impl ControllerRequest {
    /// The pod that the call is about, if it is about one that exists.
    #[must_use]
    pub fn pod(&self) -> Option<PodUid> {
        match self {
            ControllerRequest::PatchPodStatus { pod, .. }
            | ControllerRequest::DeletePod(pod)
            | ControllerRequest::EvictPod(pod) => Some(*pod),
            ControllerRequest::BindPod(binding) => Some(binding.pod),
            _ => None,
        }
    }

    /// Performs the call now.
    pub fn perform(&self, api: &dyn Api) -> Result<ControllerAnswer, ApiError> {
        let object = |object| ControllerAnswer::Object(Box::new(object));
        let done = |()| ControllerAnswer::Done;
        match self {
            ControllerRequest::Create(it) => api.create(it.clone()).map(object),
            ControllerRequest::CreatePods { template, count } => {
                api.create_pods(template, *count).map(ControllerAnswer::Pods)
            }
            ControllerRequest::Update(it) => api.update(it.clone()).map(object),
            ControllerRequest::UpdateStatus(it) => api.update_status(it.clone()).map(object),
            ControllerRequest::PatchNodeStatus { node, status } => {
                api.patch_node_status(node, (**status).clone()).map(done)
            }
            ControllerRequest::Delete { key, uid } => api.delete(key, uid.as_deref()).map(done),
            ControllerRequest::PatchPodStatus { .. } => {
                api.patch_pod_status(self.status_patch().expect("it is one")).map(ControllerAnswer::Version)
            }
            ControllerRequest::BindPod(binding) => api.bind_pod(*binding).map(done),
            ControllerRequest::DeletePod(pod) => api.delete_pod(*pod).map(done),
            ControllerRequest::EvictPod(pod) => api.evict_pod(*pod).map(done),
        }
    }

    fn status_patch(&self) -> Option<PodStatusPatch<'_>> {
        let ControllerRequest::PatchPodStatus { pod, condition, nomination, phase } = self else {
            return None;
        };
        let condition = condition.as_ref().map(|it| {
            ConditionEdit::Set(ConditionPatch {
                type_: &it.type_,
                status: it.status,
                reason: &it.reason,
                message: &it.message,
            })
        });
        Some(PodStatusPatch { pod: *pod, condition, nomination: *nomination, phase: *phase })
    }
}

/// Which calls travel in one batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batch {
    PodStatus,
    Binding,
    PodDeletion,
    PodEviction,
    /// One by one.
    None,
}

impl ControllerCall {
    fn batch(&self) -> Batch {
        match self.request {
            ControllerRequest::PatchPodStatus { .. } => Batch::PodStatus,
            ControllerRequest::BindPod(_) => Batch::Binding,
            ControllerRequest::DeletePod(_) => Batch::PodDeletion,
            ControllerRequest::EvictPod(_) => Batch::PodEviction,
            _ => Batch::None,
        }
    }
}

/// Performs calls in their order, those of one kind that follow each other in one batch. Appends one
/// answer per call.
pub(crate) fn perform_all(
    calls: &[ControllerCall],
    api: &dyn Api,
    answers: &mut Vec<Result<ControllerAnswer, ApiError>>,
) {
    for run in calls.chunk_by(|one, next| one.batch() == next.batch()) {
        let done = |()| ControllerAnswer::Done;
        match run[0].batch() {
            Batch::PodStatus => {
                let patches: Vec<_> = run.iter().filter_map(|call| call.request.status_patch()).collect();
                let mut results = Vec::with_capacity(patches.len());
                api.patch_pod_status_batch(&patches, &mut results);
                answers.extend(results.into_iter().map(|it| it.map(ControllerAnswer::Version)));
            }
            Batch::Binding => {
                let binding = |call: &ControllerCall| match call.request {
                    ControllerRequest::BindPod(binding) => Some(binding),
                    _ => None,
                };
                let bindings: Vec<Binding> = run.iter().filter_map(binding).collect();
                let mut results = Vec::with_capacity(bindings.len());
                api.bind_batch(&bindings, &mut results);
                answers.extend(results.into_iter().map(|it| it.map(done)));
            }
            batch @ (Batch::PodDeletion | Batch::PodEviction) => {
                let pods: Vec<PodUid> = run.iter().filter_map(|call| call.request.pod()).collect();
                let mut results = Vec::with_capacity(pods.len());
                match batch {
                    Batch::PodEviction => api.evict_pods_batch(&pods, &mut results),
                    _ => api.delete_pods_batch(&pods, &mut results),
                }
                answers.extend(results.into_iter().map(|it| it.map(done)));
            }
            Batch::None => answers.extend(run.iter().map(|call| call.request.perform(api))),
        }
    }
}
