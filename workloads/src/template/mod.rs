//! Object templates: files that become nodes, pods and other API objects.
//!
//! ```text
//! file --gotmpl--> tree --annotate--> ObjectTemplate --render(Env)--> text --yaml--> JSON
//! ```
//!
//! Upstream: operations.go `getSpecFromTextTemplateFile` for templates; scheduler_perf.go
//! `getSpecFromFile` for the files it reads as they are (namespaces, volumes, claims, churn).
//! Differs: a template that prints a name nobody set is an error here; upstream writes `<no value>`
//! into the YAML (`templates_that_do_not_evaluate_say_where`).

mod blocks;
mod env;
mod error;
mod funcs;
mod numbers;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

pub use env::Env;
pub use error::TemplateError;

use crate::params::TemplateParams;
use crate::yaml;

/// The name under which the annotated tree is stored; never shown.
const BODY: &str = "object";

/// A template file, loaded and parsed.
#[derive(Debug)]
pub struct ObjectTemplate {
    path: PathBuf,
    text: String,
    kind: Kind,
}

enum Kind {
    /// Read as it is.
    Plain,
    /// Evaluated for each object.
    Go { template: gotmpl::Template, index_use: IndexUse },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexUse {
    /// Every index renders to the same text.
    Independent,
    /// The text may differ from index to index.
    MayDiffer,
}

impl ObjectTemplate {
    /// A Go template. `path` is only for messages.
    pub fn parse(path: &Path, text: String) -> Result<Self, TemplateError> {
        let syntax = |line, message| TemplateError::Syntax { path: path.to_owned(), line, message };
        blocks::check(&text).map_err(|stray| syntax(stray.line, stray.message))?;
        let parsed = gotmpl::Template::new(BODY).parse(&text).map_err(|error| match error {
            gotmpl::TemplateError::Parse { line, message, .. }
            | gotmpl::TemplateError::Lex { line, message, .. } => syntax(line, message),
            other => syntax(1, other.to_string()),
        })?;
        let mut template = gotmpl::Template::new(BODY).funcs(funcs::all());
        let mut index_use = IndexUse::Independent;
        for name in parsed.templates() {
            let Some(list) = parsed.lookup(name) else { continue };
            if let Some(unknown) = tree::unknown_function(list) {
                return Err(syntax(unknown.line, unknown.message));
            }
            let dot = if name == BODY { tree::Dot::Root } else { tree::Dot::Inner };
            if tree::reads_index(list, dot) {
                index_use = IndexUse::MayDiffer;
            }
            template = template.add_parse_tree(name, tree::annotate(list));
        }
        Ok(Self { path: path.to_owned(), text, kind: Kind::Go { template, index_use } })
    }

    /// A file that is read as it is, braces and all. `path` is only for messages.
    pub fn plain(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text, kind: Kind::Plain }
    }

    /// The file this template was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether two indexes may render to different objects. `false` is a proof: such a template
    /// needs to be rendered only once. When unsure, the answer is `true`.
    pub fn depends_on_index(&self) -> bool {
        matches!(self.kind, Kind::Go { index_use: IndexUse::MayDiffer, .. })
    }

    /// The text of one object.
    pub fn render(&self, env: &Env) -> Result<String, TemplateError> {
        let Kind::Go { template, .. } = &self.kind else { return Ok(self.text.clone()) };
        if template.lookup(BODY).is_none() {
            // Nothing but whitespace and definitions.
            return Ok(String::new());
        }
        tree::forget_line();
        template.execute_template_to_string(BODY, &env.to_value()).map_err(|error| {
            let message = match error {
                gotmpl::TemplateError::Exec(message) => message,
                other => other.to_string(),
            };
            TemplateError::Evaluation { path: self.path.clone(), line: tree::current_line(), message }
        })
    }

    /// One object as JSON, read as sigs.k8s.io/yaml reads it into an untyped object.
    pub fn render_json(&self, env: &Env) -> Result<Json, TemplateError> {
        self.read_json(&self.render(env)?)
    }

    /// What [`ObjectTemplate::render`] gave, as JSON.
    pub fn read_json(&self, text: &str) -> Result<Json, TemplateError> {
        yaml::parse(text).map(|node| node.to_json()).map_err(|error| {
            let index = usize::try_from(error.at.line.saturating_sub(1)).unwrap_or(usize::MAX);
            TemplateError::Rendered {
                path: self.path.clone(),
                line: error.at.line,
                column: error.at.column,
                message: error.message,
                text: text.lines().nth(index).unwrap_or_default().to_owned(),
            }
        })
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain => formatter.write_str("Plain"),
            Self::Go { index_use, .. } => write!(formatter, "Go({index_use:?})"),
        }
    }
}

/// A template and the parameters an op gives it.
#[derive(Clone, Debug)]
pub struct BoundTemplate {
    template: Arc<ObjectTemplate>,
    params: TemplateParams,
    env: Env,
}

impl BoundTemplate {
    /// Binds resolved `templateParams` to a template.
    pub fn new(template: Arc<ObjectTemplate>, params: TemplateParams) -> Self {
        Self { env: Env::new(&params), template, params }
    }

    /// The template itself.
    pub fn template(&self) -> &ObjectTemplate {
        &self.template
    }

    /// The resolved `templateParams`.
    pub fn params(&self) -> &TemplateParams {
        &self.params
    }

    /// See [`ObjectTemplate::depends_on_index`].
    pub fn depends_on_index(&self) -> bool {
        self.template.depends_on_index()
    }

    /// The text of object `index` of `count`.
    pub fn render(&self, index: u32, count: u32) -> Result<String, TemplateError> {
        self.template.render(&self.env.clone().with_index(index).with_count(count))
    }

    /// Object `index` as JSON, where nobody tells the template how many there are.
    pub fn render_json_by_index(&self, index: u32) -> Result<Json, TemplateError> {
        let text = self.template.render(&self.env.clone().with_index(index))?;
        self.template.read_json(&text)
    }

    /// Object `index` of `count` as JSON.
    pub fn render_json(&self, index: u32, count: u32) -> Result<Json, TemplateError> {
        self.template.read_json(&self.render(index, count)?)
    }
}

#[cfg(test)]
mod tests;
