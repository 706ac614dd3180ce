//! What a workload's run leaves behind.

use std::collections::BTreeMap;

use schedlab_cluster::controllers::ControllerReport;
use schedlab_core::binding::DispatchCounts;
use schedlab_core::scheduler::PreEnqueueStatusCounts;

use crate::measure::Readings;
use crate::results::{Conditions, ExtenderCalls, UnderTestUsage};

/// How a workload ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All ops ran.
    Completed,
    /// Somebody interrupted it.
    Interrupted,
    /// Pods that an op waits for will never be scheduled; the text says which and why.
    Stuck(String),
}

/// One measured part.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The measured namespace.
    pub collector: String,
    /// When measuring began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
    /// Pods created in it.
    pub created: u64,
    /// Pods of its namespace that are on a node at the end, less those before.
    pub scheduled: u64,
    /// Pods of its namespaces, whenever they were created, that are on no node at the end.
    pub pending: u64,
    /// What the threads recorded.
    pub readings: Readings,
    /// API calls in it.
    pub calls: BTreeMap<String, u64>,
    /// Scheduling attempts in it.
    pub attempts: u64,
    /// What the scheduler under test took in it.
    pub under_test: Option<UnderTestUsage>,
}

/// All that a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its measured parts, in order; the last one is incomplete unless the run completed.
    pub collected: Vec<Collected>,
    /// What each controller did, in the order in which they were started.
    pub controllers: Vec<ControllerReport>,
    /// How calls of extenders went.
    pub extenders: Vec<ExtenderCalls>,
    /// Nodes at the end.
    pub node_count: u64,
    /// Pods at the end.
    pub pod_count: u64,
    /// Calls of the scheduler that failed.
    pub failed_calls: u64,
    /// Bytes the store holds for pods.
    pub store_bytes: u64,
    /// Bytes the scheduler holds for nodes, and for pods.
    pub engine_bytes: (usize, usize),
    /// What became of the scheduler's calls on their way to the API.
    pub dispatched: DispatchCounts,
    /// What became of rejections before the queue (KEP-5501).
    pub gates: PreEnqueueStatusCounts,
}
