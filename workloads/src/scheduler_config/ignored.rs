//! Fields that steer a real kube-scheduler's process and mean nothing here. They are checked as
//! upstream checks them and otherwise ignored.

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

pub(super) fn check(fields: &Fields<'_>) -> Result<(), SchemaError> {
    for switch in ["enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"] {
        fields.switch(switch)?;
    }
    leader_election(fields)?;
    client_connection(fields)
}

fn leader_election(fields: &Fields<'_>) -> Result<(), SchemaError> {
    let Some(node) = fields.get("leaderElection") else { return Ok(()) };
    let fields = Fields::read_exact(fields.file(), "leaderElection", node, LEADER_ELECTION)?;
    let elects = fields.get("leaderElect").is_none() || fields.switch("leaderElect")?;
    let mut durations = [15, 10, 2].map(std::time::Duration::from_secs);
    for (name, duration) in ["leaseDuration", "renewDeadline", "retryPeriod"].into_iter().zip(&mut durations)
    {
        // An absent duration and a zero one get the default.
        *duration = fields.duration(name)?.filter(|given| !given.is_zero()).unwrap_or(*duration);
    }
    let lock = fields.string("resourceLock")?.filter(|lock| !lock.is_empty());
    fields.string("resourceName")?;
    fields.string("resourceNamespace")?;
    if elects && durations[0] <= durations[1] {
        let value = format!("{:?}", durations[0]);
        return Err(fields.bad_value("leaseDuration", value, "write more than renewDeadline"));
    }
    match lock {
        Some(lock) if elects && lock != "leases" => {
            Err(fields.bad_value("resourceLock", lock, "write leases"))
        }
        _ => Ok(()),
    }
}

fn client_connection(fields: &Fields<'_>) -> Result<(), SchemaError> {
    let Some(node) = fields.get("clientConnection") else { return Ok(()) };
    let fields = Fields::read_exact(fields.file(), "clientConnection", node, CLIENT_CONNECTION)?;
    for text in ["kubeconfig", "acceptContentTypes", "contentType"] {
        fields.string(text)?;
    }
    if let Some(node) = fields.get("qps") {
        fields.float("qps", node)?;
    }
    match fields.integer("burst")? {
        Some(burst) if burst < 0 => Err(fields.bad_value("burst", burst, "write 0 or more")),
        _ => Ok(()),
    }
}
