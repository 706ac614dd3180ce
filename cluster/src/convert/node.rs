//! Nodes.

use k8s_openapi::api::core::v1::Node;
use schedlab_core::input::{ImageInput, NodeInput, ResourceList, TaintInput};

use super::quantity::{Place, optional_list};
use super::{ConvertError, text_or_empty};

/// What scheduling reads from a node.
pub fn node_input(node: &Node) -> Result<NodeInput, ConvertError> {
    let name = text_or_empty(node.metadata.name.as_ref());
    if name.is_empty() {
        return Err(ConvertError::Missing { object: "node".to_owned(), field: "metadata.name" });
    }
    let spec = node.spec.as_ref();
    let status = node.status.as_ref();
    Ok(NodeInput {
        labels: node.metadata.labels.clone().unwrap_or_default(),
        taints: spec.and_then(|spec| spec.taints.as_deref()).map(taints).unwrap_or_default(),
        unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        allocatable: allocatable(node, &name)?,
        images: status.and_then(|status| status.images.as_deref()).map(images).unwrap_or_default(),
        declared_features: status.and_then(|status| status.declared_features.clone()).unwrap_or_default(),
        name,
    })
}

fn allocatable(node: &Node, name: &str) -> Result<ResourceList, ConvertError> {
    let list = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let place = Place { object: &|| format!("node {name}"), field: &|| "status.allocatable".to_owned() };
    Ok(optional_list(list, place)?.unwrap_or_default())
}

fn taints(taints: &[k8s_openapi::api::core::v1::Taint]) -> Vec<TaintInput> {
    taints
        .iter()
        .map(|taint| TaintInput {
            key: taint.key.clone(),
            value: text_or_empty(taint.value.as_ref()),
            effect: taint.effect.clone(),
        })
        .collect()
}

fn images(images: &[k8s_openapi::api::core::v1::ContainerImage]) -> Vec<ImageInput> {
    images
        .iter()
        .map(|image| ImageInput {
            names: image.names.clone().unwrap_or_default(),
            size_bytes: image.size_bytes.unwrap_or(0),
        })
        .collect()
}
