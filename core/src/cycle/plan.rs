//! What a class needs of each plugin: which filters run and where, which scores run and how they
//! are combined. Made once per class and node-list structure.
//!
//! Upstream: framework/runtime/framework.go `RunPreFilterPlugins`, `RunPreScorePlugins`.

use std::sync::Arc;

use crate::class::PodClass;
use crate::cycle::engine::Pending;
use crate::framework::plugin::{Normalization, PreFilter, PreScore, Reads};
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::status::{Code, Reason};
use crate::ids::Symbol;
use crate::world::World;

/// Where Filter looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FilterScope {
    /// All nodes.
    #[default]
    All,
    /// Only these rows (list order), because these plugins (sorted) said so.
    Rows {
        /// Rows of the named nodes that exist.
        rows: Vec<u32>,
        /// The plugins that named nodes.
        plugins: Vec<&'static str>,
        /// The names, sorted, existing or not.
        names: Vec<Symbol>,
    },
    /// PreFilter rejected the pod.
    Rejected {
        /// The plugin, unless several disagreed.
        plugin: Option<&'static str>,
        /// The code.
        code: Code,
        /// Why.
        reason: Reason,
        /// The plugins that named nodes, when that is the reason.
        named_by: Vec<&'static str>,
    },
}

/// A score plugin that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedScore {
    /// The plugin.
    pub plugin: PluginIndex,
    /// Its weight.
    pub weight: i64,
    /// How its scores are scaled.
    pub normalization: Normalization,
    /// What its scores depend on.
    pub reads: Reads,
}

/// The plan for one class.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Where Filter looks.
    pub scope: FilterScope,
    /// Filters whose verdict on a row stands until the row changes.
    pub filters: Vec<PluginIndex>,
    /// Those of `filters` that read a node's attributes only.
    pub static_filters: Vec<PluginIndex>,
    /// The others of `filters`.
    pub local_filters: Vec<PluginIndex>,
    /// Filters that are asked in every cycle.
    pub live_filters: Vec<PluginIndex>,
    /// Filters that PreFilter skipped.
    pub skipped_filters: Vec<PluginIndex>,
    /// Scores that are final and stand until the row changes: one sum per row.
    pub final_scores: Vec<PlannedScore>,
    /// Scores whose raw value stands until the row changes, scaled in every cycle.
    pub scaled_scores: Vec<PlannedScore>,
    /// Scores that are asked in every cycle.
    pub live_scores: Vec<PlannedScore>,
    /// Scores that PreScore skipped.
    pub skipped_scores: Vec<PluginIndex>,
    /// Some filter that runs may have no answer.
    pub can_fail: bool,
    /// What the answers of PreFilter and PreScore were made from.
    versions: Vec<(PluginIndex, u64)>,
}

impl Plan {
    /// The row of the pod's nominated node if PreFilter named other nodes only. It is looked at
    /// nevertheless.
    pub(crate) fn nominated_outside(&self, world: &World, pending: Pending) -> Option<usize> {
        let FilterScope::Rows { rows, .. } = &self.scope else { return None };
        let row = pending.nominated_row(world)?;
        rows.iter().all(|&eligible| eligible as usize != row).then_some(row)
    }

    /// Asks every plugin about the class.
    #[must_use]
    pub fn make(world: &World, profile: &Profile, class: &PodClass) -> Plan {
        let mut plan = Plan::default();
        plan.remake(world, profile, class);
        plan
    }

    /// Panics where the lists of plugins or rows do not agree.
    pub(crate) fn check(&self) {
        let parts = self.static_filters.len() + self.local_filters.len();
        assert_eq!(parts, self.filters.len(), "a filter reads attributes, or pods as well");
        let of_rows = self.static_filters.iter().chain(&self.local_filters);
        assert!(
            of_rows.clone().all(|it| self.filters.contains(it)),
            "a filter's verdict stands with those of all"
        );
        let runs = |it: &PluginIndex| self.filters.contains(it) || self.live_filters.contains(it);
        assert!(!self.skipped_filters.iter().any(runs), "a filter that PreFilter skipped does not run");
        let scores = [&self.final_scores, &self.scaled_scores, &self.live_scores];
        let scores = || scores.into_iter().flatten();
        assert!(
            !scores().any(|it| self.skipped_scores.contains(&it.plugin)),
            "a score that was skipped is not asked"
        );
        assert!(
            self.final_scores.iter().all(|it| it.normalization == Normalization::None),
            "a final score is not scaled"
        );
        assert!(
            self.live_scores.iter().all(|it| it.reads == Reads::Global),
            "a score that stands is not asked again"
        );
        if let FilterScope::Rows { rows, plugins, names } = &self.scope {
            assert!(rows.is_sorted_by(|one, other| one < other), "named rows stand in list order, each once");
            assert!(!plugins.is_empty(), "some plugin named the nodes");
            assert!(rows.len() <= names.len(), "a named row has a name");
        }
    }

    /// Forgets everything but the memory it stood in.
    fn clear(&mut self) {
        let Plan { filters, static_filters, local_filters, live_filters, skipped_filters, .. } = self;
        for plugins in [filters, static_filters, local_filters, live_filters, skipped_filters] {
            plugins.clear();
        }
        for scores in [&mut self.final_scores, &mut self.scaled_scores, &mut self.live_scores] {
            scores.clear();
        }
        self.skipped_scores.clear();
        self.versions.clear();
    }

    /// Asks every plugin about the class, as [`Plan::make`] does, in the memory of another plan.
    pub(crate) fn remake(&mut self, world: &World, profile: &Profile, class: &PodClass) {
        self.clear();
        let plan = self;
        plan_versions(world, profile, class, &mut plan.versions);
        plan.scope = plan.pre_filter(world, profile, class);
        // One whose PreFilter rejects filters in a dry run of evictions all the same.
        for &plugin in profile.filters() {
            if plan.skipped_filters.contains(&plugin) {
                continue;
            }
            plan.can_fail |= profile.filter(plugin).can_fail();
            let list = match profile.filter(plugin).reads() {
                Reads::Global => {
                    plan.live_filters.push(plugin);
                    continue;
                }
                Reads::Static => &mut plan.static_filters,
                Reads::NodeLocal => &mut plan.local_filters,
            };
            list.push(plugin);
            plan.filters.push(plugin);
        }
        for &(plugin, weight) in profile.scores() {
            let score = profile.score(plugin);
            if profile.asks_pre_score(plugin) && score.pre_score(world, class) == PreScore::Skip {
                plan.skipped_scores.push(plugin);
                continue;
            }
            if score.is_indifferent(world, class) {
                continue;
            }
            let (normalization, reads) = (score.normalization(), score.reads());
            let planned = PlannedScore { plugin, weight, normalization, reads };
            match (reads, normalization) {
                (Reads::Global, _) => plan.live_scores.push(planned),
                (_, Normalization::None) => plan.final_scores.push(planned),
                _ => plan.scaled_scores.push(planned),
            }
        }
    }

    /// Whether every plugin would answer as it did when the plan was made.
    #[inline]
    #[must_use]
    pub fn is_current(&self, world: &World, profile: &Profile, class: &PodClass) -> bool {
        self.versions
            .iter()
            .all(|&(plugin, version)| profile.plugins()[plugin].plan_version(world, class) == Some(version))
    }

    /// Asks PreFilter. Notes the plugins that skip.
    fn pre_filter(&mut self, world: &World, profile: &Profile, class: &PodClass) -> FilterScope {
        let mut names: Option<Vec<Symbol>> = None;
        let mut named_by: Vec<&'static str> = Vec::new();
        let mut rejected = None;
        for &plugin in profile.pre_filters() {
            let mut subset = None;
            match profile.filter(plugin).pre_filter(world, class) {
                PreFilter::Skip => {
                    self.skipped_filters.push(plugin);
                    continue;
                }
                PreFilter::Reject(code, reason) => {
                    let scope = FilterScope::Rejected {
                        plugin: Some(profile.name(plugin)),
                        code,
                        reason,
                        named_by: Vec::new(),
                    };
                    if code == Code::UnschedulableAndUnresolvable {
                        return scope;
                    }
                    // Eviction may help: the remaining plugins still prepare themselves.
                    rejected = Some(scope);
                    continue;
                }
                PreFilter::Nodes(nodes) => {
                    subset = Some(nodes);
                    named_by.push(profile.name(plugin));
                }
                PreFilter::Run => {}
            }
            if let Some(subset) = subset {
                let mut merged = names.take().unwrap_or_else(|| subset.to_vec());
                merged.retain(|name| subset.contains(name));
                if merged.is_empty() {
                    named_by.sort_unstable();
                    return FilterScope::Rejected {
                        plugin: None,
                        code: Code::UnschedulableAndUnresolvable,
                        reason: Reason::Owned(disagreement(&named_by)),
                        named_by,
                    };
                }
                names = Some(merged);
            }
        }
        match (rejected, names) {
            (Some(scope), _) => scope,
            (None, None) => FilterScope::All,
            (None, Some(mut names)) => {
                named_by.sort_unstable();
                names.sort_unstable_by_key(|&name| world.vocabulary.symbols.text(name));
                names.dedup();
                FilterScope::Rows { rows: existing_rows(world, &names), plugins: named_by, names }
            }
        }
    }
}

fn plan_versions(world: &World, profile: &Profile, class: &PodClass, versions: &mut Vec<(PluginIndex, u64)>) {
    let plugins = profile.plugins().iter().enumerate();
    versions.extend(plugins.filter_map(|(at, plugin)| Some((at, plugin.plan_version(world, class)?))));
}

fn existing_rows(world: &World, names: &[Symbol]) -> Vec<u32> {
    let nodes = world.nodes();
    let mut rows: Vec<u32> = names
        .iter()
        .filter_map(|&name| nodes.row_of(nodes.find(name)?))
        .map(|row| u32::try_from(row).expect("rows fit u32"))
        .collect();
    rows.sort_unstable();
    rows
}

fn disagreement(plugins: &[&str]) -> Arc<str> {
    match plugins {
        [only] => format!("node(s) didn't satisfy plugin {only}").into(),
        several => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" ")).into(),
    }
}

/// The reason given for nodes outside a subset.
#[must_use]
pub fn outside_reason(plugins: &[&str]) -> Reason {
    Reason::Owned(format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" ")).into())
}
