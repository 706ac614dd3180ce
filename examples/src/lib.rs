//! Two plugins written against the public traits of `schedlab-core` only, as an author outside the
//! workspace would write them.
//!
//! - [`gpu_fragmentation`]: a Score plugin that keeps GPUs together for larger pods.
//! - [`gang`]: a Reserve, Permit and PostBind plugin that binds the pods of a group together or not
//!   at all.
//!
//! `docs/writing-a-plugin.md` walks through both.

pub mod gang;
pub mod gpu_fragmentation;

use schedlab_core::framework::registry::{AlreadyRegistered, Registry};

/// Makes both plugins known under their names.
pub fn register(registry: &mut Registry) -> Result<(), AlreadyRegistered> {
    registry.register(gpu_fragmentation::NAME, gpu_fragmentation::factory)?;
    registry.register(gang::NAME, gang::factory)
}
