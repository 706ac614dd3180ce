//! One of several schedulers leads.

use std::time::Duration;

use schedlab_cluster::api::{Api as _, ObjectKey};
use schedlab_live::{ElectionSettings, LeaderElection, Leadership};
use serde_json::Value;

use crate::support::{Served, serve, wait_for};

fn stand(served: &Served, identity: &str, lease: Duration) -> LeaderElection {
    let settings = ElectionSettings {
        namespace: "default".to_owned(),
        lease_duration: lease,
        renew_deadline: lease * 2 / 3,
        retry_period: Duration::from_millis(20),
        ..ElectionSettings::new(identity.to_owned())
    };
    LeaderElection::start(served.connect(), settings)
}

fn lease(served: &Served) -> Value {
    let key = ObjectKey::namespaced("coordination.k8s.io/v1", "Lease", "default", "kube-scheduler");
    let lease = served.cluster.get(&key).expect("the lease is there").into_other().expect("a lease");
    lease.body["spec"].clone()
}

#[test]
fn released_lease_is_taken_at_once_and_one_that_runs_out_in_its_time() {
    let served = serve(0);
    let long = Duration::from_secs(60);
    let first = stand(&served, "first", long);
    wait_for("the first one leads", || first.standing() == Leadership::Leading);
    let second = stand(&served, "second", Duration::from_secs(2));
    let stands_by = Leadership::StandingBy { leader: "first".to_owned() };
    wait_for("the second one stands by", || second.standing() == stands_by);
    assert_eq!(lease(&served)["leaseTransitions"], 0);
    first.release();
    wait_for("the second one leads", || second.standing() == Leadership::Leading);
    assert_eq!(lease(&served)["holderIdentity"], "second");
    drop(second);
    let third = stand(&served, "third", long);
    wait_for("the lease runs out", || third.standing() == Leadership::Leading);
    assert!(
        lease(&served)["leaseTransitions"].as_u64().is_some_and(|count| 2 <= count),
        "{}",
        lease(&served)
    );
}

#[test]
fn leader_whose_lease_was_taken_has_lost() {
    let served = serve(0);
    let leader = stand(&served, "leader", Duration::from_secs(60));
    wait_for("it leads", || leader.standing() == Leadership::Leading);
    let key = ObjectKey::namespaced("coordination.k8s.io/v1", "Lease", "default", "kube-scheduler");
    // Between a look and a write of the leader this is a conflict for one of the two.
    wait_for("the lease is taken", || {
        let object = served.cluster.get(&key).expect("the lease is there");
        let mut lease = object.into_other().expect("a lease");
        lease.body["spec"]["holderIdentity"] = Value::from("thief");
        served.cluster.update(schedlab_cluster::api::Object::Other(lease)).is_ok()
    });
    wait_for("it has lost", || leader.standing() == Leadership::Lost);
    assert_eq!(lease(&served)["holderIdentity"], "thief");
}
