//! What is known to be accepted by an API server is accepted here.

use std::sync::Arc;

use schedlab_cluster::api::Object;
use schedlab_cluster::convert::lift_execution_affinity;
use schedlab_cluster::validate::validate;
use schedlab_workloads::resolve::{Selection, Suite};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::suites;
use schedlab_workloads::template::Env;
use serde_json::Value;

use crate::upstream_files::{bound, plain, upstream_root};

/// Checks every object that a suite's ops make.
fn every_object_is_valid(suite: &Suite) -> usize {
    let mut count = 0;
    for workload in
        suite.resolve_each(&Selection::all()).into_iter().filter_map(|selected| selected.workload.ok())
    {
        for op in &workload.ops {
            let first_and_last = [0, 9_999]
                .into_iter()
                .filter_map(|index| Some(bound(op.as_ref())?.render_json(index, 10_000)));
            let plain = plain(op.as_ref()).into_iter().map(|object| object.render_json(&Env::default()));
            for object in first_and_last.chain(plain) {
                let object = object.unwrap_or_else(|error| panic!("{}: {error}", workload.full_name));
                is_valid(object, &workload.full_name);
                count += 1;
            }
        }
    }
    count
}

fn is_valid(mut value: Value, place: &str) {
    if value["kind"] == "Pod" {
        lift_execution_affinity(&mut value).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    let text = value.to_string();
    let object = Object::from_json(value).unwrap_or_else(|error| panic!("{place}: {error}: {text}"));
    validate(&object).unwrap_or_else(|error| panic!("{place}: {error}: {text}"));
}

#[test]
fn objects_of_our_suites_are_valid() {
    for name in suites::names() {
        let suite = suites::load(name).unwrap_or_else(|error| panic!("{error}"));
        assert!(0 < every_object_is_valid(&suite), "{name}");
    }
}

#[test]
fn objects_of_upstream_workloads_are_valid() {
    let Some(root) = upstream_root() else { return };
    let suite = Suite::load(Arc::new(DiskSource), &root).unwrap_or_else(|error| panic!("{error}"));
    assert!(500 < every_object_is_valid(&suite));
}
