//! Which pods a measurement is about.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schedlab_cluster::api::{Api, NamespaceId, SpecId};
use schedlab_core::ids::PodUid;

/// Pods of some namespaces with some labels. Each distinct pair of namespace and body is judged
/// once.
pub struct PodScope {
    api: Arc<dyn Api>,
    namespaces: Vec<String>,
    labels: BTreeMap<String, String>,
    verdicts: BTreeMap<(NamespaceId, SpecId), bool>,
}

impl PodScope {
    /// Pods of these namespaces that have all these labels.
    #[must_use]
    pub fn new(api: Arc<dyn Api>, namespaces: &[String], labels: &BTreeMap<String, String>) -> PodScope {
        PodScope { api, namespaces: namespaces.to_vec(), labels: labels.clone(), verdicts: BTreeMap::new() }
    }

    /// Whether a pod that exists is meant. One that is already gone is not: nobody can say whose
    /// it was.
    pub fn covers(&mut self, pod: PodUid) -> bool {
        let Some(row) = self.api.pod_row(pod) else { return false };
        let PodScope { api, namespaces, labels, verdicts } = self;
        *verdicts.entry((row.namespace, row.spec)).or_insert_with(|| {
            let namespace = api.namespace_name(row.namespace);
            let own = &api.pod_spec(row.spec).input.labels;
            namespaces.iter().any(|name| **name == *namespace)
                && labels.iter().all(|(key, value)| own.get(key) == Some(value))
        })
    }
}

impl fmt::Debug for PodScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PodScope { namespaces, labels, .. } = self;
        formatter.debug_struct("PodScope").field("namespaces", namespaces).field("labels", labels).finish()
    }
}
