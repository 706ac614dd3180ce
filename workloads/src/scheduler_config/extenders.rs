//! `extenders`.

use schedlab_core::framework::extender::{
    DEFAULT_EXTENDER_TIMEOUT, ExtenderConfig, ExtenderTlsConfig, ManagedResource,
};
use schedlab_core::resources::is_extended_resource;

use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

const EXTENDER: &[&str] = &[
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
];
const TLS: &[&str] =
    &["insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"];

pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<ExtenderConfig>, SchemaError> {
    let mut extenders: Vec<ExtenderConfig> = Vec::new();
    for (index, node) in fields.list("extenders")?.iter().enumerate() {
        let holder = format!("extenders[{index}]");
        let fields = Fields::read_exact(fields.file(), holder, node, EXTENDER)?;
        let extender = extender(&fields, &extenders)?;
        if !extender.bind_verb.is_empty() && extenders.iter().any(|other| !other.bind_verb.is_empty()) {
            let rule = "another extender binds already, and only one can; remove it here or there";
            return Err(fields.bad_value("bindVerb", extender.bind_verb, rule));
        }
        extenders.push(extender);
    }
    Ok(extenders)
}

fn extender(fields: &Fields<'_>, earlier: &[ExtenderConfig]) -> Result<ExtenderConfig, SchemaError> {
    let text = |field| Ok(fields.string(field)?.unwrap_or_default());
    let extender = ExtenderConfig {
        url_prefix: fields
            .required_string("urlPrefix", "write the extender's address, such as http://host:port/path")?,
        filter_verb: text("filterVerb")?,
        preempt_verb: text("preemptVerb")?,
        prioritize_verb: text("prioritizeVerb")?,
        bind_verb: text("bindVerb")?,
        weight: fields.integer("weight")?.unwrap_or(0),
        enable_https: fields.switch("enableHTTPS")?,
        tls_config: fields.get("tlsConfig").map(|node| tls(fields, node)).transpose()?,
        http_timeout: fields
            .duration("httpTimeout")?
            .filter(|timeout| !timeout.is_zero())
            .unwrap_or(DEFAULT_EXTENDER_TIMEOUT),
        node_cache_capable: fields.switch("nodeCacheCapable")?,
        managed_resources: managed_resources(fields, earlier)?,
        ignorable: fields.switch("ignorable")?,
    };
    if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
        let rule = "an extender with a prioritizeVerb needs a weight of 1 or more";
        return Err(fields.bad_value("weight", extender.weight, rule));
    }
    Ok(extender)
}

fn managed_resources(
    fields: &Fields<'_>,
    earlier: &[ExtenderConfig],
) -> Result<Vec<ManagedResource>, SchemaError> {
    let mut resources: Vec<ManagedResource> = Vec::new();
    for (index, node) in fields.list("managedResources")?.iter().enumerate() {
        let holder = format!("{}.managedResources[{index}]", fields.holder());
        let fields = Fields::read_exact(fields.file(), holder, node, &["name", "ignoredByScheduler"])?;
        let name = fields.required_string("name", "write the name of an extended resource")?;
        if !is_extended_resource(&name) {
            let rule = "write the name of an extended resource, such as example.com/gpu";
            return Err(fields.bad_value("name", name, rule));
        }
        let mut others = earlier.iter().flat_map(|extender| &extender.managed_resources).chain(&resources);
        if others.any(|other| other.name == name) {
            return Err(fields.bad_value("name", name, "it is managed by an extender already; remove one"));
        }
        let ignored_by_scheduler = fields.switch("ignoredByScheduler")?;
        resources.push(ManagedResource { name, ignored_by_scheduler });
    }
    Ok(resources)
}

fn tls(fields: &Fields<'_>, node: &Node) -> Result<ExtenderTlsConfig, SchemaError> {
    let fields = Fields::read_exact(fields.file(), format!("{}.tlsConfig", fields.holder()), node, TLS)?;
    let text = |field| Ok(fields.string(field)?.unwrap_or_default());
    Ok(ExtenderTlsConfig {
        insecure: fields.switch("insecure")?,
        server_name: text("serverName")?,
        cert_file: text("certFile")?,
        key_file: text("keyFile")?,
        ca_file: text("caFile")?,
        cert_data: text("certData")?,
        key_data: text("keyData")?,
        ca_data: text("caData")?,
    })
}
