//! In-tree volumes as their CSI drivers see them: plugin and driver names, volume handles, and node
//! affinity with the driver's own zone label. Text in, text out.
//!
//! Upstream: csi-translation-lib. Azure files and vSphere volumes can be translated as well, but
//! their migration is switched on neither for limits nor for binding, so nothing reads the result.

use crate::input::storage::{PersistentVolumeInput, PersistentVolumeSourceInput};
use crate::input::{NodeSelectorTermInput, RequirementInput};

/// Well-known labels.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// See [`ZONE`].
pub const REGION: &str = "topology.kubernetes.io/region";
/// See [`ZONE`].
pub const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
/// See [`ZONE`].
pub const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// Stands between the zones of a volume that lives in several.
const ZONE_DELIMITER: &str = "__";
const UNSPECIFIED: &str = "UNSPECIFIED";

/// An in-tree plugin whose volumes are handled by a CSI driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum InTreeVolumePlugin {
    GcePersistentDisk,
    AwsElasticBlockStore,
    AzureDisk,
    Cinder,
    Portworx,
}

const PLUGINS: [InTreeVolumePlugin; 5] = [
    InTreeVolumePlugin::GcePersistentDisk,
    InTreeVolumePlugin::AwsElasticBlockStore,
    InTreeVolumePlugin::AzureDisk,
    InTreeVolumePlugin::Cinder,
    InTreeVolumePlugin::Portworx,
];

impl InTreeVolumePlugin {
    /// The plugin's name, as provisioners and CSINode annotations have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            InTreeVolumePlugin::GcePersistentDisk => "kubernetes.io/gce-pd",
            InTreeVolumePlugin::AwsElasticBlockStore => "kubernetes.io/aws-ebs",
            InTreeVolumePlugin::AzureDisk => "kubernetes.io/azure-disk",
            InTreeVolumePlugin::Cinder => "kubernetes.io/cinder",
            InTreeVolumePlugin::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The CSI driver that took over.
    #[must_use]
    pub fn driver(self) -> &'static str {
        match self {
            InTreeVolumePlugin::GcePersistentDisk => "pd.csi.storage.gke.io",
            InTreeVolumePlugin::AwsElasticBlockStore => "ebs.csi.aws.com",
            InTreeVolumePlugin::AzureDisk => "disk.csi.azure.com",
            InTreeVolumePlugin::Cinder => "cinder.csi.openstack.org",
            InTreeVolumePlugin::Portworx => "pxd.portworx.com",
        }
    }

    /// The driver's zone label, if translation moves zones to it.
    fn topology_key(self) -> Option<&'static str> {
        match self {
            InTreeVolumePlugin::GcePersistentDisk => Some("topology.gke.io/zone"),
            InTreeVolumePlugin::AwsElasticBlockStore => Some("topology.ebs.csi.aws.com/zone"),
            InTreeVolumePlugin::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            InTreeVolumePlugin::AzureDisk | InTreeVolumePlugin::Portworx => None,
        }
    }

    /// The plugin of a volume, if it is one of these.
    #[must_use]
    pub fn of_volume(volume: &PersistentVolumeInput) -> Option<InTreeVolumePlugin> {
        Some(match volume.source {
            PersistentVolumeSourceInput::GcePersistentDisk { .. } => InTreeVolumePlugin::GcePersistentDisk,
            PersistentVolumeSourceInput::AwsElasticBlockStore { .. } => {
                InTreeVolumePlugin::AwsElasticBlockStore
            }
            PersistentVolumeSourceInput::AzureDisk { .. } => InTreeVolumePlugin::AzureDisk,
            PersistentVolumeSourceInput::Cinder { .. } => InTreeVolumePlugin::Cinder,
            PersistentVolumeSourceInput::Portworx { .. } => InTreeVolumePlugin::Portworx,
            PersistentVolumeSourceInput::Other | PersistentVolumeSourceInput::Csi { .. } => return None,
        })
    }
}

/// What a provisioner's volumes count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provisioner<'a> {
    /// Volumes of this driver.
    Driver(&'a str),
    /// Volumes of an in-tree plugin, once the node has a CSINode.
    InTree(InTreeVolumePlugin),
    /// An in-tree plugin whose migration is off: not counted.
    NotMigrated,
}

/// Who a StorageClass' provisioner is.
#[must_use]
pub fn provisioner(name: &str) -> Provisioner<'_> {
    match PLUGINS.into_iter().find(|plugin| plugin.name() == name) {
        Some(plugin) => Provisioner::InTree(plugin),
        None if matches!(name, "kubernetes.io/azure-file" | "kubernetes.io/vsphere-volume") => {
            Provisioner::NotMigrated
        }
        None => Provisioner::Driver(name),
    }
}

/// The handle of a GCE disk that a pod names itself.
#[must_use]
pub fn gce_inline_handle(pd_name: &str) -> String {
    gce_handle("zones", UNSPECIFIED, pd_name)
}

fn gce_handle(scope: &str, place: &str, pd_name: &str) -> String {
    format!("projects/{UNSPECIFIED}/{scope}/{place}/disks/{pd_name}")
}

/// The handle of an EBS volume, which may be written as `aws://<zone>/vol-...`.
/// Upstream: aws_ebs.go `KubernetesVolumeIDToEBSVolumeID`.
pub fn ebs_handle(volume_id: &str) -> Result<String, String> {
    let Some(rest) = volume_id.strip_prefix("aws://") else { return Ok(volume_id.to_owned()) };
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    if path.starts_with("vol-") && !path.contains('/') {
        return Ok(path.to_owned());
    }
    Err(format!(
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
    ))
}

/// The CSI handle of an in-tree volume, or why it has none. `None` for volumes of other sources.
pub fn in_tree_handle(volume: &PersistentVolumeInput) -> Option<Result<String, String>> {
    Some(match &volume.source {
        PersistentVolumeSourceInput::GcePersistentDisk { pd_name } => gce_volume_handle(volume, pd_name),
        PersistentVolumeSourceInput::AwsElasticBlockStore { volume_id } => ebs_handle(volume_id),
        PersistentVolumeSourceInput::AzureDisk { is_managed: false, .. } => {
            Err("kind is not supported in csi migration".to_owned())
        }
        PersistentVolumeSourceInput::AzureDisk { disk_uri, .. } => Ok(disk_uri.clone()),
        PersistentVolumeSourceInput::Cinder { volume_id }
        | PersistentVolumeSourceInput::Portworx { volume_id } => Ok(volume_id.clone()),
        PersistentVolumeSourceInput::Other | PersistentVolumeSourceInput::Csi { .. } => return None,
    })
}

fn gce_volume_handle(volume: &PersistentVolumeInput, pd_name: &str) -> Result<String, String> {
    let label = |key: &str| volume.labels.get(key).map(String::as_str).filter(|zones| !zones.is_empty());
    let zones: Vec<&str> = match label(BETA_ZONE).or_else(|| label(ZONE)) {
        Some(zones) => zones.split(ZONE_DELIMITER).collect(),
        None => return Ok(gce_inline_handle(pd_name)),
    };
    match zones.as_slice() {
        [zone] => Ok(gce_handle("zones", zone, pd_name)),
        several => Ok(gce_handle("regions", &gce_region(several)?, pd_name)),
    }
}

fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions: Vec<String> = Vec::new();
    for zone in zones {
        let parts: Vec<&str> = zone.split('-').collect();
        let [locale, region, _] = parts.as_slice() else {
            return Err(format!("failed to get region from zones: zone in unexpected format, got: {zone}"));
        };
        regions.push(format!("{locale}-{region}"));
    }
    regions.dedup();
    match regions.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err("failed to get region from zones: multiple or no regions gotten from zones".to_owned()),
    }
}

/// Node affinity as the driver means it: zones are matched by the driver's own label.
/// Upstream: in_tree_volume.go `translateTopologyFromInTreeToCSI`.
#[must_use]
pub fn translated_affinity(
    volume: &PersistentVolumeInput,
    plugin: InTreeVolumePlugin,
) -> Option<Vec<NodeSelectorTermInput>> {
    let mut terms = volume.node_affinity.clone();
    let Some(csi_key) = plugin.topology_key() else { return terms };
    let (zone_label, region_label) = topology_labels(volume);
    let has_zones = terms.iter().flatten().flat_map(|term| &term.match_expressions);
    if has_zones.filter(|it| it.key == zone_label).any(|it| !it.values.is_empty()) {
        replace_key(&mut terms, zone_label, csi_key);
    } else if let Some(zones) = volume.labels.get(zone_label) {
        add_zones(&mut terms, csi_key, zones);
    }
    if region_label == BETA_REGION {
        replace_key(&mut terms, BETA_REGION, REGION);
    }
    terms
}

fn topology_labels(volume: &PersistentVolumeInput) -> (&'static str, &'static str) {
    let in_affinity = |key: &str| {
        let terms = volume.node_affinity.iter().flatten();
        terms.flat_map(|term| &term.match_expressions).any(|requirement| requirement.key == key)
    };
    let in_labels = |key: &str| volume.labels.contains_key(key);
    let is_beta = !in_affinity(ZONE) && (in_affinity(BETA_ZONE) || !in_labels(ZONE) && in_labels(BETA_ZONE));
    if is_beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) }
}

fn replace_key(terms: &mut Option<Vec<NodeSelectorTermInput>>, old: &str, new: &str) {
    for requirement in terms.iter_mut().flatten().flat_map(|term| &mut term.match_expressions) {
        if requirement.key == old {
            new.clone_into(&mut requirement.key);
        }
    }
}

fn add_zones(terms: &mut Option<Vec<NodeSelectorTermInput>>, key: &str, zones: &str) {
    let mut values: Vec<String> = zones
        .split(ZONE_DELIMITER)
        .map(|zone| zone.trim().to_owned())
        .filter(|zone| !zone.is_empty())
        .collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        return;
    }
    let terms = terms.get_or_insert_default();
    if terms.is_empty() {
        terms.push(NodeSelectorTermInput::default());
    }
    for term in terms {
        term.match_expressions.push(RequirementInput {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: values.clone(),
        });
    }
}

/// The zones of a volume's topology label, or `None` when one is empty.
/// Upstream: cloud-provider/volume/helpers/zones.go `LabelZonesToSet`.
#[must_use]
pub fn label_zones(value: &str) -> Option<Vec<&str>> {
    let zones: Vec<&str> = value.split(ZONE_DELIMITER).map(str::trim).collect();
    zones.iter().all(|zone| !zone.is_empty()).then_some(zones)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(source: PersistentVolumeSourceInput, labels: &[(&str, &str)]) -> PersistentVolumeInput {
        PersistentVolumeInput {
            source,
            labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..PersistentVolumeInput::default()
        }
    }

    fn gce(labels: &[(&str, &str)]) -> PersistentVolumeInput {
        volume(PersistentVolumeSourceInput::GcePersistentDisk { pd_name: "d".to_owned() }, labels)
    }

    fn term(key: &str, values: &[&str]) -> NodeSelectorTermInput {
        NodeSelectorTermInput {
            match_expressions: vec![RequirementInput {
                key: key.to_owned(),
                operator: "In".to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            }],
            match_fields: Vec::new(),
        }
    }

    #[test]
    fn gce_handles_follow_the_zone_labels() {
        type Case = (&'static [(&'static str, &'static str)], Result<&'static str, ()>);
        let cases: [Case; 6] = [
            (&[], Ok("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d")),
            (&[(ZONE, "us-east1-a")], Ok("projects/UNSPECIFIED/zones/us-east1-a/disks/d")),
            (&[(BETA_ZONE, "b"), (ZONE, "a")], Ok("projects/UNSPECIFIED/zones/b/disks/d")),
            (&[(ZONE, "us-east1-a__us-east1-b")], Ok("projects/UNSPECIFIED/regions/us-east1/disks/d")),
            (&[(ZONE, "us-east1-a__us-west1-b")], Err(())),
            (&[(ZONE, "here__there")], Err(())),
        ];
        for (labels, expected) in cases {
            let handle = in_tree_handle(&gce(labels)).expect("a GCE volume");
            assert_eq!(handle.as_deref().map_err(|_| ()), expected, "labels: {labels:?}");
        }
    }

    #[test]
    fn ebs_ids_lose_their_zone() {
        assert_eq!(ebs_handle("vol-1").as_deref(), Ok("vol-1"));
        assert_eq!(ebs_handle("anything").as_deref(), Ok("anything"));
        assert_eq!(ebs_handle("aws://us-east-1a/vol-2").as_deref(), Ok("vol-2"));
        assert_eq!(ebs_handle("aws:///vol-3").as_deref(), Ok("vol-3"));
        assert!(ebs_handle("aws://us-east-1a/disk-2").is_err());
        assert!(ebs_handle("aws://us-east-1a").is_err());
    }

    #[test]
    fn zones_move_to_the_drivers_label() {
        let plugin = InTreeVolumePlugin::GcePersistentDisk;
        let key = "topology.gke.io/zone";
        assert_eq!(translated_affinity(&gce(&[]), plugin), None);
        assert_eq!(translated_affinity(&gce(&[(ZONE, "b__a")]), plugin), Some(vec![term(key, &["a", "b"])]));
        assert_eq!(translated_affinity(&gce(&[(BETA_ZONE, "a")]), plugin), Some(vec![term(key, &["a"])]));
        let mut with_affinity = gce(&[(ZONE, "ignored")]);
        with_affinity.node_affinity = Some(vec![term(BETA_ZONE, &["a"]), term(BETA_REGION, &["r"])]);
        let expected = vec![term(key, &["a"]), term(REGION, &["r"])];
        assert_eq!(translated_affinity(&with_affinity, plugin), Some(expected));
        with_affinity.node_affinity = Some(vec![term("other", &["x"])]);
        let mut both = term("other", &["x"]);
        both.match_expressions.extend(term(key, &["ignored"]).match_expressions);
        assert_eq!(translated_affinity(&with_affinity, plugin), Some(vec![both]));
        let untouched = translated_affinity(&gce(&[(ZONE, "a")]), InTreeVolumePlugin::Portworx);
        assert_eq!(untouched, None);
    }

    #[test]
    fn provisioners_are_drivers_unless_they_are_in_tree() {
        assert_eq!(provisioner("csi.example.com"), Provisioner::Driver("csi.example.com"));
        assert_eq!(
            provisioner("kubernetes.io/aws-ebs"),
            Provisioner::InTree(InTreeVolumePlugin::AwsElasticBlockStore)
        );
        assert_eq!(provisioner("kubernetes.io/vsphere-volume"), Provisioner::NotMigrated);
        assert_eq!(provisioner("kubernetes.io/rbd"), Provisioner::Driver("kubernetes.io/rbd"));
    }

    #[test]
    fn zone_labels_hold_several_zones_but_no_empty_one() {
        assert_eq!(label_zones("a"), Some(vec!["a"]));
        assert_eq!(label_zones("a__ b "), Some(vec!["a", "b"]));
        assert_eq!(label_zones("a__"), None);
        assert_eq!(label_zones(""), None);
    }
}
