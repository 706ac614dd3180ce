//! What the kernels do.

use std::hint::black_box;
use std::sync::Arc;

use schedlab_core::binding::OutgoingCall;
use schedlab_core::cycle::engine::{ClassCache, Engine, EngineSettings};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::{ClassId, NodeId, PodId, PodUid};
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, ScheduleOneOutcome, Scheduler};
use schedlab_core::snapshot::mask::NodeMask;

use crate::check::{chosen_row, feasible_rows, filter_of, reference_settings, score_of};
use crate::cluster::{SPARE_PODS, WarmCluster, warm_nodes};
use crate::pods::PodKind;

/// Work in batches of turns. A batch changes the input; `restore` puts it back off the clock.
pub(super) trait Turns {
    fn batch_max(&self) -> usize;
    fn batch(&mut self, turns: usize) -> u64;
    fn restore(&mut self);
}

fn mix(answer: u64, value: u64) -> u64 {
    answer.rotate_left(5) ^ value
}

/// Filters and scores change nothing; a batch is as long as a timer wants it.
const PURE_BATCH: usize = 4096;

/// One filter over all nodes.
pub(super) struct FilterWork {
    cluster: WarmCluster,
    class: ClassId,
    plugin: &'static str,
    all: NodeMask,
    mask: NodeMask,
}

impl FilterWork {
    pub(super) fn new(node_count: usize, plugin: &'static str, kind: PodKind) -> FilterWork {
        let cluster = WarmCluster::new(node_count, 0);
        let all = NodeMask::all(node_count);
        FilterWork { class: cluster.class(kind), cluster, plugin, mask: all.clone(), all }
    }
}

impl Turns for FilterWork {
    fn batch_max(&self) -> usize {
        PURE_BATCH
    }

    fn batch(&mut self, turns: usize) -> u64 {
        let filter = filter_of(&self.cluster.profile, self.plugin);
        let world = &self.cluster.world;
        let class = world.class(self.class);
        let mut answer = 0;
        for _ in 0..turns {
            self.mask.words_mut().copy_from_slice(self.all.words());
            filter.filter(black_box(world), class, 0, self.mask.words_mut());
            answer = mix(answer, black_box(self.mask.words())[0]);
        }
        mix(answer, self.mask.count() as u64)
    }

    fn restore(&mut self) {}
}

/// One score over the nodes that a plain pod fits on.
pub(super) struct ScoreWork {
    cluster: WarmCluster,
    class: ClassId,
    plugin: &'static str,
    rows: Vec<u32>,
    column: Vec<i64>,
}

impl ScoreWork {
    pub(super) fn new(node_count: usize, plugin: &'static str, kind: PodKind) -> ScoreWork {
        let cluster = WarmCluster::new(node_count, 0);
        let rows = feasible_rows(&cluster);
        ScoreWork { class: cluster.class(kind), cluster, plugin, column: vec![0; rows.len()], rows }
    }
}

impl Turns for ScoreWork {
    fn batch_max(&self) -> usize {
        PURE_BATCH
    }

    fn batch(&mut self, turns: usize) -> u64 {
        let score = score_of(&self.cluster.profile, self.plugin);
        let world = &self.cluster.world;
        let class = world.class(self.class);
        let mut answer = 0;
        for _ in 0..turns {
            score.score(black_box(world), class, &self.rows, &mut self.column);
            answer = mix(answer, black_box(&self.column)[0].unsigned_abs());
        }
        self.column.iter().fold(answer, |answer, score| mix(answer, score.unsigned_abs()))
    }

    fn restore(&mut self) {}
}

/// The engine's settings of a cycle kernel.
#[must_use]
pub fn cycle_settings(class_cache: ClassCache) -> EngineSettings {
    EngineSettings { class_cache, ..reference_settings() }
}

/// Decisions, each with its placement.
pub(super) struct CycleWork {
    cluster: WarmCluster,
    engine: Engine,
    class: ClassId,
    class_cache: ClassCache,
    spare: Vec<PodId>,
    placed: usize,
}

impl CycleWork {
    const BATCH: usize = SPARE_PODS / 2;
    /// All of the rotation is known after so many: a warm cache, and grown scratch memory.
    const WARM_DECISIONS: usize = 64;

    pub(super) fn new(
        node_count: usize,
        kind: PodKind,
        class_cache: ClassCache,
        percentage: i32,
    ) -> CycleWork {
        let cluster = WarmCluster::new(node_count, percentage);
        let (class, spare) = (cluster.class(kind), cluster.spare(kind).to_vec());
        let engine = Engine::new(cycle_settings(class_cache));
        let mut work = CycleWork { cluster, engine, class, class_cache, spare, placed: 0 };
        work.warm();
        work
    }

    fn warm(&mut self) {
        for _ in 0..Self::WARM_DECISIONS {
            let WarmCluster { world, profile, .. } = &mut self.cluster;
            let _ = self.engine.schedule_pod(world, profile, self.class, &mut NoProbe);
        }
    }
}

impl Turns for CycleWork {
    fn batch_max(&self) -> usize {
        Self::BATCH
    }

    fn batch(&mut self, turns: usize) -> u64 {
        let mut answer = 0;
        for &pod in &self.spare[..turns] {
            let WarmCluster { world, profile, .. } = &mut self.cluster;
            let row =
                chosen_row(&self.engine.schedule_pod(black_box(world), profile, self.class, &mut NoProbe));
            self.cluster.place(pod, row);
            answer = mix(answer, row as u64);
        }
        self.placed = turns;
        answer
    }

    fn restore(&mut self) {
        for &pod in &self.spare[..std::mem::take(&mut self.placed)] {
            self.cluster.world.displace(pod);
        }
        // What the placements made unknown is found out again off the clock.
        if self.class_cache == ClassCache::On {
            self.warm();
        }
    }
}

/// Pods that arrive, are decided on, bound and confirmed; a scheduler without an API.
pub(super) struct LifeWork {
    scheduler: Scheduler,
    class: ClassId,
    calls: Vec<OutgoingCall>,
    bound: Vec<(PodUid, NodeId)>,
    uids: u64,
}

impl LifeWork {
    /// As many as the runtime steps between two looks at the watch.
    pub(super) const BATCH: usize = 128;

    pub(super) fn new(node_count: usize, kind: PodKind) -> LifeWork {
        let mut scheduler = Scheduler::new(cycle_settings(ClassCache::On), 0);
        for node in warm_nodes(node_count) {
            scheduler.on_event(ObjectEvent::node(&Arc::new(node)), 0);
        }
        let class = scheduler.compile(&Arc::new(kind.spec()));
        let mut life = LifeWork { scheduler, class, calls: Vec::new(), bound: Vec::new(), uids: 0 };
        // The first batches fill the class cache and grow what grows.
        for _ in 0..4 {
            life.batch(Self::BATCH);
            life.restore();
        }
        life
    }
}

impl Turns for LifeWork {
    fn batch_max(&self) -> usize {
        Self::BATCH
    }

    fn batch(&mut self, turns: usize) -> u64 {
        let first = self.uids + 1;
        // Time is an argument: a microsecond a pod.
        let now_ns = |uids: u64| uids * 1000;
        for _ in 0..turns {
            self.uids += 1;
            let (uid, created_ns) = (PodUid(self.uids), now_ns(self.uids));
            let update = PodUpdate { uid, class: self.class, created_ns, ..PodUpdate::default() };
            self.scheduler.on_event(ObjectEvent::pod(update), created_ns);
        }
        let mut answer = 0;
        while let ScheduleOneOutcome::Assumed { pod, choice } = self.scheduler.schedule_one(&mut NoProbe) {
            let world = self.scheduler.world();
            self.bound.push((world.pods().get(pod).uid, world.nodes().columns().id[choice.row]));
            answer = mix(answer, choice.row as u64);
        }
        assert_eq!(self.bound.len(), turns, "every pod found a node");
        self.scheduler.take_calls(&mut self.calls);
        for call in self.calls.drain(..) {
            self.scheduler.on_answer(call.id, Ok(()), now_ns(self.uids));
        }
        for &(uid, node) in &self.bound {
            let created_ns = now_ns(uid.0);
            let update =
                PodUpdate { uid, class: self.class, node: Some(node), created_ns, ..PodUpdate::default() };
            self.scheduler.on_event(ObjectEvent::pod(update), now_ns(self.uids));
        }
        mix(answer, first)
    }

    fn restore(&mut self) {
        let now_ns = self.uids * 1000;
        for (uid, _) in self.bound.drain(..) {
            self.scheduler.on_event(ObjectEvent::pod_deleted(uid), now_ns);
        }
    }
}
