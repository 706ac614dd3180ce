//! Samples of known distributions, for tests.

use schedlab_core::cycle::select::Draws;

/// Draws from distributions whose answers are known.
pub struct Sampler(Draws);

impl Sampler {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Sampler {
        Sampler(Draws::new(seed))
    }

    /// In 0..1, never either end.
    pub fn uniform(&mut self) -> f64 {
        const STEPS: usize = 1 << 30;
        (self.0.below(STEPS) as f64 + 0.5) / STEPS as f64
    }

    /// Box and Muller.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        mean + deviation * radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A time as machines measure them: a floor, small jitter, and now and then a long stall.
    pub fn stalled(&mut self, floor: f64) -> f64 {
        let jitter = -self.uniform().ln() * 0.02;
        let stall = if self.uniform() < 0.05 { self.uniform() } else { 0.0 };
        floor * (1.0 + jitter + stall)
    }

    /// So many draws.
    pub fn many(&mut self, count: usize, mut draw: impl FnMut(&mut Sampler) -> f64) -> Vec<f64> {
        (0..count).map(|_| draw(self)).collect()
    }
}
