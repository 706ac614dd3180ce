//! Objects in a few words: `pod("web").asks("cpu", "2").tolerates("gpu")`.
//!
//! One type for all kinds, so that a list can mix them. A method that makes no sense for a kind
//! writes a field that nobody reads.

use serde_json::{Map, Value, json};

/// An object to be sent to the API.
#[derive(Clone, Debug)]
pub struct Manifest(Value);

impl From<Manifest> for Value {
    fn from(manifest: Manifest) -> Value {
        manifest.0
    }
}

fn object(api_version: &str, kind: &str, name: &str, rest: Value) -> Manifest {
    let mut value = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
    let fields = rest.as_object().cloned().unwrap_or_default();
    value.as_object_mut().expect("an object").extend(fields);
    Manifest(value)
}

/// A node that takes pods but has nothing else, until `has` says so.
pub fn node(name: &str) -> Manifest {
    object("v1", "Node", name, json!({ "spec": {} })).has("pods", "110")
}

/// A pod with one container that asks for nothing.
pub fn pod(name: &str) -> Manifest {
    let spec = json!({ "spec": { "containers": [{ "name": "c" }] } });
    object("v1", "Pod", name, spec).set("/metadata/namespace", json!("default"))
}

/// A volume of 1Mi on a path of the node.
pub fn volume(name: &str) -> Manifest {
    let spec = json!({ "spec": {
        "capacity": { "storage": "1Mi" }, "accessModes": ["ReadWriteMany"], "hostPath": { "path": "/tmp" }
    } });
    object("v1", "PersistentVolume", name, spec)
}

/// A claim for 1Mi that is bound to nothing.
pub fn claim(name: &str) -> Manifest {
    let spec = json!({ "spec": {
        "accessModes": ["ReadWriteMany"], "resources": { "requests": { "storage": "1Mi" } }
    } });
    object("v1", "PersistentVolumeClaim", name, spec).set("/metadata/namespace", json!("default"))
}

/// A storage class; its claims wait for a pod.
pub fn storage_class(name: &str) -> Manifest {
    let rest = json!({ "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer" });
    object("storage.k8s.io/v1", "StorageClass", name, rest)
}

/// What the storage drivers say of a node.
pub fn csi_node(name: &str) -> Manifest {
    object("storage.k8s.io/v1", "CSINode", name, json!({ "spec": { "drivers": [] } }))
}

/// A storage driver.
pub fn csi_driver(name: &str) -> Manifest {
    object("storage.k8s.io/v1", "CSIDriver", name, json!({ "spec": {} }))
}

/// How much storage of a class there is.
pub fn storage_capacity(name: &str, class: &str, capacity: &str) -> Manifest {
    let rest = json!({ "storageClassName": class, "capacity": capacity });
    object("storage.k8s.io/v1", "CSIStorageCapacity", name, rest).set("/metadata/namespace", json!("default"))
}

/// A volume that a driver has attached to a node.
pub fn attachment(name: &str, node: &str, attacher: &str, volume: &str) -> Manifest {
    let rest = json!({ "spec": {
        "nodeName": node, "attacher": attacher, "source": { "persistentVolumeName": volume }
    } });
    object("storage.k8s.io/v1", "VolumeAttachment", name, rest)
}

/// A priority class.
pub fn priority_class(name: &str, value: i32) -> Manifest {
    object("scheduling.k8s.io/v1", "PriorityClass", name, json!({ "value": value }))
}

/// A budget over the pods that carry a label; so many of them may go.
pub fn budget(name: &str, (key, value): (&str, &str), allowed: i32) -> Manifest {
    let rest = json!({
        "spec": { "selector": { "matchLabels": { key: value } } },
        "status": { "disruptionsAllowed": allowed }
    });
    object("policy/v1", "PodDisruptionBudget", name, rest).set("/metadata/namespace", json!("default"))
}

/// The labels that carry a key, whatever its value.
fn has_label(key: &str) -> Value {
    json!({ "matchExpressions": [{ "key": key, "operator": "Exists" }] })
}

impl Manifest {
    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().expect("a name")
    }

    /// Writes a field; a path such as `/spec/replicas`, made as needed.
    pub fn set(mut self, path: &str, value: Value) -> Manifest {
        *self.slot(path) = value;
        self
    }

    fn slot(&mut self, path: &str) -> &mut Value {
        path.split('/').skip(1).fold(&mut self.0, |at, key| {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            let key = key.replace("~1", "/");
            match at {
                Value::Array(items) => &mut items[key.parse::<usize>().expect("a place in a list")],
                other => other
                    .as_object_mut()
                    .expect("a field is written into an object")
                    .entry(key)
                    .or_insert(Value::Null),
            }
        })
    }

    fn push(mut self, path: &str, value: Value) -> Manifest {
        let slot = self.slot(path);
        if slot.is_null() {
            *slot = json!([]);
        }
        slot.as_array_mut().expect("a list").push(value);
        self
    }

    fn entry(self, path: &str, key: &str, value: Value) -> Manifest {
        self.set(&format!("{path}/{}", key.replace('/', "~1")), value)
    }

    /// `metadata.labels`.
    pub fn label(self, key: &str, value: &str) -> Manifest {
        self.entry("/metadata/labels", key, json!(value))
    }

    /// `metadata.annotations`.
    pub fn annotation(self, key: &str, value: &str) -> Manifest {
        self.entry("/metadata/annotations", key, json!(value))
    }

    /// Stays, terminating, after it was deleted.
    pub fn lingering(self) -> Manifest {
        self.push("/metadata/finalizers", json!("example.com/hold"))
    }

    /// Of a node: an amount of a resource.
    pub fn has(self, resource: &str, amount: &str) -> Manifest {
        self.entry("/status/allocatable", resource, json!(amount)).entry(
            "/status/capacity",
            resource,
            json!(amount),
        )
    }

    /// Of a node: a taint that keeps pods off.
    pub fn taint(self, key: &str) -> Manifest {
        self.push("/spec/taints", json!({ "key": key, "effect": "NoSchedule" }))
    }

    /// Of a node: a taint that pods avoid if they can.
    pub fn taint_softly(self, key: &str) -> Manifest {
        self.push("/spec/taints", json!({ "key": key, "effect": "PreferNoSchedule" }))
    }

    /// Of a node: it takes no new pods.
    pub fn cordoned(self) -> Manifest {
        self.set("/spec/unschedulable", json!(true))
    }

    /// Of a node: a feature it declares.
    pub fn declares(self, feature: &str) -> Manifest {
        self.push("/status/declaredFeatures", json!(feature))
    }

    /// Of a pod: an amount of a resource. The API takes no request of an extended one without its limit.
    pub fn asks(self, resource: &str, amount: &str) -> Manifest {
        let limited = match resource.contains('/') {
            true => self.entry("/spec/containers/0/resources/limits", resource, json!(amount)),
            false => self,
        };
        limited.entry("/spec/containers/0/resources/requests", resource, json!(amount))
    }

    /// Of a pod: a taint it tolerates.
    pub fn tolerates(self, key: &str) -> Manifest {
        self.push("/spec/tolerations", json!({ "key": key, "operator": "Exists" }))
    }

    /// Of a pod: the node it is on.
    pub fn on(self, node: &str) -> Manifest {
        self.set("/spec/nodeName", json!(node))
    }

    /// Of a pod: its priority.
    pub fn priority(self, priority: i32) -> Manifest {
        self.set("/spec/priority", json!(priority))
    }

    /// Of a pod: it pushes nobody out.
    pub fn never_preempts(self) -> Manifest {
        self.set("/spec/preemptionPolicy", json!("Never"))
    }

    /// Of a pod: whose it is.
    pub fn scheduler(self, name: &str) -> Manifest {
        self.set("/spec/schedulerName", json!(name))
    }

    /// Of a pod: not to be scheduled yet.
    pub fn gate(self, name: &str) -> Manifest {
        self.push("/spec/schedulingGates", json!({ "name": name }))
    }

    /// Of a pod: a port of the node.
    pub fn host_port(self, port: i32) -> Manifest {
        let port = json!({ "containerPort": port, "hostPort": port, "protocol": "TCP" });
        self.push("/spec/containers/0/ports", port)
    }

    fn node_term(self, kind: &str, key: &str, values: &[&str]) -> Manifest {
        let term = json!({ kind: [{ "key": key, "operator": "In", "values": values }] });
        let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        self.set(path, json!({ "nodeSelectorTerms": [term] }))
    }

    /// Of a pod: only nodes with one of these labels.
    pub fn needs_node(self, key: &str, values: &[&str]) -> Manifest {
        self.node_term("matchExpressions", key, values)
    }

    /// Of a pod: only nodes of these names, as daemon pods have it.
    pub fn needs_node_named(self, names: &[&str]) -> Manifest {
        self.node_term("matchFields", "metadata.name", names)
    }

    /// Of a pod: only beside pods that carry a label.
    pub fn near(self, label: &str, topology: &str) -> Manifest {
        let term = json!({ "labelSelector": has_label(label), "topologyKey": topology });
        self.push("/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution", term)
    }

    /// Of a pod: never beside pods that carry a label.
    pub fn far_from(self, label: &str, topology: &str) -> Manifest {
        let term = json!({ "labelSelector": has_label(label), "topologyKey": topology });
        self.push("/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution", term)
    }

    /// Of a pod: spread evenly, by one, over at least so many domains.
    pub fn spread(self, label: &str, topology: &str, min_domains: i32) -> Manifest {
        let constraint = json!({
            "maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": has_label(label), "minDomains": min_domains
        });
        self.push("/spec/topologySpreadConstraints", constraint)
    }

    /// Of a pod: a claim it uses.
    pub fn uses(self, claim: &str) -> Manifest {
        let source = json!({ "name": claim, "persistentVolumeClaim": { "claimName": claim } });
        self.push("/spec/volumes", source)
    }

    /// Of a pod: a volume it names itself.
    pub fn mounts(self, name: &str, source: &str, fields: Value) -> Manifest {
        self.push("/spec/volumes", json!({ "name": name, source: fields }))
    }

    /// Of a volume or claim: how it may be used.
    pub fn mode(self, mode: &str) -> Manifest {
        self.set("/spec/accessModes", json!([mode]))
    }

    /// Of a volume or claim: its storage class.
    pub fn class(self, class: &str) -> Manifest {
        self.set("/spec/storageClassName", json!(class))
    }

    /// Of a claim: bound to a volume, and the controller is done with it.
    pub fn bound_to(self, volume: &str) -> Manifest {
        self.set("/spec/volumeName", json!(volume)).annotation("pv.kubernetes.io/bind-completed", "yes")
    }

    /// Of a volume: only on nodes with one of these labels.
    pub fn reached_from(self, key: &str, values: &[&str]) -> Manifest {
        let term = json!({ "matchExpressions": [{ "key": key, "operator": "In", "values": values }] });
        self.set("/spec/nodeAffinity/required", json!({ "nodeSelectorTerms": [term] }))
    }

    /// Of a volume: it is a driver's.
    pub fn csi(mut self, driver: &str, handle: &str) -> Manifest {
        self.slot("/spec").as_object_mut().expect("a spec").remove("hostPath");
        self.set("/spec/csi", json!({ "driver": driver, "volumeHandle": handle }))
    }

    /// Of a storage class: only on nodes with one of these labels.
    pub fn allows(self, key: &str, values: &[&str]) -> Manifest {
        let term = json!({ "matchLabelExpressions": [{ "key": key, "values": values }] });
        self.set("/allowedTopologies", json!([term]))
    }

    /// Of a CSI node: a driver that may attach so many volumes.
    pub fn attaches(self, driver: &str, count: i32) -> Manifest {
        let entry = json!({ "name": driver, "nodeID": "id", "allocatable": { "count": count } });
        self.push("/spec/drivers", entry)
    }
}
