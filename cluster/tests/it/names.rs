//! Names that the cluster gives.

use schedlab_cluster::StatusReason;
use schedlab_cluster::api::{Api, ListQuery, ObjectKey};
use serde_json::json;

use crate::support::{cluster, create, create_pod, get_pod, node_value, object, pod_value, template};

#[test]
fn pods_of_a_template_are_counted() {
    let cluster = cluster();
    let web = template(&cluster, "web-");
    let created = cluster.create_pods(&web, 3).expect("created");
    let names: Vec<String> =
        created.uids().map(|uid| cluster.pod_name(cluster.pod_row(uid).expect("it exists").name)).collect();
    assert_eq!(names, ["web-0", "web-1", "web-2"]);
    let pod = get_pod(&cluster, "web-2").expect("it is found by its name");
    assert_eq!(pod.metadata.name.as_deref(), Some("web-2"));
    assert_eq!(pod.metadata.generate_name.as_deref(), Some("web-"));
    assert_eq!(get_pod(&cluster, "web-3").map_err(|error| error.reason), Err(StatusReason::NotFound));
    assert_eq!(get_pod(&cluster, "web-02").map_err(|error| error.reason), Err(StatusReason::NotFound));
}

#[test]
fn generated_and_given_names_never_collide() {
    let cluster = cluster();
    create_pod(&cluster, "web-1");
    let web = template(&cluster, "web-");
    cluster.create_pods(&web, 2).expect("created");
    create_pod(&cluster, "web-9");
    cluster.create_pods(&web, 1).expect("created");
    let taken = cluster.create(object(pod_value("web-10"))).expect_err("a generated pod has it");
    assert_eq!(taken.message, "pods \"web-10\" already exists");

    let list = cluster.list(&ListQuery::all("v1", "Pod")).expect("a list");
    let mut names: Vec<_> = list.items.iter().filter_map(|pod| pod.metadata().name.clone()).collect();
    assert_eq!(names, ["web-1", "web-2", "web-3", "web-9", "web-10"]);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5);
}

#[test]
fn prefixes_that_end_in_digits_do_not_confuse() {
    let cluster = cluster();
    let (short, long) = (template(&cluster, "a"), template(&cluster, "a1"));
    cluster.create_pods(&short, 15).expect("created");
    // Without a dash, a10 to a12 of the short prefix would be a1 and 0 to 2 of the long one.
    cluster.create_pods(&long, 3).expect("created");
    let list = cluster.list(&ListQuery::all("v1", "Pod")).expect("a list");
    let mut names: Vec<_> = list.items.iter().filter_map(|pod| pod.metadata().name.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 18, "all names differ");
}

#[test]
fn a_template_with_a_name_makes_one_pod() {
    let cluster = cluster();
    let pod = *object(pod_value("web")).into_pod().expect("a pod");
    let single = cluster.pod_template(pod, "default").expect("the template is fine");
    assert_eq!(cluster.create_pods(&single, 1).map(|created| created.count), Ok(1));
    let refused = cluster.create_pods(&single, 1).expect_err("the name is taken");
    assert_eq!(refused.message, "pods \"web\" already exists");
}

#[test]
fn nodes_and_other_objects_are_counted_too() {
    let cluster = cluster();
    create(&cluster, node_value("node-1"));
    let mut node = node_value("");
    node["metadata"] = json!({ "generateName": "node-" });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "generateName": "svc-" } });
    let name = |value| create(&cluster, value).metadata().name.clone().expect("a name");
    assert_eq!([name(node.clone()), name(node)], ["node-0", "node-2"], "node-1 is taken");
    assert_eq!([name(service.clone()), name(service)], ["svc-0", "svc-1"]);
    assert!(cluster.get(&ObjectKey::namespaced("v1", "Service", "default", "svc-1")).is_ok());
}
