//! Configurations that are refused before anything is scheduled.

use std::sync::Arc;

use schedlab_cluster::api::Api;
use schedlab_cluster::extender::build_extenders;
use schedlab_core::framework::extender::{ExtenderConfig, ManagedResource};

use super::{filtering, scoring};
use crate::support::cluster;

#[test]
fn bad_configurations_say_which_field_and_what_to_write() {
    let url = "http://127.0.0.1:1";
    let managed = |names: &[&str]| ExtenderConfig {
        managed_resources: names
            .iter()
            .map(|&name| ManagedResource { name: name.to_owned(), ignored_by_scheduler: false })
            .collect(),
        ..filtering(url)
    };
    let binding = ExtenderConfig { bind_verb: "bind".to_owned(), ..filtering(url) };
    let cases = [
        ("no weight", vec![filtering(url), scoring(url, 0)], "extenders[1].weight: 0 must be positive"),
        ("a negative weight", vec![scoring(url, -3)], "extenders[0].weight: -3 must be positive"),
        ("two binders", vec![binding.clone(), binding], "extenders: 2 of them have a bindVerb"),
        ("a native resource", vec![managed(&["cpu"])], "\"cpu\" is not the name of an extended resource"),
        (
            "a resource twice",
            vec![managed(&["a.io/x"]), managed(&["a.io/x"])],
            "extenders[1].managedResources: \"a.io/x\" is managed twice",
        ),
        ("TLS", vec![filtering("https://host")], "HTTPS is not supported"),
        (
            "TLS by flag",
            vec![ExtenderConfig { enable_https: true, ..filtering(url) }],
            "HTTPS is not supported",
        ),
        ("no URL", vec![filtering("host:80/x")], "write http://HOST:PORT/PATH"),
        ("nothing", vec![filtering("")], "write http://HOST:PORT/PATH"),
    ];
    let api: Arc<dyn Api> = Arc::new(cluster());
    for (name, configs, expected) in cases {
        let error = build_extenders(&configs, &api).expect_err(name).to_string();
        assert!(error.contains(expected), "case: {name}: {error}");
    }
}
