//! Kernels: what Filter, Score and selection do to the rows of a chunk, as free functions over slices
//! of columns. No branch depends on a row, so the compiler makes them work on several rows at once.
//!
//! ```text
//! room     free amounts against what a pod asks for          columns ─▶ bits of a word
//! shares   LeastAllocated, BalancedAllocation                columns ─▶ scores of a word
//! totals   weighted sums, scaling, highest total, who has it scores  ─▶ total and bits
//! ```
//!
//! Kernels on scores take the rows of one mask word, at most [`ROWS_MAX`], and say when a row is out of
//! the range in which their arithmetic is exact; the caller then goes row by row.
//!
//! They are compiled for several [`Level`]s of instructions; see [`level`].

pub mod level;
pub mod room;
pub mod shares;
pub mod totals;

pub use level::Level;
use level::kernel;

/// Rows that a kernel on scores takes at most: those of a mask word.
pub const ROWS_MAX: usize = 64;
