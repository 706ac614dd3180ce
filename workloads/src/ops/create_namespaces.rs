//! createNamespaces: adds namespaces `<prefix>-0`, `<prefix>-1` and so on.
//!
//! Upstream: operations.go `createNamespacesOp`; executor.go `namespacePreparer`.

use std::sync::Arc;

use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError, objects};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createNamespaces", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &["opcode", "prefix", "count", "countParam", "namespaceTemplatePath"];

/// createNamespaces as written.
#[derive(Clone, Debug)]
pub struct CreateNamespacesOp {
    /// What the names start with.
    pub prefix: String,
    /// How many namespaces.
    pub count: Count,
    /// An object to take labels and all else from; read as it is, not as a template.
    pub template_path: Option<String>,
}

/// createNamespaces, ready to run.
#[derive(Clone, Debug)]
pub struct CreateNamespaces {
    /// What the names start with.
    pub prefix: String,
    /// How many namespaces.
    pub count: u32,
    /// An object to take labels and all else from. Its name is replaced.
    pub template: Option<Arc<ObjectTemplate>>,
}

fn parse(file: &str, node: &Node) -> Result<CreateNamespacesOp, SchemaError> {
    let fields = Fields::read(file, "op createNamespaces", node, FIELDS)?;
    Ok(CreateNamespacesOp {
        prefix: fields.required_string("prefix", "write what the names start with")?,
        count: Count::required(&fields)?,
        template_path: fields.string("namespaceTemplatePath")?,
    })
}

impl WrittenOp for CreateNamespacesOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let template = match &self.template_path {
            Some(path) => Some(resolver.plain_object(path)?),
            None => None,
        };
        let count = resolver.count(&self.count, Limit::Namespaces)?;
        Ok(one(CreateNamespaces { prefix: self.prefix.clone(), count, template }))
    }
}

impl CreateNamespaces {
    /// The names of the namespaces, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|index| format!("{}-{index}", self.prefix))
    }
}

impl ResolvedOp for CreateNamespaces {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for CreateNamespaces {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        for name in self.names() {
            if context.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let mut object = match &self.template {
                Some(template) => {
                    objects::other(template.render_json(&Default::default())?, template.path())?
                }
                None => objects::namespace(),
            };
            object.metadata.name = Some(name.clone());
            context.create_namespace(object)?;
            context.awaited.entry(name).or_default();
        }
        Ok(Ending::Completed)
    }
}
