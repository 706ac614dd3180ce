//! POST on pods/eviction: a pod is deleted if no disruption budget forbids it.
//!
//! ```text
//!   pending, finished, terminating ──────────────────────────────▶ condition, deleted
//!   runs ── no budget ───────────────────────────────────────────▶
//!        ── budget, healthy ── disruptionsAllowed > 0, one less ─▶
//!        ── budget, not healthy ── AlwaysAllow, or enough others ▶
//!        ── otherwise ──▶ 429
//! ```
//!
//! Upstream: pkg/registry/core/pod/storage/eviction.go `EvictionREST.Create`, `checkAndDecrement`.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schedlab_core::ids::PodUid;
use schedlab_objects::ApiJson as _;
use serde_json::{Value, json};

use super::body::time_of;
use super::state::State;
use crate::api::{
    ApiError, ConditionEdit, ConditionPatch, ConditionStatus, GenericObject, NominatedNodeNamePatch,
    PodFlags, PodPhase, PodStatusPatch, StatusReason, StoredPodRow,
};
use crate::convert::label_selector_input;
use crate::selector;

const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL: &str =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
/// Upstream: `MaxDisruptedPodSize`.
const DISRUPTED_PODS_MAX: usize = 2000;

impl State {
    pub(super) fn evict_pod(&mut self, pod: PodUid, now_ns: u64) -> Result<(), ApiError> {
        let Some(&row) = self.rows.get(pod) else { return Err(self.pod_is_gone(pod)) };
        let may_go = row.phase.is_finished()
            || row.phase == PodPhase::Pending
            || row.flags.contains(PodFlags::TERMINATING);
        if !may_go {
            self.spend_budget(&row, now_ns)?;
        }
        let condition = ConditionPatch {
            type_: "DisruptionTarget",
            status: ConditionStatus::True,
            reason: "EvictionByEvictionAPI",
            message: "Eviction API: evicting",
        };
        let patch = PodStatusPatch {
            pod,
            condition: Some(ConditionEdit::Set(condition)),
            nomination: NominatedNodeNamePatch::Keep,
            phase: None,
        };
        self.patch_pod(&patch, now_ns)?;
        self.delete_pod(pod, now_ns)
    }

    /// Takes a disruption off the pod's budget, if it has one that counts the pod.
    fn spend_budget(&mut self, row: &StoredPodRow, now_ns: u64) -> Result<(), ApiError> {
        let budgets = self.budgets_of(row);
        let budget = match budgets.as_slice() {
            [] => return Ok(()),
            [budget] => budget,
            _ => return Err(ApiError { reason: StatusReason::InternalError, message: SEVERAL.to_owned() }),
        };
        if !self.is_ready(row) {
            let policy = budget.body.get("spec").and_then(|spec| spec.get("unhealthyPodEvictionPolicy"));
            let is_always = policy.and_then(Value::as_str) == Some("AlwaysAllow");
            let (current, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
            if is_always || (desired <= current && 0 < desired) {
                return Ok(());
            }
        }
        let changed = spent(budget, &self.names.text(row.name), now_ns)?;
        self.update_other_status(&changed).map(drop)
    }

    /// The budgets that a pod is under.
    fn budgets_of(&self, row: &StoredPodRow) -> Vec<Arc<GenericObject>> {
        let table = self.others.get(&("policy".to_owned(), "poddisruptionbudgets".to_owned()));
        let namespace = &**self.namespaces.text(row.namespace.0);
        let labels = &self.specs.get(row.spec).input.labels;
        let covers = |budget: &&Arc<GenericObject>| {
            let selector = budget.body.get("spec").and_then(|spec| spec.get("selector"));
            let selector = selector.and_then(|selector| LabelSelector::from_json(selector.clone()).ok());
            selector.is_some_and(|it| selector::matches(&label_selector_input(&it), labels))
        };
        let inside = table.into_iter().flatten().filter(|((of, _), _)| of == namespace);
        inside.map(|(_, budget)| budget).filter(covers).map(Arc::clone).collect()
    }

    fn is_ready(&self, row: &StoredPodRow) -> bool {
        let conditions = self.conditions.get(row.conditions);
        conditions.iter().any(|it| &*it.type_ == "Ready" && it.status == ConditionStatus::True)
    }
}

fn number(budget: &GenericObject, key: &str) -> i64 {
    let status = budget.body.get("status").and_then(|status| status.get(key));
    status.and_then(Value::as_i64).unwrap_or(0)
}

/// The budget with one disruption less.
fn spent(budget: &GenericObject, pod: &str, now_ns: u64) -> Result<GenericObject, ApiError> {
    let name = budget.metadata.name.as_deref().unwrap_or_default();
    if number(budget, "observedGeneration") < budget.metadata.generation.unwrap_or(0) {
        return Err(ApiError::too_many_requests(VIOLATES));
    }
    let forbidden = |why: &str| Err(ApiError::forbidden("poddisruptionbudget.policy", name, why));
    let allowed = number(budget, "disruptionsAllowed");
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    let disrupted = budget.body.get("status").and_then(|status| status.get("disruptedPods"));
    if DISRUPTED_PODS_MAX < disrupted.and_then(Value::as_object).map_or(0, serde_json::Map::len) {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 {
        return Err(ApiError::too_many_requests(VIOLATES));
    }
    let mut changed = budget.clone();
    let status = changed.body.entry("status").or_insert_with(|| json!({}));
    status["disruptionsAllowed"] = json!(allowed - 1);
    if !status["disruptedPods"].is_object() {
        status["disruptedPods"] = json!({});
    }
    status["disruptedPods"][pod] = json!(time_of(now_ns).0.to_string());
    Ok(changed)
}

#[cfg(test)]
mod tests;
