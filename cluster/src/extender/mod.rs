//! Extenders over HTTP, as kube-scheduler asks them.
//!
//! ```text
//! ExtenderConfig ──build──▶ HttpExtender ──POST urlPrefix/verb──▶ their server
//!                              │
//!                              └─ Objects: pods and nodes as API objects, from a watch of its own
//! ```
//!
//! A call blocks the scheduler for at most `httpTimeout`, as upstream's does. What an answer means
//! is decided in [`schedlab_core::framework::extend`].
//!
//! Upstream: extender.go `HTTPExtender`.
//! Differs: a node in the answer that was not asked about is an error also when the extender
//! answers with whole nodes; upstream checks it only for names, and would bind to a node that does
//! not exist (`unknown_node_object_of_extender_is_refused`).
//! Differs: no proxy is taken from the environment, and there is no TLS: `https` is refused when
//! the extender is built (`redirect_to_https_is_refused_with_a_message`).

mod http;
mod objects;
mod redirect;
mod wire;

use std::sync::Arc;

use schedlab_core::framework::extend::Extenders;
use schedlab_core::framework::extender::ExtenderConfig;
use schedlab_core::resources::is_extended_resource;

pub use http::{ExtenderCounts, HttpExtender};
pub use objects::Objects;

use crate::api::{Api, ApiError};

/// A configuration that no extender can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtenderConfigError {
    /// Scores without a weight.
    #[error(
        "extenders[{index}].weight: {weight} must be positive, because the extender has a prioritizeVerb"
    )]
    Weight {
        /// Which extender.
        index: usize,
        /// The weight.
        weight: i64,
    },
    /// Two extenders want to bind.
    #[error("extenders: {count} of them have a bindVerb, only one can bind; remove the others")]
    Binders {
        /// How many.
        count: usize,
    },
    /// A resource that extenders cannot manage.
    #[error(
        "extenders[{index}].managedResources: {name:?} is not the name of an extended resource, as in example.com/gpu"
    )]
    Resource {
        /// Which extender.
        index: usize,
        /// The name.
        name: String,
    },
    /// A resource that is managed twice.
    #[error("extenders[{index}].managedResources: {name:?} is managed twice; name it once")]
    Duplicate {
        /// Which extender.
        index: usize,
        /// The name.
        name: String,
    },
    /// No URL that can be called.
    #[error(
        "extenders[{index}].urlPrefix: {url:?} is not a URL that can be called; write http://HOST:PORT/PATH"
    )]
    Url {
        /// Which extender.
        index: usize,
        /// The prefix.
        url: String,
    },
    /// TLS is not built in.
    #[error(
        "extenders[{index}]: HTTPS is not supported (urlPrefix {url:?}); put a plain HTTP endpoint in front of the extender"
    )]
    Https {
        /// Which extender.
        index: usize,
        /// The prefix.
        url: String,
    },
    /// The nodes could not be listed.
    #[error("the extenders' view of the cluster: {0}")]
    Api(#[from] ApiError),
}

/// Builds the configured extenders, in the order of the file. They read pods and nodes from `api`.
pub fn build_extenders(
    configs: &[ExtenderConfig],
    api: &Arc<dyn Api>,
) -> Result<Vec<Arc<HttpExtender>>, ExtenderConfigError> {
    validate(configs)?;
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    let objects = Arc::new(Objects::new(Arc::clone(api))?);
    Ok(configs
        .iter()
        .map(|config| Arc::new(HttpExtender::new(config.clone(), Arc::clone(&objects))))
        .collect())
}

/// As the engine wants them.
#[must_use]
pub fn as_extenders(built: &[Arc<HttpExtender>]) -> Extenders {
    built.iter().map(|extender| Arc::clone(extender) as _).collect()
}

/// The resources that NodeResourcesFit leaves to extenders (`ignoredByScheduler`). They replace the
/// plugin's `ignoredResources`. Upstream: scheduler.go `buildExtenders`.
pub fn ignored_resources(configs: &[ExtenderConfig]) -> impl Iterator<Item = &str> {
    let managed = configs.iter().flat_map(|config| &config.managed_resources);
    managed.filter(|resource| resource.ignored_by_scheduler).map(|resource| resource.name.as_str())
}

/// Upstream: apis/config/validation/validation.go `validateExtenders`.
fn validate(configs: &[ExtenderConfig]) -> Result<(), ExtenderConfigError> {
    let mut managed: Vec<&str> = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        if !config.prioritize_verb.is_empty() && config.weight <= 0 {
            return Err(ExtenderConfigError::Weight { index, weight: config.weight });
        }
        for resource in &config.managed_resources {
            let name = resource.name.clone();
            if !is_extended_resource(&name) {
                return Err(ExtenderConfigError::Resource { index, name });
            }
            if managed.contains(&resource.name.as_str()) {
                return Err(ExtenderConfigError::Duplicate { index, name });
            }
            managed.push(&resource.name);
        }
        let url = config.url_prefix.clone();
        if config.enable_https || url.starts_with("https:") {
            return Err(ExtenderConfigError::Https { index, url });
        }
        if !http::can_be_called(&url) {
            return Err(ExtenderConfigError::Url { index, url });
        }
    }
    match configs.iter().filter(|config| !config.bind_verb.is_empty()).count() {
        0 | 1 => Ok(()),
        count => Err(ExtenderConfigError::Binders { count }),
    }
}
