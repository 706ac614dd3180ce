//! Cases that DefaultPreemption is held to.

use super::hint_cases::hint_cases;
use crate::naive::cases::Cases;

pub(super) const CASES: Cases = Cases { filter: None, score: None, hints: hint_cases };
