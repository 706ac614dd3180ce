//! Long histories on one engine: whatever changed in between, what the class cache remembers
//! decides the same as no memory at all and as the naive twin.

use std::sync::Arc;

use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings, Pending};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, Rng, for_each_seed};
use crate::ids::ClassId;
use crate::input::PodInput;
use crate::twin::{Twin, check_decision, engine_profile, naive_profile, random_event};

/// More than the engine keeps entries for, so that some are evicted.
const CLASS_COUNT: usize = 90;

struct History {
    twin: Twin,
    classes: Vec<ClassId>,
    profile: crate::framework::profile::Profile,
    naive: crate::naive::schedule::NaiveProfile,
    cached: Engine,
    uncached: Engine,
    tie_break: TieBreak,
    draws: Draws,
}

impl History {
    fn new(rng: &mut Rng, node_count: usize) -> History {
        let mut twin = Twin::random(rng, node_count);
        let naive = naive_profile(rng);
        let profile = engine_profile(&naive, &mut twin.world.vocabulary);
        let classes = (0..CLASS_COUNT).map(|_| twin.compile(&Arc::new(fake::pod(rng)))).collect();
        let (tie_break, seed) = (*rng.pick(&[TieBreak::Draw, TieBreak::First]), rng.next_u64());
        let try_nominated = naive.try_nominated;
        let settings = EngineSettings { tie_break, seed, try_nominated, ..EngineSettings::default() };
        History {
            twin,
            classes,
            profile,
            naive,
            cached: Engine::new(settings),
            uncached: Engine::new(EngineSettings { class_cache: ClassCache::Off, ..settings }),
            tie_break,
            draws: Draws::new(seed),
        }
    }

    /// A few classes come up again and again, the others now and then.
    fn class(&self, rng: &mut Rng) -> ClassId {
        let hot = if rng.chance(60) { 5 } else { CLASS_COUNT };
        self.classes[rng.range(0..=hot - 1)]
    }

    fn check(&mut self, pending: impl Into<Pending>) -> Option<String> {
        let pending = pending.into();
        let History { twin, profile, naive, cached, uncached, .. } = self;
        let fresh = uncached.schedule_pod(&mut twin.world, profile, pending, &mut NoProbe);
        let mut again = cached.clone();
        let kept = again.schedule_pod(&mut twin.world, profile, pending, &mut NoProbe);
        assert_eq!(kept, fresh, "with and without the cache");
        assert_eq!(again.next_start(), uncached.next_start());
        check_decision(twin, (profile, naive), cached, pending, (self.tie_break, &mut self.draws))
    }

    /// The decision by both engines only, which is much cheaper.
    fn check_engines(&mut self, class: ClassId) {
        let History { twin, profile, cached, uncached, .. } = self;
        let kept = cached.schedule_pod(&mut twin.world, profile, class, &mut NoProbe);
        assert_eq!(kept, uncached.schedule_pod(&mut twin.world, profile, class, &mut NoProbe));
        if let Decision::Chosen(choice) = kept
            && choice.ties > 1
            && self.tie_break == TieBreak::Draw
        {
            self.draws.below(choice.ties);
        }
    }

    /// All classes, so that all entries are taken; then some of those that were evicted. Nothing
    /// changes in between: an entry that is given to another class must not keep what it knew.
    fn sweep(&mut self, rng: &mut Rng) {
        for class in self.classes.clone() {
            self.check_engines(class);
        }
        for _ in 0..8 {
            let class = self.classes[rng.range(0..=CLASS_COUNT - 1)];
            self.check(class);
        }
    }
}

fn run(rng: &mut Rng, node_count: usize, steps: usize) {
    let mut history = History::new(rng, node_count);
    for step in 0..steps {
        if step % 40 == 0 {
            history.sweep(rng);
        }
        if rng.chance(50) {
            let class = history.class(rng);
            let pending = history.twin.random_pending(rng, class);
            let chosen = history.check(pending);
            if let Some(node) = chosen {
                let pod = Arc::clone(&history.twin.world.class(class).input);
                history.twin.place(&pod, &node);
            }
        } else if rng.chance(4) {
            burst(rng, &mut history.twin);
        } else {
            random_event(rng, &mut history.twin, 0..=node_count + 2);
            history.twin.settle();
        }
        for _ in 0..2 {
            let class = history.class(rng);
            let pending = history.twin.random_pending(rng, class);
            history.check(pending);
        }
        for _ in 0..4 {
            let class = history.class(rng);
            history.check_engines(class);
        }
    }
}

/// More changes at once than rows are forgotten one by one, or than the log of changes holds.
fn burst(rng: &mut Rng, twin: &mut Twin) {
    if twin.cluster.nodes.is_empty() {
        return;
    }
    let pod = Arc::new(PodInput { priority: -9, ..fake::bound_pod(rng) });
    for _ in 0..*rng.pick(&[40, 80, 700]) {
        let at = rng.range(0..=twin.cluster.nodes.len() - 1);
        let name = twin.cluster.nodes[at].input.name.clone();
        twin.place(&pod, &name);
        if rng.chance(97) {
            twin.displace(twin.placed.len() - 1);
        }
    }
}

#[test]
fn histories_of_small_clusters_equal_naive() {
    for_each_seed("histories_of_small_clusters_equal_naive", 60, |rng| {
        let count = rng.range(0..=8);
        run(rng, count, 120);
    });
}

#[test]
fn histories_across_word_edges_equal_naive() {
    for_each_seed("histories_across_word_edges_equal_naive", 30, |rng| {
        let count = *rng.pick(&[62, 63, 64, 65, 128]);
        run(rng, count, 40);
    });
}
