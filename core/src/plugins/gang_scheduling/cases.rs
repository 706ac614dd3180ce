//! Cases that GangScheduling is held to. Its hints read the group, which is not part of a class: they are
//! in `tests`.

use crate::naive::cases::Cases;

pub(super) const CASES: Cases = Cases::NONE;
