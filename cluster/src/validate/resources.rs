//! Resource lists: names and amounts.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use schedlab_core::quantity::Quantity;

use super::formats::label_key_errors;
use super::{Errors, Path};

/// A resource list of the API.
pub(super) type List = BTreeMap<String, ApiQuantity>;

const NEGATIVE: &str = "must be greater than or equal to 0";

/// Upstream: pkg/apis/core/helper/helpers.go `standardContainerResources`, `IsHugePageResourceName`.
fn is_standard_of_containers(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

/// Upstream: `IsExtendedResourceName`.
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.")
}

/// Upstream: `IsIntegerResourceName`.
fn is_integer(name: &str) -> bool {
    name == "pods" || is_extended(name)
}

/// Upstream: `IsOvercommitAllowed`.
fn is_overcommit_allowed(name: &str) -> bool {
    !is_extended(name) && !name.starts_with("hugepages-")
}

/// The amount, unless conversion will refuse it anyway.
fn parsed(quantity: &ApiQuantity) -> Option<Quantity> {
    Quantity::parse(&quantity.0).ok()
}

impl Errors {
    /// Amounts that are not negative, and whole where only whole ones exist.
    ///
    /// Upstream: `ValidateResourceQuantityValue`.
    pub(super) fn amount(&mut self, path: &Path<'_>, name: &str, quantity: &ApiQuantity) {
        let Some(amount) = parsed(quantity) else { return };
        if amount < Quantity::default() {
            self.invalid(path, quantity.0.as_str(), NEGATIVE);
        }
        if is_integer(name) && amount.milli_value() % 1000 != 0 {
            self.invalid(path, quantity.0.as_str(), "must be an integer");
        }
    }

    /// Upstream: `ValidateContainerResourceName`.
    fn container_resource_name(&mut self, path: &Path<'_>, name: &str) {
        for why in label_key_errors(name) {
            self.invalid(path, name, why);
        }
        if !name.contains('/') && !is_standard_of_containers(name) {
            self.invalid(path, name, "must be a standard resource for containers");
        }
    }

    /// Requests and limits of a container or, without a check of names, of a pod.
    ///
    /// Upstream: `validateResourceRequirements`.
    pub(super) fn requirements(&mut self, path: &Path<'_>, requests: Option<&List>, limits: Option<&List>) {
        let (requests_path, limits_path) = (path.field("requests"), path.field("limits"));
        for (name, quantity) in limits.into_iter().flatten() {
            let path = limits_path.key(name);
            self.container_resource_name(&path, name);
            self.amount(&path, name, quantity);
        }
        for (name, quantity) in requests.into_iter().flatten() {
            let path = requests_path.key(name);
            self.container_resource_name(&path, name);
            self.amount(&path, name, quantity);
            match limits.and_then(|limits| limits.get(name)) {
                Some(limit) => self.within_limit(&requests_path, name, quantity, limit),
                None if is_overcommit_allowed(name) => {}
                None => self.required(&limits_path, "Limit must be set for non overcommitable resources"),
            }
        }
    }

    fn within_limit(&mut self, path: &Path<'_>, name: &str, request: &ApiQuantity, limit: &ApiQuantity) {
        let (Some(requested), Some(limited)) = (parsed(request), parsed(limit)) else { return };
        let limit = &limit.0;
        if requested != limited && !is_overcommit_allowed(name) {
            self.invalid(path, request.0.as_str(), format_args!("must be equal to {name} limit of {limit}"));
        } else if limited < requested {
            let why = format_args!("must be less than or equal to {name} limit of {limit}");
            self.invalid(path, request.0.as_str(), why);
        }
    }
}
