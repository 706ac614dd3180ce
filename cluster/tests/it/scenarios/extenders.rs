//! Extenders beside the plugins. Upstream: test/integration/scheduler/extender. What goes over the
//! wire is tested in `extenders/` beside this folder.

use std::sync::{Arc, Mutex};

use super::manifest::{node, pod};
use super::setup::Setup;
use schedlab_core::framework::extend::{Extender, ExtenderError, FilterAnswer, Verb, Victims};
use schedlab_core::ids::PodUid;
use schedlab_core::input::PodInput;

const DEVICE: &str = "example.com/device";

/// An extender that lets some nodes pass and likes one.
#[derive(Debug)]
struct Fussy {
    passes: &'static [&'static str],
    likes: &'static str,
    weight: i64,
    /// Only pods that ask for the device concern it.
    is_special: bool,
    /// Bindings are its own to make; here they are noted.
    bound: Option<Mutex<Vec<String>>>,
}

impl Extender for Fussy {
    fn name(&self) -> &str {
        self.likes
    }

    fn is_ignorable(&self) -> bool {
        false
    }

    fn is_interested(&self, pod: &PodInput) -> bool {
        !self.is_special || pod.containers.iter().any(|container| container.requests.contains_key(DEVICE))
    }

    fn does(&self, verb: Verb) -> bool {
        match verb {
            Verb::Filter | Verb::Prioritize => true,
            Verb::Preempt => false,
            Verb::Bind => self.bound.is_some(),
        }
    }

    fn weight(&self) -> i64 {
        self.weight
    }

    fn filter(&self, _: PodUid, nodes: &[&str]) -> Result<FilterAnswer, ExtenderError> {
        let kept = nodes.iter().filter(|node| self.passes.contains(node)).map(|node| (*node).to_owned());
        Ok(FilterAnswer { kept: kept.collect(), ..FilterAnswer::default() })
    }

    fn prioritize(&self, _: PodUid, nodes: &[&str]) -> Result<Vec<(String, i64)>, ExtenderError> {
        let score = |node: &&str| if *node == self.likes { 10 } else { 1 };
        Ok(nodes.iter().map(|node| ((*node).to_owned(), score(node))).collect())
    }

    fn preempt(&self, _: PodUid, candidates: &[Victims]) -> Result<Vec<Victims>, ExtenderError> {
        Ok(candidates.to_vec())
    }

    fn bind(&self, _: PodUid, node: &str) -> Result<(), ExtenderError> {
        let bound = self.bound.as_ref().expect("asked only if it binds");
        bound.lock().expect("no panic").push(node.to_owned());
        Ok(())
    }
}

fn fussy(passes: &'static [&'static str], likes: &'static str, weight: i64) -> Fussy {
    Fussy { passes, likes, weight, is_special: false, bound: None }
}

#[test]
fn extenders_filter_score_and_bind_together() {
    let second = Arc::new(Fussy {
        is_special: true,
        bound: Some(Mutex::default()),
        ..fussy(&["m2", "m3", "m5"], "m3", 4)
    });
    // The resource is the extender's to count, not the plugin's: no node has it.
    let setup = Setup::default()
        .without("NodeResourcesFit")
        .extender(Arc::new(fussy(&["m1", "m2", "m3"], "m2", 3)))
        .extender(Arc::clone(&second) as _)
        .extender(Arc::new(fussy(&["m1", "m2", "m3"], "m2", 10)));
    let mut lab = setup.start();
    lab.create_all(["m1", "m2", "m3", "m4", "m5"].map(|name| node(name).has("cpu", "4")));
    lab.create(pod("p").asks(DEVICE, "1"));
    lab.run();
    let bound = second.bound.as_ref().expect("it binds").lock().expect("no panic").clone();
    assert_eq!(bound, ["m2"], "two of three like it, and the one that binds was asked");
}

#[test]
fn extender_is_not_called_for_pods_without_its_managed_resources() {
    let special = Fussy { is_special: true, ..fussy(&[], "nowhere", 1) };
    let mut lab = Setup::default().extender(Arc::new(special)).start();
    lab.create_all([node("n"), pod("p")]);
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
}
