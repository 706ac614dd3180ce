//! The one definition of what is benched: a kernel is a path, an input and a piece of work.
//!
//! ```text
//!                    +--> benches/cycle.rs         time           criterion
//! kernels() ---------+--> benches/instructions.rs  instructions   gungraun
//!                    +--> gate-kernels             both, for `schedlab gate`
//! ```
//!
//! | path | one turn is |
//! | --- | --- |
//! | `filter/<plugin>/<nodes>n` | one plugin over all nodes |
//! | `score/<plugin>/<nodes>n` | one plugin over the nodes that a plain pod fits on |
//! | `cycle/<pod>/<way>/<nodes>n` | one decision and the placement that follows it |
//! | `life/<pod>/<nodes>n` | a pod from its arrival to its confirmed binding, through queue and scheduler |
//!
//! Ways of a cycle: `uncached` computes verdicts and scores afresh and samples nodes as upstream
//! does, `uncached_all` does so over 100 % of the nodes (the budget at 5,000 nodes is 25 us);
//! `cached` and `cached_all` decide for the same class again after one placement (300 ns).
//!
//! All of it is single-threaded, reads no clock and is seeded: the same build does the same
//! instructions whenever it runs.

mod work;

use schedlab_core::cycle::engine::ClassCache;

use crate::check;
use crate::cluster::WarmCluster;
use crate::pods::PodKind;
use work::{CycleWork, FilterWork, LifeWork, ScoreWork, Turns};

pub use work::cycle_settings;

/// Sizes that criterion looks at.
pub const NODE_COUNTS: [usize; 4] = [100, 1000, 5000, 15_000];
/// The size at which pods other than plain ones are looked at.
const NODE_COUNT_OF_KINDS: usize = 5000;
/// The size whose instructions are counted: callgrind is fifty times slower than the machine.
const NODE_COUNT_COUNTED: usize = 1000;

/// A plugin: its part of a path, its name, and a pod that it has an opinion on.
type Plugin = (&'static str, &'static str, PodKind);

const FILTERS: [Plugin; 5] = [
    ("node_unschedulable", "NodeUnschedulable", PodKind::Plain),
    ("taint_toleration", "TaintToleration", PodKind::Plain),
    ("node_affinity", "NodeAffinity", PodKind::RequiredAffinity),
    ("node_ports", "NodePorts", PodKind::HostPort),
    ("resources_fit", "NodeResourcesFit", PodKind::Plain),
];

const SCORES: [Plugin; 5] = [
    ("taint_toleration", "TaintToleration", PodKind::Plain),
    ("node_affinity", "NodeAffinity", PodKind::PreferredAffinity),
    ("resources_fit", "NodeResourcesFit", PodKind::Plain),
    ("balanced_allocation", "NodeResourcesBalancedAllocation", PodKind::Plain),
    ("image_locality", "ImageLocality", PodKind::Plain),
];

/// How a cycle comes to its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Afresh, upstream's sampling.
    Uncached,
    /// Afresh, over all nodes.
    UncachedAll,
    /// From what is kept, upstream's sampling.
    Cached,
    /// From what is kept, over all nodes.
    CachedAll,
}

impl Way {
    const ALL: [Way; 4] = [Way::Uncached, Way::UncachedAll, Way::Cached, Way::CachedAll];

    fn name(self) -> &'static str {
        match self {
            Way::Uncached => "uncached",
            Way::UncachedAll => "uncached_all",
            Way::Cached => "cached",
            Way::CachedAll => "cached_all",
        }
    }

    fn class_cache(self) -> ClassCache {
        match self {
            Way::Uncached | Way::UncachedAll => ClassCache::Off,
            Way::Cached | Way::CachedAll => ClassCache::On,
        }
    }

    fn percentage(self) -> i32 {
        match self {
            Way::Uncached | Way::Cached => 0,
            Way::UncachedAll | Way::CachedAll => 100,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Filter(Plugin),
    Score(Plugin),
    Cycle(PodKind, Way),
    Life(PodKind),
}

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    work: Work,
    node_count: usize,
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn path(&self) -> String {
        let nodes = self.node_count;
        match self.work {
            Work::Filter((path, ..)) => format!("filter/{path}/{nodes}n"),
            Work::Score((path, ..)) => format!("score/{path}/{nodes}n"),
            Work::Cycle(kind, way) => format!("cycle/{}/{}/{nodes}n", kind.name(), way.name()),
            Work::Life(kind) => format!("life/{}/{nodes}n", kind.name()),
        }
    }

    /// Turns that callgrind counts: enough that a turn's own start is lost among them.
    #[must_use]
    pub fn counted_turns(&self) -> usize {
        match self.work {
            Work::Filter(_) | Work::Score(_) => 8,
            Work::Cycle(..) => 32,
            Work::Life(_) => 64,
        }
    }

    /// Makes the input, warm and ready.
    #[must_use]
    pub fn prepare(&self) -> Prepared {
        let nodes = self.node_count;
        let work: Box<dyn Turns> = match self.work {
            Work::Filter((_, name, kind)) => Box::new(FilterWork::new(nodes, name, kind)),
            Work::Score((_, name, kind)) => Box::new(ScoreWork::new(nodes, name, kind)),
            Work::Cycle(kind, way) => {
                Box::new(CycleWork::new(nodes, kind, way.class_cache(), way.percentage()))
            }
            Work::Life(kind) => Box::new(LifeWork::new(nodes, kind)),
        };
        Prepared { work }
    }

    /// Holds the answers against slower ways to find them.
    ///
    /// # Panics
    /// When they differ.
    pub fn assert_right(&self) {
        let cluster = |percentage| WarmCluster::new(self.node_count, percentage);
        match self.work {
            Work::Filter((_, name, kind)) => {
                let _ = check::checked_filter(&cluster(0), name, kind);
            }
            Work::Score((_, name, kind)) => {
                let cluster = cluster(0);
                let rows = check::feasible_rows(&cluster);
                let _ = check::checked_scores(&cluster, name, kind, &rows);
            }
            Work::Cycle(kind, way) => {
                let settings = cycle_settings(way.class_cache());
                check::assert_decides_like_reference(&cluster(way.percentage()), kind, settings);
            }
            Work::Life(kind) => {
                let turns = LifeWork::BATCH;
                let (first, again) =
                    (LifeWork::new(self.node_count, kind), LifeWork::new(self.node_count, kind));
                let answers = [first, again].map(|mut life| life.batch(turns));
                assert_eq!(answers[0], answers[1], "{}: the same start, the same bindings", self.path());
            }
        }
    }
}

/// A kernel with its input.
pub struct Prepared {
    work: Box<dyn Turns>,
}

impl Prepared {
    /// The most turns of one batch; then [`Prepared::restore`] puts the input back.
    #[must_use]
    pub fn batch_max(&self) -> usize {
        self.work.batch_max()
    }

    /// Does so many turns, at most a batch. The answer stands for everything decided.
    pub fn batch(&mut self, turns: usize) -> u64 {
        assert!(turns <= self.batch_max());
        self.work.batch(turns)
    }

    /// Puts the input back as it was before the batch.
    pub fn restore(&mut self) {
        self.work.restore();
    }
}

/// The batch whose instructions count: callgrind collects from entry to return of this function.
#[inline(never)]
pub fn measured_batch(prepared: &mut Prepared, turns: usize) -> u64 {
    prepared.work.batch(turns)
}

/// What criterion times.
#[must_use]
pub fn kernels() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for node_count in NODE_COUNTS {
        let mut add = |work| kernels.push(Kernel { work, node_count });
        FILTERS.map(Work::Filter).into_iter().for_each(&mut add);
        SCORES.map(Work::Score).into_iter().for_each(&mut add);
        let kinds = if node_count == NODE_COUNT_OF_KINDS { &PodKind::ALL[..] } else { &[PodKind::Plain] };
        for way in Way::ALL {
            kinds.iter().for_each(|&kind| add(Work::Cycle(kind, way)));
        }
        add(Work::Life(PodKind::Plain));
    }
    kernels
}

/// What the gate measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSuite {
    /// A verdict in seconds: the hot path in three kernels.
    Short,
    /// Every plugin, every way, two kinds of pods, at the counted size and at 5,000 nodes.
    Full,
}

impl GateSuite {
    /// By its name on a command line.
    #[must_use]
    pub fn named(name: &str) -> Option<GateSuite> {
        match name {
            "short" => Some(GateSuite::Short),
            "full" => Some(GateSuite::Full),
            _ => None,
        }
    }

    /// What is timed.
    #[must_use]
    pub fn timed(self) -> Vec<Kernel> {
        let large = |work| Kernel { work, node_count: NODE_COUNT_OF_KINDS };
        match self {
            GateSuite::Short => short(),
            GateSuite::Full => {
                let mut kernels = short();
                for way in [Way::Uncached, Way::Cached] {
                    kernels.push(large(Work::Cycle(PodKind::Plain, way)));
                    kernels.push(large(Work::Cycle(PodKind::PreferredAffinity, way)));
                    kernels.push(large(Work::Cycle(PodKind::RequiredAffinity, way)));
                }
                kernels.push(large(Work::Life(PodKind::Plain)));
                kernels
            }
        }
    }

    /// What is counted.
    #[must_use]
    pub fn counted(self) -> Vec<Kernel> {
        match self {
            GateSuite::Short => short(),
            GateSuite::Full => counted_kernels(),
        }
    }
}

fn short() -> Vec<Kernel> {
    let small = |work| Kernel { work, node_count: NODE_COUNT_COUNTED };
    vec![
        small(Work::Cycle(PodKind::Plain, Way::Uncached)),
        small(Work::Cycle(PodKind::Plain, Way::Cached)),
        small(Work::Life(PodKind::Plain)),
    ]
}

/// Every plugin and way at the size that callgrind can afford.
#[must_use]
pub fn counted_kernels() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    let mut add = |work| kernels.push(Kernel { work, node_count: NODE_COUNT_COUNTED });
    FILTERS.map(Work::Filter).into_iter().for_each(&mut add);
    SCORES.map(Work::Score).into_iter().for_each(&mut add);
    for kind in [PodKind::Plain, PodKind::PreferredAffinity, PodKind::RequiredAffinity] {
        [Way::Uncached, Way::Cached].into_iter().for_each(|way| add(Work::Cycle(kind, way)));
    }
    add(Work::Life(PodKind::Plain));
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_unique_and_gate_kernels_are_found_by_theirs() {
        let lists = [
            kernels(),
            counted_kernels(),
            GateSuite::Short.timed(),
            GateSuite::Full.timed(),
            GateSuite::Full.counted(),
        ];
        for list in lists {
            let paths: std::collections::BTreeSet<String> = list.iter().map(Kernel::path).collect();
            assert_eq!(paths.len(), list.len());
        }
        let short: Vec<String> = GateSuite::Short.timed().iter().map(Kernel::path).collect();
        assert_eq!(short, ["cycle/plain/uncached/1000n", "cycle/plain/cached/1000n", "life/plain/1000n"]);
        assert!(short.iter().all(|path| kernels().iter().any(|kernel| &kernel.path() == path)));
    }

    #[test]
    fn every_counted_kernel_gives_the_same_answer_again_after_restoring() {
        for kernel in counted_kernels() {
            let kernel = Kernel { node_count: 130, ..kernel };
            kernel.assert_right();
            let turns = kernel.counted_turns();
            let mut twins = [kernel.prepare(), kernel.prepare()];
            let [one, other] = twins.each_mut().map(|prepared| {
                let first = prepared.batch(turns);
                prepared.restore();
                first
            });
            assert_eq!(one, other, "{}", kernel.path());
            let [one, other] = twins.each_mut().map(|prepared| measured_batch(prepared, turns));
            assert_eq!(one, other, "{} the second time", kernel.path());
        }
    }
}
