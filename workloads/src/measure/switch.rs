//! Whether the threads record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the measured part is on.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Turns measuring on.
    pub fn turn_on(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Turns measuring off.
    pub fn turn_off(&self) {
        self.0.store(false, Ordering::Release);
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
