//! LabPreBindWork: work between the choice of a node and the binding, for pods that ask for it.
//!
//! A pod with label `schedlab.dev/pre-bind` has PreBind work: it takes `waitMilliseconds` (argument,
//! default 0), as a disk that is being attached does. For every other pod PreBindPreFlight says Skip, so
//! that KEP-5278 announces the former and not the latter.

use std::sync::Arc;

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::{ArgValue, PluginArgs};
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::points::{
    EnqueueExtensions, Handle, PodRef, PreBindPlugin, PreBindProgress, PreBindStep, PreFlight,
};
use schedlab_core::framework::registry::Factored;
use schedlab_core::ids::NodeId;
use schedlab_core::interner::Vocabulary;

/// The plugin's name in configuration files.
pub const NAME: &str = "LabPreBindWork";
/// The label of pods that have work; its value does not matter.
pub const LABEL: &str = "schedlab.dev/pre-bind";

/// PreBind work that takes a time.
#[derive(Clone, Copy, Debug)]
pub struct PreBindWork {
    wait_ns: u64,
}

/// Makes the plugin from its arguments.
pub fn factory(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    let wait_ms = match args.field("waitMilliseconds") {
        None => 0,
        Some(ArgValue::Integer(wait_ms)) if (0..=600_000).contains(wait_ms) => wait_ms.unsigned_abs(),
        Some(_) => {
            return Err("`waitMilliseconds` is no integer from 0 to 600000; write such as 20".to_owned());
        }
    };
    Ok(Arc::new(PreBindWork { wait_ns: wait_ms * 1_000_000 }))
}

fn has_work(class: &PodClass) -> bool {
    class.input.labels.contains_key(LABEL)
}

impl Plugin for PreBindWork {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl PreBindPlugin for PreBindWork {
    fn pre_bind_pre_flight(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> PreFlight {
        if has_work(pod.class) {
            PreFlight::Run { allow_parallel: false }
        } else {
            PreFlight::Skip { allow_parallel: false }
        }
    }

    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        pod: PodRef<'_>,
        _: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep {
        let begins = *progress == PreBindProgress::Begin;
        if begins && has_work(pod.class) && 0 < self.wait_ns {
            return PreBindStep::Wait { deadline_ns: handle.now_ns + self.wait_ns };
        }
        PreBindStep::Done
    }
}
