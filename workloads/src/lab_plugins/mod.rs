//! Plugins that measure the loop itself: each makes one kind of work, and does nothing unless a
//! scheduler configuration enables it.
//!
//! - [`claim_gate`]: PreEnqueue that holds a pod back until its claims exist, and says so (KEP-5501).
//! - [`gang_gate`]: PreEnqueue that holds pods back until their gang is there, and says so (KEP-5501).
//! - [`pre_bind_work`]: PreBind with work for pods that ask for it (KEP-5278).
//! - [`quota_gate`]: PreEnqueue that keeps pods beyond a quota waiting, and says so (KEP-5501).

pub mod claim_gate;
pub mod gang_gate;
pub mod pre_bind_work;
pub mod quota_gate;

use std::sync::OnceLock;

use schedlab_core::framework::registry::{AlreadyRegistered, Factory, Registry};

/// A plugin that somebody else has written.
#[derive(Clone)]
pub struct UserPlugin {
    /// Its name in configuration files.
    pub name: String,
    /// What makes it.
    pub factory: Factory,
}

/// Those of this process.
static USER_PLUGINS: OnceLock<Vec<UserPlugin>> = OnceLock::new();

/// Makes plugins known to everything that this process runs. To be called once, before anything runs.
pub fn add_user_plugins(plugins: Vec<UserPlugin>) -> Result<(), AlreadyRegistered> {
    let mut registry = registry();
    register_all(&mut registry, &plugins)?;
    match USER_PLUGINS.set(plugins) {
        Ok(()) => Ok(()),
        Err(late) => late.first().map_or(Ok(()), |plugin| Err(AlreadyRegistered(plugin.name.clone()))),
    }
}

fn register_all(registry: &mut Registry, plugins: &[UserPlugin]) -> Result<(), AlreadyRegistered> {
    for UserPlugin { name, factory } in plugins {
        let factory = Factory::clone(factory);
        registry.register(name, move |args, vocabulary| factory(args, vocabulary))?;
    }
    Ok(())
}

/// The plugins that ship with the engine, those of the lab, and those of whoever wrote the program.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::new_in_tree();
    registry.register(claim_gate::NAME, claim_gate::factory).expect("no plugin upstream has this name");
    registry.register(gang_gate::NAME, gang_gate::factory).expect("no plugin upstream has this name");
    registry.register(pre_bind_work::NAME, pre_bind_work::factory).expect("no plugin upstream has this name");
    registry.register(quota_gate::NAME, quota_gate::factory).expect("no plugin upstream has this name");
    let own = USER_PLUGINS.get().map(Vec::as_slice).unwrap_or_default();
    register_all(&mut registry, own).expect("their names were checked when they were added");
    registry
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn user_plugin_may_not_take_a_name_that_is_there() {
        let plugin =
            |name: &str| UserPlugin { name: name.to_owned(), factory: Arc::new(claim_gate::factory) };
        let mut registry = registry();
        let error = register_all(&mut registry, &[plugin("NodeName")]).expect_err("upstream's").to_string();
        assert_eq!(error, "a plugin named `NodeName` is registered already; give this one another name");
        register_all(&mut registry, &[plugin("Mine")]).expect("it is free");
        assert!(registry.contains("Mine"));
    }
}
