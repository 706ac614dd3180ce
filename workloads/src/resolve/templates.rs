//! Template files, each loaded and parsed once however many workloads use it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{Source, SourceError, without_dots};
use crate::template::{ObjectTemplate, TemplateError};

/// Templates loaded so far, by the path they resolve to. A file can be used both as a template
/// and as it is.
#[derive(Debug)]
pub(crate) struct TemplateStore {
    source: Arc<dyn Source>,
    go_templates: BTreeMap<PathBuf, Arc<ObjectTemplate>>,
    plain_objects: BTreeMap<PathBuf, Arc<ObjectTemplate>>,
}

impl TemplateStore {
    pub(super) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, go_templates: BTreeMap::new(), plain_objects: BTreeMap::new() }
    }

    pub(super) fn go_template(
        &mut self,
        config: &str,
        written: &str,
    ) -> Result<Arc<ObjectTemplate>, TemplateError> {
        let path = beside(config, written);
        if let Some(loaded) = self.go_templates.get(&path) {
            return Ok(Arc::clone(loaded));
        }
        let template = Arc::new(ObjectTemplate::parse(&path, self.text(config, written)?)?);
        self.go_templates.insert(path, Arc::clone(&template));
        Ok(template)
    }

    pub(super) fn plain_object(
        &mut self,
        config: &str,
        written: &str,
    ) -> Result<Arc<ObjectTemplate>, TemplateError> {
        let path = beside(config, written);
        if let Some(loaded) = self.plain_objects.get(&path) {
            return Ok(Arc::clone(loaded));
        }
        let object = Arc::new(ObjectTemplate::plain(&path, self.text(config, written)?));
        self.plain_objects.insert(path, Arc::clone(&object));
        Ok(object)
    }

    fn text(&self, config: &str, written: &str) -> Result<String, TemplateError> {
        read_beside(self.source.as_ref(), config, written)
            .map_err(|source| TemplateError::Unreadable { written: written.to_owned(), source })
    }
}

/// Where a path in a config file points to. Upstream runs in the directory of the config file.
pub(super) fn beside(config: &str, written: &str) -> PathBuf {
    without_dots(&joined(config, written))
}

/// Reads a file named in a config file. The path is handed to the system as it stands, because
/// `a/..` is not always nothing when `a` is a link; a message shows it without the dots.
pub(super) fn read_beside(source: &dyn Source, config: &str, written: &str) -> Result<String, SourceError> {
    source.read(&joined(config, written)).map_err(|error| error.renamed(beside(config, written)))
}

fn joined(config: &str, written: &str) -> PathBuf {
    Path::new(config).parent().unwrap_or(Path::new("")).join(written)
}
