//! A plugin for tests that can stand at any point.

use crate::class::PodClass;
use crate::framework::extension_point::ExtensionPoint as At;
use crate::framework::plugin::{
    FilterPlugin, Plugin, PreEnqueuePlugin, PreEnqueueResult, PreFilter, PreScore, QueueKey, QueueSortPlugin,
    Reads, ScorePlugin,
};
use crate::framework::points::{Bind, BindPlugin, EnqueueExtensions, Handle, Permit, PermitPlugin, PodRef};
use crate::framework::status::{Code, Reason};
use crate::ids::NodeId;
use crate::world::World;

/// A plugin that extends whatever points it is told to.
#[derive(Debug)]
pub(super) struct Fake(pub(super) &'static str, pub(super) &'static [At]);

impl Fake {
    fn extends(&self, point: At) -> Option<&Fake> {
        self.1.contains(&point).then_some(self)
    }
}

impl Plugin for Fake {
    fn name(&self) -> &'static str {
        self.0
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        self.extends(At::PreEnqueue).map(|plugin| plugin as _)
    }

    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        self.extends(At::QueueSort).map(|plugin| plugin as _)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        self.extends(At::Filter).map(|plugin| plugin as _)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        self.extends(At::Score).map(|plugin| plugin as _)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        self.extends(At::Permit).map(|plugin| plugin as _)
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        self.extends(At::Bind).map(|plugin| plugin as _)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl PreEnqueuePlugin for Fake {
    fn pre_enqueue(&self, _: &World, _: &PodClass) -> Option<PreEnqueueResult> {
        None
    }
}

impl QueueSortPlugin for Fake {
    fn less(&self, one: QueueKey, other: QueueKey) -> bool {
        one.queued_ns < other.queued_ns
    }
}

impl FilterPlugin for Fake {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn verdict(&self, _: &World, _: &PodClass, _: usize, _: &mut Vec<Reason>) -> Code {
        Code::Success
    }
}

impl ScorePlugin for Fake {
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, _: &World, _: &PodClass, _: &[u32], scores: &mut [i64]) {
        scores.fill(0);
    }
}

impl PermitPlugin for Fake {
    fn permit(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId) -> Permit {
        Permit::Approve
    }
}

impl BindPlugin for Fake {
    fn bind(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId) -> Bind {
        Bind::Skip
    }
}
