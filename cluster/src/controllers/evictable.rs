//! Which pods may be moved: those that somebody makes again, and that nobody holds where they are.
//!
//! Upstream: kubernetes-sigs/descheduler pkg/framework/plugins/defaultevictor/defaultevictor.go `Filter`,
//! `PreEvictionFilter`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Volume;
use schedlab_core::input::LabelSelectorInput;

use super::cluster_view::{ClusterView, PodView};
use super::{ControllerMutant, ControllerMutants};
use crate::api::PodPhase;
use crate::selector;

/// Upstream: pkg/apis/scheduling/types.go `SystemCriticalPriority`.
const SYSTEM_CRITICAL: i32 = 2_000_000_000;
const MIRROR: &str = "kubernetes.io/config.mirror";
const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
/// Whoever sets it wants the pod to be evictable.
const EVICT: &str = "descheduler.alpha.kubernetes.io/evict";

/// Up to which priority pods may be evicted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PriorityThreshold {
    /// Below what the system needs.
    #[default]
    SystemCritical,
    /// Below this.
    Value(i32),
    /// Below that of this PriorityClass.
    Class(String),
}

/// What may be evicted.
#[derive(Clone, Debug, Default)]
pub(super) struct Evictor {
    pub(super) system_critical: bool,
    pub(super) failed_bare: bool,
    pub(super) local_storage: bool,
    pub(super) daemon_sets: bool,
    pub(super) ignores_claims: bool,
    pub(super) node_fit: bool,
    pub(super) min_replicas: u64,
    pub(super) min_age_ns: u64,
    pub(super) threshold: PriorityThreshold,
    pub(super) selector: Option<LabelSelectorInput>,
}

/// What the cluster says beside its nodes and pods.
pub(super) struct Surroundings<'a> {
    /// Values by the names of PriorityClasses.
    pub(super) priorities: &'a BTreeMap<String, i32>,
    pub(super) now_ns: u64,
    pub(super) mutants: ControllerMutants,
}

impl Evictor {
    /// Whether a pod may be evicted.
    pub(super) fn may_evict(
        &self,
        pod: usize,
        view: &mut ClusterView<'_>,
        around: &Surroundings<'_>,
    ) -> bool {
        self.is_evictable(&view.pods[pod], around)
            && self.has_replicas(pod, view)
            && (!self.node_fit || view.other_place(pod).is_some())
    }

    fn is_evictable(&self, pod: &PodView, around: &Surroundings<'_>) -> bool {
        if pod.is_taken || is_static(pod) {
            return false;
        }
        if pod.annotation(EVICT).is_some() {
            return true;
        }
        self.comes_back(pod, around)
            && self.is_below_threshold(pod, around)
            && self.volumes_let(pod)
            && around.now_ns.saturating_sub(pod.row.created_ns) >= self.min_age_ns
            && self.selector.as_ref().is_none_or(|it| selector::matches(it, &pod.input().labels))
    }

    /// A pod that nobody owns is gone for good, and that of a daemon comes back where it was.
    fn comes_back(&self, pod: &PodView, around: &Surroundings<'_>) -> bool {
        match &pod.input().controller {
            Some(owner) => owner.kind != "DaemonSet" || self.daemon_sets,
            None if around.mutants.has(ControllerMutant::BarePodIsMoved) => true,
            None => self.failed_bare && pod.row.phase == PodPhase::Failed,
        }
    }

    fn is_below_threshold(&self, pod: &PodView, around: &Surroundings<'_>) -> bool {
        let threshold = match &self.threshold {
            PriorityThreshold::SystemCritical => SYSTEM_CRITICAL,
            PriorityThreshold::Value(value) => *value,
            PriorityThreshold::Class(name) => around.priorities.get(name).copied().unwrap_or(SYSTEM_CRITICAL),
        };
        self.system_critical || pod.input().priority < threshold
    }

    fn volumes_let(&self, pod: &PodView) -> bool {
        let volumes = pod.object().spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
        let is_local = |volume: &Volume| volume.host_path.is_some() || volume.empty_dir.is_some();
        let has_claim = |volume: &Volume| volume.persistent_volume_claim.is_some();
        (self.local_storage || !volumes.iter().any(is_local))
            && !(self.ignores_claims && volumes.iter().any(has_claim))
    }

    fn has_replicas(&self, pod: usize, view: &ClusterView<'_>) -> bool {
        let owner = view.pods[pod].input().controller.as_ref();
        let Some(owner) = owner.filter(|_| 1 < self.min_replicas) else { return true };
        self.min_replicas <= view.replicas(&owner.uid) as u64
    }
}

/// The kubelet has it from elsewhere than the API.
fn is_static(pod: &PodView) -> bool {
    pod.annotation(MIRROR).is_some() || pod.annotation(CONFIG_SOURCE).is_some_and(|source| source != "api")
}
