//! What an opcode is to everybody else: a line of [`super::IN_TREE`], an op as written, an op ready to run.
//!
//! ```text
//! OpDescriptor::parse ──▶ dyn WrittenOp ──resolve(params, templates)──▶ dyn ResolvedOp ──support──▶ dyn RunOp
//! ```
//!
//! Every method is required, so that an opcode that lacks a part does not compile; whether it can run is
//! said by the value that runs it, so that the two cannot disagree.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::Node;

/// Reads an op from the node of a file.
pub(crate) type ParseOp = fn(file: &str, node: &Node) -> Result<Arc<dyn WrittenOp>, SchemaError>;

/// One opcode.
pub struct OpDescriptor {
    /// The name as it stands in a config file.
    pub opcode: &'static str,
    /// Reads an op of this opcode: only the fields it knows, each of its type.
    ///
    /// Upstream: the table in scheduler_perf.go `op.UnmarshalJSON`, and each op's `isValid`.
    pub(crate) parse: ParseOp,
}

impl fmt::Debug for OpDescriptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.opcode)
    }
}

/// An op as written: params are still names.
pub(crate) trait WrittenOp: Any + fmt::Debug + Send + Sync {
    /// Whether running this op ends in numbers. startCollectingMetrics alone does not.
    fn collects_metrics(&self) -> bool;

    /// What it does for one workload: itself with values for its params, or several ops.
    /// `number` is that of the first of them among the workload's resolved ops; namespaces without a name
    /// are called by it.
    ///
    /// Upstream: each op's `patchParams`; scheduler_perf.go `unrollWorkloadTemplate`.
    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, number: usize) -> Result<ResolvedOps, ResolveError>;
}

/// Ops ready to run, in order.
pub(crate) type ResolvedOps = Vec<Arc<dyn ResolvedOp>>;

/// The op itself, as what it resolves to.
pub(super) fn one(op: impl ResolvedOp) -> ResolvedOps {
    vec![Arc::new(op)]
}

/// A step ready to run: every param is a value, every template is loaded.
pub trait ResolvedOp: Any + fmt::Debug + Send + Sync {
    /// Which op this is.
    fn descriptor(&self) -> &'static OpDescriptor;

    /// What others want to know of it before it runs.
    fn facts(&self) -> OpFacts<'_>;

    /// Whether it can run, and what runs it.
    fn support(&self) -> OpSupport<'_>;
}

impl dyn ResolvedOp {
    /// Its name as it stands in a config file.
    pub fn opcode(&self) -> &'static str {
        self.descriptor().opcode
    }

    /// The op, if it is of this type.
    pub fn as_op<T: ResolvedOp>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// What an op says of itself before it runs.
#[derive(Clone, Debug)]
pub struct OpFacts<'a> {
    /// Nodes it creates, as far as they are listed.
    pub nodes: u32,
    /// Pods it creates, as far as they are listed.
    pub pods: u32,
    /// What it makes objects from, as far as that decides whether it can run.
    pub templates: Vec<&'a ObjectTemplate>,
    /// What it does to measuring.
    pub measuring: Measuring,
}

impl OpFacts<'_> {
    /// Of an op that creates nothing and measures nothing.
    pub const NOTHING: OpFacts<'static> =
        OpFacts { nodes: 0, pods: 0, templates: Vec::new(), measuring: Measuring::AsBefore };
}

/// What an op does to measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measuring {
    /// Nothing: it is measured if an earlier op has begun that.
    AsBefore,
    /// Begins it.
    Begins,
    /// Ends it.
    Ends,
    /// Measures itself.
    Itself,
}

/// Whether an op can run.
pub enum OpSupport<'a> {
    /// It can; this runs it.
    Runs(&'a dyn RunOp),
    /// Not yet, for this reason.
    NotYet(&'static str),
}

impl fmt::Debug for OpSupport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs(_) => formatter.write_str("Runs"),
            Self::NotYet(reason) => write!(formatter, "NotYet({reason:?})"),
        }
    }
}

impl OpSupport<'_> {
    /// It would need device claims.
    pub(crate) const NO_DRA: &'static str = "dynamic resource allocation is not simulated here";
}

/// An op that can be run.
pub trait RunOp {
    /// Does it, from its first call to the API to the last thing it waits for. Asks
    /// [`OpContext::is_interrupted`] often enough that a signal ends it within a second.
    ///
    /// Upstream: executor.go `run…Op`.
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError>;
}
