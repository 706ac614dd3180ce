//! createAny and updateAny: objects of any kind.
//!
//! Upstream: operations.go `createAny`, update.go `updateAny`.

use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::api::{Api, Object, ObjectKey, resource_for, resource_or_guess};

use super::background::Ticker;
use super::error::OpError;
use super::outcome::Ending;
use super::{Executor, objects};
use crate::ops::{CreateAny, UpdateAny};

impl Executor<'_> {
    pub(super) fn create_any(&mut self, op: &CreateAny) -> Result<Ending, OpError> {
        if let Some(namespace) = &op.namespace {
            self.ensure_namespace(namespace)?;
        }
        for index in 0..op.count {
            if self.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let path = op.template.template().path();
            let object = objects::any(op.template.render_json(index, op.count)?, path)?;
            let object = placed(object, op.namespace.as_deref(), path)?;
            self.node_count += u64::from(matches!(object, Object::Node(_)));
            self.cluster.create(object)?;
        }
        Ok(Ending::Completed)
    }

    pub(super) fn update_any(&mut self, op: &UpdateAny) -> Result<Ending, OpError> {
        let parts = Parts::of(&op.subresources)?;
        if let Some(namespace) = &op.namespace {
            self.ensure_namespace(namespace)?;
        }
        let mut ticker = (0 < op.updates_per_second).then(|| Ticker::per_second(op.updates_per_second));
        for index in 0..op.count {
            let goes_on = match &mut ticker {
                Some(ticker) => ticker.wait(self.control.interrupt),
                None => !self.is_interrupted(),
            };
            if !goes_on {
                return Ok(Ending::Interrupted);
            }
            let path = op.template.template().path();
            let object = objects::any(op.template.render_json(index, op.count)?, path)?;
            let object = placed(object, op.namespace.as_deref(), path)?;
            self.update_parts(parts, object)?;
        }
        Ok(Ending::Completed)
    }

    fn update_parts(&self, parts: Parts, object: Object) -> Result<(), OpError> {
        let resource =
            resource_or_guess(object.api_version(), object.kind(), object.metadata().namespace.as_deref());
        match (parts, &object) {
            (Parts::All, _) => drop(self.cluster.update(object.clone())?),
            (Parts::Resize, Object::Pod(pod)) => self.resize(pod)?,
            (Parts::Resize, _) => return Err(OpError::NoResize { kind: object.kind().to_owned() }),
            // The status follows anyway.
            (Parts::Status, _) => {}
        }
        if resource.has_status {
            self.cluster.update_status(object)?;
        }
        Ok(())
    }

    /// The resize subresource takes the containers' resources and nothing else.
    fn resize(&self, wanted: &Pod) -> Result<(), OpError> {
        let metadata = &wanted.metadata;
        let [namespace, name] =
            [&metadata.namespace, &metadata.name].map(|text| text.as_deref().unwrap_or_default());
        let stored = self.cluster.get(&ObjectKey::pod(namespace, name))?;
        let mut pod = stored.into_pod().expect("the key names a pod");
        let containers = pod.spec.iter_mut().flat_map(|spec| &mut spec.containers);
        for container in containers {
            let mut sized = wanted.spec.iter().flat_map(|spec| &spec.containers);
            if let Some(wanted) = sized.find(|wanted| wanted.name == container.name) {
                container.resources.clone_from(&wanted.resources);
            }
        }
        self.cluster.update(Object::Pod(pod))?;
        Ok(())
    }
}

/// What of an object is updated before its status.
#[derive(Clone, Copy)]
enum Parts {
    All,
    Resize,
    Status,
}

impl Parts {
    fn of(subresources: &[String]) -> Result<Parts, OpError> {
        match subresources {
            [] => Ok(Parts::All),
            [one] if one == "resize" => Ok(Parts::Resize),
            [one] if one == "status" => Ok(Parts::Status),
            other => Err(OpError::Subresource { names: other.join("/") }),
        }
    }
}

/// The object in the op's namespace; the kind and the op must agree about there being one.
fn placed(mut object: Object, namespace: Option<&str>, path: &Path) -> Result<Object, OpError> {
    let kind = object.kind().to_owned();
    let is_namespaced = resource_for(object.api_version(), &kind).map(|resource| resource.namespaced);
    let path = path.to_owned();
    match (is_namespaced, namespace) {
        (Some(true), None) => return Err(OpError::NoNamespace { path, kind }),
        (Some(false), Some(name)) => {
            return Err(OpError::NeedlessNamespace { path, kind, name: name.to_owned() });
        }
        _ => {}
    }
    if let (Some(own), Some(name)) = (object.metadata().namespace.as_deref(), namespace)
        && own != name
    {
        let (own, name) = (own.to_owned(), name.to_owned());
        return Err(OpError::OtherNamespace { path, own, name });
    }
    object.metadata_mut().namespace = namespace.map(str::to_owned);
    Ok(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, namespace: Option<&str>) -> Object {
        let value =
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": namespace}});
        objects::any(value, Path::new("a.yaml")).expect("an object")
    }

    #[test]
    fn op_namespace_must_match_the_kind() {
        let cases = [
            (object("Service", None), Some("x"), Ok(Some("x"))),
            (object("PersistentVolume", None), None, Ok(None)),
            (
                object("Service", None),
                None,
                Err("a.yaml: a Service lives in a namespace; set `namespace` of this op"),
            ),
            (
                object("PersistentVolume", None),
                Some("x"),
                Err("a.yaml: a PersistentVolume has no namespace; remove `namespace: x` from this op"),
            ),
            (
                object("Service", Some("y")),
                Some("x"),
                Err("a.yaml: the object says namespace \"y\", the op \"x\"; remove it from the template"),
            ),
        ];
        for (object, namespace, expected) in cases {
            let result = placed(object, namespace, Path::new("a.yaml"));
            match expected {
                Ok(expected) => {
                    assert_eq!(result.expect("it is fine").metadata().namespace.as_deref(), expected);
                }
                Err(message) => assert_eq!(result.expect_err("refused").to_string(), message),
            }
        }
    }

    #[test]
    fn unknown_subresources_are_refused() {
        let error = Parts::of(&["scale".to_owned()]).err().expect("refused").to_string();
        assert_eq!(error, "subresource \"scale\" cannot be updated here; use resize, status, or none");
    }
}
