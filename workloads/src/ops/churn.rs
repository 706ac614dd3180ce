//! churn: creates objects in the background, at an interval, until the workload ends.
//!
//! Upstream: operations.go `churnOp`; executor.go `runChurnOp`.

use std::sync::Arc;
use std::time::Duration;

use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] = &["opcode", "mode", "number", "intervalMilliseconds", "namespace", "templatePaths"];

/// Upstream's interval when none is set.
const INTERVAL_DEFAULT_MS: u64 = 500;

/// churn as written.
#[derive(Clone, Debug)]
pub struct ChurnOp {
    /// What happens at each tick.
    pub mode: ChurnMode,
    /// Time between two ticks.
    pub interval: Duration,
    /// Where; a namespace of its own if absent.
    pub namespace: Option<String>,
    /// The objects; read as they are, not as templates.
    pub template_paths: Vec<String>,
}

/// churn, ready to run.
#[derive(Clone, Debug)]
pub struct Churn {
    /// What happens at each tick.
    pub mode: ChurnMode,
    /// Time between two ticks.
    pub interval: Duration,
    /// Where; already `namespace-<op number>` if the op named none. Objects that have no namespace
    /// ignore it.
    pub namespace: String,
    /// One object of each of these is created, or deleted, at each tick.
    pub templates: Vec<Arc<ObjectTemplate>>,
}

/// What churn does at each tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChurnMode {
    /// Creates, until so many ticks have passed; without a number, for ever.
    Create {
        /// How many ticks.
        number: Option<u32>,
    },
    /// Creates for so many ticks, deletes for as many, and so on.
    Recreate {
        /// How many ticks, at least 1.
        number: u32,
    },
}

pub(super) fn parse(file: &str, node: &Node) -> Result<ChurnOp, SchemaError> {
    let fields = Fields::read(file, "op churn", node, FIELDS)?;
    let template_paths = fields.strings("templatePaths")?;
    if template_paths.is_empty() {
        return Err(fields.missing("templatePaths", "list at least one file"));
    }
    // Upstream reads 0 as the default too; a negative one would panic there.
    let interval_ms = match fields.integer("intervalMilliseconds")?.unwrap_or(0) {
        0 => INTERVAL_DEFAULT_MS,
        written => u64::try_from(written)
            .map_err(|_| fields.bad_value("intervalMilliseconds", written, "write 1 or more"))?,
    };
    Ok(ChurnOp {
        mode: parse_mode(&fields)?,
        interval: Duration::from_millis(interval_ms),
        namespace: fields.string("namespace")?,
        template_paths,
    })
}

fn parse_mode(fields: &Fields<'_>) -> Result<ChurnMode, SchemaError> {
    let number = fields.integer("number")?.unwrap_or(0);
    let number = u32::try_from(number).map_err(|_| fields.bad_value("number", number, "write 0 or more"))?;
    match fields.required_string("mode", "write `create` or `recreate`")?.as_str() {
        "create" => Ok(ChurnMode::Create { number: Some(number).filter(|number| 0 < *number) }),
        "recreate" if number == 0 => {
            Err(fields.missing("number", "with `mode: recreate`, say after how many objects to delete"))
        }
        "recreate" => Ok(ChurnMode::Recreate { number }),
        other => Err(fields.bad_value("mode", other, "write `create` or `recreate`")),
    }
}

impl ChurnOp {
    pub(super) fn resolve(
        &self,
        resolver: &mut OpResolver<'_, '_>,
        number: usize,
    ) -> Result<Churn, ResolveError> {
        let templates = self.template_paths.iter().map(|path| resolver.plain_object(path));
        Ok(Churn {
            templates: templates.collect::<Result<_, _>>()?,
            mode: self.mode,
            interval: self.interval,
            namespace: self.namespace.clone().unwrap_or_else(|| format!("namespace-{number}")),
        })
    }
}
