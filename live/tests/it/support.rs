//! An API server, a client of it, and a scheduler on that client.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use schedlab_apiserver::{ApiServer, ServeOptions, load_fake_nodes};
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api as _, Object, ObjectKey};
use schedlab_cluster::clock::unix_ns;
use schedlab_cluster::runtime::WallRuntime;
use schedlab_cluster::runtime::record::NoRecorder;
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::scheduler::{EventLevel, Scheduler, SchedulerSettings};
use schedlab_core::world::World;
use schedlab_live::{CallLimit, Connection, KubeconfigChoice, LiveCaller, LiveCluster, LiveSettings};
use serde_json::{Value, json};

/// Tests that wait longer than this hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster and its API server.
pub(crate) struct Served {
    pub(crate) cluster: EmbeddedCluster,
    pub(crate) server: ApiServer,
}

pub(crate) fn serve(nodes: u32) -> Served {
    let cluster = EmbeddedCluster::new(Arc::new(unix_ns));
    load_fake_nodes(&cluster, nodes).expect("nodes");
    let server = ApiServer::start(cluster.clone(), ServeOptions::default()).expect("loopback");
    Served { cluster, server }
}

/// A kubeconfig that is removed when the test is over.
pub(crate) struct KubeconfigFile(PathBuf);

impl KubeconfigFile {
    pub(crate) fn new(text: &str) -> KubeconfigFile {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("schedlab-live-{}-{number}", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder can be written");
        KubeconfigFile(path)
    }

    pub(crate) fn open(&self) -> Arc<Connection> {
        let choice = KubeconfigChoice {
            file: self.0.clone(),
            context: None,
            user_agent: "schedlab-test/1".to_owned(),
        };
        Connection::open(&choice, 2).expect("the server answers")
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Served {
    pub(crate) fn connect(&self) -> Arc<Connection> {
        KubeconfigFile::new(&self.server.kubeconfig()).open()
    }

    pub(crate) fn live(&self) -> Arc<LiveCluster> {
        live(self.connect())
    }

    /// Creates an object of any kind.
    pub(crate) fn create(&self, object: Value) {
        let object = Object::from_json(object).expect("an object");
        self.cluster.create(object).expect("the store takes it");
    }

    pub(crate) fn pod(&self, name: &str) -> Value {
        let key = ObjectKey::pod("default", name);
        let pod = self.cluster.get(&key).expect("the pod is there").into_pod().expect("a pod");
        serde_json::to_value(pod).expect("a pod has a JSON form")
    }

    /// Waits until this holds.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        wait_for(what, holds);
    }
}

pub(crate) fn live(connection: Arc<Connection>) -> Arc<LiveCluster> {
    let settings = LiveSettings { limit: CallLimit::None, identity: "here".to_owned() };
    let live = LiveCluster::start(connection, &settings).expect("kinds are served");
    let begun = Instant::now();
    assert!(live.wait_synced(&|| begun.elapsed() < PATIENCE), "{:?}", live.troubles());
    live
}

#[track_caller]
pub(crate) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A scheduler with default plugins.
pub(crate) fn schedule(live: &Arc<LiveCluster>) -> WallRuntime<NoRecorder, NoRecorder> {
    let mut world = World::default();
    let profiles = vec![default_profile(&mut world.vocabulary)];
    let settings = SchedulerSettings { events: EventLevel::All, ..SchedulerSettings::default() };
    let scheduler =
        Scheduler::with_settings(world, profiles, EngineSettings::default(), settings).expect("gates");
    let caller = Arc::new(LiveCaller::new(Arc::clone(live), false));
    let api = Arc::clone(live) as Arc<dyn schedlab_cluster::Api>;
    WallRuntime::start_beside(api, scheduler, 1, (NoRecorder, NoRecorder), caller).expect("threads")
}

pub(crate) fn web_pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
    })
}

pub(crate) fn small_node(name: &str) -> Value {
    let room = json!({"cpu": "1", "memory": "4Gi", "pods": "10"});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": room, "capacity": room},
    })
}
