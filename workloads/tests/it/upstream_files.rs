//! Upstream's own workload files: all of them parse, resolve and render.
//!
//! They are not part of this repository; without them the test says so and passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schedlab_workloads::ops::ResolvedOp;
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::template::{BoundTemplate, Env, ObjectTemplate};

/// Test cases and workloads of the release `docs/upstream.md` pins.
const TEST_CASES: usize = 61;
const WORKLOADS: usize = 267;

/// Workloads that upstream itself refuses when they are run; no label selects them, so nobody saw.
const BROKEN_UPSTREAM: [(&str, &str); 2] = [
    (
        "SchedulingWithResourceClaimTemplate/empty_100nodes",
        "op 7 (createPods): parameter $measurePods is not set; add `measurePods` to `params` of this workload",
    ),
    (
        "SchedulingWithResourceClaimTemplate/empty_200nodes",
        "op 7 (createPods): parameter $measurePods is not set; add `measurePods` to `params` of this workload",
    ),
];

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn upstream_root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/scheduler_perf");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("skipped: upstream's workload files are not at {}", root.display());
    None
}

fn load(root: &Path) -> Suite {
    Suite::load(Arc::new(DiskSource), root).unwrap_or_else(|error| panic!("{error}"))
}

fn sound_workloads(root: &Path) -> Vec<ResolvedWorkload> {
    let selected = load(root).resolve_each(&Selection::all());
    selected.into_iter().filter_map(|selected| selected.workload.ok()).collect()
}

#[test]
fn every_upstream_workload_resolves_and_renders() {
    let Some(root) = upstream_root() else { return };
    let suite = load(&root);
    assert_eq!(suite.test_cases().count(), TEST_CASES);
    let selected = suite.resolve_each(&Selection::all());
    assert_eq!(selected.len(), WORKLOADS);
    let mut broken = Vec::new();
    for selected in &selected {
        match &selected.workload {
            Ok(workload) => workload.ops.iter().for_each(|op| render(workload, op)),
            Err(error) => broken.push(format!("{}: {error}", selected.full_name)),
        }
    }
    assert_eq!(broken.len(), BROKEN_UPSTREAM.len(), "{broken:#?}");
    for (found, (name, reason)) in broken.iter().zip(BROKEN_UPSTREAM) {
        assert!(found.starts_with(name) && found.ends_with(reason), "{found}");
    }
}

#[test]
fn a_template_said_to_be_independent_of_the_index_renders_the_same_for_every_index() {
    let Some(root) = upstream_root() else { return };
    let workloads = sound_workloads(&root);
    let mut seen = (0, 0);
    for template in workloads.iter().flat_map(|workload| &workload.ops).filter_map(bound) {
        let [first, other] = [0, 12_345].map(|index| template.render_json(index, 100_000).expect("renders"));
        if template.depends_on_index() {
            seen.1 += 1;
        } else {
            seen.0 += 1;
            assert_eq!(first, other, "{}", template.template().path().display());
        }
    }
    assert!(0 < seen.0 && 0 < seen.1, "both kinds are used: {seen:?}");
}

#[test]
fn thresholds_by_topic_are_found() {
    let Some(root) = upstream_root() else { return };
    let workloads = sound_workloads(&root);
    let found =
        workloads.iter().find(|w| w.full_name == "SchedulingWithResourceClaimTemplate/5000pods_500nodes");
    let found = found.expect("the workload exists");
    assert_eq!((found.topic.as_str(), found.threshold.value), ("dra", 56.0));
}

pub(crate) fn bound(op: &ResolvedOp) -> Option<&BoundTemplate> {
    match op {
        ResolvedOp::CreateAny(op) => Some(&op.template),
        ResolvedOp::CreateNodes(op) => op.template.as_ref(),
        ResolvedOp::CreatePodGroups(op) => Some(&op.template),
        ResolvedOp::CreatePods(op) => op.template.as_ref(),
        ResolvedOp::UpdateAny(op) => Some(&op.template),
        _ => None,
    }
}

pub(crate) fn plain(op: &ResolvedOp) -> Vec<&ObjectTemplate> {
    match op {
        ResolvedOp::Churn(op) => op.templates.iter().map(AsRef::as_ref).collect(),
        ResolvedOp::CreateNamespaces(op) => op.template.iter().map(AsRef::as_ref).collect(),
        ResolvedOp::CreatePods(op) => {
            op.volumes.iter().flat_map(|volumes| [volumes.volume.as_ref(), volumes.claim.as_ref()]).collect()
        }
        ResolvedOp::CreateResourceClaims(op) => vec![op.template.as_ref()],
        _ => Vec::new(),
    }
}

fn render(workload: &ResolvedWorkload, op: &ResolvedOp) {
    let name = &workload.full_name;
    let bound = bound(op).map(|template| template.render_json(0, 10));
    let plain = plain(op).into_iter().map(|object| object.render_json(&Env::default()));
    for object in bound.into_iter().chain(plain) {
        let object = object.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(object["kind"].is_string(), "{name}: {} gives an object", op.opcode());
    }
}
