//! Shards of a list of units, as a Kubernetes Indexed Job, a Slurm array or a person runs them, and what they are
//! put together to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::support::{Answer, Folder, NODES, PODS, command, schedlab_in};

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

/// A manifest as the API server reads it with strict field validation: what the type does not know is lost on
/// the way through it, and the document differs.
fn strict<T: DeserializeOwned + Serialize>(name: &str) -> T {
    let text = fs::read_to_string(deploy(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut document: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let typed: T = serde_json::from_value(document.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut known = serde_json::to_value(&typed).expect("JSON");
    for side in [&mut document, &mut known] {
        without_empty(side);
    }
    assert_eq!(document, known, "{name} has fields that the API does not know");
    typed
}

/// An empty object says as much as none.
fn without_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(without_empty);
        fields.retain(|_, field| *field != Value::Object(serde_json::Map::new()));
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(without_empty);
    }
}

/// All files of a folder by name.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read(&path).expect("a file"))
    };
    entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).map(read).collect()
}

#[track_caller]
fn same_files(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, content) in &one {
        assert!(*content == other[name], "{name} differs");
    }
}

fn container_args(job: &Job) -> Vec<String> {
    let pod = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()).expect("a pod");
    pod.containers[0].args.clone().expect("arguments")
}

/// The manifest's arguments on this machine, with few seeds.
fn local_args(job: &Job, seeds: &str) -> Vec<String> {
    let mut args = container_args(job);
    for at in 0..args.len() {
        match args[at].as_str() {
            "--seeds" => args[at + 1] = seeds.to_owned(),
            "--threads" => args[at + 1] = "1".to_owned(),
            path if path.starts_with("/results") => args[at] = path[1..].to_owned(),
            _ => {}
        }
    }
    args
}

/// A pod of the Job: a process with its index in the environment.
fn start_pod(folder: &Folder, args: &[String], index: i32) -> Child {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut pod = command(&args);
    pod.current_dir(folder.path()).env("JOB_COMPLETION_INDEX", index.to_string());
    pod.spawn().expect("the binary runs")
}

fn ends(child: Child) -> Answer {
    Answer::of(child.wait_with_output().expect("the process ends"))
}

/// Waits until a shard has kept its first unit, and kills it (SIGKILL) before it has all.
fn kill_midway(mut child: Child, dir: &Path) {
    let units = dir.join("units.jsonl");
    while fs::read_to_string(&units).map_or(0, |text| text.lines().count()) < 2 {
        assert!(child.try_wait().expect("a process").is_none(), "the shard ended before it was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(!dir.join("manifest.json").exists(), "killed before it was finished");
}

#[test]
fn indexed_job_with_a_killed_pod_merges_to_the_bytes_of_one_run() {
    const SEEDS: &str = "0..1400";
    let folder = Folder::new();
    let job: Job = strict("kubernetes/seeds-job.yaml");
    let spec = job.spec.as_ref().expect("a spec");
    assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
    assert!(spec.backoff_limit_per_index.is_some_and(|retries| retries > 0));
    let completions = spec.completions.expect("completions");
    let args = local_args(&job, SEEDS);
    let at = args.iter().position(|arg| arg == "--shards").expect("--shards");
    assert_eq!(args[at + 1], completions.to_string(), "--shards says what completions says");

    // The pod of index 1 is killed, and leaves half a line behind.
    let dir = folder.path().join(format!("results/shard-1-of-{completions}"));
    kill_midway(start_pod(&folder, &args, 1), &dir);
    let mut torn = fs::read(dir.join("units.jsonl")).expect("a log");
    torn.extend_from_slice(b"{\"unit\":17,\"body\":{\"see");
    fs::write(dir.join("units.jsonl"), torn).expect("written");
    let merge: Job = strict("kubernetes/merge-job.yaml");
    let merge = local_args(&merge, SEEDS);
    let merge: Vec<&str> = merge.iter().map(String::as_str).collect();
    schedlab_in(&folder, &merge).ends_with(2).complains("is not finished");
    for index in 0..completions {
        ends(start_pod(&folder, &args, index)).ends_with(0);
    }
    // A pod that is started again although it was done says the same.
    ends(start_pod(&folder, &args, 0)).ends_with(0);
    schedlab_in(&folder, &merge).ends_with(0).says("1,400 seeds").says("no violation");

    schedlab_in(&folder, &["simulate", "--seeds", SEEDS, "--threads", "2", "--out", "whole"]).ends_with(0);
    same_files(&folder.path().join("whole"), &folder.path().join("results/merged"));
}

#[test]
fn manifests_are_known_to_the_api_and_share_one_volume() {
    let claim: PersistentVolumeClaim = strict("kubernetes/results-volume.yaml");
    for name in ["kubernetes/seeds-job.yaml", "kubernetes/merge-job.yaml"] {
        let job: Job = strict(name);
        let pod = job.spec.and_then(|spec| spec.template.spec).expect("a pod");
        // podFailurePolicy and the retries of an index need it.
        assert_eq!(pod.restart_policy.as_deref(), Some("Never"), "{name}");
        let volumes = pod.volumes.expect("volumes");
        let claimed = volumes[0].persistent_volume_claim.as_ref().map(|claim| claim.claim_name.clone());
        assert_eq!(claimed, claim.metadata.name, "{name}");
        let mounts = pod.containers[0].volume_mounts.clone().expect("mounts");
        assert_eq!((mounts[0].name.as_str(), mounts[0].mount_path.as_str()), (&*volumes[0].name, "/results"));
    }
}

#[test]
fn slurm_array_merges_to_the_bytes_of_one_run() {
    let folder = Folder::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_schedlab")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for task in ["0", "1"] {
        let mut script = std::process::Command::new("bash");
        script.arg(deploy("slurm/seeds.sbatch")).current_dir(folder.path()).env("PATH", &path);
        script.env("SLURM_ARRAY_TASK_ID", task).env("SLURM_ARRAY_TASK_COUNT", "2");
        script.env("SEEDS", "0..130").env("OUT", "seeds");
        Answer::of(script.output().expect("bash runs")).ends_with(0);
    }
    schedlab_in(&folder, &["merge", "seeds", "--out", "merged"]).ends_with(0);
    schedlab_in(&folder, &["simulate", "--seeds", "0..130", "--out", "whole"]).ends_with(0);
    same_files(&folder.path().join("whole"), &folder.path().join("merged"));
}

#[test]
fn ci_matrix_has_a_job_for_every_shard() {
    let text = fs::read_to_string(deploy("ci/seeds-matrix.yaml")).expect("a file");
    let document: Value = serde_saphyr::from_str(&text).expect("YAML");
    let shard = &document["jobs"]["shard"];
    let matrix = shard["strategy"]["matrix"]["shard"].as_array().expect("a matrix");
    assert_eq!(*matrix, (0..matrix.len()).map(Value::from).collect::<Vec<_>>());
    let runs = shard["steps"].as_array().expect("steps").iter().filter_map(|step| step["run"].as_str());
    let command = runs.into_iter().find(|run| run.contains("simulate")).expect("a command");
    assert!(command.contains(&format!("--shard \"${{{{ matrix.shard }}}}/{}\"", matrix.len())), "{command}");
}

/// Two shards of 130 seeds.
fn two_shards() -> Folder {
    let folder = Folder::new();
    for shard in ["0/2", "1/2"] {
        schedlab_in(&folder, &["simulate", "--seeds", "0..130", "--shard", shard, "--out", "seeds"])
            .ends_with(0);
    }
    folder
}

#[test]
fn shards_in_any_order_merge_to_the_same_bytes() {
    let folder = two_shards();
    schedlab_in(&folder, &["merge", "seeds/shard-0-of-2", "seeds/shard-1-of-2", "--out", "one"]).ends_with(0);
    schedlab_in(&folder, &["merge", "seeds/shard-1-of-2", "seeds/shard-0-of-2", "--out", "two"]).ends_with(0);
    same_files(&folder.path().join("one"), &folder.path().join("two"));
}

#[test]
fn shards_that_do_not_make_a_whole_are_named() {
    let folder = two_shards();
    let others: [&[&str]; 3] = [
        &["--seeds", "0..131", "--shard", "1/2", "--out", "other"],
        &["--seeds", "0..130", "--faults", "storm", "--shard", "1/2", "--out", "storm"],
        &["--seeds", "0..130", "--shard", "1/3", "--out", "three"],
    ];
    for args in others {
        schedlab_in(&folder, &[&["simulate"], args].concat()).ends_with(0);
    }
    let old = folder.path().join("old");
    fs::create_dir_all(&old).expect("a folder");
    for (name, content) in files(&folder.path().join("seeds/shard-1-of-2")) {
        let content = String::from_utf8(content).expect("text").replace("\"version\":\"", "\"version\":\"9");
        fs::write(old.join(name), content.replace("\"version\": \"", "\"version\": \"9")).expect("written");
    }
    let zero = "seeds/shard-0-of-2";
    let cases: [(&[&str], &str); 7] = [
        (&[zero], "of 2 shards, 1 is missing; given: 0"),
        (&["seeds", zero], "shard 0 of 2 is given twice"),
        (&[zero, "other"], "do not belong together (seeds: 0..130, 0..131)"),
        (&[zero, "storm"], "do not belong together (faults: mix, storm)"),
        (&[zero, "three"], "do not belong together (shards: 2, 3)"),
        (&[zero, "old"], "old: units.jsonl and manifest.json do not agree"),
        (&["absent"], "cannot read absent"),
    ];
    for (folders, wanted) in cases {
        schedlab_in(&folder, &[&["merge"], folders, &["--out", "merged"]].concat())
            .ends_with(2)
            .complains(wanted);
        assert!(!folder.path().join("merged").exists(), "nothing is written: {wanted}");
    }
    // A version is part of the digest; with that made right as well, the version is what is named.
    let manifest = old.join("manifest.json");
    let log = fs::read_to_string(old.join("units.jsonl")).expect("a log");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let known: Value = serde_json::from_str(&text).expect("JSON");
    let digest = schedlab_workloads::digest::Digest::of(&log);
    fs::write(&manifest, text.replace(known["digest"].as_str().expect("a digest"), &digest))
        .expect("written");
    schedlab_in(&folder, &["merge", zero, "old", "--out", "merged"])
        .ends_with(2)
        .complains("do not belong together (version: ");
}

/// Whoever wrote a folder chose its numbers: none of them may end the process or fill its memory.
#[test]
fn crafted_shards_are_refused() {
    let folder = two_shards();
    let log = folder.read("seeds/shard-0-of-2/units.jsonl");
    let manifest = folder.read("seeds/shard-0-of-2/manifest.json");
    let head = log.lines().next().expect("a head").to_owned();
    let with = |index: &str, count: &str, units: &str| {
        let known: Value = serde_json::from_str(&head).expect("JSON");
        head.replace("\"index\":0,\"count\":2", &format!("\"index\":{index},\"count\":{count}"))
            .replace(&format!("\"unitCount\":{}", known["unitCount"]), &format!("\"unitCount\":{units}"))
    };
    let cases = [
        (with("0", "0", "3"), "there are 1 to 100000 shards, not 0"),
        (with("0", "4294967295", "3"), "there are 1 to 100000 shards, not 4294967295"),
        (with("7", "2", "3"), "there is no shard 7 of 2"),
        (with("0", "2", "18446744073709551615"), "is not finished, 0 of 9223372036854775808 units are done"),
    ];
    for (head, wanted) in cases {
        let crafted = folder.path().join("crafted");
        let _ = fs::remove_dir_all(&crafted);
        folder.file("crafted/units.jsonl", format!("{head}\n"));
        let merge = ["merge", "crafted", "--out", "merged"];
        schedlab_in(&folder, &merge).ends_with(2).complains(wanted);
        folder.file("crafted/manifest.json", &manifest);
        schedlab_in(&folder, &merge).ends_with(2);
    }
    folder.file("many/units.jsonl", format!("{}\n", with("0", "100000", "0")));
    let manifest = manifest.replace("\"count\": 2", "\"count\": 100000");
    folder.file("many/manifest.json", manifest);
    schedlab_in(&folder, &["merge", "many", "--out", "merged"]).ends_with(2);
    assert!(!folder.path().join("merged").exists());
}

#[test]
fn bad_shards_are_refused() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 5] = [
        (&["simulate", "--shard", "4/4", "--out", "x"], "there is no shard 4 of 4; shards count from 0 to 3"),
        (&["simulate", "--shard", "two", "--out", "x"], "as 2/4"),
        (&["simulate", "--shards", "4", "--out", "x"], "JOB_COMPLETION_INDEX, which is not set"),
        (&["simulate", "--shard", "0/2"], "give a folder with --out"),
        (&["run", "--shard", "0/2", "--history", "h"], "a shard is not recorded"),
    ];
    for (args, wanted) in cases {
        let mut run = command(args);
        run.current_dir(folder.path()).env_remove("JOB_COMPLETION_INDEX");
        Answer::of(run.output().expect("the binary runs")).ends_with(2).complains(wanted);
    }
}

#[test]
fn replayed_traces_in_shards_merge_to_the_bytes_of_one_run() {
    let folder = Folder::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay/tests/conformance");
    let mut traces: Vec<String> = fs::read_dir(dir)
        .expect("traces are part of the project")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .filter(|path| path.ends_with(".gz"))
        .collect();
    traces.sort();
    traces.truncate(3);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let replay = |more: &[&str]| schedlab_in(&folder, &[&["replay"], more, &traces].concat()).ends_with(0);
    replay(&["--shard", "1/2", "--out", "parts"]);
    replay(&["--shard", "0/2", "--out", "parts"]);
    replay(&["--out", "whole"]);
    schedlab_in(&folder, &["merge", "parts", "--out", "merged"]).ends_with(0).says("3 traces, ");
    same_files(&folder.path().join("whole"), &folder.path().join("merged"));
}

#[test]
fn workloads_in_shards_merge_to_one_report_that_says_so() {
    let folder = Folder::new();
    let case = |name: &str| {
        format!(
            "- name: {name}\n  workloadTemplate:\n{NODES}{PODS}  workloads:\n  - name: small\n    params: {{nodes: 3, \
             pods: 6}}\n"
        )
    };
    let config = [case("A"), case("B"), case("C")].concat();
    folder.file("performance-config.yaml", config);
    for shard in ["0/2", "1/2"] {
        let args = [
            "run",
            "--config",
            "performance-config.yaml",
            "--repeat",
            "1",
            "--shard",
            shard,
            "--out",
            "parts",
        ];
        schedlab_in(&folder, &args).ends_with(0);
    }
    let begun = folder.read("parts/shard-0-of-2/units.jsonl");
    // A shard that is started again measures nothing again.
    let again =
        ["run", "--config", "performance-config.yaml", "--repeat", "1", "--shard", "0/2", "--out", "parts"];
    schedlab_in(&folder, &again).ends_with(0);
    assert_eq!(folder.read("parts/shard-0-of-2/units.jsonl"), begun);
    schedlab_in(&folder, &["merge", "parts", "--out", "merged"]).ends_with(0).says("A/small").says("C/small");
    let result: Value = serde_json::from_str(&folder.read("merged/result.json")).expect("JSON");
    let names: Vec<&str> =
        result["workloads"].as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["A/small", "B/small", "C/small"], "in the order of one run");
    let note = result["options"]["shards"].as_str().expect("a note");
    assert!(note.starts_with("2, measured on several machines"), "{note}");
    assert!(folder.read("merged/report.html").contains("measured on several machines"));
}

#[test]
fn points_of_a_study_in_shards_merge_to_one_figure() {
    let folder = Folder::new();
    folder.file(
        "suite/performance-config.yaml",
        "- name: Plain\n  workloadTemplate:\n  - {opcode: createNodes, count: 10}\n  - {opcode: createPods, count: \
         40, collectMetrics: true}\n  workloads:\n  - name: Small\n",
    );
    folder.file(
        "suite/variants.yaml",
        "- name: patch
  title: Extra PATCH
  rounds: 1
  metrics: [patchCalls]
  axes:
  - name: calls
    values:
    - {name: sync}
    - {name: async, flags: '--feature-gates SchedulerAsyncAPICalls=true'}
  variants:
  - {name: never, testCase: Plain, workload: Small, flags: --nominated-node-name never}
  - {name: always, testCase: Plain, workload: Small, flags: --nominated-node-name always}
",
    );
    for shard in ["1/2", "0/2"] {
        schedlab_in(&folder, &["run", "--config", "suite", "--shard", shard, "--out", "parts"]).ends_with(0);
    }
    schedlab_in(&folder, &["merge", "parts", "--out", "merged"]).ends_with(0).says("Extra PATCH");
    let result: Value = serde_json::from_str(&folder.read("merged/result.json")).expect("JSON");
    assert_eq!(result["figures"].as_array().map(Vec::len), Some(1));
    let rows = result["figures"][0]["rows"].as_array().expect("rows");
    let points: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["point"][0].as_str().unwrap_or(""), row["variant"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(points, [("sync", "never"), ("sync", "always"), ("async", "never"), ("async", "always")]);
}
