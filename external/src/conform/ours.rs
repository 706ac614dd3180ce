//! Our decision: our scheduler in virtual time on a cluster of these objects, and why by `explain`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use schedlab_apiserver::load;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Object, ObjectKey, PodFilter, StoredPodRow, parse_pod_uid};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::virtual_time::VirtualClock;
use schedlab_cluster::runtime::{VirtualRuntime, VirtualSettings, VirtualStep};
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::ids::PodUid;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, FeatureGates, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_workloads::executor::{RunSettings, TimeMode, make_for_network};
use schedlab_workloads::explain::{AskedPod, ExplainSetup, Manifest, Subject};
use schedlab_workloads::lab_plugins;
use serde_json::Value;

use super::decision::{ConformDecision, OurDecision};

/// kube-scheduler as it is, gaps included.
const SETTINGS: RunSettings = RunSettings {
    threads: 1,
    parallelism: None,
    percentage_of_nodes_to_score: None,
    seed: 0,
    class_cache: ClassCache::Off,
    pod_counting: PodCounting::Kept,
    link: LinkSettings::INSTANT,
    nominated_node_name: WriteNominatedNodeName::WhenNeeded,
    nominated_node_name_miss: NominatedNodeNameMiss::FallThrough,
    known_gaps: KnownGaps::Upstream,
    events: EventLevel::Off,
    time: TimeMode::Virtual { cycle_ns: CYCLE_NS },
};
const CYCLE_NS: u64 = 1_000_000;
const BEGIN_NS: u64 = 1_700_000_000_000_000_000;
/// Preemption deletes, and backoff goes by, well within this time.
const PREEMPTION_WITHIN_NS: u64 = 30_000_000_000;

/// The objects as the store reads them.
pub(super) fn objects_of(values: &[Value]) -> Result<Vec<Object>, String> {
    let read = |value: &Value| Object::from_json(value.clone()).map_err(|error| error.to_string());
    values.iter().map(read).collect()
}

/// Puts an object into a store. Namespaces may be there already; they get these labels.
pub(super) fn put(cluster: &EmbeddedCluster, value: &Value) -> Result<(), String> {
    let object = Object::from_json(value.clone()).map_err(|error| error.to_string())?;
    if object.kind() == "Namespace" && cluster.get(&object.key()).is_ok() {
        return cluster.update(object).map(drop).map_err(|error| error.to_string());
    }
    load(cluster, vec![object]).map(drop).map_err(|error| error.to_string())
}

/// Decides about a pod.
pub(super) fn decide(cluster_objects: &[Value], pod: &Value) -> Result<OurDecision, String> {
    let decision = run(cluster_objects, pod)?;
    let (tied, totals) = totals(cluster_objects, pod)?;
    Ok(OurDecision { decision, tied, totals })
}

/// The nodes with the highest total, and the totals.
#[allow(clippy::type_complexity, reason = "two lists, taken apart at once")]
fn totals(cluster_objects: &[Value], pod: &Value) -> Result<(Vec<String>, Vec<(String, i64)>), String> {
    let registry = lab_plugins::registry();
    let setup =
        ExplainSetup { source: "conform", gates: FeatureGates::default(), config: None, registry: &registry };
    let manifest = |object| Manifest { path: PathBuf::new(), object, ignored_fields: Vec::new() };
    let manifests = objects_of(cluster_objects)?.into_iter().map(manifest).collect();
    let Some(pod) = Object::from_json(pod.clone()).ok().and_then(Object::into_pod) else {
        return Err("the pod is none".to_owned());
    };
    let asked = AskedPod { path: PathBuf::new(), pod: *pod, ignored_fields: Vec::new() };
    let report = Subject::new(manifests, asked, &setup).map_err(|error| error.to_string())?.explain();
    let tied = report.winner().map(|winner| winner.tied.clone()).unwrap_or_default();
    let totals = report.nodes.iter().filter_map(|node| Some((node.name.clone(), node.total?))).collect();
    Ok((tied, totals))
}

fn run(cluster_objects: &[Value], pod: &Value) -> Result<ConformDecision, String> {
    let clock = VirtualClock::default();
    clock.set(BEGIN_NS);
    let cluster = EmbeddedCluster::new(clock.reader());
    cluster_objects.iter().try_for_each(|value| put(&cluster, value))?;
    let api: Arc<dyn Api> = Arc::new(cluster.clone());
    let refused = |error: schedlab_cluster::ApiError| error.to_string();
    let scheduler = make_for_network(SETTINGS, None, FeatureGates::default(), &lab_plugins::registry(), &api)
        .map_err(|error| error.to_string())?;
    let virtual_settings = VirtualSettings { link: LinkSettings::INSTANT, cycle_ns: CYCLE_NS };
    let mut runtime =
        VirtualRuntime::start(api, clock, scheduler, Vec::new(), virtual_settings, 0).map_err(refused)?;
    while !runtime.is_settled(cluster.resource_version())
        && runtime.step(Some(BEGIN_NS)).map_err(refused)? == VirtualStep::Worked
    {}
    let mut follower = Follower::create(&cluster, pod)?;
    let end_ns = runtime.now_ns() + PREEMPTION_WITHIN_NS;
    while !follower.look(&cluster) && runtime.now_ns() < end_ns {
        if runtime.step(Some(end_ns)).map_err(refused)? == VirtualStep::Nothing {
            break;
        }
    }
    Ok(follower.decision(&cluster))
}

/// Follows what becomes of a pod.
pub(super) struct Follower {
    pod: PodUid,
    before: BTreeSet<String>,
    message: Option<String>,
    node: Option<String>,
}

impl Follower {
    /// Creates the pod.
    pub(super) fn create(cluster: &EmbeddedCluster, pod: &Value) -> Result<Follower, String> {
        let before = pods_on_nodes(cluster);
        let object = Object::from_json(pod.clone()).map_err(|error| error.to_string())?;
        let created = cluster.create(object).map_err(|error| error.to_string())?;
        let uid = created.metadata().uid.as_deref().and_then(parse_pod_uid);
        let pod = uid.ok_or("the store gave the pod no UID")?;
        Ok(Follower { pod, before, message: None, node: None })
    }

    /// Looks once more; whether nothing more will become of it.
    pub(super) fn look(&mut self, cluster: &EmbeddedCluster) -> bool {
        let Some(row) = cluster.pod_row(self.pod) else { return true };
        if self.message.is_none() {
            self.message = message(cluster, &row);
        }
        self.node = row.node.map(|node| cluster.node_name(node).to_string());
        // A nominated pod goes on.
        self.node.is_some() || (self.message.is_some() && row.nominated.is_none())
    }

    /// What became of it.
    pub(super) fn decision(&self, cluster: &EmbeddedCluster) -> ConformDecision {
        let now = pods_on_nodes(cluster);
        ConformDecision {
            node: self.node.clone(),
            message: self.message.clone(),
            victims: self.before.difference(&now).cloned().collect(),
        }
    }
}

fn message(cluster: &EmbeddedCluster, row: &StoredPodRow) -> Option<String> {
    let conditions = cluster.pod_conditions(row.conditions);
    let scheduled = conditions.iter().find(|condition| &*condition.type_ == "PodScheduled")?;
    let is_false = scheduled.status == schedlab_cluster::api::ConditionStatus::False;
    is_false.then(|| scheduled.message.to_string())
}

fn pods_on_nodes(cluster: &EmbeddedCluster) -> BTreeSet<String> {
    let rows = cluster.pods_now(PodFilter::default());
    let name = |row: &StoredPodRow| {
        format!("{}/{}", cluster.namespace_name(row.namespace), cluster.pod_name(row.name))
    };
    rows.iter().filter(|row| row.node.is_some()).map(name).collect()
}

/// Where a pod is found.
pub(super) fn pod_key(pod: &Value) -> ObjectKey {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap_or("default");
    ObjectKey::pod(text("namespace"), text("name"))
}
