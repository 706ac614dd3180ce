//! One file a verb.

pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod run;
mod select;
