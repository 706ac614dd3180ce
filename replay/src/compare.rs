//! One recorded decision against the explanation and the engine's decision.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schedlab_core::cycle::engine::Decision;
use schedlab_core::cycle::explain::{Explanation, NodeExplanation, Rejection};
use schedlab_core::cycle::plan::FilterScope;
use schedlab_core::framework::diagnosis::Diagnosis;
use schedlab_core::framework::profile::{PluginIndex, Profile};
use schedlab_core::framework::status::Reason;
use schedlab_core::ids::ClassId;
use schedlab_core::plugins::volume_binding::decide_volumes;
use schedlab_core::snapshot::mask::NodeMask;
use schedlab_core::world::World;

use super::document::{NodeRecord, PreemptionRecord, RejectionRecord, ScheduleRecord};
use super::report::{DifferenceKind, TraceDifference, TraceReport};

/// The code of a plugin that has no answer. Its text is not compared: it holds messages of compilers.
const ERROR: &str = "Error";

/// What an absent value is shown as.
pub(super) const NOTHING: &str = "nothing";

/// One `schedule` step and where its differences go.
pub(super) struct Comparison<'a> {
    pub(super) world: &'a World,
    pub(super) profile: &'a Profile,
    pub(super) record: &'a ScheduleRecord,
    pub(super) step: usize,
    pub(super) pod: &'a str,
    /// The nodes that the step is restricted to.
    pub(super) placement: Option<&'a NodeMask>,
    pub(super) report: &'a mut TraceReport,
}

impl Comparison<'_> {
    /// Compares everything that the explanation says.
    pub(super) fn explanation(&mut self, ours: &Explanation) {
        self.pre_filter(&ours.plan.scope);
        let Some(nodes) = &self.record.nodes else { return };
        self.skipped(DifferenceKind::SkipFilter, &self.record.skip_filter, &ours.plan.skipped_filters);
        if !self.record.aborted && nodes.iter().any(|node| node.feasible) {
            self.skipped(DifferenceKind::SkipScore, &self.record.skip_score, &ours.plan.skipped_scores);
        }
        let placement = self.placement;
        let is_inside = |row: usize| placement.is_none_or(|nodes| nodes.contains(row));
        if self.node_list(nodes) {
            let ours = ours.nodes.iter().enumerate().filter(|&(row, _)| is_inside(row));
            for (recorded, (_, ours)) in nodes.iter().zip(ours) {
                self.node(recorded, ours);
            }
        }
        if !self.record.via_nominated {
            self.chosen(DifferenceKind::Chosen, ours.chosen);
            self.ties(DifferenceKind::Ties, ours.ties);
        }
    }

    /// Compares the engine's decision.
    pub(super) fn decision(&mut self, ours: &Decision) {
        let (row, ties, feasible) = match ours {
            Decision::Chosen(choice) => (Some(choice.row), choice.ties, choice.feasible),
            Decision::Unschedulable(_) | Decision::NominatedMissed => (None, 0, 0),
        };
        let recorded_nodes = self.record.nodes.as_deref().unwrap_or_default();
        let recorded_feasible = recorded_nodes.iter().filter(|node| node.feasible).count();
        let via_nominated = matches!(ours, Decision::Chosen(choice) if choice.via_nominated);
        self.check(
            || DifferenceKind::ViaNominated,
            self.record.via_nominated == via_nominated,
            || (self.record.via_nominated.to_string(), via_nominated.to_string()),
        );
        self.chosen(DifferenceKind::EngineChosen, row);
        // The other nodes are not looked at when the nominated one fits.
        if !via_nominated {
            self.ties(DifferenceKind::EngineTies, ties);
            self.check(
                || DifferenceKind::EngineFeasible,
                recorded_feasible == feasible || self.record.aborted,
                || (recorded_feasible.to_string(), feasible.to_string()),
            );
        }
        let has_failed = matches!(ours, Decision::Unschedulable(diagnosis) if diagnosis.error.is_some());
        self.check(
            || DifferenceKind::Aborted,
            self.record.aborted == has_failed,
            || (self.record.aborted.to_string(), has_failed.to_string()),
        );
        if let Decision::Unschedulable(diagnosis) = ours
            && recorded_feasible == 0
            && !self.record.aborted
        {
            self.diagnosis(recorded_nodes, diagnosis);
        }
    }

    /// Compares what the volume binder decides on the node that was recorded as chosen.
    pub(super) fn volumes(&mut self, class: ClassId) {
        let world = self.world;
        let symbols = &world.vocabulary.symbols;
        let row = self.record.chosen.as_deref().and_then(|name| {
            let nodes = world.nodes();
            nodes.row_of(nodes.find(symbols.get(name)?)?)
        });
        let Some(row) = row else { return };
        let decision = decide_volumes(world, world.class(class), row);
        let storage = world.storage();
        let claim_name = |claim| {
            let (namespace, name) = storage.claim_name(claim);
            format!("{}/{}", symbols.text(namespace), symbols.text(name))
        };
        let bound = |claim: &str, volume: &str| format!("{claim} to {volume}");
        let mut ours: Vec<String> = decision
            .bindings
            .iter()
            .map(|&(claim, volume)| bound(&claim_name(claim), symbols.text(storage.volume_name(volume))))
            .collect();
        ours.extend(decision.provisions.iter().map(|&claim| format!("{} provisioned", claim_name(claim))));
        let recorded: Vec<String> = self.record.volumes.as_ref().map_or_else(Vec::new, |record| {
            let bound = record.bound.iter().map(|it| bound(&it.pvc, &it.pv));
            bound.chain(record.provisioned.iter().map(|claim| format!("{claim} provisioned"))).collect()
        });
        self.check(
            || DifferenceKind::Volumes,
            same_set(&recorded, &ours),
            || (show_list(&recorded), show_list(&ours)),
        );
    }

    /// Says so if volumes were recorded where none are compared.
    pub(super) fn no_volumes(&mut self) {
        let is_none = self.record.volumes.is_none();
        self.check(|| DifferenceKind::Volumes, is_none, || ("some".to_owned(), "not compared".to_owned()));
    }

    /// Compares what preemption finds out and would do.
    pub(super) fn preemption(&mut self, ours: &PreemptionRecord) {
        let Some(recorded) = &self.record.preemption else { return };
        let mut part = |field: &'static str, recorded: String, ours: String| {
            self.check(
                || DifferenceKind::Preemption { field },
                recorded == ours,
                || (recorded.clone(), ours.clone()),
            );
        };
        let eligibility =
            |it: &PreemptionRecord| format!("{} {}", it.eligible, it.reason.as_deref().unwrap_or_default());
        part("eligible", eligibility(recorded), eligibility(ours));
        part("potentialNodes", show_list(&recorded.potential_nodes), show_list(&ours.potential_nodes));
        part("candidates", show_candidates(recorded), show_candidates(ours));
        part("failed", show_failed(recorded), show_failed(ours));
        let chosen = |it: &PreemptionRecord| it.chosen.clone().unwrap_or_else(|| NOTHING.to_owned());
        part("chosen", chosen(recorded), chosen(ours));
        part("tied", show_list(&recorded.tied), show_list(&ours.tied));
        let cleared = |it: &PreemptionRecord| show_list(&it.applied.nominations_cleared);
        part("applied.nominationsCleared", cleared(recorded), cleared(ours));
    }

    fn pre_filter(&mut self, scope: &FilterScope) {
        let recorded = &self.record.pre_filter;
        let rejected = match scope {
            FilterScope::Rejected { plugin, code, reason, .. } => Some(RejectionRecord {
                plugin: plugin.map(str::to_owned),
                code: code.name().to_owned(),
                reasons: self.texts(std::slice::from_ref(reason)),
            }),
            FilterScope::All | FilterScope::Rows { .. } => None,
        };
        let equal = match (&recorded.rejected, &rejected) {
            (None, None) => true,
            (Some(recorded), Some(ours)) => same_rejection(recorded, ours),
            _ => false,
        };
        self.check(
            || DifferenceKind::PreFilterRejected,
            equal,
            || (show_optional(recorded.rejected.as_ref()), show_optional(rejected.as_ref())),
        );
        let (names, named_by): (Option<Vec<String>>, &[&str]) = match scope {
            FilterScope::Rows { names, plugins, .. } => {
                let symbols = &self.world.vocabulary.symbols;
                (Some(names.iter().map(|&name| symbols.text(name).to_owned()).collect()), plugins)
            }
            FilterScope::Rejected { named_by, .. } => (None, named_by),
            FilterScope::All => (None, &[]),
        };
        self.check(
            || DifferenceKind::PreFilterNodes,
            recorded.nodes == names,
            || {
                let show =
                    |names: Option<&Vec<String>>| names.map_or(NOTHING.to_owned(), |names| show_list(names));
                (show(recorded.nodes.as_ref()), show(names.as_ref()))
            },
        );
        self.check(
            || DifferenceKind::PreFilterNodesBy,
            recorded.nodes_by == named_by,
            || (show_list(&recorded.nodes_by), show_list(named_by)),
        );
    }

    /// Compares a list of skipped plugins, over those that the profile has.
    fn skipped(&mut self, what: DifferenceKind, recorded: &[String], ours: &[PluginIndex]) {
        let recorded: BTreeSet<&str> =
            recorded.iter().map(String::as_str).filter(|name| self.has_plugin(name)).collect();
        let ours: BTreeSet<&str> = ours.iter().map(|&plugin| self.profile.name(plugin)).collect();
        self.check(
            || what,
            recorded == ours,
            || {
                let show = |names: BTreeSet<&str>| show_list(&names.into_iter().collect::<Vec<_>>());
                (show(recorded), show(ours))
            },
        );
    }

    fn has_plugin(&self, name: &str) -> bool {
        self.profile.plugins().iter().any(|plugin| plugin.name() == name)
    }

    /// Whether the record speaks of our nodes in our order.
    fn node_list(&mut self, recorded: &[NodeRecord]) -> bool {
        let world = self.world;
        let placement = self.placement;
        let ids = world.nodes().columns().id.iter().enumerate();
        let ids: Vec<_> = ids
            .filter(|&(row, _)| placement.is_none_or(|nodes| nodes.contains(row)))
            .map(|(_, &id)| id)
            .collect();
        let equal = recorded.len() == ids.len()
            && recorded.iter().zip(&ids).all(|(recorded, &id)| recorded.name == world.node_name(id));
        self.check(
            || DifferenceKind::NodeList,
            equal,
            || {
                let recorded: Vec<&str> = recorded.iter().map(|node| node.name.as_str()).collect();
                let ours: Vec<&str> = ids.iter().map(|&id| world.node_name(id)).collect();
                (show_list(&recorded), show_list(&ours))
            },
        );
        equal
    }

    fn node(&mut self, recorded: &NodeRecord, ours: &NodeExplanation) {
        let node = || recorded.name.clone();
        let rejections: Vec<RejectionRecord> = ours.rejections.iter().map(|it| self.plain(it)).collect();
        self.check(
            || DifferenceKind::Feasible { node: node() },
            recorded.feasible == ours.is_feasible(),
            || (show_verdict(recorded), rejections.first().map_or("feasible".to_owned(), show_rejection)),
        );
        match (recorded.feasible, rejections.split_first()) {
            (true, None) if !self.record.aborted => self.scores(recorded, ours),
            (false, Some((first, also))) => self.rejections(recorded, first, also),
            // The difference in feasibility says it all.
            _ => {}
        }
    }

    fn rejections(&mut self, recorded: &NodeRecord, first: &RejectionRecord, also: &[RejectionRecord]) {
        let node = || recorded.name.clone();
        self.check(
            || DifferenceKind::Plugin { node: node() },
            recorded.plugin == first.plugin,
            || (show_name(recorded.plugin.as_deref()), show_name(first.plugin.as_deref())),
        );
        self.check(
            || DifferenceKind::Code { node: node() },
            recorded.code.as_ref() == Some(&first.code),
            || (show_name(recorded.code.as_deref()), first.code.clone()),
        );
        self.check(
            || DifferenceKind::Reasons { node: node() },
            first.code == ERROR || same_set(&recorded.reasons, &first.reasons),
            || (show_list(&recorded.reasons), show_list(&first.reasons)),
        );
        let equal = recorded.also.len() == also.len()
            && recorded.also.iter().zip(also).all(|(recorded, ours)| same_rejection(recorded, ours));
        self.check(
            || DifferenceKind::Also { node: node() },
            equal,
            || {
                let show = |list: &[RejectionRecord]| {
                    show_list(&list.iter().map(show_rejection).collect::<Vec<_>>())
                };
                (show(&recorded.also), show(also))
            },
        );
    }

    fn scores(&mut self, recorded: &NodeRecord, ours: &NodeExplanation) {
        let profile = self.profile;
        let by_plugin =
            |value: fn(&schedlab_core::cycle::explain::NodeScore) -> i64| -> Vec<(&'static str, i64)> {
                ours.scores.iter().map(|score| (profile.name(score.plugin), value(score))).collect()
            };
        let node = &recorded.name;
        self.score_column(&recorded.raw, &by_plugin(|score| score.raw), |plugin| DifferenceKind::Raw {
            node: node.clone(),
            plugin: plugin.to_owned(),
        });
        self.score_column(&recorded.scores, &by_plugin(|score| score.weighted), |plugin| {
            DifferenceKind::Score { node: node.clone(), plugin: plugin.to_owned() }
        });
        self.check(
            || DifferenceKind::Total { node: node.clone() },
            recorded.total == Some(ours.total),
            || (recorded.total.map_or(NOTHING.to_owned(), |total| total.to_string()), ours.total.to_string()),
        );
    }

    /// A plugin that the profile lacks scores 0 everywhere; only a recorded 0 is equal to that.
    fn score_column(
        &mut self,
        recorded: &BTreeMap<String, i64>,
        ours: &[(&'static str, i64)],
        what: impl Fn(&str) -> DifferenceKind,
    ) {
        for (plugin, &value) in recorded {
            let our_value = ours.iter().find(|(name, _)| name == plugin).map(|&(_, value)| value);
            if our_value.is_none() && value == 0 && !self.has_plugin(plugin) {
                continue;
            }
            self.check(
                || what(plugin),
                our_value == Some(value),
                || (value.to_string(), our_value.map_or(NOTHING.to_owned(), |value| value.to_string())),
            );
        }
        for (plugin, value) in ours.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
            self.check(|| what(plugin), false, || (NOTHING.to_owned(), value.to_string()));
        }
    }

    fn chosen(&mut self, what: DifferenceKind, row: Option<usize>) {
        let world = self.world;
        let recorded = self.record.chosen.as_deref();
        let ours = row.map(|row| world.node_name(world.nodes().columns().id[row]));
        self.check(|| what, recorded == ours, || (show_name(recorded), show_name(ours)));
    }

    fn ties(&mut self, what: DifferenceKind, ours: usize) {
        let recorded = self.record.ties.unwrap_or(0);
        self.check(|| what, recorded == ours, || (recorded.to_string(), ours.to_string()));
    }

    /// Compares why no node fits: counts of the first rejections, or PreFilter's message.
    fn diagnosis(&mut self, nodes: &[NodeRecord], ours: &Diagnosis) {
        let rejected = self.record.pre_filter.rejected.as_ref();
        let mut recorded_counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut recorded_plugins: BTreeSet<&str> =
            self.record.pre_filter.nodes_by.iter().map(String::as_str).collect();
        recorded_plugins.extend(rejected.and_then(|rejected| rejected.plugin.as_deref()));
        for node in nodes {
            for reason in &node.reasons {
                *recorded_counts.entry(reason).or_default() += 1;
            }
            recorded_plugins.extend(node.plugin.iter().flat_map(|plugins| plugins.split(',')));
        }
        // PreFilter's message stands for all nodes.
        let all = self.placement.map_or(self.world.nodes().node_count(), NodeMask::count);
        recorded_counts
            .extend(rejected.into_iter().flat_map(|it| &it.reasons).map(|reason| (reason.as_str(), all)));
        let vocabulary = &self.world.vocabulary;
        let mut our_counts: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        for (reason, count) in &ours.reasons {
            *our_counts.entry(reason.text(vocabulary)).or_default() += count;
        }
        our_counts.extend(ours.pre_filter.iter().map(|reason| (reason.text(vocabulary), all)));
        let equal = ours.node_count == all
            && recorded_counts.len() == our_counts.len()
            && recorded_counts
                .iter()
                .zip(&our_counts)
                .all(|(one, other)| one.0 == other.0 && one.1 == other.1);
        self.check(
            || DifferenceKind::EngineDiagnosis,
            equal,
            || (show_counts(recorded_counts.iter()), show_counts(our_counts.iter())),
        );
        let our_plugins: BTreeSet<&str> = ours.plugins.iter().copied().collect();
        self.check(
            || DifferenceKind::EnginePlugins,
            recorded_plugins == our_plugins,
            || (show_list(&Vec::from_iter(recorded_plugins)), show_list(&Vec::from_iter(our_plugins))),
        );
    }

    fn plain(&self, rejection: &Rejection) -> RejectionRecord {
        RejectionRecord {
            plugin: Some(rejection.plugin.clone()),
            code: rejection.code.name().to_owned(),
            reasons: self.texts(&rejection.reasons),
        }
    }

    fn texts(&self, reasons: &[Reason]) -> Vec<String> {
        reasons.iter().map(|reason| reason.text(&self.world.vocabulary).into_owned()).collect()
    }

    /// Counts a comparison, and notes a difference when the values are not equal.
    pub(super) fn check(
        &mut self,
        what: impl FnOnce() -> DifferenceKind,
        equal: bool,
        values: impl FnOnce() -> (String, String),
    ) {
        self.report.comparisons += 1;
        if equal {
            return;
        }
        let (recorded, ours) = values();
        self.report.add(TraceDifference {
            step: self.step,
            pod: self.pod.to_owned(),
            what: what(),
            recorded,
            ours,
        });
    }
}

pub(super) fn same_rejection(one: &RejectionRecord, other: &RejectionRecord) -> bool {
    one.plugin == other.plugin
        && one.code == other.code
        && (one.code == ERROR || same_set(&one.reasons, &other.reasons))
}

fn same_set(one: &[String], other: &[String]) -> bool {
    one.iter().collect::<BTreeSet<_>>() == other.iter().collect::<BTreeSet<_>>()
}

fn show_name(name: Option<&str>) -> String {
    name.unwrap_or(NOTHING).to_owned()
}

pub(super) fn show_list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    format!("[{}]", items.join(", "))
}

fn show_counts<'a, T: AsRef<str> + 'a>(counts: impl Iterator<Item = (&'a T, &'a usize)>) -> String {
    show_list(&counts.map(|(reason, count)| format!("{count} {}", reason.as_ref())).collect::<Vec<_>>())
}

fn show_rejection(rejection: &RejectionRecord) -> String {
    let plugin = rejection.plugin.as_deref().unwrap_or("no plugin");
    format!("{plugin} {} {}", rejection.code, show_list(&rejection.reasons))
}

pub(super) fn show_optional(rejection: Option<&RejectionRecord>) -> String {
    rejection.map_or(NOTHING.to_owned(), show_rejection)
}

fn show_verdict(node: &NodeRecord) -> String {
    if node.feasible {
        return "feasible".to_owned();
    }
    show_rejection(&RejectionRecord {
        plugin: node.plugin.clone(),
        code: node.code.clone().unwrap_or_default(),
        reasons: node.reasons.clone(),
    })
}

fn show_candidates(record: &PreemptionRecord) -> String {
    let candidates = record.candidates.iter().map(|candidate| {
        let victims = show_list(&candidate.victims);
        format!("{} evicts {victims}, {} protected", candidate.node, candidate.pdb_violations)
    });
    show_list(&candidates.collect::<Vec<String>>())
}

fn show_failed(record: &PreemptionRecord) -> String {
    let failed = record.failed.iter().map(|failed| {
        let plugin = failed.plugin.as_deref().unwrap_or(NOTHING);
        let code = failed.code.as_deref().unwrap_or(NOTHING);
        format!("{} by {plugin} {code} {}", failed.node, show_list(&failed.reasons))
    });
    show_list(&failed.collect::<Vec<String>>())
}
