//! One file a verb.

pub(crate) mod explain;
mod explain_text;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod run;
mod select;
