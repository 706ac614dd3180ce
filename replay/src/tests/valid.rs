//! What a recorded API server accepted is accepted here.

use schedlab_cluster::api::Object;
use schedlab_cluster::validate::validate;

use super::*;

#[test]
fn objects_of_recorded_traces_are_valid() {
    for path in traces_in(&committed()) {
        let trace = read_trace(&path).unwrap_or_else(|error| panic!("{error}"));
        let place = path.display();
        for node in &trace.cluster.nodes {
            validate(&Object::Node(Box::new(node.clone())))
                .unwrap_or_else(|error| panic!("{place}: {error}"));
        }
        let scheduled = trace.steps.iter().filter_map(|step| match step {
            TraceStep::Schedule { pod, .. } | TraceStep::UpdatePod { pod } => Some(&**pod),
            _ => None,
        });
        for pod in trace.cluster.pods.iter().chain(&trace.cluster.nominated).chain(scheduled) {
            validate(&Object::Pod(Box::new(pod.clone()))).unwrap_or_else(|error| panic!("{place}: {error}"));
        }
    }
}
