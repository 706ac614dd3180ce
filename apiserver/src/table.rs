//! Tables for terminals: what `kubectl get` prints.
//!
//! Upstream: pkg/printers/internalversion/printers.go.

use serde_json::{Value, json};

use crate::handle::{App, Asked};
use crate::read::{includes, partial_metadata};
use crate::route::Served;

/// What a row holds beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    WithMetadata,
    WithObject,
    CellsOnly,
}

impl Columns {
    /// `includeObject` of a query.
    pub(crate) fn of_query(include: Option<&str>) -> Self {
        match include {
            Some("Object") => Columns::WithObject,
            Some("None") => Columns::CellsOnly,
            _ => Columns::WithMetadata,
        }
    }
}

/// A column: its name, whether `-o wide` is needed to see it, and its cell.
struct Column {
    name: &'static str,
    width: Width,
    cell: fn(&Value, u64) -> Value,
}

#[derive(Clone, Copy, PartialEq)]
enum Width {
    Always,
    Wide,
}

const fn column(name: &'static str, cell: fn(&Value, u64) -> Value) -> Column {
    Column { name, width: Width::Always, cell }
}

const fn wide(name: &'static str, cell: fn(&Value, u64) -> Value) -> Column {
    Column { name, width: Width::Wide, cell }
}

const NAME: Column = column("Name", |object, _| text(&object["metadata"]["name"]));
const AGE: Column = column("Age", |object, now_ns| age(&object["metadata"]["creationTimestamp"], now_ns));

/// The table of objects, with the columns of their kind.
pub(crate) fn table_of(app: &App, asked: &Asked, kind: Served, metadata: Value, objects: &[Value]) -> Value {
    table(kind, includes(asked), metadata, objects, app.cluster.now_ns())
}

/// The table of objects at a time.
pub(crate) fn table(kind: Served, rows: Columns, metadata: Value, objects: &[Value], now_ns: u64) -> Value {
    let columns = columns_of(kind.asked.info().kind);
    let definition = |column: &Column| {
        let format = if column.name == "Name" { "name" } else { "" };
        let priority = u8::from(column.width == Width::Wide);
        json!({"name": column.name, "type": "string", "format": format, "description": "", "priority": priority})
    };
    let row = |object: &Value| {
        let cells: Vec<Value> = columns.iter().map(|column| (column.cell)(object, now_ns)).collect();
        match rows {
            Columns::CellsOnly => json!({ "cells": cells, "object": null }),
            Columns::WithObject => json!({"cells": cells, "object": object}),
            Columns::WithMetadata => json!({"cells": cells, "object": partial_metadata(object)}),
        }
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns.iter().map(definition).collect::<Vec<_>>(),
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

fn columns_of(kind: &str) -> &'static [Column] {
    match kind {
        "Pod" => POD,
        "Node" => NODE,
        "Namespace" => NAMESPACE,
        "Service" => SERVICE,
        "Deployment" => DEPLOYMENT,
        "ReplicaSet" | "ReplicationController" => REPLICA_SET,
        "StatefulSet" => STATEFUL_SET,
        "Event" => EVENT,
        "PodDisruptionBudget" => BUDGET,
        "PersistentVolumeClaim" => CLAIM,
        "PersistentVolume" => VOLUME,
        "PriorityClass" => PRIORITY_CLASS,
        "StorageClass" => STORAGE_CLASS,
        "Lease" => LEASE,
        "ConfigMap" | "Secret" => DATA,
        _ => PLAIN,
    }
}

const PLAIN: &[Column] = &[NAME, AGE];
const DATA: &[Column] = &[
    NAME,
    column("Data", |object, _| json!(object["data"].as_object().map_or(0, serde_json::Map::len).to_string())),
    AGE,
];
const NAMESPACE: &[Column] =
    &[NAME, column("Status", |object, _| text_or(&object["status"]["phase"], "Active")), AGE];
const LEASE: &[Column] = &[NAME, column("Holder", |object, _| text(&object["spec"]["holderIdentity"])), AGE];

const POD: &[Column] = &[
    NAME,
    column("Ready", |pod, _| {
        let all = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let ready = statuses.filter(|status| status["ready"] == true).count();
        json!(format!("{ready}/{all}"))
    }),
    column("Status", |pod, _| pod_status(pod)),
    column("Restarts", |pod, _| {
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        json!(statuses.filter_map(|status| status["restartCount"].as_i64()).sum::<i64>().to_string())
    }),
    AGE,
    wide("IP", |pod, _| text_or(&pod["status"]["podIP"], "<none>")),
    wide("Node", |pod, _| text_or(&pod["spec"]["nodeName"], "<none>")),
    wide("Nominated Node", |pod, _| text_or(&pod["status"]["nominatedNodeName"], "<none>")),
    wide("Readiness Gates", |_, _| json!("<none>")),
];

/// Upstream: printers.go `printPod`; here no container ever has a reason of its own.
fn pod_status(pod: &Value) -> Value {
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return json!("Terminating");
    }
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut gated = conditions.filter(|it| it["type"] == "PodScheduled" && it["reason"] == "SchedulingGated");
    if gated.next().is_some() {
        return json!("SchedulingGated");
    }
    text_or(&pod["status"]["reason"], pod["status"]["phase"].as_str().unwrap_or("Pending"))
}

const NODE: &[Column] = &[
    NAME,
    column("Status", |node, _| {
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
        let state = match ready.next().map(|ready| &ready["status"]) {
            Some(status) if status == "True" => "Ready",
            Some(_) => "NotReady",
            None => "Unknown",
        };
        let is_cordoned = node["spec"]["unschedulable"] == true;
        json!(if is_cordoned { format!("{state},SchedulingDisabled") } else { state.to_owned() })
    }),
    column("Roles", |node, _| {
        let labels = node["metadata"]["labels"].as_object();
        let roles: Vec<&str> = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
            .collect();
        json!(if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") })
    }),
    AGE,
    column("Version", |node, _| text(&node["status"]["nodeInfo"]["kubeletVersion"])),
    wide("Internal-IP", |node, _| node_address(node, "InternalIP")),
    wide("External-IP", |node, _| node_address(node, "ExternalIP")),
    wide("OS-Image", |node, _| text_or(&node["status"]["nodeInfo"]["osImage"], "<unknown>")),
    wide("Kernel-Version", |node, _| text_or(&node["status"]["nodeInfo"]["kernelVersion"], "<unknown>")),
    wide("Container-Runtime", |node, _| {
        text_or(&node["status"]["nodeInfo"]["containerRuntimeVersion"], "<unknown>")
    }),
];

fn node_address(node: &Value, kind: &str) -> Value {
    let addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let mut of_kind = addresses.filter(|address| address["type"] == kind);
    text_or(of_kind.next().map_or(&Value::Null, |address| &address["address"]), "<none>")
}

const SERVICE: &[Column] = &[
    NAME,
    column("Type", |service, _| text_or(&service["spec"]["type"], "ClusterIP")),
    column("Cluster-IP", |service, _| text_or(&service["spec"]["clusterIP"], "<none>")),
    column("Port(s)", |service, _| {
        let ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let shown: Vec<String> = ports
            .map(|port| format!("{}/{}", port["port"], port["protocol"].as_str().unwrap_or("TCP")))
            .collect();
        json!(if shown.is_empty() { "<none>".to_owned() } else { shown.join(",") })
    }),
    AGE,
];

const DEPLOYMENT: &[Column] = &[
    NAME,
    column("Ready", |it, _| {
        json!(format!("{}/{}", number(&it["status"]["readyReplicas"], 0), number(&it["spec"]["replicas"], 1)))
    }),
    column("Up-to-date", |it, _| json!(number(&it["status"]["updatedReplicas"], 0).to_string())),
    column("Available", |it, _| json!(number(&it["status"]["availableReplicas"], 0).to_string())),
    AGE,
];

const REPLICA_SET: &[Column] = &[
    NAME,
    column("Desired", |it, _| json!(number(&it["spec"]["replicas"], 1).to_string())),
    column("Current", |it, _| json!(number(&it["status"]["replicas"], 0).to_string())),
    column("Ready", |it, _| json!(number(&it["status"]["readyReplicas"], 0).to_string())),
    AGE,
];

const STATEFUL_SET: &[Column] = &[
    NAME,
    column("Ready", |it, _| {
        json!(format!("{}/{}", number(&it["status"]["readyReplicas"], 0), number(&it["spec"]["replicas"], 1)))
    }),
    AGE,
];

const EVENT: &[Column] = &[
    column("Last Seen", |event, now_ns| {
        let times = ["lastTimestamp", "deprecatedLastTimestamp", "eventTime"].map(|name| &event[name]);
        let seen = times.into_iter().find(|time| time.is_string());
        age(seen.unwrap_or(&event["metadata"]["creationTimestamp"]), now_ns)
    }),
    column("Type", |event, _| text(&event["type"])),
    column("Reason", |event, _| text(&event["reason"])),
    column("Object", |event, _| {
        let about =
            if event["involvedObject"].is_null() { &event["regarding"] } else { &event["involvedObject"] };
        let kind = about["kind"].as_str().unwrap_or_default().to_lowercase();
        json!(format!("{kind}/{}", about["name"].as_str().unwrap_or_default()))
    }),
    column("Message", |event, _| {
        text(if event["message"].is_null() { &event["note"] } else { &event["message"] })
    }),
    Column { name: "Name", width: Width::Wide, cell: |object, _| text(&object["metadata"]["name"]) },
];

const BUDGET: &[Column] = &[
    NAME,
    column("Min Available", |it, _| plain_or(&it["spec"]["minAvailable"], "N/A")),
    column("Max Unavailable", |it, _| plain_or(&it["spec"]["maxUnavailable"], "N/A")),
    column("Allowed Disruptions", |it, _| json!(number(&it["status"]["disruptionsAllowed"], 0).to_string())),
    AGE,
];

const CLAIM: &[Column] = &[
    NAME,
    column("Status", |it, _| text_or(&it["status"]["phase"], "Pending")),
    column("Volume", |it, _| text(&it["spec"]["volumeName"])),
    column("StorageClass", |it, _| text(&it["spec"]["storageClassName"])),
    AGE,
];

const VOLUME: &[Column] = &[
    NAME,
    column("Capacity", |it, _| text(&it["spec"]["capacity"]["storage"])),
    column("Status", |it, _| text_or(&it["status"]["phase"], "Pending")),
    column("Claim", |it, _| {
        let claim = &it["spec"]["claimRef"];
        match (claim["namespace"].as_str(), claim["name"].as_str()) {
            (Some(namespace), Some(name)) => json!(format!("{namespace}/{name}")),
            _ => json!(""),
        }
    }),
    column("StorageClass", |it, _| text(&it["spec"]["storageClassName"])),
    AGE,
];

const PRIORITY_CLASS: &[Column] = &[
    NAME,
    column("Value", |it, _| json!(number(&it["value"], 0).to_string())),
    column("Global-Default", |it, _| json!((it["globalDefault"] == true).to_string())),
    AGE,
    column("PreemptionPolicy", |it, _| text_or(&it["preemptionPolicy"], "PreemptLowerPriority")),
];

const STORAGE_CLASS: &[Column] = &[
    NAME,
    column("Provisioner", |it, _| text(&it["provisioner"])),
    column("ReclaimPolicy", |it, _| text_or(&it["reclaimPolicy"], "Delete")),
    column("VolumeBindingMode", |it, _| text_or(&it["volumeBindingMode"], "Immediate")),
    AGE,
];

fn text(value: &Value) -> Value {
    text_or(value, "")
}

fn text_or(value: &Value, otherwise: &str) -> Value {
    json!(value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise))
}

fn plain_or(value: &Value, otherwise: &str) -> Value {
    match value {
        Value::String(text) => json!(text),
        Value::Number(number) => json!(number.to_string()),
        _ => json!(otherwise),
    }
}

fn number(value: &Value, otherwise: i64) -> i64 {
    value.as_i64().unwrap_or(otherwise)
}

fn age(time: &Value, now_ns: u64) -> Value {
    let then: Option<k8s_openapi::jiff::Timestamp> = time.as_str().and_then(|text| text.parse().ok());
    let now_s = i64::try_from(now_ns / 1_000_000_000).unwrap_or(i64::MAX);
    json!(then.map_or("<unknown>".to_owned(), |then| human_duration(now_s - then.as_second())))
}

/// Upstream: apimachinery pkg/util/duration `HumanDuration`.
fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |first: i64, first_unit: &str, second: i64, second_unit: &str| match second {
        0 => format!("{first}{first_unit}"),
        _ => format!("{first}{first_unit}{second}{second_unit}"),
    };
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1..=0 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::View;
    use crate::resources::PODS;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (3600, "60m"),
            (3 * 3600 + 60, "3h1m"),
            (9 * 3600, "9h"),
            (86400 * 3 + 3600, "3d1h"),
            (86400 * 400, "400d"),
            (86400 * 365 * 9, "9y"),
            (-5, "<invalid>"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human_duration(seconds), expected, "case: {seconds}");
        }
    }

    #[test]
    fn pods_have_the_columns_of_kubectl() {
        let kind = Served { stored: PODS, asked: PODS, version: "v1" };
        assert_eq!(kind.view(), View::Version(PODS, "v1"));
        let pod = json!({
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:10Z"},
            "spec": {"containers": [{"name": "c"}], "nodeName": "n"}, "status": {"phase": "Pending"},
        });
        let table = table(kind, Columns::CellsOnly, json!({}), &[pod], 70_000_000_000);
        let cells = json!(["a", "0/1", "Pending", "0", "60s", "<none>", "n", "<none>", "<none>"]);
        assert_eq!(table["rows"][0]["cells"], cells);
        assert_eq!(table["columnDefinitions"].as_array().map(Vec::len), Some(9));
    }
}
