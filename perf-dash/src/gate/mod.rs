//! What the gate needs beyond a comparison: instruction counts by function, times of sessions, a
//! history of its own noise, and a yardstick that makes two machines' numbers comparable.

mod callgrind;
mod looks;
mod noise;
mod reference;
mod session;

pub use callgrind::{FunctionChange, InstructionCounts, Place, instruction_rows};
pub use looks::{Looks, settled_by_equal_counts};
pub use noise::{NoiseError, NoiseKey, NoiseRecord, append_noise, noise_fences};
pub use reference::{REFERENCE_STEPS, Score, reference_kernel, score};
pub use session::{GATE_LEVEL, Quartet, Session, kernel_row};

/// Instruction counts of two builds of the same code differ by nothing at all; a fifth of a percent
/// is below what any change worth making moves, and above what another compiler patch does.
pub const INSTRUCTION_FENCE: f64 = 0.002;
