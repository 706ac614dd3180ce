//! `schedlab bench`, which `cargo bench` runs, with kernels whose times are known. Real builds are
//! the matter of `scripts/bench-proof`.

use crate::gate::kernels;
use crate::support::{Answer, Folder, schedlab_in};

const QUICK: [&str; 8] =
    ["--measure", "wall-clock", "--quartets", "3", "--sessions", "8", "--seconds", "3600"];

fn bench(folder: &Folder, kernels: &str, more: &[&str]) -> Answer {
    schedlab_in(folder, &[&["bench", "--kernels", kernels], &QUICK[..], more].concat())
}

#[test]
fn the_first_run_saves_a_baseline_the_second_is_unchanged_and_a_slower_one_ends_with_3() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let slow = kernels(&folder, "slow", 1100, 7, "k");
    bench(&folder, &base, &[])
        .ends_with(0)
        .says("there is nothing to compare with")
        .says("Baseline saved; the next `cargo bench` compares with this build");
    bench(&folder, &base, &[])
        .ends_with(0)
        .says("the same program, byte for byte")
        .says("verdict: unchanged");
    // It is worse as often as it is asked: a regression does not become the base.
    for _ in 0..2 {
        bench(&folder, &slow, &["--out", "report"])
            .ends_with(3)
            .says("last, ")
            .says("verdict: worse")
            .says("A regression is not kept");
    }
    assert!(folder.read("report/bench.xml").contains("type=\"regression\""));
    assert!(folder.read("report/bench.md").starts_with("### cargo bench: worse"));
    bench(&folder, &slow, &["--save-baseline", "last"]).ends_with(0).says("Baseline last saved");
    bench(&folder, &slow, &[]).ends_with(0);
    bench(&folder, &base, &[]).ends_with(0).says("verdict: better").says("Baseline saved");
    // The better one is the base now.
    bench(&folder, &slow, &[]).ends_with(3);
}

#[test]
fn a_named_baseline_is_compared_with_and_left_as_it_is() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let slow = kernels(&folder, "slow", 1100, 7, "k");
    bench(&folder, &base, &["--save-baseline", "main"])
        .ends_with(0)
        .says("Baseline main saved; compare with it by `cargo bench -- --baseline main`");
    for _ in 0..2 {
        bench(&folder, &slow, &["--baseline", "main"]).ends_with(3).says("main, ");
    }
    bench(&folder, &base, &["--baseline", "main"]).ends_with(0).says("Baselines are left as they are");
    // The program is what is kept, not the path to it.
    std::fs::remove_file(&base).expect("removed");
    bench(&folder, &slow, &["--baseline", "main"]).ends_with(3);
}

#[test]
fn pattern_filters_kernels_and_keeps_the_baseline() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "life/k");
    let near = kernels(&folder, "near", 1001, 7, "life/k");
    bench(&folder, &base, &[]).ends_with(0);
    let answer = bench(&folder, &near, &["cycle"]).ends_with(0).says("Not all kernels ran");
    assert!(!answer.stdout.contains("life/k"), "{}", answer.stdout);
    bench(&folder, &near, &[]).ends_with(0).says("last, ").says("base)").says("life/k");
}

#[test]
fn an_open_row_is_no_regression_and_does_not_move_the_base() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let edge = kernels(&folder, "edge", 1020, 7, "k");
    bench(&folder, &base, &[]).ends_with(0);
    bench(&folder, &edge, &["--looks", "1"])
        .ends_with(0)
        .says("verdict: inconclusive")
        .says("Open rows: the next `cargo bench` compares with last");
}

#[test]
fn unknown_kernels_end_with_exit_code_2() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    for (more, wanted) in [
        (vec!["--baseline", "nothing"], "there is no baseline \"nothing\""),
        (vec!["--save-baseline", "../x"], "\"../x\" cannot be the name of a baseline"),
        (vec!["--save-baseline", "a", "--baseline", "b"], "cannot be used with"),
        (vec!["nothing"], "no kernel is left to time"),
        (vec!["("], "the pattern of names"),
    ] {
        bench(&folder, &base, &more).ends_with(2).complains(wanted);
    }
}
