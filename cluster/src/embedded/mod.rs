//! The embedded cluster: an API server's store in this process.
//!
//! ```text
//!   callers ──> EmbeddedCluster ──lock──> State { pod rows, nodes, other objects, side tables }
//!                    │                      │ one event and one resource version per write
//!                 counters                 log ──> cursors of the watchers
//! ```
//!
//! One lock guards all; a batch takes it once. The pods of a template cost a row each, see
//! [`StoredPodRow`](crate::api::StoredPodRow). Nothing here reads a clock: the time comes from the function
//! that the cluster is built with, once per call.

mod api;
mod body;
mod calls;
mod conditions;
mod evictions;
mod followers;
mod log;
mod meta;
mod names;
mod nodes;
mod others;
mod parts;
mod pod_events;
mod pods;
mod quotas;
mod reclaim;
mod rows;
mod specs;
mod state;
mod watch;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use calls::Calls;
use meta::{
    check_preconditions, check_uid, has_finalizers, is_to_be_removed, keep_system_metadata, storage_key,
};
pub use parts::PodParts;
use schedlab_core::ids::PodUid;
use state::State;

use crate::api::GenericObject;
use crate::controllers::ControllerMutants;

/// Tells the time in nanoseconds since the epoch, real or virtual.
pub type NowNs = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The namespaces every cluster starts with.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A cluster in this process. Clones are handles on the same cluster.
#[derive(Clone)]
pub struct EmbeddedCluster {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Told of writes while somebody waits for them.
    changed: Condvar,
    /// Told of what concerns pods that run, while a follower waits for it.
    followed: Condvar,
    calls: Calls,
    now_ns: NowNs,
}

impl Shared {
    /// A panic under the lock is a bug that has been reported; readers may still look.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a write and wakes those who wait for one.
    fn write<T>(&self, write: impl FnOnce(&mut State, u64) -> T) -> T {
        let now_ns = (self.now_ns)();
        let mut state = self.lock();
        let (before, followed_before) = (state.log.last_version(), state.followers.taken_in());
        let result = write(&mut state, now_ns);
        state.write_quotas();
        state.reclaim_if_due();
        let must_wake = 0 < state.waiter_count && before < state.log.last_version();
        let must_wake_followers =
            0 < state.followers.waiter_count && followed_before < state.followers.taken_in();
        drop(state);
        if must_wake {
            self.changed.notify_all();
        }
        if must_wake_followers {
            self.followed.notify_all();
        }
        result
    }
}

impl EmbeddedCluster {
    /// An empty cluster, but for the namespaces that every cluster has. They are its first writes
    /// and do not count as calls.
    #[must_use]
    pub fn new(now_ns: NowNs) -> Self {
        let shared = Shared {
            state: Mutex::new(State::new()),
            changed: Condvar::new(),
            followed: Condvar::new(),
            calls: Calls::default(),
            now_ns,
        };
        shared.write(|state, now_ns| {
            for name in FIRST_NAMESPACES {
                let mut object = GenericObject {
                    api_version: "v1".to_owned(),
                    kind: "Namespace".to_owned(),
                    ..GenericObject::default()
                };
                object.metadata.name = Some(name.to_owned());
                state.create_other(object, now_ns).expect("the names differ");
            }
        });
        Self { shared: Arc::new(shared) }
    }

    /// A cluster of its own that begins as this one is now, versions and UIDs included; nobody watches it.
    #[must_use]
    pub fn copy(&self) -> EmbeddedCluster {
        let shared = Shared {
            state: Mutex::new(self.shared.lock().copy()),
            changed: Condvar::new(),
            followed: Condvar::new(),
            calls: Calls::default(),
            now_ns: Arc::clone(&self.shared.now_ns),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Keeps `requiredDuringSchedulingRequiredDuringExecution` of new pods, as an API server does
    /// with the gate `NodeAffinityRequiredDuringExecution` on.
    pub fn keep_execution_affinity(&self) {
        self.shared.lock().keeps_execution_affinity = true;
    }

    /// Leaves `nominatedNodeName` of bound pods alone, as an API server does with the gate
    /// `ClearingNominatedNodeNameAfterBinding` off.
    pub fn keep_nomination_of_bound_pods(&self) {
        self.shared.lock().clears_nomination_of_bound = false;
    }

    /// Gives admission a defect, for the simulator to find.
    pub fn give_mutants(&self, mutants: ControllerMutants) {
        self.shared.lock().mutants = mutants;
    }

    /// How many things must have come or gone before the store looks for names and bodies that nothing
    /// has any more.
    pub fn set_reclaim_floor(&self, things: u64) {
        self.shared.lock().pressure.set_floor(things);
    }

    /// Forgets names and bodies that nothing has any more, now. The store does so by itself once enough
    /// has come and gone.
    pub fn reclaim(&self) {
        self.shared.lock().reclaim();
    }

    /// The time, as the cluster tells it.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        (self.shared.now_ns)()
    }

    /// The version of the last write.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.shared.lock().log.last_version()
    }

    /// A pod has terminated: it is removed, whatever finalizers it has, as by a kubelet that deletes
    /// with a grace period of 0. Not a call of a client. Whether the pod existed.
    pub fn end_pod(&self, pod: PodUid) -> bool {
        self.shared.write(|state, _| state.end_pod(pod))
    }

    /// How many pods there are.
    #[must_use]
    pub fn pod_count(&self) -> usize {
        self.shared.lock().rows.live_count()
    }

    /// Heap bytes of pods, their side tables and the event log, counted from capacities. Nodes
    /// and other objects are not in it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.shared.lock().pod_memory_bytes()
    }
}
