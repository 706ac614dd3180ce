//! End to end: runs the binary and looks at what a person or a script would see.

mod bad_input;
mod bench;
mod experiment;
mod explain;
mod extenders;
mod files;
mod gate;
mod history;
mod hostile;
mod interrupt;
mod lab;
mod list;
mod live;
mod outputs;
mod replay;
mod run;
mod scheduler_config;
mod shards;
mod study;
mod support;
