//! Resource lists: names to quantities.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use schedlab_core::input::ResourceList;
use schedlab_core::quantity::Quantity;

use super::ConvertError;

/// Where a list stands. Formatted only when one of its values is wrong.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// `pod default/web`.
    pub(super) object: &'a dyn Fn() -> String,
    /// `spec.containers[0].resources.requests`.
    pub(super) field: &'a dyn Fn() -> String,
}

/// Parses every quantity of a list.
pub(super) fn resource_list(
    list: &BTreeMap<String, ApiQuantity>,
    place: Place<'_>,
) -> Result<ResourceList, ConvertError> {
    list.iter()
        .map(|(resource, quantity)| match Quantity::parse(&quantity.0) {
            Ok(parsed) => Ok((resource.clone(), parsed)),
            Err(source) => Err(ConvertError::Quantity {
                object: (place.object)(),
                field: format!("{}[\"{resource}\"]", (place.field)()),
                value: quantity.0.clone(),
                source,
            }),
        })
        .collect()
}

/// As [`resource_list`]; an absent list stays absent.
pub(super) fn optional_list(
    list: Option<&BTreeMap<String, ApiQuantity>>,
    place: Place<'_>,
) -> Result<Option<ResourceList>, ConvertError> {
    list.map(|list| resource_list(list, place)).transpose()
}
