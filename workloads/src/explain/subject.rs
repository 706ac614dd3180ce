//! What is explained: a scheduler that was told about the cluster as a watch would tell it, and a
//! pod that is on no node.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod, PodStatus};
use schedlab_cluster::api::{Api, EventKind, GenericObject, NodeEntry, Object, WatchEvent, WatchedObject};
use schedlab_cluster::convert::{EXECUTION_AFFINITY, node_input};
use schedlab_cluster::defaults::default_node;
use schedlab_cluster::runtime::Bridge;
use schedlab_cluster::validate::{validate_node, validate_other};
use schedlab_cluster::{ApiError, EmbeddedCluster};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::Registry;
use schedlab_core::ids::{ClassId, PodUid};
use schedlab_core::input::PodInput;
use schedlab_core::scheduler::{FeatureGates, Scheduler};
use schedlab_core::world::World;

use super::error::ExplainError;
use super::ignored::{IgnoredField, IgnoredKind, IgnoredKinds};
use super::manifests::{AskedPod, Manifest};
use super::report::{ExplainedPod, Question, Report};
use crate::scheduler_config::SchedulerConfig;
use crate::suggest::closest_of;

/// Time does not pass while a question is answered.
const NOW_NS: u64 = 0;

/// How a question about manifests is asked.
#[derive(Clone, Copy, Debug)]
pub struct ExplainSetup<'a> {
    /// What the manifests are called.
    pub source: &'a str,
    /// Feature gates.
    pub gates: FeatureGates,
    /// The scheduler's configuration; the default profile if absent.
    pub config: Option<&'a SchedulerConfig>,
    /// The plugins that a configuration may name.
    pub registry: &'a Registry,
}

/// What an answer does not take into account.
#[derive(Clone, Debug, Default)]
pub struct UnusedObjects {
    /// Fields of the pod.
    pub fields: Vec<IgnoredField>,
    /// Objects of the cluster.
    pub kinds: Vec<IgnoredKind>,
    /// Anything else, in sentences.
    pub warnings: Vec<String>,
}

/// A cluster and a pod.
pub struct Subject {
    scheduler: Scheduler,
    /// Knows the names of pods.
    cluster: EmbeddedCluster,
    class: ClassId,
    pod: ExplainedPod,
    source: String,
    left_out: UnusedObjects,
}

/// A scheduler with the profiles of a configuration, or with the default one.
pub(super) fn scheduler_of(
    config: Option<&SchedulerConfig>,
    registry: &Registry,
) -> Result<Scheduler, ExplainError> {
    let Some(config) = config else { return Ok(Scheduler::new(EngineSettings::default(), 0)) };
    let mut world = World::default();
    let profiles = config.build(registry, &mut world.vocabulary)?;
    Ok(Scheduler::with_profiles(world, profiles, EngineSettings::default()))
}

/// What a configuration has that an answer leaves out.
pub(super) fn config_warnings(config: Option<&SchedulerConfig>) -> Vec<String> {
    let count = config.map_or(0, |config| config.extenders.len());
    let warning = || format!("{count} extender(s) of the scheduler configuration are not asked");
    (count > 0).then(warning).into_iter().collect()
}

impl Subject {
    /// Asks about the pod `wanted` (`namespace/name`, or a name in `default`) among the manifests.
    /// If it is on a node, it is taken off first.
    pub fn from_manifests(
        mut manifests: Vec<Manifest>,
        wanted: &str,
        setup: &ExplainSetup<'_>,
    ) -> Result<Subject, ExplainError> {
        let (namespace, name) = wanted.split_once('/').unwrap_or(("default", wanted));
        let is_wanted = |manifest: &Manifest| {
            let metadata = manifest.object.metadata();
            matches!(manifest.object, Object::Pod(_))
                && metadata.name.as_deref() == Some(name)
                && metadata.namespace.as_deref().unwrap_or("default") == namespace
        };
        let Some(at) = manifests.iter().position(is_wanted) else {
            return Err(pod_not_found(&manifests, wanted));
        };
        let Manifest { path, object, ignored_fields } = manifests.remove(at);
        let pod = *object.into_pod().expect("only pods are wanted");
        Subject::new(manifests, AskedPod { path, pod, ignored_fields }, setup)
    }

    /// Asks about a pod that is not in the cluster. One of the same name that is, is left out.
    pub fn new(
        mut manifests: Vec<Manifest>,
        asked: AskedPod,
        setup: &ExplainSetup<'_>,
    ) -> Result<Subject, ExplainError> {
        let AskedPod { path, pod, ignored_fields } = asked;
        let namespace_of = |pod: &Pod| pod.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let key = (namespace_of(&pod), pod.metadata.name.clone());
        manifests.retain(|manifest| match &manifest.object {
            Object::Pod(other) => {
                key.1.is_none() || (namespace_of(other), other.metadata.name.clone()) != key
            }
            _ => true,
        });
        let mut loader = Loader::new(setup)?;
        loader.load(manifests)?;
        if loader.node_count == 0 {
            return Err(ExplainError::NoNodes { from: setup.source.to_owned() });
        }
        let bound_to =
            pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).filter(|node| !node.is_empty());
        let name =
            pod.metadata.name.clone().or_else(|| Some(format!("{}*", pod.metadata.generate_name.as_ref()?)));
        let (input, namespace) =
            loader.admit(pod).map_err(|(object, source)| ExplainError::Refused { path, object, source })?;
        let pod = ExplainedPod::of(&input, namespace, name.unwrap_or_default(), bound_to);
        let Loader { scheduler, cluster, ignored, .. } = loader;
        let left_out = UnusedObjects {
            fields: ignored_fields,
            kinds: ignored.into_list(),
            warnings: config_warnings(setup.config),
        };
        let source = setup.source.to_owned();
        Ok(Subject::of(LoadedCluster { scheduler, cluster, source, left_out }, &input, pod))
    }

    pub(super) fn of(told: LoadedCluster, input: &Arc<PodInput>, pod: ExplainedPod) -> Subject {
        let LoadedCluster { mut scheduler, cluster, source, left_out } = told;
        let class = scheduler.compile(input);
        scheduler.settle();
        Subject { scheduler, cluster, class, pod, source, left_out }
    }

    /// The answer.
    #[must_use]
    pub fn explain(&mut self) -> Report {
        let Subject { scheduler, cluster, class, pod, source, left_out } = self;
        let name_of = |uid: PodUid| pod_name(cluster, uid);
        Report::make(scheduler, &Question { class: *class, pod, source, left_out, name_of: &name_of })
    }
}

/// A scheduler that was told of a cluster.
pub(super) struct LoadedCluster {
    pub(super) scheduler: Scheduler,
    pub(super) cluster: EmbeddedCluster,
    pub(super) source: String,
    pub(super) left_out: UnusedObjects,
}

fn pod_name(cluster: &EmbeddedCluster, uid: PodUid) -> String {
    let Some(row) = cluster.pod_row(uid) else { return "a pod that is gone".to_owned() };
    format!("{}/{}", cluster.namespace_name(row.namespace), cluster.pod_name(row.name))
}

fn pod_not_found(manifests: &[Manifest], wanted: &str) -> ExplainError {
    let names: Vec<String> = manifests
        .iter()
        .filter(|manifest| matches!(manifest.object, Object::Pod(_)))
        .map(|manifest| {
            let metadata = manifest.object.metadata();
            let namespace = metadata.namespace.as_deref().unwrap_or("default");
            format!("{namespace}/{}", metadata.name.as_deref().unwrap_or_default())
        })
        .collect();
    // The name alone is what people remember; the namespace is what they forget.
    let short = wanted.rsplit('/').next().unwrap_or(wanted);
    let mut suggestions: Vec<String> =
        names.iter().filter(|name| name.rsplit('/').next() == Some(short)).take(3).cloned().collect();
    if suggestions.is_empty() {
        let full = if wanted.contains('/') { wanted.to_owned() } else { format!("default/{wanted}") };
        suggestions = closest_of(&full, names.iter().map(String::as_str), 1);
    }
    ExplainError::PodNotFound { wanted: wanted.to_owned(), count: names.len(), suggestions }
}

/// Tells a scheduler about objects. Pods go through the embedded API, because the scheduler knows
/// them by its rows; all else is handed over as it is, so that UIDs and statuses stay true.
struct Loader {
    cluster: EmbeddedCluster,
    scheduler: Scheduler,
    bridge: Bridge,
    node_count: usize,
    ignored: IgnoredKinds,
}

impl Loader {
    /// Of the gates, those that change what the API keeps of a pod matter: no pod waits here, and
    /// no call is made.
    fn new(setup: &ExplainSetup<'_>) -> Result<Loader, ExplainError> {
        let cluster = EmbeddedCluster::new(Arc::new(|| NOW_NS));
        if setup.gates.node_affinity_required_during_execution {
            cluster.keep_execution_affinity();
        }
        Ok(Loader {
            cluster,
            scheduler: scheduler_of(setup.config, setup.registry)?,
            bridge: Bridge::default(),
            node_count: 0,
            ignored: IgnoredKinds::default(),
        })
    }

    fn load(&mut self, manifests: Vec<Manifest>) -> Result<(), ExplainError> {
        let mut watch = self.cluster.watch(self.cluster.resource_version())?;
        let mut pods = Vec::new();
        for Manifest { path, object, .. } in manifests {
            let label = label(&object);
            let refused = |source| ExplainError::Refused { path: path.clone(), object: label, source };
            match object {
                Object::Pod(pod) => pods.push((path, *pod)),
                Object::Node(node) => self.node(*node).map_err(refused)?,
                Object::Other(other) => self.other(*other).map_err(refused)?,
            }
        }
        for (path, pod) in pods {
            let object = format!("Pod {}", pod.metadata.name.as_deref().unwrap_or_default());
            self.pod(pod).map_err(|source| ExplainError::Refused { path, object, source })?;
        }
        let mut events = Vec::new();
        watch.drain_into(&mut events)?;
        for event in &events {
            self.bridge.deliver(event, &self.cluster, &mut self.scheduler, NOW_NS);
        }
        Ok(())
    }

    fn node(&mut self, mut node: Node) -> Result<(), ApiError> {
        default_node(&mut node);
        let name = node.metadata.name.clone().unwrap_or_default();
        validate_node(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
        let input = node_input(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
        self.node_count += 1;
        let entry = NodeEntry {
            name: self.cluster.node_name_id(&name),
            resource_version: 0,
            input: Arc::new(input),
            object: Arc::new(node),
        };
        self.apply(WatchedObject::Node(Arc::new(entry)));
        Ok(())
    }

    fn other(&mut self, mut other: GenericObject) -> Result<(), ApiError> {
        if !self.ignored.is_read(&other) {
            return Ok(());
        }
        match other.kind.as_str() {
            // Pods are checked against these on their way in.
            "Namespace" | "PriorityClass" => {
                other.metadata.uid = None;
                other.metadata.resource_version = None;
                other.metadata.deletion_timestamp = None;
                other.body.remove("status");
                created(self.cluster.create(Object::Other(Box::new(other))))
            }
            _ => {
                let name = other.metadata.name.as_deref().unwrap_or_default();
                validate_other(&other).map_err(|error| ApiError::invalid(&other.kind, name, error))?;
                self.apply(WatchedObject::Other(Arc::new(other)));
                Ok(())
            }
        }
    }

    fn apply(&mut self, object: WatchedObject) {
        let event = WatchEvent { kind: EventKind::Added, object };
        self.bridge.deliver(&event, &self.cluster, &mut self.scheduler, NOW_NS);
    }

    fn pod(&mut self, mut pod: Pod) -> Result<(), ApiError> {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            self.ignored.finished_pod();
            return Ok(());
        }
        let namespace = self.prepare(&mut pod)?;
        let is_terminating = pod.metadata.deletion_timestamp.take().is_some();
        if is_terminating {
            // A finalizer keeps the pod while it is being deleted.
            pod.metadata.finalizers = Some(vec!["schedlab/terminating".to_owned()]);
        }
        let status = pod.status.take().and_then(scheduling_status);
        let Object::Pod(mut stored) = self.cluster.create(Object::Pod(Box::new(pod)))? else {
            unreachable!("a pod was created")
        };
        let name = stored.metadata.name.clone().unwrap_or_default();
        if let Some(mut status) = status {
            stored.metadata.resource_version = None;
            status.phase = stored.status.as_ref().and_then(|status| status.phase.clone());
            stored.status = Some(status);
            self.cluster.update_status(Object::Pod(stored))?;
        }
        if is_terminating {
            self.cluster.delete(&schedlab_cluster::api::ObjectKey::pod(&namespace, &name), None)?;
        }
        Ok(())
    }

    /// Defaults and admits the pod in question, as the API would on its creation.
    fn admit(&mut self, mut pod: Pod) -> Result<(Arc<PodInput>, String), (String, ApiError)> {
        let object = format!("Pod {}", pod.metadata.name.as_deref().unwrap_or_default());
        let named = |error| (object.clone(), error);
        let namespace = self.prepare(&mut pod).map_err(named)?;
        if pod.metadata.name.is_none() && pod.metadata.generate_name.is_none() {
            pod.metadata.generate_name = Some("pod-".to_owned());
        }
        pod.metadata.deletion_timestamp = None;
        let template = self.cluster.pod_template(pod, &namespace).map_err(named)?;
        Ok((Arc::clone(&template.input), namespace))
    }

    /// Takes out what only a stored object has, and makes the pod's namespace.
    fn prepare(&self, pod: &mut Pod) -> Result<String, ApiError> {
        pod.metadata.resource_version = None;
        pod.metadata.managed_fields = None;
        if let Some(annotations) = &mut pod.metadata.annotations {
            annotations.retain(|key, _| key == EXECUTION_AFFINITY);
        }
        pod.metadata.uid = None;
        let spec = pod.spec.get_or_insert_default();
        if spec.priority.is_some() {
            // Resolved already; the class need not be among the manifests.
            spec.priority_class_name = None;
        }
        let namespace = pod.metadata.namespace.get_or_insert_with(|| "default".to_owned()).clone();
        let mut object =
            GenericObject { api_version: "v1".into(), kind: "Namespace".into(), ..Default::default() };
        object.metadata.name = Some(namespace.clone());
        created(self.cluster.create(Object::Other(Box::new(object))))?;
        Ok(namespace)
    }
}

fn created(result: Result<Object, ApiError>) -> Result<(), ApiError> {
    match result {
        Err(error) if error.reason != schedlab_cluster::StatusReason::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn label(object: &Object) -> String {
    format!("{} {}", object.kind(), object.metadata().name.as_deref().unwrap_or_default())
}

/// What scheduling reads of a pod's status; `None` when there is nothing of it. The rest would
/// make every pod different from its replicas.
fn scheduling_status(status: PodStatus) -> Option<PodStatus> {
    let mut conditions = status.conditions.unwrap_or_default();
    conditions.retain(|condition| condition.type_ == "PodResizePending");
    let resized = |statuses: Vec<ContainerStatus>| {
        let kept: Vec<ContainerStatus> = statuses
            .into_iter()
            .filter(|status| status.resources.is_some() || status.allocated_resources.is_some())
            .map(|status| ContainerStatus {
                name: status.name,
                resources: status.resources,
                allocated_resources: status.allocated_resources,
                ..ContainerStatus::default()
            })
            .collect();
        (!kept.is_empty()).then_some(kept)
    };
    let kept = PodStatus {
        conditions: (!conditions.is_empty()).then_some(conditions),
        nominated_node_name: status.nominated_node_name.filter(|node| !node.is_empty()),
        container_statuses: status.container_statuses.and_then(resized),
        init_container_statuses: status.init_container_statuses.and_then(resized),
        resources: status.resources,
        allocated_resources: status.allocated_resources,
        ..PodStatus::default()
    };
    (kept != PodStatus::default()).then_some(kept)
}
