use super::*;

/// Of each target in `cargo test`; a debug build manages this in seconds.
const INPUTS: u64 = 400;

fn hang(target: &str, number: u64) {
    panic!("input {number} of {target} does not end");
}

fn is_sound(name: &str) {
    let corpus = Corpus::load();
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    assert!(!corpus.seeds(target).is_empty(), "{name} has no seeds");
    let seeds = corpus.plain(target).count() as u64;
    let found = run(target, &corpus, 0..seeds + INPUTS, hang);
    assert_eq!(found.panics, Vec::<u64>::new(), "replay: cargo run -p schedlab-fuzz -- {name} NUMBER");
    assert_eq!(found.hangs, Vec::<u64>::new(), "replay: cargo run -p schedlab-fuzz -- {name} NUMBER");
    assert!(0 < found.accepted, "{name}: no input was accepted, so nothing behind the reader was tried");
}

macro_rules! short_runs {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { is_sound($name); })*

        #[test]
        fn every_target_has_a_short_run() {
            let tested = [$($name),*];
            assert!(TARGETS.iter().all(|target| tested.contains(&target.name)));
            assert_eq!(TARGETS.iter().map(|target| target.share).sum::<u64>(), 100);
        }
    };
}

short_runs! {
    mutated_workload_files_do_not_panic: "workload",
    mutated_templates_do_not_panic: "template",
    mutated_scheduler_configurations_do_not_panic: "config",
    mutated_traces_do_not_panic: "trace",
    mutated_dumps_do_not_panic: "dump",
    mutated_results_do_not_panic: "result",
    mutated_histories_do_not_panic: "history",
    mutated_quantities_do_not_panic: "quantity",
    mutated_selectors_do_not_panic: "selector",
    mutated_api_objects_do_not_panic: "object",
}

#[test]
fn same_number_gives_the_same_input() {
    let (one, other) = (Corpus::load(), Corpus::load());
    for target in &TARGETS {
        for number in [0, 7, 1_000, 123_456] {
            assert_eq!(
                input(target, &one, number),
                input(target, &other, number),
                "{} {number}",
                target.name
            );
        }
    }
}

#[test]
fn panic_of_a_target_is_found_and_numbered() {
    let planted = Target {
        name: "planted",
        share: 0,
        kind: targets::Kind::Quantity,
        read: |bytes| {
            assert!(!bytes.starts_with(b"100m"), "planted");
            true
        },
    };
    let found = run(&planted, &Corpus::load(), 0..30, hang);
    assert!(!found.panics.is_empty() && found.panics.contains(&1), "{found:?}");
}
