//! What the script does to the cluster and to the schedulers.

use schedlab_core::framework::points::Request;
use schedlab_core::ids::PodUid;
use serde_json::{Value, json};

use super::actor::Actor;
use super::controllers::controller_at;
use super::faults::{Counted, Fault};
use super::item::Item;
use super::run::Simulation;
use super::scenario::{NodeNumber, PodHandle, ScriptAction, ScriptEvent};
use super::shape::{Hold, NodeShape, PodShape, namespace_name, second_namespace};
use schedlab_cluster::api::{
    Api, Binding, NominatedNodeNamePatch, Object, ObjectKey, PodFlags, PodPhase, PodStatusPatch, SpecId,
    StoredPodRow,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn object(value: Value) -> Object {
    Object::from_json(value).expect("a scenario's objects are well formed")
}

fn node_key(node: NodeNumber) -> ObjectKey {
    ObjectKey::cluster("v1", "Node", &node.to_string())
}

impl Simulation<'_> {
    /// Performs one event of the script. One that has lost what it is about does nothing.
    pub(super) fn perform(&mut self, event: ScriptEvent) {
        match event.action {
            ScriptAction::CreateNode(node, shape) => self.create_node(node, shape),
            ScriptAction::UpdateNode(node, shape) => self.update_node(node, shape),
            ScriptAction::DeleteNode(node) => self.delete_node(node),
            ScriptAction::CreatePod(shape) => self.create_pod(event.number, shape),
            ScriptAction::DeletePod(pod) => {
                if let Some(row) = self.row(pod) {
                    // Somebody may have been faster.
                    let _ = self.api.delete_pod(row.uid);
                }
            }
            ScriptAction::RecreatePod(pod) => self.recreate_pod(pod),
            ScriptAction::FinishPod(pod) => self.finish_pod(pod),
            ScriptAction::OpenGate(pod) => self.open_gate(pod),
            ScriptAction::CreateClaim => {
                // A second one is refused: the first is enough.
                let _ = self.api.create(object(json!({ "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass", "metadata": { "name": "claim" }, "provisioner": "example.com/none" })));
            }
            ScriptAction::Activate(pod) => self.ask_for(pod),
            ScriptAction::Nominate(pod, node) => self.nominate(pod, Some(node)),
            ScriptAction::Withdraw(pod) => self.nominate(pod, None),
            ScriptAction::BindElsewhere(pod, node) => self.bind_elsewhere(pod, node),
            ScriptAction::Protect(app) => self.protect(app),
            ScriptAction::Unprotect(app) => self.unprotect(app),
            // Pod groups have a run of their own.
            ScriptAction::PodGroup(_) => {}
            ScriptAction::LabelNamespace(is_labelled) => {
                if self.scenario.has_second_namespace() {
                    self.api.update(object(second_namespace(is_labelled))).expect("the namespace exists");
                }
            }
            ScriptAction::Fail(fault) => self.go_wrong(fault),
            ScriptAction::Settle => {}
        }
    }

    fn row(&self, pod: PodHandle) -> Option<StoredPodRow> {
        self.truth.pods.get(self.handles.get(&pod.0)?).copied()
    }

    /// The version of the write that comes next.
    fn next_version(&self) -> u64 {
        self.api.resource_version() + 1
    }

    fn create_node(&mut self, node: NodeNumber, shape: NodeShape) {
        let version = self.next_version();
        if self.api.create(object(shape.object(&node.to_string()))).is_ok() {
            self.node_shapes.insert(version, shape);
            let has_pods = self
                .truth
                .pods
                .values()
                .any(|row| row.node.map(|it| it.index()) == Some(usize::from(node.0)));
            if has_pods {
                self.faults.note(Counted::NodeBack);
            }
        }
    }

    /// The spec and the status are two writes, as in the API; each is an event with a shape of its own.
    fn update_node(&mut self, node: NodeNumber, shape: NodeShape) {
        let Some(entry) = self.truth.nodes.get(&node.0) else { return };
        let Some(&old) = self.node_shapes.get(&entry.resource_version) else { return };
        let NodeShape { zone, tainted, cordoned, role, evicting, .. } = shape;
        // Most writers of a spec keep the taints by condition, some do not know of them.
        let knows_taints = !self.bits(16, u64::from(node.0), self.next_version()).is_multiple_of(4);
        let condition_taints = if knows_taints { old.condition_taints } else { 0 };
        let unready_taint = knows_taints && old.unready_taint;
        let first =
            NodeShape { zone, tainted, cordoned, role, evicting, condition_taints, unready_taint, ..old };
        for (wanted, is_status) in [(first, false), (shape, true)] {
            let version = self.next_version();
            let wanted_object = object(wanted.object(&node.to_string()));
            let written = if is_status {
                self.api.update_status(wanted_object)
            } else {
                self.api.update(wanted_object)
            };
            if written.is_ok() && self.api.resource_version() == version {
                self.node_shapes.insert(version, wanted);
            }
        }
    }

    fn delete_node(&mut self, node: NodeNumber) {
        if self.api.delete(&node_key(node), None).is_err() {
            return;
        }
        self.faults.note(Counted::NodeLost);
        let there: Vec<PodUid> = self
            .truth
            .pods
            .values()
            .filter(|row| row.node.map(|it| it.index()) == Some(usize::from(node.0)))
            .map(|row| row.uid)
            .collect();
        for pod in there {
            let bits = self.bits(7, self.number_of(pod), 0);
            let wait_ns = self.between((SECOND, 10 * SECOND), bits);
            self.push(self.now_ns() + wait_ns, Item::CollectPod(pod));
        }
    }

    /// Deletes a pod whose node is gone. Upstream: the pod garbage collector.
    pub(super) fn collect(&mut self, pod: PodUid) -> bool {
        let Some(row) = self.truth.pods.get(&pod) else { return false };
        let is_orphan = row.node.is_some_and(|node| {
            u8::try_from(node.index()).is_ok_and(|number| !self.truth.nodes.contains_key(&number))
        });
        if !is_orphan {
            return false;
        }
        self.api.end_pod(pod);
        self.publish();
        true
    }

    /// Makes the second namespace, if a pod will be in it.
    pub(super) fn create_namespaces(&self) {
        if self.scenario.has_second_namespace() {
            self.api.create(object(second_namespace(false))).expect("a new store has no such namespace");
        }
    }

    fn create_pod(&mut self, number: u32, shape: u8) {
        let at = usize::from(shape);
        if self.templates[at].is_none() {
            let pod = object(self.scenario.shapes[at].object(&format!("s{shape}-")));
            let pod = *pod.into_pod().expect("a shape is a pod");
            let namespace = namespace_name(self.scenario.shapes[at].namespace);
            let template = self.api.pod_template(pod, namespace).expect("a shape is a valid pod");
            self.know_spec(template.spec, shape);
            self.templates[at] = Some(template);
        }
        let template = self.templates[at].as_ref().expect("made just now");
        let created = self.api.create_pods(template, 1).expect("the namespace exists");
        self.handles.insert(number, created.first);
        self.number_of.insert(created.first, number);
    }

    fn know_spec(&mut self, spec: SpecId, shape: u8) {
        let at = spec.0 as usize;
        if self.shape_of_spec.len() <= at {
            self.shape_of_spec.resize(at + 1, 0);
        }
        self.shape_of_spec[at] = shape;
    }

    fn recreate_pod(&mut self, pod: PodHandle) {
        let Some(row) = self.row(pod) else { return };
        let shape = self.shape_of_spec[row.spec.0 as usize];
        let name = self.api.pod_name(row.name);
        self.api.end_pod(row.uid);
        let value = self.scenario.shapes[usize::from(shape)].object(&name);
        let made = object(value).into_pod().expect("a shape is a pod");
        let namespace = namespace_name(self.scenario.shapes[usize::from(shape)].namespace);
        let template = self.api.pod_template(*made, namespace).expect("a shape is a valid pod");
        self.know_spec(template.spec, shape);
        let created = self.api.create_pods(&template, 1).expect("the name is free");
        self.handles.insert(pod.0, created.first);
        self.number_of.insert(created.first, pod.0);
        self.faults.note(Counted::PodRecreated);
    }

    fn finish_pod(&mut self, pod: PodHandle) {
        let Some(row) = self.row(pod).filter(|row| row.node.is_some()) else { return };
        let patch = PodStatusPatch {
            pod: row.uid,
            condition: None,
            nomination: NominatedNodeNamePatch::Keep,
            phase: Some(PodPhase::Succeeded),
        };
        self.api.patch_pod_status(patch).expect("the pod exists");
    }

    fn open_gate(&mut self, pod: PodHandle) {
        let Some(row) = self.row(pod).filter(|row| row.flags.contains(PodFlags::GATED)) else { return };
        let shape = self.shape_of_spec[row.spec.0 as usize];
        let open = PodShape { hold: Hold::None, ..self.scenario.shapes[usize::from(shape)] };
        let value = open.object(&self.api.pod_name(row.name));
        self.api.update(object(value)).expect("a gate can be removed");
        let row = self.api.pod_row(row.uid).expect("the pod exists");
        self.know_spec(row.spec, shape);
    }

    /// As gang plugins do: once one member has a place, the others are tried.
    fn ask_for(&mut self, pod: PodHandle) {
        let Some(row) = self.row(pod) else { return };
        let number = self.shape_of(&row).scheduler;
        let incarnation = self.actors[usize::from(number)].incarnation;
        self.request(number, incarnation, Request::Activate { pod: row.uid });
    }

    /// KEP-5278: an outside writer sets the nomination only if it is unset, and clears its own.
    fn nominate(&mut self, pod: PodHandle, node: Option<NodeNumber>) {
        let Some(row) = self.row(pod).filter(|row| row.node.is_none()) else { return };
        if row.nominated.is_some() == node.is_some() {
            return;
        }
        let nomination = match node {
            Some(node) => NominatedNodeNamePatch::Set(self.api.node_name_id(&node.to_string())),
            None => NominatedNodeNamePatch::Clear,
        };
        let patch = PodStatusPatch { pod: row.uid, condition: None, nomination, phase: None };
        self.api.patch_pod_status(patch).expect("the pod exists");
        self.faults.note(Counted::OutsideNomination);
    }

    fn bind_elsewhere(&mut self, pod: PodHandle, node: NodeNumber) {
        let Some(row) = self.row(pod) else { return };
        let node = self.api.node_name_id(&node.to_string());
        if self.api.bind_pod(Binding { pod: row.uid, node }).is_ok() {
            self.foreign.insert(row.uid);
            self.faults.note(Counted::ForeignBinding);
        }
    }

    fn protect(&mut self, app: u8) {
        let created =
            self.api.create(object(json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": format!("b{app}"), "namespace": "default" },
            "spec": { "selector": { "matchLabels": { "app": format!("a{app}") } } } })));
        self.protected[usize::from(app)] |= created.is_ok();
    }

    fn unprotect(&mut self, app: u8) {
        let key = ObjectKey::namespaced("policy/v1", "PodDisruptionBudget", "default", &format!("b{app}"));
        if self.api.delete(&key, None).is_ok() {
            self.protected[usize::from(app)] = false;
        }
    }

    fn go_wrong(&mut self, fault: Fault) {
        let now_ns = self.now_ns();
        match fault {
            Fault::Calls { kind, how, count } => self.armed.push((kind, how, count)),
            Fault::Stall { scheduler, stream, ms } => {
                if let Some(pipe) = self.pipe_mut(scheduler, stream as usize) {
                    pipe.stalled_until_ns = now_ns + u64::from(ms) * MS;
                    self.faults.note(Counted::Stall);
                }
            }
            Fault::Duplicate { scheduler, stream } => {
                if let Some(pipe) = self.pipe_mut(scheduler, stream as usize) {
                    pipe.doubles_next = true;
                }
            }
            Fault::Disconnect { scheduler, stream, ms } => self.disconnect(scheduler, stream, ms),
            Fault::Restart { scheduler } => match controller_at(scheduler) {
                Some(at) => self.restart_controller(at),
                None => self.restart(scheduler),
            },
        }
    }

    /// What the old scheduler had under way has reached the API or never will; the new one lists
    /// everything before it tries its first pod.
    fn restart(&mut self, scheduler: u8) {
        let at = usize::from(scheduler);
        if at >= self.actors.len() {
            return;
        }
        self.faults.note(Counted::Restart);
        let mut open: Vec<u32> = self.actors[at].flights.keys().copied().collect();
        open.sort_unstable();
        for number in open {
            let flight = &self.actors[at].flights[&number];
            let is_on_its_way = flight.result.is_none();
            let is_first = self.actors[at].lanes[&flight.call.pod].front() == Some(&number);
            if is_on_its_way && is_first && self.bits(8, u64::from(number), self.now_ns()).is_multiple_of(2) {
                // A call that the API refuses changes nothing.
                let _ = flight.call.perform(&self.api);
            }
        }
        self.publish();
        let incarnation = self.actors[at].incarnation + 1;
        let seed = self.scenario.seed;
        let epochs = [0, 1, 2].map(|stream: usize| self.actors[at].pipes[stream].epoch + 1);
        let mut actor = Actor::new(scheduler, incarnation, seed, &self.scenario.setup, &self.api);
        actor.pipes.iter_mut().zip(epochs).for_each(|(pipe, epoch)| pipe.epoch = epoch);
        self.actors[at] = actor;
        let mut events = Vec::new();
        self.truth.list(&mut events);
        self.events += events.len() as u64;
        for event in &events {
            self.deliver(at, event);
        }
        self.after(at);
    }
}
