//! What plugins are asked, in which order, and what becomes of their answers.
//! Upstream: test/integration/scheduler/plugins.

mod binding;
mod filter_and_score;
mod permit;
mod pre_enqueue;

use super::lab::Lab;
use super::manifest::{node, pod};
use super::plugin::{Scripted, WHO};
use super::setup::Setup;

/// A lab of two nodes with these plugins.
fn with_plugins(plugins: &[&Scripted]) -> Lab {
    let setup = plugins.iter().fold(Setup::default(), |setup, plugin| setup.plugin(*plugin));
    let mut lab = setup.start();
    lab.create_all(["n1", "n2"].map(|name| node(name).has("cpu", "4")));
    lab
}

/// Creates a pod and lets it be tried as often as it takes at this time.
fn try_pod(lab: &mut Lab, name: &str) {
    lab.create(pod(name).label(WHO, name).asks("cpu", "1"));
    lab.run();
}
