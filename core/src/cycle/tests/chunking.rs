//! However rows are cut into chunks, and on however many threads they run, nothing changes.

use std::sync::Arc;

use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings};
use crate::cycle::parallelize::Ways;
use crate::cycle::probe::NoProbe;
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::profile::Profile;
use crate::ids::ClassId;
use crate::snapshot::mask::BitRows;
use crate::twin::{Twin, engine_profile, naive_profile, shuffle};

/// All that an engine says and remembers over some decisions.
#[derive(Debug, PartialEq)]
struct Trace {
    decisions: Vec<Decision>,
    starts: Vec<usize>,
    feasible: Vec<Vec<u64>>,
    /// By row; of rows that are not scored nobody reads what stands there.
    totals: Vec<Vec<(usize, i64)>>,
    raw: Vec<Vec<Vec<i64>>>,
}

fn trace(twin: &mut Twin, profile: &Profile, classes: &[ClassId], settings: EngineSettings) -> Trace {
    let mut engine = Engine::new(settings);
    let mut trace = Trace {
        decisions: Vec::new(),
        starts: Vec::new(),
        feasible: Vec::new(),
        totals: Vec::new(),
        raw: Vec::new(),
    };
    for &class in classes {
        trace.decisions.push(engine.schedule_pod(&mut twin.world, profile, class, &mut NoProbe));
        trace.starts.push(engine.next_start());
        let entry = engine.entry_of(class).expect("the class was just decided on");
        trace.feasible.push(entry.words.iter().map(|word| word.feasible).collect());
        let scored = entry.words.iter().enumerate().flat_map(|(at, word)| BitRows::new(at, word.scored));
        trace.totals.push(scored.map(|row| (row, entry.totals[row])).collect());
        trace.raw.push(entry.raw.iter().map(|column| column.values.clone()).collect());
    }
    trace
}

fn classes(rng: &mut Rng, twin: &mut Twin) -> Vec<ClassId> {
    let mut classes: Vec<ClassId> = (0..4).map(|_| twin.compile(&Arc::new(fake::pod(rng)))).collect();
    classes.extend_from_within(..);
    shuffle(rng, &mut classes);
    classes
}

#[test]
fn any_chunking_gives_the_same_result() {
    let pools: Vec<rayon::ThreadPool> = [1, 2, 3, 8]
        .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"))
        .into();
    for_each_seed("any_chunking_gives_the_same_result", 150, |rng| {
        let count = *rng.pick(&[0, 1, 63, 64, 65, 128, 129, 400, 700]);
        let mut twin = Twin::default();
        for index in 0..count {
            twin.upsert_node(fake::node(rng, index));
        }
        twin.settle();
        let profile = engine_profile(&naive_profile(rng), &mut twin.world.vocabulary);
        let classes = classes(rng, &mut twin);
        let settings = EngineSettings {
            class_cache: *rng.pick(&[ClassCache::On, ClassCache::Off]),
            seed: rng.next_u64(),
            ..EngineSettings::default()
        };
        let expected =
            trace(&mut twin, &profile, &classes, EngineSettings { ways: Ways::Inline, ..settings });
        for pool in &pools {
            for parallelism in [1, 2, 16, rng.range(1..=64), 64] {
                let parallel = EngineSettings { ways: Ways::Parallel, parallelism, ..settings };
                let actual = pool.install(|| trace(&mut twin, &profile, &classes, parallel));
                assert_eq!(actual, expected, "{} threads, {parallelism} ways", pool.current_num_threads());
            }
        }
        let measured = EngineSettings { ways: Ways::Measured(|| 0), ..settings };
        assert_eq!(pools[1].install(|| trace(&mut twin, &profile, &classes, measured)), expected, "measured");
    });
}
