//! `pluginConfig[].args` of upstream's plugins: read strictly, defaulted and checked.
//!
//! Upstream: types_pluginargs.go, defaults.go, validation_pluginargs.go.

use std::time::Duration;

use schedlab_core::framework::args::{
    ArgValue, DefaultPreemptionArgs, Defaulting, InterPodAffinityArgs, NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs,
    VolumeBindingArgs,
};
use schedlab_core::input::SpreadConstraintInput;
use schedlab_core::plugins::node_resources_fit::{ScoringStrategy, ScoringStrategyType};
use schedlab_core::resources::is_qualified_name;

use super::{API_VERSION, affinity, integer32};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node, Value};

/// Scores of a shape go to 10 in the file and to 100 in the engine.
/// Upstream: noderesources/requested_to_capacity_ratio.go.
const SHAPE_SCORE_MAX: i64 = 10;
const ENGINE_SCORE_PER_SHAPE_SCORE: i64 = 10;

/// The arguments in a `pluginConfig` entry.
pub(super) fn read(entry: &Fields<'_>, plugin: &str) -> Result<PluginArgs, SchemaError> {
    let Some(node) = entry.get("args") else { return Ok(PluginArgs::default_of(plugin)) };
    let open = |kind: &'static str, allowed| typed(entry, node, kind, allowed);
    Ok(match plugin {
        "NodeResourcesFit" => {
            let allowed =
                &["apiVersion", "kind", "ignoredResources", "ignoredResourceGroups", "scoringStrategy"];
            PluginArgs::NodeResourcesFit(fit(&open("NodeResourcesFitArgs", allowed)?)?)
        }
        "NodeResourcesBalancedAllocation" => {
            let fields = open("NodeResourcesBalancedAllocationArgs", &["apiVersion", "kind", "resources"])?;
            PluginArgs::NodeResourcesBalancedAllocation(balanced(&fields)?)
        }
        "NodeAffinity" => {
            let fields = open("NodeAffinityArgs", &["apiVersion", "kind", "addedAffinity"])?;
            PluginArgs::NodeAffinity(NodeAffinityArgs { added_affinity: affinity::read(&fields)? })
        }
        "InterPodAffinity" => {
            let allowed =
                &["apiVersion", "kind", "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"];
            PluginArgs::InterPodAffinity(inter_pod(&open("InterPodAffinityArgs", allowed)?)?)
        }
        "PodTopologySpread" => {
            let allowed = &["apiVersion", "kind", "defaultConstraints", "defaultingType"];
            PluginArgs::PodTopologySpread(spread(&open("PodTopologySpreadArgs", allowed)?)?)
        }
        "VolumeBinding" => {
            let fields = open("VolumeBindingArgs", &["apiVersion", "kind", "bindTimeoutSeconds", "shape"])?;
            PluginArgs::VolumeBinding(volume_binding(&fields)?)
        }
        "DefaultPreemption" => {
            let allowed = &["apiVersion", "kind", "minCandidateNodesPercentage", "minCandidateNodesAbsolute"];
            PluginArgs::DefaultPreemption(preemption(&open("DefaultPreemptionArgs", allowed)?)?)
        }
        "DynamicResources" => {
            let allowed = &["apiVersion", "kind", "filterTimeout", "bindingTimeout"];
            check_dynamic_resources(&open("DynamicResourcesArgs", allowed)?)?;
            PluginArgs::Other(plain(node))
        }
        _ => PluginArgs::Other(plain(node)),
    })
}

/// The fields of known arguments. `apiVersion` and `kind` may stand there, and must then be right.
fn typed<'a>(
    entry: &Fields<'a>,
    node: &'a Node,
    kind: &'static str,
    allowed: &'static [&'static str],
) -> Result<Fields<'a>, SchemaError> {
    let fields = Fields::read_exact(entry.file(), format!("{}.args", entry.holder()), node, allowed)?;
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", kind)] {
        match fields.string(field)? {
            Some(text) if text != expected => {
                return Err(fields.bad_value(field, text, format!("write {expected} or leave it out")));
            }
            _ => {}
        }
    }
    Ok(fields)
}

fn fit(fields: &Fields<'_>) -> Result<NodeResourcesFitArgs, SchemaError> {
    let ignored_resources = fields.strings("ignoredResources")?;
    if let Some(name) = ignored_resources.iter().find(|name| !is_qualified_name(name)) {
        return Err(fields.bad_value("ignoredResources", name, "write names such as example.com/gpu"));
    }
    let ignored_resource_groups = fields.strings("ignoredResourceGroups")?;
    let is_group = |group: &&String| !group.contains('/') && is_qualified_name(group);
    if let Some(group) = ignored_resource_groups.iter().find(|group| !is_group(group)) {
        let rule = "write groups such as example.com, without a slash";
        return Err(fields.bad_value("ignoredResourceGroups", group, rule));
    }
    let scoring_strategy = match fields.get("scoringStrategy") {
        None => ScoringStrategy::least_allocated(),
        Some(node) => strategy(fields, node)?,
    };
    Ok(NodeResourcesFitArgs { ignored_resources, ignored_resource_groups, scoring_strategy })
}

fn strategy(fields: &Fields<'_>, node: &Node) -> Result<ScoringStrategy, SchemaError> {
    const TYPES: &str = "write LeastAllocated, MostAllocated or RequestedToCapacityRatio";
    const RATIO: &str = "requestedToCapacityRatio";
    let holder = format!("{}.scoringStrategy", fields.holder());
    let allowed = &["type", "resources", "requestedToCapacityRatio"];
    let fields = Fields::read_exact(fields.file(), holder, node, allowed)?;
    let mut resources = Vec::new();
    for (name, weight, fields) in resource_specs(&fields)? {
        if !(1..=100).contains(&weight) {
            return Err(fields.bad_value("weight", weight, "write 1 to 100"));
        }
        resources.push((name, weight));
    }
    if resources.is_empty() {
        resources = ScoringStrategy::least_allocated().resources;
    }
    let kind = fields.required_string("type", TYPES)?;
    let strategy = match (kind.as_str(), fields.get(RATIO)) {
        ("RequestedToCapacityRatio", None) => {
            return Err(fields.missing(RATIO, "type RequestedToCapacityRatio needs its shape"));
        }
        ("RequestedToCapacityRatio", Some(node)) => {
            let holder = format!("{}.{RATIO}", fields.holder());
            let fields = Fields::read_exact(fields.file(), holder, node, &["shape"])?;
            let shape = shape(&fields)?.ok_or_else(|| fields.missing("shape", "write at least one point"))?;
            let scaled = |(at, score)| (at, score * ENGINE_SCORE_PER_SHAPE_SCORE);
            ScoringStrategyType::RequestedToCapacityRatio(shape.into_iter().map(scaled).collect())
        }
        ("LeastAllocated" | "MostAllocated", Some(_)) => {
            let help = "remove requestedToCapacityRatio or write `type: RequestedToCapacityRatio`";
            return Err(fields.conflict("type", RATIO, help));
        }
        ("LeastAllocated", None) => ScoringStrategyType::LeastAllocated,
        ("MostAllocated", None) => ScoringStrategyType::MostAllocated,
        _ => return Err(fields.bad_value("type", kind, TYPES)),
    };
    Ok(ScoringStrategy { strategy, resources })
}

/// `resources`: name, weight (1 when it is absent or 0), and the entry.
fn resource_specs<'a>(fields: &Fields<'a>) -> Result<Vec<(String, i64, Fields<'a>)>, SchemaError> {
    let mut specs = Vec::new();
    for (index, node) in fields.list("resources")?.iter().enumerate() {
        let holder = format!("{}.resources[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["name", "weight"])?;
        let name = fields.required_string("name", "write the name of a resource")?;
        let weight = fields.integer("weight")?.filter(|&weight| weight != 0).unwrap_or(1);
        specs.push((name, weight, fields));
    }
    Ok(specs)
}

/// `shape`: points of a broken line; `None` when there are none.
fn shape(fields: &Fields<'_>) -> Result<Option<Vec<(i64, i64)>>, SchemaError> {
    let mut points: Vec<(i64, i64)> = Vec::new();
    for (index, node) in fields.list("shape")?.iter().enumerate() {
        let holder = format!("{}.shape[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["utilization", "score"])?;
        let at = fields.integer("utilization")?.unwrap_or(0);
        let score = fields.integer("score")?.unwrap_or(0);
        if !(0..=100).contains(&at) {
            return Err(fields.bad_value("utilization", at, "write 0 to 100"));
        }
        if points.last().is_some_and(|&(last, _)| at <= last) {
            return Err(fields.bad_value("utilization", at, "write more than the point before has"));
        }
        if !(0..=SHAPE_SCORE_MAX).contains(&score) {
            return Err(fields.bad_value("score", score, "write 0 to 10"));
        }
        points.push((at, score));
    }
    Ok((!points.is_empty()).then_some(points))
}

fn balanced(fields: &Fields<'_>) -> Result<NodeResourcesBalancedAllocationArgs, SchemaError> {
    let mut resources: Vec<String> = Vec::new();
    for (name, weight, fields) in resource_specs(fields)? {
        if resources.contains(&name) {
            return Err(fields.bad_value("name", name, "it is listed already; remove one"));
        }
        if weight != 1 {
            return Err(fields.bad_value("weight", weight, "only 1 is possible here; leave it out"));
        }
        resources.push(name);
    }
    if resources.is_empty() {
        return Ok(NodeResourcesBalancedAllocationArgs::default());
    }
    Ok(NodeResourcesBalancedAllocationArgs { resources, counts_volumes: false })
}

fn inter_pod(fields: &Fields<'_>) -> Result<InterPodAffinityArgs, SchemaError> {
    let weight = integer32(fields, "hardPodAffinityWeight")?.unwrap_or(1);
    if !(0..=100).contains(&weight) {
        return Err(fields.bad_value("hardPodAffinityWeight", weight, "write 0 to 100"));
    }
    Ok(InterPodAffinityArgs {
        hard_pod_affinity_weight: weight,
        ignore_preferred_terms_of_existing_pods: fields.switch("ignorePreferredTermsOfExistingPods")?,
    })
}

fn spread(fields: &Fields<'_>) -> Result<PodTopologySpreadArgs, SchemaError> {
    let mut constraints: Vec<SpreadConstraintInput> = Vec::new();
    for (index, node) in fields.list("defaultConstraints")?.iter().enumerate() {
        let holder = format!("{}.defaultConstraints[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, affinity::SPREAD_CONSTRAINT)?;
        let constraint = affinity::spread_constraint(&fields)?;
        let is_same = |other: &SpreadConstraintInput| {
            other.topology_key == constraint.topology_key
                && other.schedule_anyway == constraint.schedule_anyway
        };
        if constraints.iter().any(is_same) {
            let rule = "another constraint has the same topologyKey and whenUnsatisfiable; remove one";
            return Err(fields.bad_value("topologyKey", constraint.topology_key, rule));
        }
        constraints.push(constraint);
    }
    let defaulting = match fields.string("defaultingType")?.as_deref() {
        None | Some("" | "System") if constraints.is_empty() => Defaulting::System,
        None | Some("" | "System") => {
            let rule = "defaultConstraints are given; write List";
            return Err(fields.bad_value("defaultingType", "System", rule));
        }
        Some("List") => Defaulting::List,
        Some(other) => return Err(fields.bad_value("defaultingType", other, "write System or List")),
    };
    Ok(PodTopologySpreadArgs { default_constraints: constraints, defaulting })
}

fn volume_binding(fields: &Fields<'_>) -> Result<VolumeBindingArgs, SchemaError> {
    let default = VolumeBindingArgs::default();
    let seconds = fields.integer("bindTimeoutSeconds")?.unwrap_or(default.bind_timeout_seconds);
    if seconds < 0 {
        return Err(fields.bad_value("bindTimeoutSeconds", seconds, "write 0 or more"));
    }
    Ok(VolumeBindingArgs { bind_timeout_seconds: seconds, shape: shape(fields)?.unwrap_or(default.shape) })
}

fn preemption(fields: &Fields<'_>) -> Result<DefaultPreemptionArgs, SchemaError> {
    let default = DefaultPreemptionArgs::default();
    let percentage = integer32(fields, "minCandidateNodesPercentage")?;
    let absolute = integer32(fields, "minCandidateNodesAbsolute")?;
    let args = DefaultPreemptionArgs {
        min_candidate_nodes_percentage: percentage.unwrap_or(default.min_candidate_nodes_percentage),
        min_candidate_nodes_absolute: absolute.unwrap_or(default.min_candidate_nodes_absolute),
    };
    let (percentage, absolute) = (args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute);
    if !(0..=100).contains(&percentage) {
        return Err(fields.bad_value("minCandidateNodesPercentage", percentage, "write 0 to 100"));
    }
    if absolute < 0 {
        return Err(fields.bad_value("minCandidateNodesAbsolute", absolute, "write 0 or more"));
    }
    if percentage == 0 && absolute == 0 {
        let rule = "it and minCandidateNodesPercentage cannot both be 0";
        return Err(fields.bad_value("minCandidateNodesAbsolute", absolute, rule));
    }
    Ok(args)
}

/// Read and checked; there is no timeout of either kind here.
fn check_dynamic_resources(fields: &Fields<'_>) -> Result<(), SchemaError> {
    fields.duration("filterTimeout")?;
    let binding = fields.duration("bindingTimeout")?;
    if binding.is_some_and(|timeout| timeout < Duration::from_secs(1)) {
        let written = fields.string("bindingTimeout")?.unwrap_or_default();
        return Err(fields.bad_value("bindingTimeout", written, "write 1s or more"));
    }
    Ok(())
}

/// Arguments of a plugin that is not upstream's, as they stand.
fn plain(node: &Node) -> ArgValue {
    match &node.value {
        Value::Null => ArgValue::Null,
        Value::Bool(value) => ArgValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => ArgValue::Integer(value),
            None => ArgValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => ArgValue::Text(text.clone()),
        Value::Sequence(items) => ArgValue::List(items.iter().map(plain).collect()),
        Value::Mapping(entries) => {
            ArgValue::Map(entries.iter().map(|(key, node)| (key.name.clone(), plain(node))).collect())
        }
    }
}
