//! Node affinity and spread constraints as they stand in plugin arguments.
//!
//! Upstream: component-helpers/scheduling/corev1/nodeaffinity `NewNodeSelector` for the rules.

use schedlab_core::input::{
    NodeAffinityInput, NodeSelectorTermInput, RequirementInput, SpreadConstraintInput,
};
use schedlab_core::resources::is_qualified_name;

use super::integer32;
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// `addedAffinity`.
pub(super) fn read(fields: &Fields<'_>) -> Result<Option<NodeAffinityInput>, SchemaError> {
    let Some(node) = fields.get("addedAffinity") else { return Ok(None) };
    let holder = format!("{}.addedAffinity", fields.holder());
    let fields = Fields::read_exact(
        fields.file(),
        holder,
        node,
        &[
            "requiredDuringSchedulingIgnoredDuringExecution",
            "preferredDuringSchedulingIgnoredDuringExecution",
        ],
    )?;
    let required = fields.get(REQUIRED).map(|node| required(&fields, node)).transpose()?;
    let preferred = match fields.get(PREFERRED) {
        None => None,
        Some(_) => Some(preferred(&fields)?),
    };
    Ok(Some(NodeAffinityInput { required, preferred, required_during_execution: None }))
}

fn required(fields: &Fields<'_>, node: &Node) -> Result<Vec<NodeSelectorTermInput>, SchemaError> {
    let holder = format!("{}.{REQUIRED}", fields.holder());
    let fields = Fields::read_exact(fields.file(), holder, node, &["nodeSelectorTerms"])?;
    let nodes = fields.list("nodeSelectorTerms")?.iter().enumerate();
    nodes
        .map(|(index, node)| {
            term(fields.file(), format!("{}.nodeSelectorTerms[{index}]", fields.holder()), node)
        })
        .collect()
}

fn preferred(fields: &Fields<'_>) -> Result<Vec<(i32, NodeSelectorTermInput)>, SchemaError> {
    let mut terms = Vec::new();
    for (index, node) in fields.list(PREFERRED)?.iter().enumerate() {
        let holder = format!("{}.{PREFERRED}[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["weight", "preference"])?;
        let weight = integer32(&fields, "weight")?.unwrap_or(0);
        let preference = match fields.get("preference") {
            None => NodeSelectorTermInput::default(),
            Some(node) => term(fields.file(), format!("{}.preference", fields.holder()), node)?,
        };
        terms.push((weight, preference));
    }
    Ok(terms)
}

fn term(file: &str, holder: String, node: &Node) -> Result<NodeSelectorTermInput, SchemaError> {
    let fields = Fields::read_exact(file, holder, node, &["matchExpressions", "matchFields"])?;
    Ok(NodeSelectorTermInput {
        match_expressions: requirements(&fields, "matchExpressions", expression_rule)?,
        match_fields: requirements(&fields, "matchFields", field_rule)?,
    })
}

/// What is wrong with a requirement: the field, and what to write.
type Wrong = Option<(&'static str, &'static str)>;

fn requirements(
    fields: &Fields<'_>,
    list: &'static str,
    check: fn(&RequirementInput) -> Wrong,
) -> Result<Vec<RequirementInput>, SchemaError> {
    let mut requirements = Vec::new();
    for (index, node) in fields.list(list)?.iter().enumerate() {
        let holder = format!("{}.{list}[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["key", "operator", "values"])?;
        let requirement = RequirementInput {
            key: fields
                .required_string("key", "write the key of a label, or metadata.name in matchFields")?,
            operator: fields
                .required_string("operator", "write In, NotIn, Exists, DoesNotExist, Gt or Lt")?,
            values: fields.strings("values")?,
        };
        if let Some((field, rule)) = check(&requirement) {
            let value = match field {
                "key" => requirement.key,
                "operator" => requirement.operator,
                _ => format!("[{}]", requirement.values.join(", ")),
            };
            return Err(fields.bad_value(field, value, rule));
        }
        requirements.push(requirement);
    }
    Ok(requirements)
}

fn expression_rule(requirement: &RequirementInput) -> Wrong {
    if !is_qualified_name(&requirement.key) {
        return Some(("key", "write the key of a label, such as topology.kubernetes.io/zone"));
    }
    let values = requirement.values.as_slice();
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => Some(("values", "In and NotIn need at least one value")),
        "In" | "NotIn" if !values.iter().all(|value| is_label_value(value)) => {
            Some(("values", "write values of labels: at most 63 letters, digits, -, _ and ."))
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some(("values", "Exists and DoesNotExist take no values"))
        }
        "Gt" | "Lt" => match values {
            [one] if one.parse::<i64>().is_ok() && is_label_value(one) => None,
            _ => Some(("values", "Gt and Lt need exactly one integer, without a sign")),
        },
        "In" | "NotIn" | "Exists" | "DoesNotExist" => None,
        _ => Some(("operator", "write In, NotIn, Exists, DoesNotExist, Gt or Lt")),
    }
}

fn field_rule(requirement: &RequirementInput) -> Wrong {
    if requirement.key != "metadata.name" {
        return Some(("key", "metadata.name is the only field there is"));
    }
    match (requirement.operator.as_str(), requirement.values.as_slice()) {
        ("In" | "NotIn", [_]) => None,
        ("In" | "NotIn", _) => Some(("values", "write exactly one node name")),
        _ => Some(("operator", "write In or NotIn")),
    }
}

/// Empty, or as the name part of a qualified name.
fn is_label_value(value: &str) -> bool {
    value.is_empty() || (!value.contains('/') && is_qualified_name(value))
}

pub(super) const SPREAD_CONSTRAINT: &[&str] = &[
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
];

/// One entry of `defaultConstraints`.
pub(super) fn spread_constraint(fields: &Fields<'_>) -> Result<SpreadConstraintInput, SchemaError> {
    let max_skew = integer32(fields, "maxSkew")?.unwrap_or(0);
    if max_skew <= 0 {
        return Err(fields.bad_value("maxSkew", max_skew, "write 1 or more"));
    }
    let topology_key = fields.required_string("topologyKey", "write the key of a node label")?;
    if !is_qualified_name(&topology_key) {
        let rule = "write the key of a node label, such as topology.kubernetes.io/zone";
        return Err(fields.bad_value("topologyKey", topology_key, rule));
    }
    const ACTIONS: &str = "write DoNotSchedule or ScheduleAnyway";
    let action = fields.required_string("whenUnsatisfiable", ACTIONS)?;
    if !["DoNotSchedule", "ScheduleAnyway"].contains(&action.as_str()) {
        return Err(fields.bad_value("whenUnsatisfiable", action, ACTIONS));
    }
    if fields.get("labelSelector").is_some() {
        let rule = "it is deduced for each pod; remove it";
        return Err(fields.bad_value("labelSelector", "...", rule));
    }
    Ok(SpreadConstraintInput {
        max_skew,
        topology_key,
        schedule_anyway: action == "ScheduleAnyway",
        label_selector: None,
        min_domains: integer32(fields, "minDomains")?,
        ignore_node_affinity: policy(fields, "nodeAffinityPolicy")?.as_deref() == Some("Ignore"),
        honor_node_taints: policy(fields, "nodeTaintsPolicy")?.as_deref() == Some("Honor"),
        match_label_keys: fields.strings("matchLabelKeys")?,
    })
}

fn policy(fields: &Fields<'_>, field: &'static str) -> Result<Option<String>, SchemaError> {
    match fields.string(field)? {
        Some(text) if !["Honor", "Ignore"].contains(&text.as_str()) => {
            Err(fields.bad_value(field, text, "write Honor or Ignore"))
        }
        policy => Ok(policy),
    }
}
