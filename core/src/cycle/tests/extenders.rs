//! Extenders against plugins that do the same, and what only extenders do.

use std::sync::{Arc, Mutex};

use crate::class::PodClass;
use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::extend::{
    EXTENDER_NAME, Extender, ExtenderError, FilterAnswer, Verb, Victims, call_extenders, in_order,
};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, PreScore, Reads, ScorePlugin};
use crate::framework::points::EnqueueExtensions;
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};
use crate::ids::PodUid;
use crate::input::PodInput;
use crate::twin::{Twin, engine_profile, naive_profile};
use crate::world::World;

const WHY: &str = "the name is not to its taste";
const WEIGHT: i64 = 3;

/// A number made from a name and a salt, the same for the plugin and the extender.
fn taste(salt: u64, name: &str) -> u64 {
    name.bytes().fold(salt, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 7
}

fn likes(salt: u64, name: &str) -> bool {
    !taste(salt, name).is_multiple_of(3)
}

fn score(salt: u64, name: &str) -> i64 {
    i64::try_from(taste(salt, name) % 11).expect("small")
}

/// Answers by taste, and can be told to misbehave.
#[derive(Debug, Default)]
struct Fussy {
    name: String,
    salt: Option<u64>,
    refuses: bool,
    ignorable: bool,
    error: bool,
    unresolvable: bool,
    silent: bool,
    victims: Vec<Victims>,
    asked: Mutex<Vec<Vec<String>>>,
}

impl Extender for Fussy {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_ignorable(&self) -> bool {
        self.ignorable
    }

    fn is_interested(&self, _: &PodInput) -> bool {
        true
    }

    fn does(&self, _: Verb) -> bool {
        true
    }

    fn weight(&self) -> i64 {
        WEIGHT
    }

    fn filter(&self, _: PodUid, nodes: &[&str]) -> Result<FilterAnswer, ExtenderError> {
        self.asked.lock().unwrap().push(nodes.iter().map(|&name| name.to_owned()).collect());
        if self.error {
            return Err(ExtenderError::Said { message: "no".to_owned() });
        }
        let is_kept = |name: &&&str| !self.refuses && self.salt.is_none_or(|salt| likes(salt, name));
        let kept: Vec<String> = nodes.iter().filter(is_kept).map(|&name| name.to_owned()).collect();
        let out = nodes.iter().filter(|name| !is_kept(name) && !self.silent);
        let out: Vec<(String, String)> = out.map(|&name| (name.to_owned(), WHY.to_owned())).collect();
        let (failed, unresolvable) = if self.unresolvable { (Vec::new(), out) } else { (out, Vec::new()) };
        Ok(FilterAnswer { kept, failed, unresolvable })
    }

    fn prioritize(&self, _: PodUid, nodes: &[&str]) -> Result<Vec<(String, i64)>, ExtenderError> {
        let score = |name: &&str| self.salt.map_or(0, |salt| score(salt, name));
        Ok(nodes.iter().map(|name| ((*name).to_owned(), score(name))).collect())
    }

    fn preempt(&self, _: PodUid, _: &[Victims]) -> Result<Vec<Victims>, ExtenderError> {
        if self.error {
            return Err(ExtenderError::Said { message: "no".to_owned() });
        }
        Ok(self.victims.clone())
    }

    fn bind(&self, _: PodUid, _: &str) -> Result<(), ExtenderError> {
        unreachable!("the engine does not bind")
    }
}

/// The same taste as a plugin, last in the list.
#[derive(Debug)]
struct Taste(u64);

impl Taste {
    fn name_of(world: &World, row: usize) -> &str {
        world.node_name(world.nodes().columns().id[row])
    }
}

impl Plugin for Taste {
    fn name(&self) -> &'static str {
        EXTENDER_NAME
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl FilterPlugin for Taste {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn verdict(&self, world: &World, _: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if likes(self.0, Taste::name_of(world, row)) {
            return Code::Success;
        }
        reasons.push(Reason::Owned(WHY.into()));
        Code::Unschedulable
    }
}

impl ScorePlugin for Taste {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, world: &World, _: &PodClass, rows: &[u32], scores: &mut [i64]) {
        for (&row, slot) in rows.iter().zip(scores) {
            *slot = 10 * score(self.0, Taste::name_of(world, row as usize));
        }
    }
}

fn settings(rng: &mut Rng) -> EngineSettings {
    EngineSettings {
        class_cache: *rng.pick(&[ClassCache::On, ClassCache::Off]),
        tie_break: *rng.pick(&[TieBreak::First, TieBreak::Draw]),
        seed: rng.next_u64(),
        ..EngineSettings::default()
    }
}

fn weights(profile: &Profile) -> Vec<(Arc<dyn Plugin>, i64)> {
    let weight =
        |at| profile.scores().iter().find(|(plugin, _)| *plugin == at).map_or(0, |&(_, weight)| weight);
    profile.plugins().iter().enumerate().map(|(at, plugin)| (Arc::clone(plugin), weight(at))).collect()
}

/// What both ways must agree on. Which rows are in reach is the extenders' own, and so is that their reasons
/// come last: messages sort them.
fn comparable(decision: Decision) -> Decision {
    match decision {
        Decision::Unschedulable(diagnosis) => {
            let mut diagnosis = (*diagnosis).clone();
            diagnosis.out_of_reach.clear();
            diagnosis.within_reach.clear();
            diagnosis.reasons.sort_by_key(|(reason, _)| format!("{reason:?}"));
            Decision::Unschedulable(Arc::new(diagnosis))
        }
        chosen => chosen,
    }
}

#[test]
fn extender_accepting_all_nodes_changes_no_decision() {
    for_each_seed("extender_accepting_all_nodes_changes_no_decision", 300, |rng| {
        let count = *rng.pick(&[0, 1, 3, 63, 64, 65, 130, 230]);
        let mut twin = Twin::random(rng, count);
        let profile = engine_profile(&naive_profile(rng), &mut twin.world.vocabulary);
        let settings = settings(rng);
        let (mut plain, mut extended) = (Engine::new(settings), Engine::new(settings));
        extended.set_extenders(vec![Arc::new(Fussy::default())]);
        if profile.scores().is_empty() {
            // An extender that looks makes the search go on; there is nothing to compare.
            return;
        }
        for _ in 0..3 {
            let class = twin.compile(&Arc::new(fake::pod(rng)));
            twin.settle();
            let one = plain.schedule_pod(&mut twin.world, &profile, class, &mut NoProbe);
            let other = extended.schedule_pod(&mut twin.world, &profile, class, &mut NoProbe);
            assert_eq!(comparable(one), comparable(other));
            assert_eq!(plain.next_start(), extended.next_start());
        }
    });
}

#[test]
fn extender_equals_plugin_with_the_same_filter_and_scores() {
    for_each_seed("extender_equals_plugin_with_the_same_filter_and_scores", 500, |rng| {
        // Below a hundred nodes all are looked at, so asking last is asking about the same nodes.
        let count = *rng.pick(&[0, 1, 2, 5, 20, 63, 64, 65, 99]);
        let mut twin = Twin::random(rng, count);
        let profile = engine_profile(&naive_profile(rng), &mut twin.world.vocabulary);
        let salt = rng.next_u64();
        let mut plugins = weights(&profile);
        plugins.push((Arc::new(Taste(salt)), WEIGHT));
        let mut with_plugin = Profile::new(&profile.scheduler_name, plugins);
        with_plugin.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
        let settings = settings(rng);
        let (mut plain, mut extended) = (Engine::new(settings), Engine::new(settings));
        extended.set_extenders(vec![Arc::new(Fussy { salt: Some(salt), ..Fussy::default() })]);
        for _ in 0..3 {
            let class = twin.compile(&Arc::new(fake::pod(rng)));
            twin.settle();
            let one = plain.schedule_pod(&mut twin.world, &with_plugin, class, &mut NoProbe);
            let other = extended.schedule_pod(&mut twin.world, &profile, class, &mut NoProbe);
            assert_eq!(comparable(one), comparable(other));
        }
    });
}

/// Nodes n0 to n5, a pod that fits everywhere.
fn small() -> (Twin, Profile, crate::ids::ClassId) {
    let mut rng = Rng::new(1);
    let mut twin = Twin::default();
    for index in 0..6 {
        let node = fake::node(&mut rng, index);
        let pods = [("pods".to_owned(), crate::quantity::Quantity::parse("10").unwrap())];
        twin.upsert_node(crate::input::NodeInput {
            name: format!("n{index}"),
            allocatable: pods.into_iter().collect(),
            ..crate::input::NodeInput { taints: Vec::new(), unschedulable: false, ..node }
        });
    }
    let profile = crate::framework::registry::default_profile(&mut twin.world.vocabulary);
    let class = twin.compile(&Arc::new(PodInput::default()));
    twin.settle();
    (twin, profile, class)
}

fn decide(extenders: Vec<Fussy>) -> (Decision, Vec<Arc<Fussy>>) {
    let (mut twin, profile, class) = small();
    let mut engine = Engine::new(EngineSettings::default());
    let kept: Vec<Arc<Fussy>> = extenders.into_iter().map(Arc::new).collect();
    engine.set_extenders(in_order(kept.iter().map(|it| Arc::clone(it) as _).collect()));
    (engine.schedule_pod(&mut twin.world, &profile, class, &mut NoProbe), kept)
}

#[test]
fn extenders_filter_in_sequence_with_ignorable_ones_last() {
    let salt = (0..).find(|&salt| likes(salt, "n1") && !likes(salt, "n2")).expect("there is one");
    let first = Fussy { ignorable: true, ..Fussy::default() };
    let second = Fussy { salt: Some(salt), ..Fussy::default() };
    let (decision, extenders) = decide(vec![first, second]);
    assert!(matches!(decision, Decision::Chosen(_)), "{decision:?}");
    assert_eq!(extenders[1].asked.lock().unwrap()[0].len(), 6, "not ignorable: asked first, about all");
    let left = extenders[0].asked.lock().unwrap()[0].clone();
    assert!(left.contains(&"n1".to_owned()) && !left.contains(&"n2".to_owned()), "{left:?}");
}

#[test]
fn a_failing_extender_ends_the_cycle_unless_it_is_ignorable() {
    let (decision, _) = decide(vec![Fussy { error: true, ..Fussy::default() }]);
    let Decision::Unschedulable(diagnosis) = decision else { panic!("{decision:?}") };
    assert_eq!(diagnosis.error.as_deref(), Some("no"));
    assert_eq!(diagnosis.message(&Default::default()), "no");
    let (decision, _) = decide(vec![Fussy { error: true, ignorable: true, ..Fussy::default() }]);
    assert!(matches!(decision, Decision::Chosen(_)), "{decision:?}");
}

#[test]
fn extender_rejections_are_counted_and_may_be_unresolvable() {
    let cases = [
        (
            "failed",
            Fussy { refuses: true, ..Fussy::default() },
            format!("0/6 nodes are available: 6 {WHY}."),
            0,
        ),
        (
            "unresolvable",
            Fussy { refuses: true, unresolvable: true, ..Fussy::default() },
            format!("0/6 nodes are available: 6 {WHY}."),
            6,
        ),
        (
            "dropped without a word",
            Fussy { refuses: true, silent: true, ..Fussy::default() },
            "0/6 nodes are available:".to_owned(),
            6,
        ),
    ];
    for (name, extender, message, out_of_reach) in cases {
        let (decision, _) = decide(vec![extender]);
        let Decision::Unschedulable(diagnosis) = decision else { panic!("{name}: {decision:?}") };
        assert_eq!(diagnosis.message(&Default::default()), message, "case: {name}");
        assert_eq!(diagnosis.out_of_reach.len(), out_of_reach, "case: {name}");
        assert_eq!(diagnosis.plugins, [EXTENDER_NAME], "case: {name}");
        assert_eq!(diagnosis.error, None, "case: {name}");
    }
}

#[test]
fn extender_victims_replace_candidates_and_must_exist() {
    let (mut twin, _, _) = small();
    twin.place(&Arc::new(PodInput::default()), "n1");
    let on_n1 = twin.world.node_id("n1");
    let pod = twin.world.pods().on_node(on_n1).next().expect("a pod was placed");
    let uid = twin.world.pods().get(pod).uid;
    let victims = |node: &str, pods: &[PodUid]| Victims {
        node: node.to_owned(),
        pods: pods.to_vec(),
        pdb_violations: 0,
    };
    let cases = [
        ("agrees", vec![victims("n1", &[uid])], Ok(1), Ok(1)),
        ("no node is left", vec![], Ok(0), Ok(0)),
        ("another node", vec![victims("n9", &[uid])], Err("n9"), Ok(1)),
        ("a pod that is elsewhere", vec![victims("n2", &[uid])], Err("not found on that node"), Ok(1)),
        (
            "no victim",
            vec![victims("n1", &[])],
            Err("expected at least one victim pod on node \"n1\""),
            Ok(0),
        ),
    ];
    for (name, answer, strict, ignorable) in cases {
        for (is_ignorable, expected) in [(false, strict), (true, ignorable)] {
            let extender = Fussy { victims: answer.clone(), ignorable: is_ignorable, ..Fussy::default() };
            let extenders: [Arc<dyn Extender>; 1] = [Arc::new(extender)];
            let asked = (PodUid(99), &PodInput::default());
            let agreed = call_extenders(&extenders, &twin.world, asked, vec![victims("n1", &[uid])]);
            match (agreed, expected) {
                (Ok(left), Ok(count)) => assert_eq!(left.len(), count, "case: {name}, {is_ignorable}"),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "case: {name}: {error}"),
                (agreed, expected) => panic!("case: {name}, {is_ignorable}: {agreed:?}, not {expected:?}"),
            }
        }
    }
}
