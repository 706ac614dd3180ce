//! Which instructions a kernel is compiled for. A kernel is one body of plain Rust, compiled once for
//! each level; which one runs is decided by what the processor says it has.
//!
//! Every level does the same integer and IEEE operations on a row, so all give the same bits: levels
//! differ in how many rows an instruction takes. Tests hold every kernel to that on each level of the
//! machine at hand.
//!
//! The only unsafe code of the engine is here: the call into a body that was compiled for more than
//! the target's baseline.

/// What a body may be compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// What every processor of the target has: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// Four rows of 64 bits an instruction.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Eight rows of 64 bits an instruction, and registers for masks.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Instructions that this processor was seen to have. Only [`Level::available`] makes one, which is
/// what the calls in [`kernel`](super::kernel) rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Instructions);

impl Level {
    /// What every processor of the target has.
    pub const BASELINE: Level = Level(Instructions::Baseline);

    /// The levels of this processor, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Level> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "one level elsewhere"))]
        let mut levels = vec![Level::BASELINE];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Level(Instructions::Avx2));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                levels.push(Level(Instructions::Avx512));
            }
        }
        levels
    }

    /// The name of its instructions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
        }
    }

    #[inline]
    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}

impl Default for Level {
    /// The fastest of this processor.
    fn default() -> Level {
        Level::available().pop().unwrap_or(Level::BASELINE)
    }
}

/// A function whose body is compiled for each [`Level`]; its first argument says which one runs.
macro_rules! kernel {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "the body compiled for more than the baseline is called here")]
        $visibility fn $name(level: $crate::kernels::Level, $($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                use $crate::kernels::level::Instructions;

                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }

                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }

                match level.instructions() {
                    Instructions::Baseline => body($($argument),*),
                    // SAFETY: this level exists only after the processor said that it has AVX2.
                    Instructions::Avx2 => unsafe { avx2($($argument),*) },
                    // SAFETY: this level exists only after the processor said that it has AVX-512 F, BW, DQ and VL.
                    Instructions::Avx512 => unsafe { avx512($($argument),*) },
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = level;
                body($($argument),*)
            }
        }
    };
}

pub(super) use kernel;
