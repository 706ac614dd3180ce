//! What an op needs to become concrete: the workload's params, the templates, the limits.

use std::sync::Arc;
use std::time::Duration;

use super::error::{OpLocation, ResolveError, ResolveProblem};
use super::limits::Limit;
use super::templates::TemplateStore;
use crate::digest::Digest;
use crate::ops::Count;
use crate::params::{ParamRef, ParamUse, TemplateParams};
use crate::template::ObjectTemplate;

/// Sums over all ops of a workload.
#[derive(Default)]
pub(super) struct Totals {
    nodes: u64,
    pods: u64,
}

/// Resolves the ops of one workload, one after the other.
pub(crate) struct OpResolver<'a, 'p> {
    pub(super) at: OpLocation,
    pub(super) params: ParamUse<'p>,
    pub(super) templates: &'a mut TemplateStore,
    pub(super) default_pod_template: Option<&'a str>,
    pub(super) totals: Totals,
    /// Of the templates so far.
    pub(super) digest: Digest,
}

impl<'a> OpResolver<'a, '_> {
    pub(crate) fn error(&self, problem: impl Into<ResolveProblem>) -> ResolveError {
        ResolveError { at: self.at.clone(), problem: Box::new(problem.into()) }
    }

    /// A count; absent altogether it is 0.
    pub(crate) fn count(&mut self, count: &Count, limit: Limit) -> Result<u32, ResolveError> {
        let number = match &count.param {
            Some(param) => self.integer(param)?,
            None => count.literal.unwrap_or(0),
        };
        self.within(number, limit)
    }

    /// A count; absent altogether it is 1.
    pub(crate) fn count_or_one(&mut self, count: &Count, limit: Limit) -> Result<u32, ResolveError> {
        match count {
            Count { literal: None, param: None } => Ok(1),
            written => self.count(written, limit),
        }
    }

    /// The number as a count, if it is one and not too large.
    pub(crate) fn within(&self, count: i64, limit: Limit) -> Result<u32, ResolveError> {
        if count < 0 {
            return Err(self.error(ResolveProblem::NegativeCount { count, limit }));
        }
        u32::try_from(count)
            .ok()
            .filter(|count| *count <= limit.max())
            .ok_or_else(|| self.error(ResolveProblem::TooMany { count, limit }))
    }

    /// Adds to the workload's nodes or pods.
    pub(crate) fn add_to_total(&mut self, limit: Limit, count: u32) -> Result<(), ResolveError> {
        let total = match limit {
            Limit::Nodes => &mut self.totals.nodes,
            Limit::Pods => &mut self.totals.pods,
            Limit::Namespaces | Limit::PodSets | Limit::Objects => return Ok(()),
        };
        *total += u64::from(count);
        let total = *total;
        if u64::from(limit.max()) < total {
            return Err(self.error(ResolveProblem::TooManyInTotal { total, limit }));
        }
        Ok(())
    }

    pub(crate) fn integer(&mut self, param: &ParamRef) -> Result<i64, ResolveError> {
        self.params.integer(param).map_err(|error| self.error(error))
    }

    pub(crate) fn boolean(&mut self, param: &ParamRef) -> Result<bool, ResolveError> {
        self.params.boolean(param).map_err(|error| self.error(error))
    }

    pub(crate) fn duration(&mut self, param: &ParamRef) -> Result<Duration, ResolveError> {
        self.params.duration(param).map_err(|error| self.error(error))
    }

    pub(crate) fn template_params(
        &mut self,
        written: &TemplateParams,
    ) -> Result<TemplateParams, ResolveError> {
        self.params.template_params(written).map_err(|error| self.error(error))
    }

    /// The test case's template for pods.
    pub(crate) fn default_pod_template(&self) -> Option<&'a str> {
        self.default_pod_template
    }

    /// A file that is evaluated for each object.
    pub(crate) fn template(&mut self, written: &str) -> Result<Arc<ObjectTemplate>, ResolveError> {
        let template =
            self.templates.go_template(&self.at.file, written).map_err(|error| self.error(error))?;
        self.digest.add(template.text());
        Ok(template)
    }

    /// A file that is read as it is.
    pub(crate) fn plain_object(&mut self, written: &str) -> Result<Arc<ObjectTemplate>, ResolveError> {
        let object =
            self.templates.plain_object(&self.at.file, written).map_err(|error| self.error(error))?;
        self.digest.add(object.text());
        Ok(object)
    }
}
