//! A policy in the descheduler project's format `descheduler/v1alpha2`.
//!
//! Upstream: kubernetes-sigs/descheduler pkg/api/v1alpha2/types.go, pkg/framework/plugins/*/types.go.

use std::collections::BTreeMap;

use schedlab_core::input::LabelSelectorInput;
use serde_json::Value;

use super::super::evictable::{Evictor, PriorityThreshold};
use super::fields::{PolicyFields, Read, refuse, wrong};

const API_VERSION: &str = "descheduler/v1alpha2";
const KIND: &str = "DeschedulerPolicy";
/// Decides what may be evicted; it is in every profile.
const EVICTOR: &str = "DefaultEvictor";

/// Names and when they run. Upstream: the interfaces `DeschedulePlugin` and `BalancePlugin`.
const PLUGINS: [(&str, Point); 10] = [
    ("RemoveDuplicates", Point::Balance),
    ("LowNodeUtilization", Point::Balance),
    ("HighNodeUtilization", Point::Balance),
    ("RemovePodsViolatingTopologySpreadConstraint", Point::Balance),
    ("RemovePodsViolatingNodeAffinity", Point::Deschedule),
    ("RemovePodsViolatingInterPodAntiAffinity", Point::Deschedule),
    ("RemovePodsViolatingNodeTaints", Point::Deschedule),
    ("RemovePodsHavingTooManyRestarts", Point::Deschedule),
    ("PodLifeTime", Point::Deschedule),
    (EVICTOR, Point::Filter),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Deschedule,
    Balance,
    Filter,
}

impl Point {
    fn name(self) -> &'static str {
        match self {
            Point::Deschedule => "deschedule",
            Point::Balance => "balance",
            Point::Filter => "filter",
        }
    }
}

/// What the descheduler goes by.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Nodes that it looks at; all without one.
    pub(super) node_selector: Option<BTreeMap<String, String>>,
    pub(super) limits: Limits,
    pub(super) profiles: Vec<EvictionProfile>,
}

/// Evictions that one cycle makes at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) per_node: Option<u64>,
    pub(super) per_namespace: Option<u64>,
    pub(super) total: Option<u64>,
}

/// A profile: its plugins in the order in which they run.
#[derive(Debug)]
pub(super) struct EvictionProfile {
    pub(super) evictor: Evictor,
    /// Those of `deschedule`, then those of `balance`.
    pub(super) strategies: Vec<Strategy>,
}

/// Which pods a plugin looks at.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) include: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) selector: Option<LabelSelectorInput>,
}

/// A plugin with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Strategy {
    Duplicates { scope: Scope, excluded_kinds: Vec<String> },
    LowUtilization(Utilization),
    HighUtilization(Utilization),
    Spread { scope: Scope, do_not_schedule: bool, schedule_anyway: bool, node_fit: bool },
    NodeAffinity { scope: Scope, required: bool, preferred: bool },
    AntiAffinity { scope: Scope },
    Taints { scope: Scope, prefer_no_schedule: bool, excluded: Vec<String>, included: Vec<String> },
    Restarts { scope: Scope, threshold: i64, init_containers: bool, states: Vec<String> },
    LifeTime { scope: Scope, max_ns: u64, states: Vec<String> },
}

/// Arguments of both plugins about utilization, in percent.
#[derive(Clone, Debug)]
pub(super) struct Utilization {
    pub(super) scope: Scope,
    pub(super) thresholds: BTreeMap<String, f64>,
    pub(super) targets: BTreeMap<String, f64>,
    pub(super) by_deviation: bool,
    pub(super) number_of_nodes: u64,
}

impl Strategy {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Strategy::Duplicates { .. } => PLUGINS[0].0,
            Strategy::LowUtilization(_) => PLUGINS[1].0,
            Strategy::HighUtilization(_) => PLUGINS[2].0,
            Strategy::Spread { .. } => PLUGINS[3].0,
            Strategy::NodeAffinity { .. } => PLUGINS[4].0,
            Strategy::AntiAffinity { .. } => PLUGINS[5].0,
            Strategy::Taints { .. } => PLUGINS[6].0,
            Strategy::Restarts { .. } => PLUGINS[7].0,
            Strategy::LifeTime { .. } => PLUGINS[8].0,
        }
    }

    fn read(name: &str, args: PolicyFields) -> Read<Strategy> {
        match name {
            "RemoveDuplicates" => duplicates(args),
            "LowNodeUtilization" => low_utilization(args),
            "HighNodeUtilization" => high_utilization(args),
            "RemovePodsViolatingTopologySpreadConstraint" => spread(args),
            "RemovePodsViolatingNodeAffinity" => node_affinity(args),
            "RemovePodsViolatingInterPodAntiAffinity" => anti_affinity(args),
            "RemovePodsViolatingNodeTaints" => taints(args),
            "RemovePodsHavingTooManyRestarts" => restarts(args),
            _ => life_time(args),
        }
    }
}

impl Policy {
    /// Reads a policy; its path in messages is `policy`.
    pub(super) fn read(written: &Value) -> Read<Policy> {
        let mut fields = PolicyFields::of("policy", written)?;
        for (name, wanted) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            let is = fields.required_text(name)?;
            if is != wanted {
                return wrong(&fields.path_of(name), &Value::from(is), &format!("`{wanted}`"));
            }
        }
        let node_selector = fields.text("nodeSelector")?;
        let node_selector =
            node_selector.map(|text| labels_of(&fields.path_of("nodeSelector"), &text)).transpose()?;
        let limits = Limits {
            per_node: fields.whole("maxNoOfPodsToEvictPerNode", 0)?,
            per_namespace: fields.whole("maxNoOfPodsToEvictPerNamespace", 0)?,
            total: fields.whole("maxNoOfPodsToEvictTotal", 0)?,
        };
        let mut profiles = Vec::new();
        for (path, value) in fields.list("profiles")? {
            profiles.push(profile(PolicyFields::of(&path, &value)?)?);
        }
        let path = fields.path_of("profiles");
        fields.finish()?;
        if profiles.is_empty() {
            return refuse(&path, "is empty; add a profile with the plugins that are to run");
        }
        Ok(Policy { node_selector, limits, profiles })
    }
}

/// `key=value,...`, of which all must hold.
fn labels_of(path: &str, text: &str) -> Read<BTreeMap<String, String>> {
    let pair = |part: &str| match part.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim_start_matches('=').trim().to_owned()))
        }
        _ => wrong(path, &Value::from(text), "labels such as `pool=batch`, commas between them"),
    };
    text.split(',').map(pair).collect()
}

fn profile(mut fields: PolicyFields) -> Read<EvictionProfile> {
    fields.required_text("name")?;
    let mut configs: BTreeMap<String, PolicyFields> = BTreeMap::new();
    for (path, value) in fields.list("pluginConfig")? {
        let mut config = PolicyFields::of(&path, &value)?;
        let name = config.required_text("name")?;
        known(&config.path_of("name"), &name)?;
        let args = config.mapping("args")?;
        config.finish()?;
        if configs.insert(name.clone(), args).is_some() {
            return refuse(&path, &format!("configures `{name}` a second time; remove one"));
        }
    }
    let mut plugins = fields.mapping("plugins")?;
    let mut strategies = Vec::new();
    for point in [Point::Deschedule, Point::Balance] {
        for (path, name) in enabled(&mut plugins, point.name())? {
            if known(&path, &name)? != point {
                let of = known(&path, &name)?.name();
                return wrong(&path, &Value::from(name), &format!("it under `{of}`, where it belongs"));
            }
            let args = match configs.remove(&name) {
                Some(args) => args,
                None => {
                    PolicyFields::of(&format!("{} of {name}", fields.path_of("pluginConfig")), &Value::Null)?
                }
            };
            strategies.push(Strategy::read(&name, args)?);
        }
    }
    for point in ["filter", "preEvictionFilter", "sort"] {
        for (path, name) in enabled(&mut plugins, point)? {
            if name != EVICTOR {
                return wrong(&path, &Value::from(name), &format!("`{EVICTOR}`, the only one there is"));
            }
        }
    }
    plugins.finish()?;
    fields.finish()?;
    let evictor = match configs.remove(EVICTOR) {
        Some(args) => evictor(args)?,
        None => Evictor::default(),
    };
    // What is configured and not enabled is read as well: a slip in it is none the less one.
    for (name, args) in configs {
        Strategy::read(&name, args)?;
    }
    Ok(EvictionProfile { evictor, strategies })
}

/// Arguments of DefaultEvictor.
fn evictor(mut args: PolicyFields) -> Read<Evictor> {
    let mut threshold = args.mapping("priorityThreshold")?;
    let (name, value) = (threshold.text("name")?, threshold.take("value"));
    let path = threshold.path().to_owned();
    threshold.finish()?;
    let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
    let threshold = match (name, value) {
        (None, None) => PriorityThreshold::SystemCritical,
        (Some(name), None) => PriorityThreshold::Class(name),
        (None, Some(value)) => match number(&value) {
            Some(number) => PriorityThreshold::Value(number),
            None => return wrong(&format!("{path}.value"), &value, "a priority, a whole number"),
        },
        (Some(_), Some(_)) => return refuse(&path, "has `name` and `value`; only one of them can be set"),
    };
    let evictor = Evictor {
        system_critical: args.switch("evictSystemCriticalPods", false)?,
        failed_bare: args.switch("evictFailedBarePods", false)?,
        local_storage: args.switch("evictLocalStoragePods", false)?,
        daemon_sets: args.switch("evictDaemonSetPods", false)?,
        ignores_claims: args.switch("ignorePvcPods", false)?,
        node_fit: args.switch("nodeFit", false)?,
        min_replicas: args.whole("minReplicas", 0)?.unwrap_or(0),
        min_age_ns: args.whole("minPodAgeSeconds", 0)?.unwrap_or(0).saturating_mul(1_000_000_000),
        threshold,
        selector: args.selector("labelSelector")?,
    };
    args.finish()?;
    Ok(evictor)
}

/// Names under an extension point, with their paths.
fn enabled(plugins: &mut PolicyFields, point: &'static str) -> Read<Vec<(String, String)>> {
    let mut set = plugins.mapping(point)?;
    let path = set.path_of("enabled");
    let names = set.texts("enabled")?;
    set.texts("disabled")?;
    set.finish()?;
    Ok(names.into_iter().enumerate().map(|(at, name)| (format!("{path}[{at}]"), name)).collect())
}

fn known(path: &str, name: &str) -> Read<Point> {
    let found = PLUGINS.iter().find(|(known, _)| *known == name);
    match found {
        Some((_, point)) => Ok(*point),
        None => {
            let names = PLUGINS.map(|(name, _)| name).join(", ");
            wrong(path, &Value::from(name), &format!("a plugin that is known: {names}"))
        }
    }
}

fn scope(args: &mut PolicyFields) -> Read<Scope> {
    let mut scope = namespaces(args, "namespaces")?;
    scope.selector = args.selector("labelSelector")?;
    Ok(scope)
}

fn namespaces(args: &mut PolicyFields, name: &'static str) -> Read<Scope> {
    let mut fields = args.mapping(name)?;
    let (include, exclude) = (fields.texts("include")?, fields.texts("exclude")?);
    let path = fields.path().to_owned();
    fields.finish()?;
    if !include.is_empty() && !exclude.is_empty() {
        return refuse(&path, "has `include` and `exclude`; only one of them can be set");
    }
    Ok(Scope { include, exclude, selector: None })
}

fn duplicates(mut args: PolicyFields) -> Read<Strategy> {
    let scope = namespaces(&mut args, "namespaces")?;
    let excluded_kinds = args.texts("excludeOwnerKinds")?;
    args.finish()?;
    Ok(Strategy::Duplicates { scope, excluded_kinds })
}

fn low_utilization(mut args: PolicyFields) -> Read<Strategy> {
    let by_deviation = args.switch("useDeviationThresholds", false)?;
    let (thresholds, targets) = (args.percentages("thresholds")?, args.percentages("targetThresholds")?);
    let path = args.path().to_owned();
    let utilization = utilization(args, thresholds, targets, by_deviation)?;
    let Utilization { thresholds, targets, .. } = &utilization;
    if !thresholds.keys().eq(targets.keys()) {
        return refuse(&path, "must name the same resources in `thresholds` and `targetThresholds`");
    }
    if let Some((name, _)) = thresholds.iter().find(|(name, low)| !by_deviation && targets[*name] < **low) {
        return refuse(&path, &format!("has a threshold of `{name}` above its target threshold"));
    }
    Ok(Strategy::LowUtilization(utilization))
}

fn high_utilization(mut args: PolicyFields) -> Read<Strategy> {
    let thresholds = args.percentages("thresholds")?;
    let targets = thresholds.keys().map(|name| (name.clone(), 100.0)).collect();
    utilization(args, thresholds, targets, false).map(Strategy::HighUtilization)
}

fn utilization(
    mut args: PolicyFields,
    thresholds: BTreeMap<String, f64>,
    targets: BTreeMap<String, f64>,
    by_deviation: bool,
) -> Read<Utilization> {
    let number_of_nodes = args.whole("numberOfNodes", 0)?.unwrap_or(0);
    let scope = namespaces(&mut args, "evictableNamespaces")?;
    if !scope.include.is_empty() {
        return refuse(&args.path_of("evictableNamespaces"), "can only `exclude` namespaces");
    }
    let path = args.path().to_owned();
    args.finish()?;
    if thresholds.is_empty() {
        return refuse(&path, "has no `thresholds`; write such as {cpu: 20, memory: 20, pods: 20}");
    }
    Ok(Utilization { scope, thresholds, targets, by_deviation, number_of_nodes })
}

/// Texts of a list, each one of those that are known.
fn some_of(args: &mut PolicyFields, name: &'static str, known: &[&str]) -> Read<Vec<String>> {
    let path = args.path_of(name);
    let texts = args.texts(name)?;
    match texts.iter().position(|text| !known.contains(&text.as_str())) {
        Some(at) => {
            let value = Value::from(texts[at].as_str());
            wrong(&format!("{path}[{at}]"), &value, &format!("one of {}", known.join(", ")))
        }
        None => Ok(texts),
    }
}

fn spread(mut args: PolicyFields) -> Read<Strategy> {
    let scope = scope(&mut args)?;
    let which = some_of(&mut args, "constraints", &["DoNotSchedule", "ScheduleAnyway"])?;
    let node_fit = args.switch("topologyBalanceNodeFit", true)?;
    args.finish()?;
    let has = |name: &str| which.iter().any(|it| it == name);
    let do_not_schedule = which.is_empty() || has("DoNotSchedule");
    Ok(Strategy::Spread { scope, do_not_schedule, schedule_anyway: has("ScheduleAnyway"), node_fit })
}

fn node_affinity(mut args: PolicyFields) -> Read<Strategy> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let scope = scope(&mut args)?;
    let which = some_of(&mut args, "nodeAffinityType", &[REQUIRED, PREFERRED])?;
    let path = args.path().to_owned();
    args.finish()?;
    if which.is_empty() {
        return refuse(&path, &format!("has no `nodeAffinityType`; write [{REQUIRED}]"));
    }
    let has = |name: &str| which.iter().any(|it| it == name);
    Ok(Strategy::NodeAffinity { scope, required: has(REQUIRED), preferred: has(PREFERRED) })
}

fn anti_affinity(mut args: PolicyFields) -> Read<Strategy> {
    let scope = scope(&mut args)?;
    args.finish()?;
    Ok(Strategy::AntiAffinity { scope })
}

fn taints(mut args: PolicyFields) -> Read<Strategy> {
    let scope = scope(&mut args)?;
    let prefer_no_schedule = args.switch("includePreferNoSchedule", false)?;
    let (excluded, included) = (args.texts("excludedTaints")?, args.texts("includedTaints")?);
    let path = args.path().to_owned();
    args.finish()?;
    if !excluded.is_empty() && !included.is_empty() {
        return refuse(&path, "has `includedTaints` and `excludedTaints`; only one of them can be set");
    }
    Ok(Strategy::Taints { scope, prefer_no_schedule, excluded, included })
}

fn restarts(mut args: PolicyFields) -> Read<Strategy> {
    let scope = scope(&mut args)?;
    let threshold = args.whole("podRestartThreshold", 1)?;
    let init_containers = args.switch("includingInitContainers", false)?;
    let states = some_of(&mut args, "states", &["Running", "CrashLoopBackOff"])?;
    let path = args.path().to_owned();
    args.finish()?;
    let Some(threshold) = threshold else {
        return refuse(&path, "has no `podRestartThreshold`; write such as 100");
    };
    let threshold = i64::try_from(threshold).unwrap_or(i64::MAX);
    Ok(Strategy::Restarts { scope, threshold, init_containers, states })
}

/// Phases, and why a container waits. Upstream: podlifetime/validation.go.
const LIFE_TIME_STATES: [&str; 15] = [
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "ErrImagePull",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "InvalidImageName",
    "NodeLost",
    "UnexpectedAdmissionError",
];

fn life_time(mut args: PolicyFields) -> Read<Strategy> {
    let scope = scope(&mut args)?;
    let seconds = args.whole("maxPodLifeTimeSeconds", 1)?;
    let states = some_of(&mut args, "states", &LIFE_TIME_STATES)?;
    let path = args.path().to_owned();
    args.finish()?;
    let Some(seconds) = seconds else {
        return refuse(&path, "has no `maxPodLifeTimeSeconds`; write such as 86400");
    };
    Ok(Strategy::LifeTime { scope, max_ns: seconds.saturating_mul(1_000_000_000), states })
}
