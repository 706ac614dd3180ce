//! Upstream's own workload files: all of them parse, resolve and render.
//!
//! They are not part of this repository; without them the test says so and passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schedlab_workloads::ops::ResolvedOp;
use schedlab_workloads::ops::churn::Churn;
use schedlab_workloads::ops::create_any::CreateAny;
use schedlab_workloads::ops::create_namespaces::CreateNamespaces;
use schedlab_workloads::ops::create_nodes::CreateNodes;
use schedlab_workloads::ops::create_pod_groups::CreatePodGroups;
use schedlab_workloads::ops::create_pods::CreatePods;
use schedlab_workloads::ops::create_resource_claims::CreateResourceClaims;
use schedlab_workloads::ops::update_any::UpdateAny;
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
            Ok(workload) => workload.ops.iter().for_each(|op| render(workload, op.as_ref())),
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
    for template in workloads.iter().flat_map(|workload| &workload.ops).filter_map(|op| bound(op.as_ref())) {
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

pub(crate) fn bound(op: &dyn ResolvedOp) -> Option<&BoundTemplate> {
    let any = op.as_op::<CreateAny>().map(|op| &op.template);
    let nodes = || op.as_op::<CreateNodes>()?.template.as_ref();
    let groups = || Some(&op.as_op::<CreatePodGroups>()?.template);
    let pods = || op.as_op::<CreatePods>()?.template.as_ref();
    let updated = || Some(&op.as_op::<UpdateAny>()?.template);
    any.or_else(nodes).or_else(groups).or_else(pods).or_else(updated)
}

pub(crate) fn plain(op: &dyn ResolvedOp) -> Vec<&ObjectTemplate> {
    let churned = op.as_op::<Churn>().into_iter().flat_map(|op| op.templates.iter().map(AsRef::as_ref));
    let namespaces = op.as_op::<CreateNamespaces>().and_then(|op| op.template.as_deref());
    let volumes = op.as_op::<CreatePods>().and_then(|op| op.volumes.as_ref());
    let volumes = volumes.into_iter().flat_map(|own| [own.volume.as_ref(), own.claim.as_ref()]);
    let claims = op.as_op::<CreateResourceClaims>().map(|op| op.template.as_ref());
    churned.chain(namespaces).chain(volumes).chain(claims).collect()
}

fn render(workload: &ResolvedWorkload, op: &dyn ResolvedOp) {
    let name = &workload.full_name;
    let bound = bound(op).map(|template| template.render_json(0, 10));
    let plain = plain(op).into_iter().map(|object| object.render_json(&Env::default()));
    for object in bound.into_iter().chain(plain) {
        let object = object.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(object["kind"].is_string(), "{name}: {} gives an object", op.opcode());
    }
}
