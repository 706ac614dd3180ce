//! One file a verb.

pub(crate) mod ab;
pub(crate) mod alerts;
pub(crate) mod apiserver;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod conform;
pub(crate) mod experiment;
pub(crate) mod explain;
mod explain_text;
pub(crate) mod gate;
mod keep;
pub(crate) mod list;
mod measure;
pub(crate) mod merge;
#[cfg(test)]
mod outputs_agree;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod run_history;
mod run_placements;
mod run_shards;
mod run_text;
mod run_virtual;
pub(crate) mod scheduler;
mod select;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod site;
mod study;
mod study_text;
pub(crate) mod suite_table;
pub(crate) mod under_test;
mod verdicts;
