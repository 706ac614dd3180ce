//! The gate end to end, with kernels whose times are known: scripts that speak the protocol of
//! `gate-kernels`. Real builds are the matter of `scripts/gate-proof`.

use crate::support::{Folder, schedlab_in};

const BOTH: &str = "cycle/plain/cached/1000n";

/// Writes kernels that take so long a turn, plus some jitter, and answer with `answer`.
pub(crate) fn kernels(folder: &Folder, name: &str, turn_ns: u32, answer: u32, more: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let script = format!(
        r#"#!/bin/bash
if [ "$1" = list ]; then
  echo "timed {BOTH}"
  echo "timed {more}"
  exit
fi
at=0
while read -r verb path turns blocks; do
  at=$((at + 1))
  ns=$((turns * ({turn_ns} + at % 3)))
  echo "$ns $ns {answer}"
done
"#
    );
    let path = folder.file(name, script);
    let mut mode = std::fs::metadata(&path).expect("written").permissions();
    mode.set_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("made executable");
    path
}

/// Few quartets, and no limit of time for a busy machine to run into.
const QUICK: [&str; 6] = ["--measure", "wall-clock", "--quartets", "3", "--seconds", "3600"];

fn gate(folder: &Folder, base: &str, head: &str, more: &[&str]) -> crate::support::Answer {
    let mut args = vec!["gate", "--base-kernels", base, "--head-kernels", head];
    args.extend(QUICK);
    args.extend(more);
    schedlab_in(folder, &args)
}

#[test]
fn ten_percent_more_time_is_worse_and_is_written_for_people_and_machines() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "old/kernel");
    let head = kernels(&folder, "head", 1100, 7, "new/kernel");
    gate(&folder, &base, &head, &["--out", "report"])
        .ends_with(3)
        .says("verdict: worse")
        .says("wall clock")
        .says("turns per million reference steps")
        .says("up to 12 sessions of 3 quartets")
        .says("fences of 2 % are a guess")
        .says("not compared: old/kernel (base only), new/kernel (head only)");
    assert!(folder.read("report/gate.md").starts_with("### schedlab gate: worse"));
    assert!(folder.read("report/gate.xml").contains("type=\"regression\""));
    let json: serde_json::Value = serde_json::from_str(&folder.read("report/gate.json")).expect("JSON");
    let row = &json["rows"][0];
    assert_eq!((row["workload"].as_str(), row["verdict"].as_str()), (Some(BOTH), Some("worse")));
    let ratio = row["ratio"]["ratio"].as_f64().expect("a ratio");
    assert!((1.09..1.11).contains(&ratio), "{row}");
    gate(&folder, &head, &base, &["--sessions", "8"]).ends_with(0).says("verdict: better");
}

#[test]
fn the_same_times_are_unchanged_and_few_sessions_are_inconclusive() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    gate(&folder, &base, &base, &["--sessions", "8"]).ends_with(0).says("verdict: unchanged");
    gate(&folder, &base, &base, &["--sessions", "3", "--looks", "1"])
        .ends_with(4)
        .says("3 more sample(s) a side would decide");
    let other = kernels(&folder, "other", 1000, 8, "k");
    gate(&folder, &base, &other, &["--sessions", "8"]).ends_with(0).says("the builds decide differently");
}

#[test]
fn calibration_gives_each_kernel_a_fence_of_its_own() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let head = kernels(&folder, "head", 1010, 7, "k");
    let few = ["--calibrate", "8", "--sessions", "6", "--noise", "n.jsonl"];
    gate(&folder, &base, &base, &few).ends_with(0).says("fence ±0.50 %, its history");
    assert_eq!(folder.read("n.jsonl").lines().count(), 16, "8 measurements of 2 kernels");
    // One percent is within the guess of two, and beyond the measured half.
    gate(&folder, &base, &head, &["--sessions", "12"]).ends_with(0).says("verdict: unchanged");
    // Six sessions that agree are too few for an interval that holds over several looks; the second
    // look has twelve.
    let known = ["--sessions", "6", "--noise", "n.jsonl"];
    gate(&folder, &base, &head, &known).ends_with(3).says("±0.50 %").says("12/12");
    gate(&folder, &base, &head, &[&known[..], &["--looks", "1"]].concat()).ends_with(4).says("6/6");
}

#[test]
fn only_inconclusive_kernels_are_measured_again() {
    let folder = Folder::new();
    // Kernel k is 10 % slower; the other is 1 % and 3 % slower in turns, so that it lies on its fence.
    let base = kernels(&folder, "base", 1000, 7, "k");
    let head = kernels(&folder, "head", 1000, 7, "k");
    let turns = folder.path().join("turns").display().to_string();
    let script = folder
        .read("head")
        .replace("at=0\n", &format!("at=0\necho >> {turns}\nmapfile -t lines < {turns}\n"))
        .replace("  ns=", "  turn=$((1010 + ${#lines[@]} % 2 * 20))\n  [ $path = k ] && turn=1100\n  ns=")
        .replace("(1000 + at", "(turn + at");
    folder.file("head", script);
    let answer = gate(&folder, &base, &head, &["--sessions", "8", "--looks", "3"]).ends_with(3);
    let samples = |kernel: &str| {
        let row = answer.stdout.lines().find(|line| line.starts_with(kernel) && line.contains("wall clock"));
        let words: Vec<&str> = row.expect("a row").split_whitespace().collect();
        words
            .iter()
            .find(|word| word.contains('/') && word.starts_with(|c: char| c.is_ascii_digit()))
            .map(|word| (*word).to_owned())
    };
    assert_eq!(samples("k ").as_deref(), Some("8/8"), "{}", answer.stdout);
    assert_eq!(samples(BOTH).as_deref(), Some("32/32"), "{}", answer.stdout);
}

#[test]
fn unrunnable_gate_input_ends_with_exit_code_2() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let mute = folder.file("mute", "not a program");
    for (base, head, more, wanted) in [
        ("missing", base.as_str(), vec![], "missing: there is no such binary"),
        (base.as_str(), mute.as_str(), vec![], "cannot be started"),
        (base.as_str(), base.as_str(), vec!["--filter", "nothing"], "no kernel is left to time"),
        (base.as_str(), base.as_str(), vec!["--filter", "("], "--filter"),
        (base.as_str(), base.as_str(), vec!["--cpu", "999"], "--cpu 999: not a core of this process"),
        (base.as_str(), base.as_str(), vec!["--fence", "200"], "a percentage between 0 and 100"),
        (base.as_str(), base.as_str(), vec!["--calibrate", "0"], "--calibrate 0 measures nothing"),
    ] {
        gate(&folder, base, head, &more).ends_with(2).complains(wanted);
    }
    schedlab_in(&folder, &["gate", "no-such-revision"])
        .ends_with(2)
        .complains("\"no-such-revision\" is not a revision of this repository");
}

/// A repository of two commits whose `speed` is the time of a turn, and a cargo that "builds" them:
/// kernels that take that long, and this very program.
pub(crate) fn repository(folder: &Folder) {
    use std::os::unix::fs::PermissionsExt;
    let kernels = kernels(folder, "kernels", 4242, 7, "k");
    let cargo = format!(
        "#!/bin/bash\nset -e\nmkdir -p \"$CARGO_TARGET_DIR/release\"\n\
         sed \"s/4242/$(cat speed)/\" {kernels} > \"$CARGO_TARGET_DIR/release/gate-kernels\"\n\
         chmod +x \"$CARGO_TARGET_DIR/release/gate-kernels\"\n\
         cp {} \"$CARGO_TARGET_DIR/release/schedlab\"\n\
         echo \"$CARGO_ENCODED_RUSTFLAGS $CARGO_INCREMENTAL $*\" >> \"$CARGO_TARGET_DIR/calls\"\n",
        env!("CARGO_BIN_EXE_schedlab")
    );
    let path = folder.file("bin/cargo", cargo);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    folder.file("repo/Cargo.toml", "");
    git(folder, &["init", "-q", "."]);
    for speed in ["1000", "1100"] {
        folder.file("repo/speed", speed);
        git(folder, &["add", "."]);
        git(folder, &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", speed]);
    }
}

fn git(folder: &Folder, args: &[&str]) {
    let repo = folder.path().join("repo");
    let done = std::process::Command::new("git").args(args).current_dir(repo).status();
    assert!(done.expect("git is installed").success(), "git {args:?}");
}

/// Runs the program in the repository, with its cargo.
fn in_repository(folder: &Folder, args: &[&str]) -> crate::support::Answer {
    let path = format!("{}/bin:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = crate::support::command(args);
    command.current_dir(folder.path().join("repo")).env("PATH", path);
    crate::support::Answer::of(command.output().expect("the binary runs"))
}

#[test]
fn revisions_are_built_once_each_and_the_working_tree_is_judged() {
    let folder = Folder::new();
    repository(&folder);
    let with = |args: &[&'static str]| {
        in_repository(&folder, &[&["gate", "--sessions", "8"], args, &QUICK].concat())
    };
    with(&["HEAD~1"]).ends_with(3).says("working tree (").says("verdict: worse");
    with(&["HEAD"]).ends_with(0).says("verdict: unchanged");
    with(&["HEAD", "--head", "HEAD~1"]).ends_with(0).says("verdict: better");
    folder.file("repo/speed", "1300");
    with(&["HEAD"]).ends_with(3).says(", changed)");
    let built = with(&["HEAD", "--head", "HEAD~1", "--build-only"]).ends_with(0).says("head: ");
    let base = built.stdout.lines().find_map(|line| line.strip_prefix("base: ")).expect("where base is");
    let calls = std::path::Path::new(base).ancestors().nth(2).expect("its target").join("calls");
    let calls = std::fs::read_to_string(calls).expect("cargo was called");
    assert!(calls.contains("--remap-path-prefix="), "{calls}");
    assert!(calls.contains("=/schedlab 0 build --release --locked"), "{calls}");
}

#[test]
fn ab_takes_revisions_as_variants() {
    let folder = Folder::new();
    repository(&folder);
    let filter = ["--filter", "^PlainPods/10Nodes_50Pods$", "--rounds", "3", "--warm-up", "1"];
    let with = |args: &[&'static str]| in_repository(&folder, &[&["ab"], args, &filter].concat());
    let answer = with(&["--rev", "HEAD~1", "--rev", "HEAD: --class-cache off", "--json"]).ends_with(4);
    let json: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let row = &json["rows"][0];
    assert_eq!((row["base_samples"].as_u64(), row["head_samples"].as_u64()), (Some(6), Some(6)));
    // No count is said where the estimate stands at the fence: no number of rounds would decide.
    assert!(row["more_needed"].as_u64().is_none_or(|more| 3 <= more), "{row}");
    assert!(json["base"].as_str().expect("text").starts_with("HEAD~1 ("), "{json}");
    assert!(json["head"].as_str().expect("text").ends_with("): --class-cache off"), "{json}");
    assert!(json["notes"].to_string().contains("a process a run"), "{json}");
    for (args, wanted) in [
        (vec!["--rev", "HEAD"], "give --variant, or --rev, twice or more"),
        (vec!["--rev", "HEAD", "--rev", "HEAD"], "two variants are called"),
        (vec!["--rev", "HEAD", "--rev", "gone"], "\"gone\" is not a revision of this repository"),
        (vec!["--rev", "HEAD", "--rev", "HEAD~1: --no-such"], "unexpected argument '--no-such'"),
        (vec!["--rev", "HEAD", "--variant", "a:"], "cannot be used with"),
    ] {
        with(&args).ends_with(2).complains(wanted);
    }
}
