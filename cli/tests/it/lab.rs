//! compare, ab and record, as a person types them.

use crate::support::{Folder, schedlab_in};

const SMALL: &str = "^PlainPods/10Nodes";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// A real result, to make others from.
fn real_result(folder: &Folder) -> serde_json::Value {
    json(&schedlab_in(folder, &["run", "--filter", SMALL, "--repeat", "2", "--json"]).ends_with(0).stdout)
}

/// The result with other throughputs.
fn write_result(folder: &Folder, result: &serde_json::Value, name: &str, rates: &[f64]) {
    let mut result = result.clone();
    let repeats = &mut result["workloads"][0]["repeats"]["runs"];
    let run = repeats[0].clone();
    let with = |&rate: &f64| {
        let mut run = run.clone();
        run["pods_per_s"] = rate.into();
        run
    };
    *repeats = rates.iter().map(with).collect();
    folder.file(name, result.to_string());
}

#[test]
fn compare_ends_with_the_code_of_its_verdict_and_writes_three_files() {
    let folder = Folder::new();
    let around = |rate: f64| (0..10).map(|i| rate + f64::from(i)).collect::<Vec<_>>();
    let real = real_result(&folder);
    write_result(&folder, &real, "base/result.json", &around(1000.0));
    write_result(&folder, &real, "slow/result.json", &around(800.0));
    write_result(&folder, &real, "same/result.json", &around(1001.0));
    write_result(&folder, &real, "few/result.json", &[500.0, 510.0]);
    schedlab_in(&folder, &["compare", "base", "slow", "--out", "out"]).ends_with(3).says("verdict: worse");
    schedlab_in(&folder, &["compare", "slow", "base"]).ends_with(0).says("verdict: better");
    schedlab_in(&folder, &["compare", "base", "same"]).ends_with(0).says("verdict: unchanged");
    schedlab_in(&folder, &["compare", "base", "few"])
        .ends_with(4)
        .says("verdict: inconclusive; about 4 more sample(s) a side would decide");
    assert!(folder.read("out/comparison.md").starts_with("### schedlab compare: worse"));
    assert!(folder.read("out/comparison.xml").contains("type=\"regression\""));
    assert_eq!(json(&folder.read("out/comparison.json"))["schema"], "schedlab-comparison/v1");
    let answer = schedlab_in(&folder, &["compare", "base", "slow", "--json"]).ends_with(3);
    assert_eq!(json(&answer.stdout)["verdict"], "worse");
}

#[test]
fn compare_names_the_file_it_cannot_read() {
    let folder = Folder::new();
    folder.file("empty/notes.txt", "nothing");
    folder.file("other.json", "{}");
    for (args, wanted) in [
        (["compare", "empty", "empty"], "empty: no schedlab-result/v1 file, no perf-dash JSON"),
        (["compare", "missing", "empty"], "missing: cannot be read"),
        (["compare", "other.json", "empty"], "other.json: neither a schedlab-result/v1 result"),
    ] {
        schedlab_in(&folder, &args).ends_with(2).complains(wanted);
    }
}

#[test]
fn a_result_compared_with_itself_is_identical_input() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", SMALL, "--out", "x"]).ends_with(0);
    schedlab_in(&folder, &["compare", "x", "x"])
        .ends_with(0)
        .says("identical input: both sides are the same measurements")
        .says("verdict: unchanged");
    // Every file of a run is one side: what they say of it is the same.
    let dash = perf_dash_file(&folder, "x");
    schedlab_in(&folder, &["compare", "x", &dash]).ends_with(4).says("do not say how they were measured");
    schedlab_in(&folder, &["compare", "x/bench.txt", &dash]).ends_with(4);
}

#[test]
fn workload_missing_on_one_side_is_inconclusive() {
    let folder = Folder::new();
    let mut result = real_result(&folder);
    let around = |rate: f64| (0..10).map(|i| rate + f64::from(i)).collect::<Vec<_>>();
    write_result(&folder, &result, "head/result.json", &around(1001.0));
    let mut other = result["workloads"][0].clone();
    other["name"] = "PlainPods/Other".into();
    result["workloads"].as_array_mut().expect("a list").push(other);
    write_result(&folder, &result, "base/result.json", &around(1000.0));
    schedlab_in(&folder, &["compare", "base", "head"])
        .ends_with(4)
        .says("inconclusive as a whole: 1 workload(s) are on one side only")
        .says("not compared: PlainPods/Other (base only)");
    schedlab_in(&folder, &["compare", "base", "head", "--ignore-missing"])
        .ends_with(0)
        .says("verdict: unchanged");
}

/// The perf-dash JSON of a run.
fn perf_dash_file(folder: &Folder, run: &str) -> String {
    std::fs::read_dir(folder.path().join(run))
        .expect("the folder")
        .filter_map(Result::ok)
        .map(|entry| entry.path().display().to_string())
        .find(|path| path.contains("BenchmarkPerfScheduling_benchmark_"))
        .expect("perf-dash JSON")
}

#[test]
fn the_commands_of_the_readme_record_a_run_and_make_its_site() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", SMALL]).ends_with(0);
    schedlab_in(&folder, &["record"]).ends_with(0).says("1 workload(s)) in schedlab-history");
    schedlab_in(&folder, &["site"]).ends_with(0).says("of 1 run(s) and 1 workload(s)");
    let mut folders = vec![folder.path().to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder").filter_map(Result::ok) {
            let name = entry.file_name().into_string().expect("UTF-8");
            let is_portable = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            assert!(name.bytes().all(is_portable), "artifact uploads refuse {name}");
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

#[test]
fn ab_interleaves_variants_and_refuses_to_conclude_on_few_rounds() {
    let folder = Folder::new();
    let base = ["ab", "--variant", "cached:", "--variant", "uncached: --class-cache off", "--filter", SMALL];
    let with = |more: &[&str]| {
        let mut args = base.to_vec();
        args.extend(more);
        schedlab_in(&folder, &args)
    };
    let answer = with(&["--rounds", "3", "--json"]).ends_with(4);
    let row = json(&answer.stdout)["rows"][0].clone();
    assert_eq!((row["base_samples"].as_u64(), row["head_samples"].as_u64()), (Some(6), Some(6)));
    // No count is said where the estimate stands at the fence: no number of rounds would decide.
    assert!(row["more_needed"].as_u64().is_none_or(|more| 3 <= more), "{row}");
    assert!(row["test"].as_str().expect("text").contains("ABBA"));
    // Fences this wide hold any noise: the verdict is then unchanged, on enough rounds.
    with(&["--rounds", "6", "--fence", "100"])
        .says("cached:")
        .says("uncached: --class-cache off")
        .says("n      p");
}

#[test]
fn ab_says_what_is_wrong_with_a_variant() {
    let folder = Folder::new();
    for (variants, wanted) in [
        (vec!["a:"], "one variant has nothing to be compared with"),
        (vec!["a:", "a: --seed 1"], "two variants are called \"a\""),
        (vec!["a:", "b: --clas-cache off"], "unexpected argument '--clas-cache'"),
        (vec!["a:", "b"], "has no name; write 'NAME: FLAGS'"),
    ] {
        let mut args = vec!["ab", "--filter", SMALL];
        args.extend(variants.iter().flat_map(|variant| ["--variant", variant]));
        schedlab_in(&folder, &args).ends_with(2).complains(wanted);
    }
}

#[test]
fn runs_are_recorded_and_imported() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", SMALL, "--out", "run"]).ends_with(0);
    schedlab_in(&folder, &["record", "run", "--history", "h", "--label", "nightly"])
        .ends_with(0)
        .says("1 workload(s)) in h");
    let dash = perf_dash_file(&folder, "run");
    schedlab_in(&folder, &["record", "--history", "h", "--revision", "v1.37.0", "--import", &dash])
        .ends_with(0)
        .says("(v1.37.0, 1 workload(s))");
    schedlab_in(&folder, &["record", "run", "--history", "h", "--at", "yesterday"])
        .ends_with(2)
        .complains("--at \"yesterday\" is not a time");
}

#[test]
fn site_is_made_from_history_and_reports_damage() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", SMALL, "--out", "run"]).ends_with(0);
    schedlab_in(&folder, &["record", "run", "--history", "h"]).ends_with(0);
    schedlab_in(&folder, &["site", "--history", "h", "--out", "site"])
        .ends_with(0)
        .says("of 1 run(s) and 1 workload(s)");
    assert!(folder.read("site/index.html").contains("PlainPods/10Nodes_50Pods"));
    let file = folder.path().join("h/history.slh");
    let mut bytes = std::fs::read(&file).expect("the history");
    bytes.extend(b"\xF5SLR torn");
    std::fs::write(&file, bytes).expect("written");
    schedlab_in(&folder, &["site", "--history", "h", "--out", "site"])
        .ends_with(0)
        .complains("are not a whole record (a torn write or damage) and are passed over");
    schedlab_in(&folder, &["site", "--history", "none"]).ends_with(2).complains("none/history.slh");
}

#[test]
fn a_profile_names_parts_and_can_be_recorded() {
    let folder = Folder::new();
    let text = crate::support::config(&format!("{}{}", crate::support::NODES, crate::support::PODS))
        .replace("nodes: 3, pods: 6", "nodes: 300, pods: 3000");
    let file = folder.file("performance-config.yaml", text);
    // Samples are of processor time: beside compilers a second gives one or two.
    let profiled = |seconds: &str| {
        let args = ["profile", "^Case/small$", "--config", &file, "--seconds", seconds, "--out", "prof"];
        let answer = schedlab_in(&folder, &args);
        let samples = json(&folder.read("prof/profile.json"))["samples"].as_f64().expect("a number");
        (answer, samples)
    };
    let mut tries = ["1", "4", "16"].into_iter().map(profiled);
    let (answer, _) = tries.find(|(_, samples)| 20.0 <= *samples).expect("twenty samples in sixteen seconds");
    answer
        .ends_with(0)
        .says("scheduling cycle")
        .says("allocations of")
        .says("allocated by")
        .says("flamegraph.svg");
    assert!(folder.read("prof/flamegraph.svg").contains("schedlab_core::"));
    let profile = json(&folder.read("prof/profile.json"));
    let shares = profile["shares"].as_array().expect("a list");
    let nameless =
        shares.iter().find(|share| share["name"].as_str().is_some_and(|name| name.starts_with("not ours")));
    let nameless = nameless.and_then(|share| share["self_samples"].as_f64()).unwrap_or(0.0);
    let samples = profile["samples"].as_f64().expect("a number");
    // A second of a debug build is a few dozen samples: what docs/profiling.md shows of release builds,
    // below 5 %, cannot be told from so few.
    assert!(nameless <= samples * 0.5, "{nameless} of {samples} samples have no frame of ours");
    assert!(shares.iter().any(|share| share["kind"] == "extension point"), "{shares:?}");
    assert!(folder.read("prof/allocations.svg").contains("schedlab_"), "call sites have names");
    let sites = json(&folder.read("prof/allocations.json"));
    let count: u64 = sites.as_array().expect("a list").iter().filter_map(|site| site["count"].as_u64()).sum();
    assert!(0 < count, "three thousand pods are not created for nothing");
    assert!(std::fs::metadata(folder.path().join("prof/profile.pb")).expect("protobuf").len() > 100);
    schedlab_in(&folder, &["run", "--config", &file, "--out", "run"]).ends_with(0);
    schedlab_in(&folder, &["record", "run", "--profile", "prof/profile.json", "--history", "h"]).ends_with(0);
    schedlab_in(&folder, &["site", "--history", "h", "--out", "site"]).ends_with(0);
    assert!(folder.read("site/w/case-small.html").contains("iframe"));
    assert!(folder.read("site/w/case-small.html").contains("Who allocates"));
    schedlab_in(&folder, &["profile", "Pods", "--suite", "quick"])
        .ends_with(2)
        .complains("profile one at a time");
}

#[test]
fn two_profiles_make_a_difference_flamegraph() {
    let folder = Folder::new();
    folder.file("before/stacks.folded", "main;step;filter 60\nmain;step;score 40\n");
    folder.file("after.folded", "main;step;filter 20\nmain;step;score 80\n");
    let diff = |before: &str, after: &str| {
        schedlab_in(&folder, &["profile", "--diff", before, after, "--out", "change"])
    };
    diff("before", "after.folded").ends_with(0).says("filter").says("-40.0").says("+40.0");
    let svg = folder.read("change/diff.svg");
    assert!(svg.contains("filter") && svg.contains("red grew"), "{svg}");
    folder.file("broken.folded", "no count here\n");
    folder.file("empty.folded", "");
    for (before, wanted) in [
        ("missing", "cannot read missing"),
        ("broken.folded", "line 1 is no folded stack"),
        ("empty.folded", "has no stack"),
    ] {
        diff(before, "after.folded").ends_with(2).complains(wanted);
    }
    schedlab_in(&folder, &["profile"]).ends_with(2).complains("WORKLOAD");
}

#[test]
fn gate_runs_two_binaries_in_rounds() {
    let folder = Folder::new();
    let binary = env!("CARGO_BIN_EXE_schedlab");
    let text = crate::support::config(&format!("{}{}", crate::support::NODES, crate::support::PODS));
    let file = folder.file("performance-config.yaml", text);
    let base = ["gate", "--base-bin", binary, "--head-bin", binary, "--config", &file, "--repeat", "1"];
    let with = |more: &[&str]| {
        let mut args = base.to_vec();
        args.extend(more);
        schedlab_in(&folder, &args)
    };
    let few = with(&["--rounds", "2", "--json"]).ends_with(4);
    let few = json(&few.stdout);
    assert_eq!(few["rows"][0]["base_samples"], 4);
    assert!(few["notes"].to_string().contains("reference steps"), "{few}");
    schedlab_in(&folder, &["gate", "--base-bin", "missing", "--head-bin", binary])
        .ends_with(2)
        .complains("missing: there is no such binary");
    schedlab_in(&folder, &["gate", "no-such-revision"]).ends_with(2);
}

#[test]
fn the_site_is_served_on_loopback_and_follows_the_history() {
    use std::io::{BufRead, BufReader, Read, Write};
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", SMALL, "--out", "run"]).ends_with(0);
    schedlab_in(&folder, &["record", "run", "--history", "h"]).ends_with(0);
    schedlab_in(&folder, &["serve", "--history", "h", "--listen", "0.0.0.0:0"])
        .ends_with(2)
        .complains("only loopback addresses");
    let args = ["serve", "--history", "h", "--out", "site", "--listen", "127.0.0.1:0", "--requests", "3"];
    let mut server =
        crate::support::command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(server.stdout.take().expect("piped")).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("Serving on http://")?.split(' ').next()?.to_owned()));
    let address = address.expect("it says where it listens");
    // Its output must be read on, or it would wait for a reader.
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&address).expect("connects");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    assert!(get("/").contains("1 run"), "the overview");
    schedlab_in(&folder, &["record", "run", "--history", "h", "--at", "2026-11-16T00:00:00Z"]).ends_with(0);
    assert!(get("/").contains("2 runs"), "the history grew");
    assert!(get("/../Cargo.toml").starts_with("HTTP/1.1 404"), "nothing outside");
    assert!(server.wait().expect("it ends").success());
    reader.join().expect("read to the end");
}

/// Begins to read a page of a server that says where it listens.
fn serving(args: &[&str], folder: &Folder) -> (std::process::Child, String) {
    use std::io::{BufRead, BufReader};
    let mut server =
        crate::support::command(args).current_dir(folder.path()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(server.stdout.take().expect("piped")).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("Serving on http://")?.split(' ').next()?.to_owned()));
    std::thread::spawn(move || lines.map_while(Result::ok).count());
    (server, address.expect("it says where it listens"))
}

#[test]
fn progress_of_a_concurrent_run_is_streamed() {
    use std::io::{BufRead, BufReader, Write};
    let folder = Folder::new();
    let ops =
        format!("{}{}  - opcode: sleep\n    duration: 3s\n", crate::support::NODES, crate::support::PODS);
    let file = folder.file("performance-config.yaml", crate::support::config(&ops));
    // Nothing is recorded yet: the site is empty, not missing.
    let run = format!("--config {file} --out run");
    let args = [
        "serve",
        "--history",
        "h",
        "--out",
        "site",
        "--listen",
        "127.0.0.1:0",
        "--requests",
        "3",
        "--run",
        &run,
    ];
    let (mut server, address) = serving(&args, &folder);
    let mut stream = std::net::TcpStream::connect(&address).expect("connects");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("set");
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("Content-Type: text/event-stream")));
    let mut news = lines.filter_map(|line| Some(json(line.strip_prefix("data: ")?)));
    let sleeping = news.find(|news| news["running"][0]["op"] == "sleep").expect("the run is announced");
    assert_eq!(sleeping["running"][0]["workload"], "Case/small");
    assert_eq!(sleeping["running"][0]["op_of"], 3);
    assert!(sleeping["history"].is_null(), "nothing is recorded yet");
    let recorded = news.find(|news| !news["history"].is_null()).expect("the run is recorded");
    assert!(0 < recorded["history"].as_u64().expect("bytes"));
    // A run records before it ends: it may be announced once more.
    let is_over = recorded["running"] == json("[]") || news.any(|news| news["running"] == json("[]"));
    assert!(is_over, "and announced no more");
    server.kill().expect("it still serves");
    server.wait().expect("it ends");
    schedlab_in(&folder, &["serve", "--run", "'open"]).ends_with(2).complains("--run");
}

#[test]
fn metrics_are_served_while_a_run_lingers() {
    use std::io::{BufRead, BufReader, Read, Write};
    let folder = Folder::new();
    let args = [
        "run",
        "--filter",
        SMALL,
        "--repeat",
        "1",
        "--json",
        "--metrics",
        "127.0.0.1:0",
        "--metrics-linger",
        "20",
    ];
    let mut run = crate::support::command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    let mut said = BufReader::new(run.stderr.take().expect("piped")).lines();
    let address = said.by_ref().map_while(Result::ok).find_map(|line| {
        Some(line.strip_prefix("schedlab: metrics on http://")?.strip_suffix("/metrics")?.to_owned())
    });
    let address = address.expect("it says where");
    // The result is printed when everything is over; the metrics then have all sixty pods, ten of
    // which came before the measured part.
    let mut stdout = BufReader::new(run.stdout.take().expect("piped"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("the result begins");
    let mut stream = std::net::TcpStream::connect(&address).expect("connects");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    run.kill().expect("it lingers");
    run.wait().expect("it ends");
    let wanted = "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 60";
    assert!(text.contains(wanted), "{text}");
    assert!(
        text.contains("scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts=\"1\",le=\"0.01\"}"),
        "{text}"
    );
    for name in [
        "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"default-scheduler\",result=\"scheduled\",le=",
        "scheduler_queue_incoming_pods_total{event=\"UnscheduledPodAdd\",queue=\"active\"} 60",
        "scheduler_pod_scheduling_attempts_bucket{le=\"1\"} 60",
        "scheduler_async_api_call_execution_total{call_type=\"pod_binding\",result=\"success\"} 60",
        "scheduler_preemption_victims_count 0",
        "scheduler_pending_pods{queue=\"gated\"} 0",
    ] {
        assert!(text.contains(name), "no {name} in\n{text}");
    }
    schedlab_in(&folder, &["run", "--filter", SMALL, "--metrics", "0.0.0.0:0"])
        .ends_with(2)
        .complains("only loopback addresses");
}
