//! The ops: what a workload does, step by step.
//!
//! ```text
//! YAML --parse--> Op ($params inside) --resolve(params, templates)--> ResolvedOp (numbers, loaded templates)
//! ```
//!
//! One file per opcode: its fields, their rules, and how its params become values. An op without
//! params is its own resolved form.
//!
//! Upstream: the table in scheduler_perf.go `op.UnmarshalJSON`, and each op's `isValid` and `patchParams`.

mod barrier;
mod churn;
mod collecting_metrics;
mod collecting_profile;
mod count;
mod create_any;
mod create_namespaces;
mod create_nodes;
mod create_pod_groups;
mod create_pod_sets;
mod create_pods;
mod delete_pods;
mod opcode;
mod resource_claims;
mod sleep;
mod update_any;

pub use barrier::{Barrier, StageRequirement};
pub use churn::{Churn, ChurnMode, ChurnOp};
pub use collecting_metrics::StartCollectingMetrics;
pub use collecting_profile::StartCollectingProfile;
pub use count::Count;
pub use create_any::{CreateAny, CreateAnyOp};
pub use create_namespaces::{CreateNamespaces, CreateNamespacesOp};
pub use create_nodes::{CreateNodes, CreateNodesOp, NodeStrategy};
pub use create_pod_groups::{CreatePodGroups, CreatePodGroupsOp};
pub use create_pod_sets::CreatePodSetsOp;
pub use create_pods::{Completion, CreatePods, CreatePodsOp, PodVolumeTemplates};
pub use delete_pods::{DeletePods, DeletePodsWaiting};
pub use opcode::Opcode;
pub use resource_claims::{AllocResourceClaims, CreateResourceClaims, CreateResourceClaimsOp};
pub use sleep::{Sleep, SleepOp};
pub use update_any::{UpdateAny, UpdateAnyOp};

use crate::resolve::{OpResolver, ResolveError};
use crate::schema::{SchemaError, SchemaProblem};
use crate::suggest::closest;
use crate::yaml::{Node, Value};

/// A step as written, and where.
#[derive(Clone, Debug)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Where the op starts in its file.
    pub line: u64,
}

/// A step as written: params are still names.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the opcode of its name, documented at its type")]
pub enum OpKind {
    AllocResourceClaims(AllocResourceClaims),
    Barrier(Barrier),
    Churn(ChurnOp),
    CreateAny(CreateAnyOp),
    CreateNamespaces(CreateNamespacesOp),
    CreateNodes(CreateNodesOp),
    CreatePodGroups(CreatePodGroupsOp),
    CreatePodSets(CreatePodSetsOp),
    CreatePods(CreatePodsOp),
    CreateResourceClaims(CreateResourceClaimsOp),
    DeletePods(DeletePods),
    Sleep(SleepOp),
    StartCollectingMetrics(StartCollectingMetrics),
    StartCollectingProfile(StartCollectingProfile),
    StopCollectingMetrics,
    StopCollectingProfile,
    UpdateAny(UpdateAnyOp),
}

/// A step ready to run: every param is a value, every template is loaded. createPodSets is gone:
/// it has become one createPods per set.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the opcode of its name, documented at its type")]
pub enum ResolvedOp {
    AllocResourceClaims(AllocResourceClaims),
    Barrier(Barrier),
    Churn(Churn),
    CreateAny(CreateAny),
    CreateNamespaces(CreateNamespaces),
    CreateNodes(CreateNodes),
    CreatePodGroups(CreatePodGroups),
    CreatePods(CreatePods),
    CreateResourceClaims(CreateResourceClaims),
    DeletePods(DeletePods),
    Sleep(Sleep),
    StartCollectingMetrics(StartCollectingMetrics),
    StartCollectingProfile(StartCollectingProfile),
    StopCollectingMetrics,
    StopCollectingProfile,
    UpdateAny(UpdateAny),
}

impl Op {
    /// Reads one entry of a `workloadTemplate`.
    pub(crate) fn parse(file: &str, node: &Node) -> Result<Self, SchemaError> {
        let kind = match opcode_of(file, node)? {
            Opcode::AllocResourceClaims => {
                OpKind::AllocResourceClaims(resource_claims::parse_alloc(file, node)?)
            }
            Opcode::Barrier => OpKind::Barrier(barrier::parse(file, node)?),
            Opcode::Churn => OpKind::Churn(churn::parse(file, node)?),
            Opcode::CreateAny => OpKind::CreateAny(create_any::parse(file, node)?),
            Opcode::CreateNamespaces => OpKind::CreateNamespaces(create_namespaces::parse(file, node)?),
            Opcode::CreateNodes => OpKind::CreateNodes(create_nodes::parse(file, node)?),
            Opcode::CreatePodGroups => OpKind::CreatePodGroups(create_pod_groups::parse(file, node)?),
            Opcode::CreatePodSets => OpKind::CreatePodSets(create_pod_sets::parse(file, node)?),
            Opcode::CreatePods => OpKind::CreatePods(create_pods::parse(file, node)?),
            Opcode::CreateResourceClaims => {
                OpKind::CreateResourceClaims(resource_claims::parse_create(file, node)?)
            }
            Opcode::DeletePods => OpKind::DeletePods(delete_pods::parse(file, node)?),
            Opcode::Sleep => OpKind::Sleep(sleep::parse(file, node)?),
            Opcode::StartCollectingMetrics => {
                OpKind::StartCollectingMetrics(collecting_metrics::parse_start(file, node)?)
            }
            Opcode::StartCollectingProfile => {
                OpKind::StartCollectingProfile(collecting_profile::parse_start(file, node)?)
            }
            Opcode::StopCollectingMetrics => {
                collecting_metrics::parse_stop(file, node).map(|()| OpKind::StopCollectingMetrics)?
            }
            Opcode::StopCollectingProfile => {
                collecting_profile::parse_stop(file, node).map(|()| OpKind::StopCollectingProfile)?
            }
            Opcode::UpdateAny => OpKind::UpdateAny(update_any::parse(file, node)?),
        };
        Ok(Self { kind, line: node.at.line })
    }

    /// Which op this is.
    pub fn opcode(&self) -> Opcode {
        match &self.kind {
            OpKind::AllocResourceClaims(_) => Opcode::AllocResourceClaims,
            OpKind::Barrier(_) => Opcode::Barrier,
            OpKind::Churn(_) => Opcode::Churn,
            OpKind::CreateAny(_) => Opcode::CreateAny,
            OpKind::CreateNamespaces(_) => Opcode::CreateNamespaces,
            OpKind::CreateNodes(_) => Opcode::CreateNodes,
            OpKind::CreatePodGroups(_) => Opcode::CreatePodGroups,
            OpKind::CreatePodSets(_) => Opcode::CreatePodSets,
            OpKind::CreatePods(_) => Opcode::CreatePods,
            OpKind::CreateResourceClaims(_) => Opcode::CreateResourceClaims,
            OpKind::DeletePods(_) => Opcode::DeletePods,
            OpKind::Sleep(_) => Opcode::Sleep,
            OpKind::StartCollectingMetrics(_) => Opcode::StartCollectingMetrics,
            OpKind::StartCollectingProfile(_) => Opcode::StartCollectingProfile,
            OpKind::StopCollectingMetrics => Opcode::StopCollectingMetrics,
            OpKind::StopCollectingProfile => Opcode::StopCollectingProfile,
            OpKind::UpdateAny(_) => Opcode::UpdateAny,
        }
    }

    /// Whether running this op ends in numbers. startCollectingMetrics alone does not.
    pub fn collects_metrics(&self) -> bool {
        match &self.kind {
            OpKind::CreatePods(op) => op.collect_metrics,
            OpKind::CreatePodSets(op) => op.pods.collect_metrics,
            OpKind::StopCollectingMetrics => true,
            _ => false,
        }
    }

    /// Appends what this op does for one workload.
    pub(crate) fn resolve_into(
        &self,
        resolver: &mut OpResolver<'_, '_>,
        resolved: &mut Vec<ResolvedOp>,
    ) -> Result<(), ResolveError> {
        // Namespaces without a name are called by the op's number among the unrolled ops.
        let number = resolved.len();
        let op = match &self.kind {
            OpKind::CreatePodSets(op) => return op.unroll_into(resolver, resolved),
            OpKind::AllocResourceClaims(op) => ResolvedOp::AllocResourceClaims(op.clone()),
            OpKind::Barrier(op) => ResolvedOp::Barrier(op.clone()),
            OpKind::Churn(op) => ResolvedOp::Churn(op.resolve(resolver, number)?),
            OpKind::CreateAny(op) => ResolvedOp::CreateAny(op.resolve(resolver)?),
            OpKind::CreateNamespaces(op) => ResolvedOp::CreateNamespaces(op.resolve(resolver)?),
            OpKind::CreateNodes(op) => ResolvedOp::CreateNodes(op.resolve(resolver)?),
            OpKind::CreatePodGroups(op) => ResolvedOp::CreatePodGroups(op.resolve(resolver)?),
            OpKind::CreatePods(op) => ResolvedOp::CreatePods(op.resolve(resolver, number)?),
            OpKind::CreateResourceClaims(op) => ResolvedOp::CreateResourceClaims(op.resolve(resolver)?),
            OpKind::DeletePods(op) => ResolvedOp::DeletePods(op.clone()),
            OpKind::Sleep(op) => ResolvedOp::Sleep(op.resolve(resolver)?),
            OpKind::StartCollectingMetrics(op) => ResolvedOp::StartCollectingMetrics(op.clone()),
            OpKind::StartCollectingProfile(op) => ResolvedOp::StartCollectingProfile(op.clone()),
            OpKind::StopCollectingMetrics => ResolvedOp::StopCollectingMetrics,
            OpKind::StopCollectingProfile => ResolvedOp::StopCollectingProfile,
            OpKind::UpdateAny(op) => ResolvedOp::UpdateAny(op.resolve(resolver)?),
        };
        resolved.push(op);
        Ok(())
    }
}

impl ResolvedOp {
    /// Which op this is.
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::AllocResourceClaims(_) => Opcode::AllocResourceClaims,
            Self::Barrier(_) => Opcode::Barrier,
            Self::Churn(_) => Opcode::Churn,
            Self::CreateAny(_) => Opcode::CreateAny,
            Self::CreateNamespaces(_) => Opcode::CreateNamespaces,
            Self::CreateNodes(_) => Opcode::CreateNodes,
            Self::CreatePodGroups(_) => Opcode::CreatePodGroups,
            Self::CreatePods(_) => Opcode::CreatePods,
            Self::CreateResourceClaims(_) => Opcode::CreateResourceClaims,
            Self::DeletePods(_) => Opcode::DeletePods,
            Self::Sleep(_) => Opcode::Sleep,
            Self::StartCollectingMetrics(_) => Opcode::StartCollectingMetrics,
            Self::StartCollectingProfile(_) => Opcode::StartCollectingProfile,
            Self::StopCollectingMetrics => Opcode::StopCollectingMetrics,
            Self::StopCollectingProfile => Opcode::StopCollectingProfile,
            Self::UpdateAny(_) => Opcode::UpdateAny,
        }
    }
}

/// Finds the opcode before anything else is judged, so that an unknown one is named as such.
fn opcode_of(file: &str, node: &Node) -> Result<Opcode, SchemaError> {
    let Value::Mapping(entries) = &node.value else {
        return Err(SchemaError::new(
            file,
            node.at,
            SchemaProblem::WrongType {
                field: "value".into(),
                holder: "an op".into(),
                found: node.kind().into(),
                expected: "a mapping with an `opcode`",
            },
        ));
    };
    let Some((_, value)) = entries.iter().find(|(key, _)| key.name.eq_ignore_ascii_case("opcode")) else {
        return Err(SchemaError::new(
            file,
            node.at,
            SchemaProblem::MissingField {
                field: "opcode",
                holder: "an op".into(),
                help: "say what it does, for example `opcode: createPods`",
            },
        ));
    };
    let written = match &value.value {
        Value::String(text) => text.as_str(),
        _ => "",
    };
    Opcode::from_name(written).ok_or_else(|| {
        SchemaError::new(
            file,
            value.at,
            SchemaProblem::UnknownOpcode {
                opcode: written.to_owned(),
                suggestion: closest(written, &Opcode::NAMES),
                known: &Opcode::NAMES,
            },
        )
    })
}
