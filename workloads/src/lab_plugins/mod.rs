//! Plugins that measure the loop itself: each makes one kind of work, and does nothing unless a
//! scheduler configuration enables it.
//!
//! - [`claim_gate`]: PreEnqueue that holds a pod back until its claims exist, and says so (KEP-5501).
//! - [`pre_bind_work`]: PreBind with work for pods that ask for it (KEP-5278).

pub mod claim_gate;
pub mod pre_bind_work;

use schedlab_core::framework::registry::Registry;

/// The plugins that ship with the engine, and these.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::new_in_tree();
    registry.register(claim_gate::NAME, claim_gate::factory).expect("no plugin upstream has this name");
    registry.register(pre_bind_work::NAME, pre_bind_work::factory).expect("no plugin upstream has this name");
    registry
}
