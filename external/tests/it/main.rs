//! Schedulers as processes: one that works, some that do not.

mod child;
mod failing;
mod runs;
mod support;
