//! Fields that steer a scheduler's process and not its decisions: how it talks to the API server, and
//! whether it leads. `schedlab scheduler` follows them; a run on the embedded cluster checks them as upstream
//! does and otherwise ignores them.

use std::time::Duration;

use crate::schema::SchemaError;
use crate::yaml::Fields;

const LEADER_ELECTION: &[&str] = &[
    "leaderElect",
    "leaseDuration",
    "renewDeadline",
    "retryPeriod",
    "resourceLock",
    "resourceName",
    "resourceNamespace",
];
const CLIENT_CONNECTION: &[&str] = &["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"];

/// `clientConnection`, as far as it says how often the API server may be asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientConnection {
    /// `qps`: calls a second; below 0, as many as there are.
    pub qps: f64,
    /// `burst`: calls at once after a rest.
    pub burst: u32,
}

impl Default for ClientConnection {
    /// Upstream: apis/config/v1/defaults.go.
    fn default() -> Self {
        ClientConnection { qps: 50.0, burst: 100 }
    }
}

/// `leaderElection`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElectionConfig {
    /// `leaderElect`.
    pub leader_elect: bool,
    /// `leaseDuration`.
    pub lease_duration: Duration,
    /// `renewDeadline`.
    pub renew_deadline: Duration,
    /// `retryPeriod`.
    pub retry_period: Duration,
    /// `resourceName`.
    pub name: String,
    /// `resourceNamespace`.
    pub namespace: String,
}

impl Default for LeaderElectionConfig {
    fn default() -> Self {
        LeaderElectionConfig {
            leader_elect: true,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            name: "kube-scheduler".to_owned(),
            namespace: "kube-system".to_owned(),
        }
    }
}

/// Switches of a process that has none of what they switch.
pub(super) fn check_switches(fields: &Fields<'_>) -> Result<(), SchemaError> {
    for switch in ["enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"] {
        fields.switch(switch)?;
    }
    Ok(())
}

pub(super) fn leader_election(fields: &Fields<'_>) -> Result<LeaderElectionConfig, SchemaError> {
    let mut config = LeaderElectionConfig::default();
    let Some(node) = fields.get("leaderElection") else { return Ok(config) };
    let fields = Fields::read_exact(fields.file(), "leaderElection", node, LEADER_ELECTION)?;
    config.leader_elect = fields.get("leaderElect").is_none() || fields.switch("leaderElect")?;
    for (name, duration) in [
        ("leaseDuration", &mut config.lease_duration),
        ("renewDeadline", &mut config.renew_deadline),
        ("retryPeriod", &mut config.retry_period),
    ] {
        // An absent duration and a zero one get the default.
        *duration = fields.duration(name)?.filter(|given| !given.is_zero()).unwrap_or(*duration);
    }
    let lock = fields.string("resourceLock")?.filter(|lock| !lock.is_empty());
    for (name, text) in [("resourceName", &mut config.name), ("resourceNamespace", &mut config.namespace)] {
        if let Some(given) = fields.string(name)?.filter(|given| !given.is_empty()) {
            *text = given;
        }
    }
    if config.leader_elect && config.lease_duration <= config.renew_deadline {
        let value = format!("{:?}", config.lease_duration);
        return Err(fields.bad_value("leaseDuration", value, "write more than renewDeadline"));
    }
    match lock {
        Some(lock) if config.leader_elect && lock != "leases" => {
            Err(fields.bad_value("resourceLock", lock, "write leases"))
        }
        _ => Ok(config),
    }
}

pub(super) fn client_connection(fields: &Fields<'_>) -> Result<ClientConnection, SchemaError> {
    let mut config = ClientConnection::default();
    let Some(node) = fields.get("clientConnection") else { return Ok(config) };
    let fields = Fields::read_exact(fields.file(), "clientConnection", node, CLIENT_CONNECTION)?;
    for text in ["kubeconfig", "acceptContentTypes", "contentType"] {
        fields.string(text)?;
    }
    if let Some(node) = fields.get("qps") {
        // A zero one gets the default.
        config.qps = Some(fields.float("qps", node)?).filter(|qps| *qps != 0.0).unwrap_or(config.qps);
    }
    match fields.integer("burst")? {
        Some(burst) if burst < 0 => Err(fields.bad_value("burst", burst, "write 0 or more")),
        Some(burst) if burst > 0 => {
            config.burst = u32::try_from(burst).unwrap_or(u32::MAX);
            Ok(config)
        }
        _ => Ok(config),
    }
}
