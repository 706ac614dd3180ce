//! What it costs to take in what events say: quantities, pod specs, nodes.
//!
//! Each answer is asserted before it is timed.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

mod settings;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use schedlab_core::input::{NodeInput, PodInput};
use schedlab_core::quantity::Quantity;
use schedlab_core::testkit::{NodeParts, PodParts, node, pod};
use schedlab_core::world::World;
use settings::criterion_settings;

const NODE_COUNT: usize = 5000;
const SPEC_COUNT: usize = 1000;

/// Texts as manifests have them, and their milli-units.
const QUANTITIES: [(&str, i64); 6] =
    [("100m", 100), ("4", 4000), ("1.5", 1500), ("12e3", 12_000_000), ("2k", 2_000_000), ("1Ki", 1_024_000)];

fn quantities(criterion: &mut Criterion) {
    let parse = |text| Quantity::parse(text).expect("a quantity").milli_value();
    for (text, milli) in QUANTITIES {
        assert_eq!(parse(text), milli, "{text}");
        criterion
            .bench_function(&format!("quantity/{text}"), |bencher| bencher.iter(|| parse(black_box(text))));
    }
}

fn spec(number: usize) -> Arc<PodInput> {
    Arc::new(pod().cpu("100m").label("app", &format!("app-{number}")).tolerates("gpu"))
}

fn specs(criterion: &mut Criterion) {
    let mut world = World::default();
    let known: Vec<Arc<PodInput>> = (0..SPEC_COUNT).map(spec).collect();
    let classes: Vec<_> = known.iter().map(|spec| world.compile(spec)).collect();
    assert_eq!(world.class_count(), SPEC_COUNT);
    assert_eq!(world.compile(&spec(7)), classes[7], "an equal spec has the class of the first");
    let mut next = 0;
    criterion.bench_function("spec/known", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % SPEC_COUNT;
            world.compile(&known[next])
        });
    });
    let mut number = SPEC_COUNT;
    criterion.bench_function("spec/new", |bencher| {
        let new = || {
            number += 1;
            spec(number)
        };
        bencher.iter_batched(new, |spec| world.compile(&spec), BatchSize::SmallInput);
    });
}

fn node_of(number: usize, generation: usize) -> NodeInput {
    let zone = format!("zone-{}", number % 3);
    node(&format!("node-{number}"))
        .cpu("4")
        .label("topology.kubernetes.io/zone", &zone)
        .label("generation", &generation.to_string())
}

fn nodes(criterion: &mut Criterion) {
    let mut world = World::default();
    let mut list: Vec<NodeInput> = (0..NODE_COUNT).map(|number| node_of(number, 0)).collect();
    for node in &list {
        world.upsert_node(node);
    }
    world.settle();
    assert_eq!(world.nodes().node_count(), NODE_COUNT);
    let mut at = 0;
    criterion.bench_function(&format!("node/unchanged/{NODE_COUNT}n"), |bencher| {
        bencher.iter(|| {
            at = (at + 1) % NODE_COUNT;
            world.upsert_node(&list[at])
        });
    });
    let mut generation = 0;
    criterion.bench_function(&format!("node/relabelled/{NODE_COUNT}n"), |bencher| {
        bencher.iter(|| {
            generation += 1;
            let at = generation % NODE_COUNT;
            list[at] = node_of(at, generation % 10);
            world.upsert_node(&list[at])
        });
    });
    let last = world.node_id(&format!("node-{}", NODE_COUNT - 1));
    criterion.bench_function(&format!("node/leaves_and_joins/{NODE_COUNT}n"), |bencher| {
        bencher.iter(|| {
            world.remove_node(last);
            world.upsert_node(&list[NODE_COUNT - 1]);
            world.settle();
        });
    });
    assert_eq!(world.nodes().node_count(), NODE_COUNT);
    world.check();
}

criterion_group! {
    name = inputs;
    config = criterion_settings();
    targets = quantities, specs, nodes
}
criterion_main!(inputs);
