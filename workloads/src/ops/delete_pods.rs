//! deletePods: deletes pods of a namespace, all or those with some labels.
//!
//! Upstream: operations.go `deletePodsOp`; executor.go `runDeletePodsOp`.

use std::collections::BTreeMap;

use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] =
    &["opcode", "namespace", "labelSelector", "skipWaitToCompletion", "deletePodsPerSecond"];

/// deletePods, as written and ready to run. The pods are listed when the op starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePods {
    /// Where.
    pub namespace: String,
    /// Labels a pod must have; all pods if empty.
    pub label_selector: BTreeMap<String, String>,
    /// Whether the next op has to wait.
    pub waiting: DeletePodsWaiting,
    /// How many a second; 0 deletes all in one call.
    pub pods_per_second: u32,
}

/// Whether the op after deletePods has to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletePodsWaiting {
    /// It waits until every delete call was made.
    UntilDeleted,
    /// It does not; pods are deleted in the background.
    Background,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<DeletePods, SchemaError> {
    let fields = Fields::read(file, "op deletePods", node, FIELDS)?;
    let per_second = fields.integer("deletePodsPerSecond")?.unwrap_or(0);
    Ok(DeletePods {
        // Differs: upstream takes an absent namespace as all namespaces when it lists the pods and
        // then fails to delete them.
        namespace: fields.required_string("namespace", "name the namespace of the pods")?,
        label_selector: fields.string_map("labelSelector")?,
        waiting: match fields.switch("skipWaitToCompletion")? {
            true => DeletePodsWaiting::Background,
            false => DeletePodsWaiting::UntilDeleted,
        },
        pods_per_second: u32::try_from(per_second)
            .map_err(|_| fields.bad_value("deletePodsPerSecond", per_second, "write 0 or more"))?,
    })
}
