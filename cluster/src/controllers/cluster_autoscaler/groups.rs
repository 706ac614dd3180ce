//! Node groups: machines of one shape that the autoscaler may add.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use schedlab_core::input::NodeInput;
use serde_json::Value;

use super::super::ControllerConfigError;
use super::super::amounts::amounts_of;
use super::super::config::wrong;
use crate::convert::node_input;
use crate::quota::{Amount, Amounts};

/// The label of the nodes of a group; its value is the group's name.
pub const NODE_GROUP: &str = "schedlab.dev/node-group";

/// A node group.
#[derive(Clone, Debug)]
pub(super) struct NodeGroup {
    pub(super) name: String,
    /// No fewer nodes.
    pub(super) min: u64,
    /// No more nodes.
    pub(super) max: u64,
    template: Node,
    /// A node of it, as scheduling reads it.
    pub(super) input: Arc<NodeInput>,
    pub(super) allocatable: Amounts,
}

impl NodeGroup {
    /// The groups of a configuration.
    pub(super) fn read_all(written: Option<Value>) -> Result<Vec<NodeGroup>, ControllerConfigError> {
        const WANTED: &str = "a list of node groups, each with `name`, `max` and `allocatable`";
        // Without groups there is nothing that it may add or remove.
        let Some(written) = written else { return Ok(Vec::new()) };
        let list = written.as_array().filter(|list| !list.is_empty());
        let groups: Vec<NodeGroup> = list
            .ok_or_else(|| wrong("nodeGroups", &written, WANTED))?
            .iter()
            .map(NodeGroup::read)
            .collect::<Result<_, _>>()?;
        for (at, group) in groups.iter().enumerate() {
            if groups[..at].iter().any(|other| other.name == group.name) {
                let name = Value::from(group.name.as_str());
                return Err(wrong("nodeGroups[].name", &name, "another name: this one is taken"));
            }
        }
        Ok(groups)
    }

    fn read(written: &Value) -> Result<NodeGroup, ControllerConfigError> {
        const KNOWN: [&str; 6] = ["name", "min", "max", "allocatable", "labels", "taints"];
        let fields = written.as_object().ok_or_else(|| wrong("nodeGroups[]", written, "a mapping"))?;
        if let Some(unknown) = fields.keys().find(|field| !KNOWN.contains(&field.as_str())) {
            let known = KNOWN.join(", ");
            let what = format!("unknown field `{unknown}` of `config.nodeGroups[]`; known: {known}");
            return Err(ControllerConfigError::new(what));
        }
        let of = |field: &str| fields.get(field).cloned().unwrap_or(Value::Null);
        let name = of("name");
        let name = name.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let name = name.ok_or_else(|| wrong("nodeGroups[].name", &of("name"), "a name"))?;
        let whole = |field: &'static str, path: &'static str, default: Option<u64>| match of(field) {
            Value::Null => default.ok_or_else(|| wrong(path, &Value::Null, "a whole number")),
            value => value.as_u64().ok_or_else(|| wrong(path, &value, "a whole number of at least 0")),
        };
        let (min, max) =
            (whole("min", "nodeGroups[].min", Some(0))?, whole("max", "nodeGroups[].max", None)?);
        let template = template(&name, &of("allocatable"), &of("labels"), &of("taints"))?;
        let input = node_input(&template).map_err(|error| {
            ControllerConfigError::new(format!("`config.nodeGroups[]` {name:?} makes no valid node: {error}"))
        })?;
        let allocatable = amounts_of(&template);
        Ok(NodeGroup { name, min, max, template, input: Arc::new(input), allocatable })
    }

    /// A new node.
    pub(super) fn node(&self, name: &str) -> Node {
        let mut node = self.template.clone();
        node.metadata.name = Some(name.to_owned());
        let labels = node.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        node
    }
}

fn template(
    name: &str,
    allocatable: &Value,
    labels: &Value,
    taints: &Value,
) -> Result<Node, ControllerConfigError> {
    const AMOUNTS: &str = "amounts by resource, as `{cpu: 4, memory: 16Gi, pods: 110}`";
    let listed = allocatable.as_object().filter(|listed| !listed.is_empty());
    let mut amounts = std::collections::BTreeMap::new();
    for (resource, amount) in listed.ok_or_else(|| wrong("nodeGroups[].allocatable", allocatable, AMOUNTS))? {
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let quantity = ApiQuantity(text);
        if Amount::of(&quantity).is_none() {
            return Err(wrong("nodeGroups[].allocatable", amount, "a quantity, as 500m or 16Gi"));
        }
        amounts.insert(resource.clone(), quantity);
    }
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    let own = [(NODE_GROUP.to_owned(), name.to_owned())];
    let written = labels.as_object().into_iter().flatten();
    let written = written
        .map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    node.metadata.labels = Some(written.chain(own).collect());
    let taints: Vec<Taint> = match taints {
        Value::Null => Vec::new(),
        written => serde_json::from_value(written.clone())
            .map_err(|_| wrong("nodeGroups[].taints", written, "a list of taints with `key` and `effect`"))?,
    };
    node.spec = Some(NodeSpec { taints: Some(taints).filter(|it| !it.is_empty()), ..NodeSpec::default() });
    let ready =
        NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    node.status = Some(NodeStatus {
        capacity: Some(amounts.clone()),
        allocatable: Some(amounts),
        conditions: Some(vec![ready]),
        ..NodeStatus::default()
    });
    Ok(node)
}
