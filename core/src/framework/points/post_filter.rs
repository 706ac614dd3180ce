//! PostFilter: asked when no node fits, for example to make room by evicting pods.

use std::fmt;

use super::handle::{Handle, PodRef};
use crate::api_call::{ApiCall, NominatingInfo};
use crate::framework::diagnosis::Diagnosis;
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};

/// What the failed search says of each node.
pub trait NodeCodes: fmt::Debug {
    /// The code of the first plugin that rejected the node in this row.
    fn code(&self, row: usize) -> Code;
}

/// The search that failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'a> {
    /// The profile that was searched with: what a dry run asks.
    pub profile: &'a Profile,
    /// Why no node fits.
    pub diagnosis: &'a Diagnosis,
    /// Code by row.
    pub codes: &'a dyn NodeCodes,
}

/// How PostFilter ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostFilterVerdict {
    /// The pod will fit once the calls took effect; the plugins after this one are not asked.
    Success,
    /// Nothing can be done; the next plugin is asked.
    Unschedulable,
    /// The same, and no plugin after this one can help: it is not asked.
    UnschedulableAndUnresolvable,
    /// Something went wrong; the plugins after this one are not asked.
    Error,
}

/// A PostFilter plugin's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostFilter {
    /// How it ended.
    pub verdict: PostFilterVerdict,
    /// What becomes of the nomination.
    pub nomination: NominatingInfo,
    /// What is added to the condition's message.
    pub message: Option<Reason>,
    /// What is to be called at the API, in order.
    pub calls: Vec<ApiCall>,
}

impl PostFilter {
    /// The plugin cannot help.
    #[must_use]
    pub fn unschedulable(message: Option<Reason>) -> PostFilter {
        PostFilter {
            verdict: PostFilterVerdict::Unschedulable,
            nomination: NominatingInfo::Keep,
            message,
            calls: Vec::new(),
        }
    }
}

/// Tries to make an unschedulable pod schedulable.
pub trait PostFilterPlugin {
    /// Asked when PreFilter or Filter left no node.
    fn post_filter(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, failed: &Failed<'_>) -> PostFilter;
}
