//! Permit: pods that are held back, let go, sent back, and that wait for each other.

use super::{try_pod, with_plugins};
use crate::scenarios::manifest::{node, pod};
use crate::scenarios::plugin::{Scripted, WHO, unschedulable};
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint as Point;
use schedlab_core::framework::points::{Permit, Status};
use schedlab_core::scheduler::Standing;

const SECOND: u64 = 1_000_000_000;

#[test]
fn permit_may_approve_deny_fail_or_time_out() {
    let wait = || Permit::Wait { timeout_ns: 5 * SECOND };
    let cases = [
        ("approves", Permit::Approve, ""),
        ("denies", Permit::Deny(unschedulable("no")), "0/1 nodes are available: 1 no."),
        ("fails", Permit::Deny(Status::error("broken")), "broken"),
        (
            "times out",
            wait(),
            "0/1 nodes are available: 1 rejected due to timeout after waiting at plugin Permit.",
        ),
    ];
    for (name, answer, message) in cases {
        let mut answers = vec![answer];
        let permit = Scripted::new("Permit", &[Point::Permit, Point::Reserve]);
        permit.set(|script| {
            script.permit = Box::new(move |_, _| answers.pop().unwrap_or(Permit::Approve));
        });
        let mut lab = with_plugins(&[&permit]);
        try_pod(&mut lab, "p");
        if name == "times out" {
            assert_eq!(lab.standing("p"), Standing::Assumed, "it waits");
            lab.pass(5);
        }
        assert_eq!(lab.node_of("p").is_some(), name == "approves", "{name}");
        assert_eq!(lab.message("p"), message, "{name}");
        assert_eq!(permit.count("unreserve"), usize::from(name != "approves"), "{name}");
    }
}

/// Two plugins that let every pod wait, and let the others go or send them back when one called
/// `key` comes.
fn gatekeepers(sends_back: &'static [&'static str]) -> [Scripted; 2] {
    ["A", "B"].map(|name| {
        Scripted::new(name, &[Point::Permit, Point::Reserve]).with(|script| {
            script.permit = Box::new(move |handle, pod| {
                let who = pod.class.input.labels.get(WHO).map_or("", String::as_str);
                if !who.starts_with("key") {
                    return Permit::Wait { timeout_ns: 600 * SECOND };
                }
                let waiting: Vec<_> = handle.waiting.iter().map(|waiting| waiting.uid).collect();
                for uid in waiting {
                    if sends_back.contains(&name) {
                        handle.reject(uid, name, "sent back");
                    } else if who == "key" || who == format!("key-{}", name.to_lowercase()) {
                        handle.allow(uid, name);
                    }
                }
                Permit::Approve
            });
        })
    })
}

#[test]
fn waiting_pod_is_bound_when_all_permit_plugins_allow() {
    let [a, b] = gatekeepers(&[]);
    let mut lab = with_plugins(&[&a, &b]);
    try_pod(&mut lab, "p");
    assert_eq!(lab.scheduler().binding_cycles().waiting_pods()[0].pending.len(), 2);
    try_pod(&mut lab, "key-a");
    assert_eq!(
        lab.scheduler().binding_cycles().waiting_pods()[0].pending.len(),
        1,
        "one lets it go, one does not"
    );
    assert_eq!(lab.node_of("p"), None);
    try_pod(&mut lab, "key-b");
    assert!(lab.node_of("p").is_some());
    lab.assert_clean();
}

#[test]
fn one_permit_rejection_ends_waiting_on_permit() {
    let [a, b] = gatekeepers(&["B"]);
    let mut lab = with_plugins(&[&a, &b]);
    try_pod(&mut lab, "p");
    try_pod(&mut lab, "key");
    assert!(lab.scheduler().binding_cycles().waiting_pods().is_empty());
    assert_eq!(lab.standing("p"), Standing::Unschedulable);
    assert_eq!(lab.message("p"), "0/1 nodes are available: 1 sent back.");
    assert_eq!([a.count("unreserve p"), b.count("unreserve p")], [1, 1]);
}

/// Pods wait for each other; the third lets all go, or sends all back.
fn company(sends_back: bool) -> Scripted {
    Scripted::new("Company", &[Point::Permit]).with(|script| {
        script.permit = Box::new(move |handle, _| {
            if handle.waiting.len() < 2 {
                return Permit::Wait { timeout_ns: 600 * SECOND };
            }
            let waiting: Vec<_> = handle.waiting.iter().map(|waiting| waiting.uid).collect();
            for uid in waiting {
                if sends_back {
                    handle.reject(uid, "Company", "sent back");
                } else {
                    handle.allow(uid, "Company");
                }
            }
            if sends_back { Permit::Deny(unschedulable("sent back")) } else { Permit::Approve }
        });
    })
}

#[test]
fn co_scheduled_waiting_pods_are_bound_together_or_not_at_all() {
    for sends_back in [false, true] {
        let plugin = company(sends_back);
        let mut lab = Setup::default().without_backoff().plugin(&plugin).start();
        lab.create(node("n").has("cpu", "4"));
        lab.create_all(["a", "b", "c"].map(|name| pod(name).asks("cpu", "1")));
        lab.run();
        for name in ["a", "b", "c"] {
            assert_eq!(lab.node_of(name).is_some(), !sends_back, "{name}");
            if sends_back {
                assert_eq!(lab.standing(name), Standing::Unschedulable, "{name}");
            }
        }
        lab.assert_clean();
    }
}

#[test]
fn activated_pods_are_attempted_without_event() {
    // Workers wait for their driver; when it is bound they are tried again.
    let job = Scripted::new("Job", &[Point::Filter, Point::Permit]);
    job.set(|script| script.passes = Box::new(|_| false));
    let mut lab = Setup::default().without_backoff().plugin(&job).start();
    lab.create(node("n").has("cpu", "4"));
    lab.create_all(["w1", "w2"].map(|name| pod(name).label(WHO, name)));
    lab.run();
    assert_eq!(lab.standing("w1"), Standing::Unschedulable);
    let workers = ["w1", "w2"].map(|name| lab.uid(name));
    job.set(|script| {
        script.passes = Box::new(|_| true);
        script.permit = Box::new(move |handle, pod| {
            if pod.class.input.labels.get(WHO).is_some_and(|who| who == "driver") {
                workers.iter().for_each(|&uid| handle.activate(uid));
            }
            Permit::Approve
        });
    });
    lab.run();
    assert_eq!(lab.standing("w1"), Standing::Unschedulable, "nobody told them");
    try_pod(&mut lab, "driver");
    for name in ["driver", "w1", "w2"] {
        assert_eq!(lab.node_of(name).as_deref(), Some("n"), "{name}");
    }
}

#[test]
fn delete_of_waiting_pod_unreserves_and_requeues_others() {
    let waits = Scripted::new("Waits", &[Point::Permit, Point::Reserve]).with(|script| {
        script.permit = Box::new(|_, pod| {
            let is_first = pod.class.input.labels.get(WHO).is_some_and(|who| who == "first");
            if is_first { Permit::Wait { timeout_ns: 600 * SECOND } } else { Permit::Approve }
        });
    });
    let mut lab = Setup::default().without_backoff().plugin(&waits).start();
    lab.create(node("n").has("cpu", "1"));
    try_pod(&mut lab, "first");
    try_pod(&mut lab, "second");
    assert_eq!(lab.standing("second"), Standing::Unschedulable);
    lab.delete_pod("first");
    lab.run();
    assert_eq!(lab.node_of("second").as_deref(), Some("n"));
    assert_eq!(waits.count("unreserve first"), 1);
    lab.assert_clean();
}
