//! An HTTP extender as configured: plain values, nothing that calls.
//!
//! Upstream: kube-scheduler/config/v1/types.go `Extender`; extender.go.

use std::time::Duration;

/// How long a call may take when the configuration does not say.
/// Upstream: extender.go `DefaultExtenderTimeout`.
pub const DEFAULT_EXTENDER_TIMEOUT: Duration = Duration::from_secs(5);

/// One entry of `extenders`. A verb that is empty is one the extender does not take part in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtenderConfig {
    /// `urlPrefix`, to which `/` and a verb are appended.
    pub url_prefix: String,
    /// `filterVerb`.
    pub filter_verb: String,
    /// `preemptVerb`.
    pub preempt_verb: String,
    /// `prioritizeVerb`.
    pub prioritize_verb: String,
    /// `bindVerb`.
    pub bind_verb: String,
    /// `weight` of its scores; positive when it prioritizes.
    pub weight: i64,
    /// `enableHTTPS`.
    pub enable_https: bool,
    /// `tlsConfig`.
    pub tls_config: Option<ExtenderTlsConfig>,
    /// `httpTimeout`, [`DEFAULT_EXTENDER_TIMEOUT`] when it is absent or 0.
    pub http_timeout: Duration,
    /// `nodeCacheCapable`: it gets node names instead of whole nodes.
    pub node_cache_capable: bool,
    /// `managedResources`: it is asked only about pods that request one of them; empty means all.
    pub managed_resources: Vec<ManagedResource>,
    /// `ignorable`: a pod is scheduled without it when it fails.
    pub ignorable: bool,
}

/// One entry of `managedResources`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedResource {
    /// `name`.
    pub name: String,
    /// `ignoredByScheduler`: NodeResourcesFit does not look at it.
    pub ignored_by_scheduler: bool,
}

/// `tlsConfig`. Data fields are base64 of PEM, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtenderTlsConfig {
    /// `insecure`: the server's certificate is not verified.
    pub insecure: bool,
    /// `serverName`.
    pub server_name: String,
    /// `certFile`.
    pub cert_file: String,
    /// `keyFile`.
    pub key_file: String,
    /// `caFile`.
    pub ca_file: String,
    /// `certData`, which wins over `certFile`.
    pub cert_data: String,
    /// `keyData`, which wins over `keyFile`.
    pub key_data: String,
    /// `caData`, which wins over `caFile`.
    pub ca_data: String,
}
