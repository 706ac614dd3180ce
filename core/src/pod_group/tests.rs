//! The cycle of a group and preemption for it against their plain twins, on random clusters.

use std::collections::BTreeMap;

use super::{
    NoObserver, PassResult, PodGroupCode, PodGroupCycle, PodGroupDecision, PodGroupGates, PodGroupInfo,
    PodGroupPreemption, PodGroupScratch, PodGroupStatus,
};
use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings};
use crate::cycle::select::TieBreak;
use crate::fake::{self, Feature, Rng, for_each_seed};
use crate::framework::profile::Profile;
use crate::ids::PodId;
use crate::input::pod_group::PodGroupInput;
use crate::input::{PodInput, PreemptionPolicy, TolerationInput};
use crate::naive::pod_group::{
    NaivePodGroupCycle, NaivePodGroupDecision, NaivePodGroupPreemption, NaivePodGroupStatus,
};
use crate::naive::schedule::NaiveProfile;
use crate::nominator::TryNominated;
use crate::plugins::node_ports;
use crate::quantity::Quantity;
use crate::snapshot;
use crate::twin::{PendingMember, Twin, engine_profile_with_groups, naive_profile, node_count, random_group};
use crate::world::World;

/// What Reserve decides about, and terms that fail a pod upstream and are left out here.
const AVOIDED: [Feature; 4] =
    [Feature::Claims, Feature::EphemeralVolumes, Feature::Devices, Feature::UnreadableTerms];

/// What is the same for all groups of a seed.
struct Setting {
    twin: Twin,
    naive: NaiveProfile,
    fast: Profile,
    engine: Engine,
    gates: PodGroupGates,
    scratch: PodGroupScratch,
}

impl Setting {
    fn random(rng: &mut Rng, node_count: usize) -> Setting {
        rng.avoid(&AVOIDED);
        let mut twin = Twin::random_with_groups(rng, node_count);
        let mut naive = naive_profile(rng);
        if naive.try_nominated == TryNominated::FirstOrMiss {
            naive.try_nominated = TryNominated::First;
        }
        let fast = engine_profile_with_groups(&naive, &mut twin.world.vocabulary);
        let engine = Engine::new(EngineSettings {
            class_cache: *rng.pick(&[ClassCache::On, ClassCache::Off]),
            tie_break: TieBreak::First,
            try_nominated: naive.try_nominated,
            ..EngineSettings::default()
        });
        let gates = PodGroupGates { topology: rng.chance(60), preemption_policy: rng.chance(30) };
        Setting { twin, naive, fast, engine, gates, scratch: PodGroupScratch::default() }
    }

    /// A group with pending members of one or two shapes, some of them nominated.
    fn random_members(&mut self, rng: &mut Rng, name: &str) -> (PodGroupInput, Vec<PendingMember>) {
        let size = rng.range(1..=5);
        let mut group = random_group(rng, "default", name, size);
        let policies =
            [None, None, Some(PreemptionPolicy::PreemptLowerPriority), Some(PreemptionPolicy::Never)];
        group.preemption = *rng.pick(&policies);
        self.twin.put_pod_group(group.clone());
        let shapes = [self.shape(rng, &group), self.shape(rng, &group)];
        let nominated_percent = *rng.pick(&[0, 0, 50]);
        let members = (0..size).map(|_| {
            let nodes = self.twin.cluster.nodes.len();
            let nominated = rng.chance(nominated_percent).then(|| format!("n{}", rng.range(0..=nodes)));
            self.twin.add_pending_member(rng.pick(&shapes).clone(), &group, nominated)
        });
        let members = members.collect();
        (group, members)
    }

    fn shape(&self, rng: &mut Rng, group: &PodGroupInput) -> PodInput {
        let preemption = match rng.chance(5) {
            true => PreemptionPolicy::Never,
            false => PreemptionPolicy::PreemptLowerPriority,
        };
        let (namespace, priority) = (group.namespace.clone(), group.priority);
        let mut pod = PodInput { namespace, priority, preemption, ..fake::pod(rng) };
        if !self.naive.filter_plugins.contains(&node_ports::NAME) {
            // As upstream keeps ports, whoever leaves a node frees what others there hold as well.
            let containers = pod.containers.iter_mut().chain(&mut pod.init_containers);
            containers.for_each(|container| container.host_ports.clear());
        }
        if rng.chance(60) {
            (pod.node_name, pod.node_selector, pod.node_affinity) = (None, None, None);
            pod.tolerations = vec![TolerationInput { operator: "Exists".to_owned(), ..Default::default() }];
        }
        if rng.chance(60) {
            // All that some nodes have: whoever uses any of it must go.
            let text = *rng.pick(&["1", "2", "4", "7900m", "16"]);
            pod.containers.truncate(1);
            let cpu = Quantity::parse(text).expect("a quantity");
            pod.containers[0].requests = [("cpu".to_owned(), cpu)].into();
            pod.init_containers.clear();
            pod.overhead.clear();
            pod.pod_requests = None;
        }
        pod
    }

    /// Both sides try the group, and preempt for it if it has no place.
    fn check(
        &mut self,
        group: &PodGroupInput,
        members: &[PendingMember],
    ) -> (NaivePodGroupDecision, Option<NaivePodGroupPreemption>) {
        let Setting { twin, naive, fast, engine, gates, scratch } = self;
        let id = twin.pod_group_id(group);
        let ids: Vec<PodId> = members.iter().map(|member| member.id).collect();
        let info = PodGroupInfo { id, object: group.clone().into(), members: ids };
        let pods: Vec<_> = members.iter().map(|member| member.pod.clone()).collect();
        let pending = members.iter().map(|member| (member.id, &member.pod));
        let all = pending.chain(twin.placed.iter().map(|placed| (placed.id, &placed.pod)));
        let names: BTreeMap<PodId, String> = all.map(|(id, pod)| (id, pod.meta.name.clone())).collect();
        let plain = NaivePodGroupCycle {
            profile: naive,
            cluster: &twin.cluster,
            group,
            members: &pods,
            topology: gates.topology,
            preemption_policy: gates.preemption_policy,
        };
        let before = engine.next_start();
        let world = &mut twin.world;
        let mut cycle = PodGroupCycle { world, engine, profile: fast, info: &info, gates: *gates, scratch };
        let decision = cycle.run(&mut NoObserver);
        let expected = plain.run(before);
        if expected.passes.last().is_some_and(|pass| pass.status.is_error()) {
            // A preferred term that cannot be read: see `malformed_preferred_affinity_fails_the_pod_unless_one_node_is_feasible`.
            return (expected, None);
        }
        check_run(&decision, &expected, cycle.world);
        assert_eq!(cycle.engine.next_start(), expected.next_start, "next start");
        let preemption = (decision.status.code == PodGroupCode::Unschedulable).then(|| {
            let found = cycle.preempt();
            let expected = plain.preempt(expected.next_start);
            if expected.status.is_error() {
                return expected;
            }
            check_preemption(&found, &expected, (cycle.world, &names));
            assert_eq!(cycle.engine.next_start(), expected.next_start, "next start after preemption");
            expected
        });
        twin.world.check_counts();
        snapshot::tests::check(twin);
        (expected, preemption)
    }

    /// A group on the cluster as the ones before left it: once as it is, and once more after its victims have
    /// gone. Whether victims were found.
    fn check_one(&mut self, rng: &mut Rng, name: &str) -> bool {
        let (group, mut members) = self.random_members(rng, name);
        let (mut decision, preemption) = self.check(&group, &members);
        let has_victims = preemption.as_ref().is_some_and(|found| !found.victims.is_empty());
        if let Some(found) = preemption.filter(|found| found.status.is_success()) {
            found.victims.iter().for_each(|victim| self.twin.evict(victim));
            for member in &mut members {
                let node = found.nominated.get(&member.pod.meta.name).cloned().flatten();
                self.twin.nominate_member(member, node);
            }
            decision = self.check(&group, &members).0;
        }
        let taken = decision.taken.filter(|_| decision.status.is_success());
        let chosen = taken.map_or(Vec::new(), |at| decision.passes[at].chosen.clone());
        for (at, mut member) in members.into_iter().enumerate() {
            match chosen.get(at).cloned().flatten() {
                None => self.twin.remove_pending_member(member),
                Some(node) => {
                    self.twin.nominate_member(&mut member, None);
                    self.twin.place_member(member.id, member.pod, &node);
                }
            }
        }
        has_victims
    }
}

/// The status, with its error before its reasons; what errors say names pods by number here.
fn check_status(status: &PodGroupStatus, expected: &NaivePodGroupStatus) {
    assert_eq!(status.code.name(), expected.code, "{status:?} and {expected:?}");
    if status.code != PodGroupCode::Error {
        assert_eq!(status.all_reasons().collect::<Vec<_>>(), expected.reasons);
    }
}

fn check_run(decision: &PodGroupDecision, expected: &NaivePodGroupDecision, world: &World) {
    check_status(&decision.status, &expected.status);
    assert_eq!(decision.taken, expected.taken, "taken pass");
    let scores: Vec<(String, i64)> =
        decision.scores.iter().map(|score| (score.placement.to_string(), score.total)).collect();
    assert_eq!(scores, expected.scores);
    assert_eq!(decision.passes.len(), expected.passes.len(), "passes");
    let node = |row: usize| world.node_name(world.nodes().columns().id[row]).to_owned();
    for (PassResult { placement, members, status, .. }, expected) in
        decision.passes.iter().zip(&expected.passes)
    {
        assert_eq!(*placement.name, *expected.placement);
        check_status(status, &expected.status);
        let chosen: Vec<Option<String>> = members.iter().map(|member| member.row().map(node)).collect();
        assert_eq!(chosen, expected.chosen, "in placement {:?}", expected.placement);
        for (member, expected) in members.iter().zip(&expected.members) {
            if let Decision::Unschedulable(diagnosis) = &member.decision {
                assert_eq!(Some(diagnosis.message(&world.vocabulary)), expected.message);
            }
        }
    }
}

fn check_preemption(
    found: &PodGroupPreemption,
    expected: &NaivePodGroupPreemption,
    (world, names): (&World, &BTreeMap<PodId, String>),
) {
    check_status(&found.status, &expected.status);
    let mut victims: Vec<&String> = found.victims.iter().map(|pod| &names[pod]).collect();
    victims.sort_unstable();
    assert_eq!(victims, expected.victims.iter().collect::<Vec<_>>());
    let nominated: BTreeMap<String, Option<String>> = found
        .nominated
        .iter()
        .map(|&(pod, node)| (names[&pod].clone(), node.map(|node| world.node_name(node).to_owned())))
        .collect();
    assert_eq!(nominated, expected.nominated);
    let counts = (found.pdb_violations, found.pod_group_disruptions);
    assert_eq!(counts, (expected.pdb_violations, expected.pod_group_disruptions));
}

#[test]
fn pod_group_cycles_equal_naive() {
    let found = std::cell::Cell::new(0);
    for_each_seed("pod_group_cycles_equal_naive", 2000, |rng| {
        let count = rng.range(0..=8);
        let mut setting = Setting::random(rng, count);
        for at in 0..3 {
            let has_victims = setting.check_one(rng, &format!("new-{at}"));
            found.set(found.get() + usize::from(has_victims));
        }
    });
    assert!(std::env::var("SCHEDLAB_SEED").is_ok() || found.get() > 100, "{} times victims", found.get());
}

#[test]
fn pod_group_cycles_across_word_edges_equal_naive() {
    for_each_seed("pod_group_cycles_across_word_edges_equal_naive", 40, |rng| {
        let count = node_count(rng);
        Setting::random(rng, count).check_one(rng, "new");
    });
}
