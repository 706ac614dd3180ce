//! HTTP extenders: what the scheduler sends, and what it makes of answers, good and bad.

mod bad_answers;
mod config;
mod redirects;
mod server;
mod verbs;

use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Watch};
use schedlab_cluster::extender::{HttpExtender, as_extenders, build_extenders};
use schedlab_cluster::runtime::Bridge;
use schedlab_core::api_call::{ApiCall, ConditionChange, StatusPatch};
use schedlab_core::binding::OutgoingCall;
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::cycle::select::TieBreak;
use schedlab_core::framework::extender::ExtenderConfig;
use schedlab_core::scheduler::Scheduler;
use schedlab_testkit::manifest::node;

use crate::support::{cluster, create, create_pod};

/// A cluster with nodes a, b and c, alike, and a scheduler that is stepped by hand.
struct Lab {
    cluster: Arc<EmbeddedCluster>,
    watch: Box<dyn Watch>,
    scheduler: Scheduler,
    bridge: Bridge,
    extenders: Vec<Arc<HttpExtender>>,
}

impl Lab {
    fn new(configs: &[ExtenderConfig]) -> Lab {
        let settings = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
        Lab::with(configs, Scheduler::new(settings, 0))
    }

    fn with(configs: &[ExtenderConfig], mut scheduler: Scheduler) -> Lab {
        let cluster = Arc::new(cluster());
        let watch = cluster.watch(cluster.resource_version()).expect("the log is whole");
        for name in ["a", "b", "c"] {
            create(&cluster, node(name).has("cpu", "4").has("memory", "8Gi").has("pods", "10").into());
        }
        let api: Arc<dyn Api> = Arc::clone(&cluster) as _;
        let extenders = build_extenders(configs, &api).expect("the configuration is good");
        scheduler.set_extenders(as_extenders(&extenders));
        Lab { cluster, watch, scheduler, bridge: Bridge::default(), extenders }
    }

    /// Creates the pod `web`, lets it be scheduled once, and says what came of it: the node, or
    /// `reason: message`.
    fn schedule(&mut self) -> String {
        create_pod(&self.cluster, "web");
        self.step()
    }

    fn step(&mut self) -> String {
        let mut events = Vec::new();
        self.watch.drain_into(&mut events).expect("the log is whole");
        for event in &events {
            self.bridge.deliver(event, self.cluster.as_ref(), &mut self.scheduler, 0);
        }
        self.scheduler.schedule_one(&mut NoProbe);
        let mut calls = Vec::new();
        self.scheduler.take_calls(&mut calls);
        let [OutgoingCall { call, .. }] = calls.as_slice() else {
            panic!("one call was expected: {calls:?}");
        };
        match call {
            ApiCall::Bind { node, .. } => self.scheduler.world().node_name(*node).to_owned(),
            ApiCall::PatchStatus(StatusPatch {
                condition: Some(ConditionChange::False { reason, message, .. }),
                ..
            }) => format!("{}: {message}", reason.as_str()),
            other => panic!("a binding or a condition was expected: {other:?}"),
        }
    }
}

/// An extender that filters, by name, in at most five seconds.
fn filtering(url: &str) -> ExtenderConfig {
    ExtenderConfig {
        url_prefix: url.to_owned(),
        filter_verb: "filter".to_owned(),
        node_cache_capable: true,
        http_timeout: Duration::from_secs(5),
        ..ExtenderConfig::default()
    }
}

/// An extender that scores.
fn scoring(url: &str, weight: i64) -> ExtenderConfig {
    ExtenderConfig {
        prioritize_verb: "prioritize".to_owned(),
        filter_verb: String::new(),
        weight,
        ..filtering(url)
    }
}
