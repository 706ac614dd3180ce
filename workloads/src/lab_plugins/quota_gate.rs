//! LabQuotaGate: pods beyond the quota of their namespace are made, and wait; their status says for what.
//!
//! What KEP-5501 describes as deferred enforcement of quotas (KEP-5465): instead of refusing the pod, PreEnqueue
//! keeps it back while the namespace has as many pods on nodes as it may have. Reserve holds the line for those
//! that were let through together.
//!
//! Arguments: `quotas`, a list of `name`, `namespace` and `pods`, as `spec.hard.pods` of a ResourceQuota.

use std::sync::Arc;

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::{ArgValue, PluginArgs};
use schedlab_core::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use schedlab_core::framework::points::{
    ActionType, EnqueueExtensions, EventResource, Handle, PodRef, RegisteredEvent, ReservePlugin, Status,
};
use schedlab_core::framework::registry::Factored;
use schedlab_core::framework::status::Reason;
use schedlab_core::ids::NodeId;
use schedlab_core::interner::Vocabulary;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

/// The plugin's name in configuration files.
pub const NAME: &str = "LabQuotaGate";

#[derive(Clone, Debug, PartialEq, Eq)]
struct DeferredQuota {
    name: String,
    namespace: String,
    /// Pods that may be on nodes.
    pods: usize,
}

/// Holds pods back that their namespace has no quota for.
#[derive(Clone, Debug)]
pub struct QuotaGate {
    quotas: Vec<DeferredQuota>,
}

/// Makes the plugin from its arguments.
pub fn factory(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    const WANTED: &str = "write a list of `name`, `namespace` and `pods`, such as \
                          [{name: q, namespace: team, pods: 10}]";
    let quotas = match args.field("quotas") {
        Some(ArgValue::List(quotas)) => quotas.iter().map(read).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    match quotas.filter(|quotas| !quotas.is_empty()) {
        Some(quotas) => Ok(Arc::new(QuotaGate { quotas })),
        None => Err(format!("`quotas` is missing or wrong; {WANTED}")),
    }
}

fn read(written: &ArgValue) -> Option<DeferredQuota> {
    let text = |field: &str| match written.field(field) {
        Some(ArgValue::Text(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    let pods = match written.field("pods") {
        Some(ArgValue::Integer(pods)) => usize::try_from(*pods).ok(),
        _ => None,
    };
    Some(DeferredQuota { name: text("name")?, namespace: text("namespace")?, pods: pods? })
}

/// Pods of a namespace that are on a node, or about to be.
fn placed(world: &World, namespace: &str) -> usize {
    let pods = world.pods();
    let rows = pods.ids().map(|pod| pods.get(pod)).filter(|row| row.node().is_some());
    rows.filter(|row| world.class(row.class).input.namespace == namespace).count()
}

impl QuotaGate {
    fn quotas_of<'a>(&'a self, class: &'a PodClass) -> impl Iterator<Item = &'a DeferredQuota> {
        self.quotas.iter().filter(|quota| quota.namespace == class.input.namespace)
    }
}

fn message(quota: &DeferredQuota) -> String {
    let DeferredQuota { name, namespace, pods } = quota;
    format!("waiting for resource quota {name:?} to become available in namespace {namespace:?}: {pods} pods")
}

impl Plugin for QuotaGate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for QuotaGate {
    fn pre_enqueue(&self, world: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        let full = self.quotas_of(class).find(|quota| quota.pods <= placed(world, &quota.namespace))?;
        Some(PreEnqueueResult::rejected_with_message(&message(full)))
    }
}

impl ReservePlugin for QuotaGate {
    fn reserve(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        // The pod itself is assumed by now.
        let mut quotas = self.quotas_of(pod.class);
        match quotas.find(|quota| quota.pods < placed(handle.world, &quota.namespace)) {
            Some(full) => Err(Status::unschedulable(Reason::Owned(message(full).into()))),
            None => Ok(()),
        }
    }

    fn unreserve(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId) {}
}

impl EnqueueExtensions for QuotaGate {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::AssignedPod, ActionType::DELETE)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn args(quota: &[(&str, ArgValue)]) -> PluginArgs {
        let fields = quota.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let quotas = ArgValue::List(vec![ArgValue::Map(fields.collect())]);
        PluginArgs::Other(ArgValue::Map(BTreeMap::from([("quotas".to_owned(), quotas)])))
    }

    #[test]
    fn quotas_are_read_from_arguments_and_others_refused() {
        let text = |text: &str| ArgValue::Text(text.to_owned());
        let good = [("name", text("q")), ("namespace", text("team")), ("pods", ArgValue::Integer(2))];
        factory(&args(&good), &mut Vocabulary::default()).expect("all is there");
        let negative = [("name", text("q")), ("namespace", text("team")), ("pods", ArgValue::Integer(-2))];
        for wrong in [args(&negative), args(&good[..2]), PluginArgs::none()] {
            let error = factory(&wrong, &mut Vocabulary::default()).map(drop).unwrap_err();
            assert!(error.starts_with("`quotas` is missing or wrong; write a list of `name`"), "{error}");
        }
    }
}
