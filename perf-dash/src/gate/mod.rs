//! What the gate needs beyond a comparison: instruction counts by function, and a yardstick that
//! makes two machines' numbers comparable.

mod callgrind;
mod reference;

pub use callgrind::{CallgrindError, FunctionChange, InstructionCounts, instruction_rows, read_counts};
pub use reference::{REFERENCE_STEPS, Score, reference_kernel, score};

/// Instruction counts of two builds of the same code differ by nothing at all; a fifth of a percent
/// is below what any change worth making moves, and above what another compiler patch does.
pub const INSTRUCTION_FENCE: f64 = 0.002;
