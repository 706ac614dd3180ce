//! The history: every recorded run of a lab, in one append-only file.
//!
//! ```text
//! DIR/history.slh
//!   header   16 bytes  "schedlab-hist/1\n"
//!   record    4 bytes  marker F5 53 4C 52
//!             4 bytes  length of the payload, little endian
//!             4 bytes  CRC-32 of the payload (IEEE, as zlib's), little endian
//!             n bytes  payload: a [`Record`] as JSON, zlib
//!   record    ...
//! ```
//!
//! Why not SQLite? A history is only ever appended to and read whole; nothing in it is updated or
//! looked up by key. This format merges by `cat` less the header, survives a copy made while
//! somebody writes, needs no C library, and a torn or damaged record costs that record alone: the
//! reader looks for the next marker with a matching checksum and says what it passed over.
//!
//! Writers take an exclusive lock on the file and write a record with one call; readers take a
//! shared one while they read. Nothing already written is ever changed.

mod bench;
mod comparable;
mod file;
mod import;
mod model;
mod noise;
mod printable;
mod series;

pub(crate) use bench::is_bench_text;
pub use bench::read_bench_text;
pub use comparable::{Comparable, RunKey, SettingDifference};
pub use file::{FILE_NAME, History, HistoryError, append, parse, read};
pub use import::{ImportError, ImportFacts, import_file, read_data_items};
pub use model::{AllocationSite, Point, ProfileSummary, Record, RecordSource, SCHEMA, Settings, Share};
pub use noise::fences;
pub use series::{Series, WorkloadSeries, workloads};

#[cfg(test)]
mod tests;
