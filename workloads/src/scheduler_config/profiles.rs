//! `profiles`: names, plugin lists, and whose arguments stand where.

use std::collections::BTreeMap;

use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::build::ProfileProblem;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::plugin_lists::{EnabledPlugin, PluginLists, PluginSet};
use schedlab_core::framework::registry::DEFAULT_SCHEDULER_NAME;

use super::{args, integer32, percentage_of_nodes_to_score};
use crate::schema::{SchemaError, SchemaProblem};
use crate::yaml::{Fields, Location, Node};

/// A profile as the user wrote it: what differs from the default one.
#[derive(Clone, Debug, PartialEq)]
pub struct UserProfile {
    /// `schedulerName`.
    pub scheduler_name: String,
    /// `percentageOfNodesToScore`; absent, the global one holds.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// `plugins`.
    pub plugins: PluginLists,
    /// `pluginConfig` by plugin.
    pub args: BTreeMap<String, PluginArgs>,
    places: Places,
}

/// Where things stand in the file.
#[derive(Clone, Debug, PartialEq)]
struct Places {
    profile: Location,
    name: Location,
    /// Entries of `enabled`; `None` is `multiPoint`.
    enabled: Vec<(Option<ExtensionPoint>, String, Location)>,
    args: Vec<(String, Location)>,
}

impl UserProfile {
    /// Where the file says what a problem is about.
    pub(super) fn place_of(&self, problem: &ProfileProblem) -> Location {
        let places = &self.places;
        if matches!(problem, ProfileProblem::RepeatedName | ProfileProblem::NoName) {
            return places.name;
        }
        if let ProfileProblem::Factory { plugin, .. } | ProfileProblem::QueueSortArgsDiffer { plugin } =
            problem
            && let Some((_, at)) = places.args.iter().find(|(name, _)| name == plugin)
        {
            return *at;
        }
        let Some((plugin, point)) = problem.entry() else { return places.profile };
        let mut entries = places.enabled.iter().rev();
        let exact = entries.clone().find(|(at, name, _)| name == plugin && *at == point);
        // A queue sort that came by way of multiPoint stands there.
        let entry = exact.or_else(|| entries.find(|(_, name, _)| name == plugin));
        entry.map_or(places.profile, |(_, _, at)| *at)
    }
}

const PROFILE: &[&str] = &["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
const PLUGINS: &[&str] = &[
    "multiPoint",
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
];
/// Points of pod group scheduling, which is behind gates that are off by default.
const POD_GROUP_POINTS: [&str; 3] = ["placementGenerate", "placementScore", "podGroupPostFilter"];

/// Plugins that upstream removed and whose names it refuses.
const REMOVED: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<UserProfile>, SchemaError> {
    let nodes = fields.list("profiles")?;
    if nodes.is_empty() {
        return Ok(vec![default_profile(fields.at())]);
    }
    let mut profiles: Vec<UserProfile> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        profiles.push(read_profile(fields.file(), index, node, nodes.len() == 1)?);
    }
    Ok(profiles)
}

fn default_profile(at: Location) -> UserProfile {
    UserProfile {
        scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
        percentage_of_nodes_to_score: None,
        plugins: PluginLists::default(),
        args: BTreeMap::new(),
        places: Places { profile: at, name: at, enabled: Vec::new(), args: Vec::new() },
    }
}

fn read_profile(file: &str, index: usize, node: &Node, is_only: bool) -> Result<UserProfile, SchemaError> {
    let fields = Fields::read_exact(file, format!("profiles[{index}]"), node, PROFILE)?;
    let mut profile = default_profile(fields.at());
    match fields.string("schedulerName")? {
        Some(name) => profile.scheduler_name = name,
        // Only a profile that is alone gets the default name.
        None if !is_only => profile.scheduler_name.clear(),
        None => {}
    }
    profile.places.name = fields.get("schedulerName").map_or(fields.at(), |node| node.at);
    profile.percentage_of_nodes_to_score = percentage_of_nodes_to_score(&fields)?;
    if let Some(node) = fields.get("plugins") {
        read_plugins(&fields, node, &mut profile)?;
    }
    read_plugin_config(&fields, &mut profile)?;
    Ok(profile)
}

fn read_plugins(fields: &Fields<'_>, node: &Node, profile: &mut UserProfile) -> Result<(), SchemaError> {
    let fields = Fields::read_exact(fields.file(), format!("{}.plugins", fields.holder()), node, PLUGINS)?;
    let enabled = &mut profile.places.enabled;
    profile.plugins.multi_point = read_set(&fields, "multiPoint", None, enabled)?;
    for point in ExtensionPoint::ALL {
        *profile.plugins.at_mut(point) = read_set(&fields, point.name(), Some(point), enabled)?;
    }
    for point in POD_GROUP_POINTS {
        if let Some(plugin) = read_set(&fields, point, None, &mut Vec::new())?.enabled.first() {
            let rule = "pod group scheduling is not built into schedlab; remove it";
            return Err(fields.bad_value(point, &plugin.name, rule));
        }
    }
    Ok(())
}

fn read_set(
    fields: &Fields<'_>,
    field: &'static str,
    point: Option<ExtensionPoint>,
    places: &mut Vec<(Option<ExtensionPoint>, String, Location)>,
) -> Result<PluginSet, SchemaError> {
    let Some(node) = fields.get(field) else { return Ok(PluginSet::default()) };
    let holder = format!("{}.{field}", fields.holder());
    let fields = Fields::read_exact(fields.file(), holder, node, &["enabled", "disabled"])?;
    let mut set = PluginSet::default();
    for (index, node) in fields.list("enabled")?.iter().enumerate() {
        let plugin = read_plugin(&fields, "enabled", index, node)?;
        places.push((point, plugin.name.clone(), node.at));
        set.enabled.push(plugin);
    }
    for (index, node) in fields.list("disabled")?.iter().enumerate() {
        set.disabled.push(read_plugin(&fields, "disabled", index, node)?.name);
    }
    Ok(set)
}

fn read_plugin(
    fields: &Fields<'_>,
    list: &str,
    index: usize,
    node: &Node,
) -> Result<EnabledPlugin, SchemaError> {
    let holder = format!("{}.{list}[{index}]", fields.holder());
    let fields = Fields::read_exact(fields.file(), holder, node, &["name", "weight"])?;
    let name = fields.required_string("name", "write the name of a plugin")?;
    if list == "enabled" {
        refuse_removed(&fields, &name)?;
    }
    let weight = integer32(&fields, "weight")?.unwrap_or(0);
    if weight < 0 {
        let rule = "write 1 or more, or disable the plugin at score";
        return Err(fields.bad_value("weight", weight, rule));
    }
    Ok(EnabledPlugin { name, weight })
}

fn refuse_removed(fields: &Fields<'_>, name: &str) -> Result<(), SchemaError> {
    if REMOVED.contains(&name) {
        let rule = "kube-scheduler removed it; NodeVolumeLimits counts volumes today";
        return Err(fields.bad_value("name", name, rule));
    }
    Ok(())
}

fn read_plugin_config(fields: &Fields<'_>, profile: &mut UserProfile) -> Result<(), SchemaError> {
    for (index, node) in fields.list("pluginConfig")?.iter().enumerate() {
        let holder = format!("{}.pluginConfig[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["name", "args"])?;
        let name =
            fields.required_string("name", "write the name of the plugin that the arguments are for")?;
        refuse_removed(&fields, &name)?;
        if let Some((_, first)) = profile.places.args.iter().find(|(known, _)| *known == name) {
            let problem = SchemaProblem::RepeatedArgs { plugin: name, first_line: first.line };
            return Err(fields.error(node.at, problem));
        }
        profile.places.args.push((name.clone(), node.at));
        let read = args::read(&fields, &name)?;
        profile.args.insert(name, read);
    }
    Ok(())
}
