//! What follows when no node fits: the words of preemption, PostFilter plugins of one's own, and
//! extenders that had a say in it.

use std::sync::{Arc, Mutex};

use super::*;
use crate::cycle::select::TieBreak;
use crate::framework::extend::{ExtenderError, FilterAnswer, Verb, Victims};
use crate::framework::plugin::Plugin;
use crate::framework::points::{
    EnqueueExtensions, Failed, Handle, NominatingInfo, PodRef, PostFilter, PostFilterPlugin,
    PostFilterVerdict,
};
use crate::framework::status::{Code, Reason};
use crate::input::{NodeInput, VolumeSourceInput};
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

fn lab(own: Option<Arc<Helper>>, extenders: Vec<Arc<Extending>>, nodes: &[NodeInput]) -> SchedulerLab {
    let mut world = World::default();
    let default = default_profile(&mut world.vocabulary);
    let weight = |at| default.scores().iter().find(|(plugin, _)| *plugin == at).map_or(0, |it| it.1);
    let mut plugins: Vec<(Arc<dyn Plugin>, i64)> =
        default.plugins().iter().enumerate().map(|(at, plugin)| (Arc::clone(plugin), weight(at))).collect();
    if let Some(own) = own {
        plugins.insert(0, (own, 0));
    }
    let profile = Profile::new(&default.scheduler_name, plugins);
    let settings = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
    let mut scheduler = Scheduler::with_profile(world, profile, settings);
    scheduler.set_extenders(extenders.into_iter().map(|it| it as Arc<dyn Extender>).collect());
    let mut lab = SchedulerLab::of(scheduler);
    nodes.iter().for_each(|node| lab.node(node));
    lab
}

#[test]
fn unschedulable_condition_carries_preemption_message() {
    // n1 has a pod of priority 0, n2 one of priority 5, n3 is too small for anybody.
    let nodes = [node("n1").cpu("2"), node("n2").cpu("2"), node("n3").cpu("1")];
    let waiting = |cpu, priority| pod().cpu(cpu).priority(priority).never_preempts();
    let no_cpu = "0/3 nodes are available: 3 Insufficient cpu. preemption:";
    let cases = [
        (
            "nobody is less important",
            pod().cpu("2"),
            vec![format!(
                "9: {no_cpu} 0/3 nodes are available: 1 Preemption is not helpful for scheduling, \
                 2 No preemption victims found for incoming pod."
            )],
        ),
        (
            "on one node there is somebody",
            pod().cpu("2").priority(3),
            vec![
                "1 x".to_owned(),
                format!(
                    "9 ~ n1: {no_cpu} found a potential placement for pod on node n1, preempting 1 victims"
                ),
            ],
        ),
        (
            "no node is large enough",
            pod().cpu("3").priority(9),
            vec![format!("9: {no_cpu} 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")],
        ),
        (
            "it may not preempt",
            waiting("2", 9),
            vec![format!("9: {no_cpu} not eligible due to preemptionPolicy=Never.")],
        ),
    ];
    for (name, asking, expected) in cases {
        let mut lab = lab(None, Vec::new(), &nodes);
        lab.observe(1, pod().cpu("2"), Some("n1"));
        lab.observe(2, pod().cpu("2").priority(5), Some("n2"));
        lab.observe(9, asking, None);
        assert_eq!(lab.run(), expected, "case: {name}");
    }
}

#[test]
fn preemption_message_gives_rejection_with_victims_removed() {
    let mut lab = lab(None, Vec::new(), &[node("n1").cpu("4")]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    lab.observe(2, pod().cpu("2").priority(9), Some("n1"));
    lab.observe(9, pod().cpu("3").priority(5), None);
    let said = "9: 0/1 nodes are available: 1 Insufficient cpu. \
        preemption: 0/1 nodes are available: 1 Insufficient cpu.";
    assert_eq!(lab.run(), [said]);
}

/// A PostFilter plugin that does as it is told.
#[derive(Debug)]
struct Helper {
    answer: PostFilter,
    seen: Mutex<Vec<Vec<Code>>>,
}

impl Helper {
    fn new(verdict: PostFilterVerdict, nomination: NominatingInfo, message: &'static str) -> Arc<Helper> {
        let message = (!message.is_empty()).then_some(Reason::Text(message));
        let calls = match verdict {
            PostFilterVerdict::Success => vec![ApiCall::DeletePod { pod: PodUid(1) }],
            _ => Vec::new(),
        };
        let answer = PostFilter { verdict, nomination, message, calls };
        Arc::new(Helper { answer, seen: Mutex::default() })
    }
}

impl Plugin for Helper {
    fn name(&self) -> &'static str {
        "Helper"
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl PostFilterPlugin for Helper {
    fn post_filter(&self, handle: &mut Handle<'_>, _: PodRef<'_>, failed: &Failed<'_>) -> PostFilter {
        let rows = 0..handle.world.nodes().node_count();
        self.seen.lock().unwrap().push(rows.map(|row| failed.codes.code(row)).collect());
        self.answer.clone()
    }
}

#[test]
fn out_of_tree_post_filter_runs_before_default_preemption() {
    use PostFilterVerdict::{Error, Success, Unschedulable, UnschedulableAndUnresolvable};
    let no_cpu = "0/2 nodes are available: 2 Insufficient cpu.";
    let preempted =
        "preemption: found a potential placement for pod on node n1, preempting 1 victims".to_owned();
    let cases = [
        (
            "it helps",
            Success,
            NominatingInfo::Keep,
            "soon",
            vec!["1 x".to_owned(), format!("9: {no_cpu} soon")],
        ),
        (
            "it does not, so preemption is asked",
            Unschedulable,
            NominatingInfo::Keep,
            "not me",
            // The last one that has anything to say of the nomination is heard.
            vec!["1 x".to_owned(), format!("9 ~ n1: {no_cpu} {preempted}")],
        ),
        (
            "it says that nothing can",
            UnschedulableAndUnresolvable,
            NominatingInfo::Keep,
            "give up",
            vec![format!("9: {no_cpu} give up")],
        ),
        ("it fails", Error, NominatingInfo::Clear, "oops", vec![format!("9: {no_cpu} oops")]),
        (
            "it helps without a word",
            Success,
            NominatingInfo::Keep,
            "",
            vec!["1 x".into(), format!("9: {no_cpu}")],
        ),
    ];
    for (name, verdict, nomination, message, expected) in cases {
        let helper = Helper::new(verdict, nomination, message);
        let nodes = [node("n1").cpu("2"), node("n2").cpu("1")];
        let mut lab = lab(Some(Arc::clone(&helper)), Vec::new(), &nodes);
        lab.observe(1, pod().cpu("2"), Some("n1"));
        lab.observe(9, pod().cpu("2").priority(5), None);
        assert_eq!(lab.run(), expected, "case: {name}");
        let codes = vec![Code::Unschedulable, Code::UnschedulableAndUnresolvable];
        assert_eq!(*helper.seen.lock().unwrap(), [codes], "case: {name}");
    }
}

#[test]
fn messages_of_unschedulable_post_filter_plugins_are_joined() {
    let helper = Helper::new(PostFilterVerdict::Unschedulable, NominatingInfo::Keep, "no claims");
    let mut lab = lab(Some(helper), Vec::new(), &[node("n1").cpu("1")]);
    lab.observe(9, pod().cpu("2").priority(5), None);
    let said = "9: 0/1 nodes are available: 1 Insufficient cpu. no claims, \
        preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    assert_eq!(lab.run(), [said]);
}

/// An extender that keeps only nodes of its taste, and has plans of its own for victims.
#[derive(Debug, Default)]
struct Extending {
    /// Nodes it lets through.
    keeps: &'static [&'static str],
    /// Nodes it rejects for good; the others might do once somebody is evicted.
    rejects_for_good: &'static [&'static str],
    /// The only node it lets pods be evicted from, and which.
    evicts: Option<(&'static str, Vec<PodUid>)>,
    /// It does not answer about victims.
    is_mute: bool,
}

impl Extender for Extending {
    fn name(&self) -> &str {
        "http://extender"
    }

    fn is_ignorable(&self) -> bool {
        false
    }

    fn is_interested(&self, _: &PodInput) -> bool {
        true
    }

    fn does(&self, verb: Verb) -> bool {
        matches!(verb, Verb::Filter | Verb::Preempt)
    }

    fn weight(&self) -> i64 {
        1
    }

    fn filter(&self, _: PodUid, nodes: &[&str]) -> Result<FilterAnswer, ExtenderError> {
        let (kept, out): (Vec<&str>, Vec<&str>) = nodes.iter().partition(|name| self.keeps.contains(name));
        let (for_good, failed): (Vec<&str>, Vec<&str>) =
            out.into_iter().partition(|name| self.rejects_for_good.contains(name));
        let why = |names: Vec<&str>| names.iter().map(|&name| (name.into(), "too hot".into())).collect();
        Ok(FilterAnswer {
            kept: kept.into_iter().map(str::to_owned).collect(),
            failed: why(failed),
            unresolvable: why(for_good),
        })
    }

    fn prioritize(&self, _: PodUid, _: &[&str]) -> Result<Vec<(String, i64)>, ExtenderError> {
        unreachable!("it does not score")
    }

    fn preempt(&self, _: PodUid, candidates: &[Victims]) -> Result<Vec<Victims>, ExtenderError> {
        if self.is_mute {
            return Err(ExtenderError::Said { message: "no answer".to_owned() });
        }
        let Some((node, pods)) = &self.evicts else { return Ok(candidates.to_vec()) };
        Ok(vec![Victims { node: (*node).to_owned(), pods: pods.clone(), pdb_violations: 0 }])
    }

    fn bind(&self, _: PodUid, _: &str) -> Result<(), ExtenderError> {
        unreachable!("it does not bind")
    }
}

#[test]
fn pod_rejected_by_extender_is_requeued_by_any_event() {
    let extender = Arc::new(Extending { keeps: &["cool"], ..Extending::default() });
    let mut lab = lab(None, vec![extender], &[node("hot").cpu("4")]);
    lab.observe(9, pod().cpu("1"), None);
    let said = "9: 0/1 nodes are available: 1 too hot. \
        preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
    assert_eq!(lab.run(), [said]);
    assert_eq!(lab.standing(9), Some(Standing::Unschedulable), "at rest, not on backoff");
    assert!(!lab.scheduler.has_work());
    lab.scheduler.on_event(ObjectEvent::node(&Arc::new(node("cool"))), 30 * SECOND_NS);
    assert_eq!(lab.run(), ["9 -> cool"]);
}

#[test]
fn extender_preempt_verb_changes_or_rejects_candidates() {
    // Both nodes are full of pods of priority 0; n1 would be chosen.
    let no_cpu = "0/2 nodes are available: 2 Insufficient cpu.";
    let cases = [
        (
            "it agrees",
            Extending::default(),
            vec![
                "1 x".to_owned(),
                format!(
                    "9 ~ n1: {no_cpu} preemption: found a potential placement for pod on node n1, \
                     preempting 1 victims"
                ),
            ],
        ),
        (
            "another node",
            Extending { evicts: Some(("n2", vec![PodUid(2)])), ..Extending::default() },
            vec![
                "2 x".to_owned(),
                format!(
                    "9 ~ n2: {no_cpu} preemption: found a potential placement for pod on node n2, \
                     preempting 1 victims"
                ),
            ],
        ),
        (
            "it fails",
            Extending { is_mute: true, ..Extending::default() },
            vec![format!("9: {no_cpu} preemption: no answer")],
        ),
    ];
    for (name, extender, expected) in cases {
        let nodes = [node("n1").cpu("2"), node("n2").cpu("2")];
        let mut lab = lab(None, vec![Arc::new(extender)], &nodes);
        lab.observe(1, pod().cpu("2"), Some("n1"));
        lab.observe(2, pod().cpu("2"), Some("n2"));
        lab.observe(9, pod().cpu("2").priority(5), None);
        assert_eq!(lab.run(), expected, "case: {name}");
    }
}

#[test]
fn node_rejected_by_extender_is_a_preemption_candidate_unless_unresolvable() {
    // There is room on both, so nobody has to go: upstream calls that an error.
    let cases: [(&str, &'static [&'static str], &str); 2] = [
        ("for now", &["n2"], "expected at least one victim pod on node \"n1\""),
        ("for good", &["n1", "n2"], "0/2 nodes are available: 2 Preemption is not helpful for scheduling."),
    ];
    for (name, rejects_for_good, words) in cases {
        let extender = Arc::new(Extending { rejects_for_good, ..Extending::default() });
        let mut lab = lab(None, vec![extender], &[node("n1").cpu("4"), node("n2").cpu("4")]);
        lab.observe(1, pod().cpu("1"), Some("n1"));
        lab.observe(9, pod().cpu("1").priority(5), None);
        let said = format!("9: 0/2 nodes are available: 2 too hot. preemption: {words}");
        assert_eq!(lab.run(), [said], "case: {name}");
    }
}

#[test]
fn pod_rejected_by_an_earlier_pre_filter_gets_the_error_of_dynamic_resources() {
    // PreFilter of DynamicResources was not asked, so its PostFilter has no state; preemption is not asked.
    let missing = |name: &str| VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false };
    let mut lab = lab(None, Vec::new(), &[node("n1").cpu("1")]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    lab.observe(9, pod().cpu("1").priority(5).mounts("data", missing("gone")), None);
    let said = "9: 0/1 nodes are available: persistentvolumeclaim \"gone\" not found. not found";
    assert_eq!(lab.run(), [said]);
}
