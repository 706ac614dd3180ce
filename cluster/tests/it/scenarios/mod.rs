//! Situations from the proposals' test plans and from upstream's integration tests, told in our own
//! words and played by the real scheduler against the real store. `docs/kep-coverage.md` says which
//! test tells which situation.

mod binding;
mod coverage;
mod daemon_set_pods;
mod event_handlers;
mod extenders;
mod framework;
mod nominated_node_name;
mod pre_enqueue_status;
mod preemption;
mod queueing;
mod requeue;
mod schedulers;
mod taints;

use schedlab_testkit::{calls, lab, manifest, plugin, setup};
