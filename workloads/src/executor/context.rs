//! What an op works with: the cluster, the scheduler beside it, the clock, the meters, whoever watches, and
//! what earlier ops left behind.
//!
//! | An op wants | It asks |
//! | --- | --- |
//! | the API | [`OpContext::cluster`], `ensure_namespace`, `create_namespace` |
//! | to wait | `wait_scheduled`, `wait_selected`, `sleep`, `deadline`, `ticks`: its clock, real or virtual |
//! | to go on in the background | `start_background` |
//! | to measure | `start_collecting`, `start_collecting_pods`, `stop_collecting`, `creating` |
//! | to profile | `start_profile`, `stop_profile` |
//! | to know whether it should end | `is_interrupted`, of the run |
//! | to say how far it is | `control.progress` |
//!
//! Params and templates are values by then: [`crate::ops`] resolved them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::api::{Api, GenericObject, Object};
use schedlab_cluster::{EmbeddedCluster, StatusReason};

use super::background::BackgroundJob;
use super::collect::Collecting;
use super::error::OpError;
use super::outcome::{Collected, Ending};
use super::restart::SchedulerMaker;
use super::runtime::Runtime;
use super::tally::{HeldAtRestart, OpTally};
use super::{Control, objects};
use crate::ops::{OpSupport, ResolvedOp};

/// What an op works with.
pub struct OpContext<'a> {
    /// Where objects are.
    pub(crate) cluster: Arc<EmbeddedCluster>,
    /// The scheduler and what goes on beside it, on the wall clock or in virtual time.
    pub(super) runtime: Runtime,
    /// What the caller wants (go on or stop), and where progress is reported.
    pub(crate) control: Control<'a>,
    pub(super) op: OpPosition,
    /// Pods that somebody may still have to wait for, by namespace.
    pub(crate) awaited: BTreeMap<String, u64>,
    /// Nodes that ops have created.
    pub(crate) node_count: u64,
    /// Names of nodes that were given out.
    pub(crate) node_names: u64,
    /// What every node declares.
    pub(crate) declared_features: Vec<String>,
    /// The feature gate `GenericWorkload`: the API server serves pod groups.
    pub(crate) serves_pod_groups: bool,
    /// A pod may be in backoff for so long.
    pub(super) backoff_max: Duration,
    pub(super) collecting: Option<Collecting>,
    pub(super) collected: Vec<Collected>,
    /// The file of the profile under way.
    pub(super) profiled: Option<String>,
    /// What ops count, by opcode.
    pub(super) tallies: Vec<(&'static str, OpTally)>,
    /// Makes the next scheduler.
    pub(super) maker: SchedulerMaker<'a>,
    pub(super) held_at_restart: Vec<HeldAtRestart>,
}

/// The op that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpPosition {
    index: usize,
    pub(super) opcode: &'static str,
}

impl OpPosition {
    /// Before any op runs.
    pub(super) const FIRST: OpPosition = OpPosition { index: 0, opcode: "" };
}

impl fmt::Debug for OpContext<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, awaited, node_count, .. } = self;
        let mut debug = formatter.debug_struct("OpContext");
        debug
            .field("op", op)
            .field("awaited", awaited)
            .field("node_count", node_count)
            .finish_non_exhaustive()
    }
}

impl OpContext<'_> {
    /// Runs an op. Whoever selects workloads has asked whether it can run.
    pub(super) fn run_op(&mut self, index: usize, op: &dyn ResolvedOp) -> Result<Ending, OpError> {
        let opcode = op.opcode();
        self.op = OpPosition { index, opcode };
        match op.support() {
            OpSupport::Runs(op) => op.run(self),
            OpSupport::NotYet(_) => Err(OpError::Unsupported { opcode }),
        }
    }

    /// The number of the op among the workload's resolved ops, from 0.
    pub(crate) fn op_index(&self) -> usize {
        self.op.index
    }

    /// Goes on with a job of this op while later ops run. What goes wrong in it ends the workload.
    pub(crate) fn start_background(&mut self, job: BackgroundJob) {
        let OpPosition { index, opcode } = self.op;
        self.runtime.start_job((index, opcode), job);
    }

    /// Creates a namespace unless an op did; pods in it may be waited for.
    pub(crate) fn ensure_namespace(&mut self, name: &str) -> Result<(), OpError> {
        if !self.awaited.contains_key(name) {
            let mut object = objects::namespace();
            object.metadata.name = Some(name.to_owned());
            self.create_namespace(object)?;
            self.awaited.insert(name.to_owned(), 0);
        }
        Ok(())
    }

    /// Creates a namespace; one that is there already is no error.
    pub(crate) fn create_namespace(&self, object: GenericObject) -> Result<(), OpError> {
        match self.cluster.create(Object::Other(Box::new(object))) {
            Err(error) if error.reason != StatusReason::AlreadyExists => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Upstream: nodedeclaredfeatures/node_declared_features_test.go gives every node so many
    /// features.
    /// Not built: there, pods with resources of their own need all of them. Here no pod does: the
    /// features that pods need are those of the release, and a plugin cannot be taught others.
    pub(super) fn declare_features(&mut self, count: Option<i64>) {
        self.declared_features = (1..=count.unwrap_or(0)).map(|number| format!("Feature{number}")).collect();
        self.declared_features.sort();
    }
}
