//! How long pods run.

use schedlab_core::cycle::select::Draws;
use serde_json::Value;

use super::super::ControllerConfigError;
use super::super::config::{ConfigFields, wrong};

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lifetime {
    /// All run as long.
    Fixed {
        /// So long.
        seconds: f64,
    },
    /// The time without memory.
    Exponential {
        /// On average so long.
        seconds: f64,
    },
    /// Few run much longer than most, as jobs do.
    LogNormal {
        /// Half of them end before.
        seconds: f64,
        /// The spread of the logarithm.
        sigma: f64,
    },
}

impl Lifetime {
    /// Reads `lifetime`, `lifetimeSeconds` and `lifetimeSigma`; none if pods run for ever.
    pub(super) fn read(config: &mut ConfigFields) -> Result<Option<Lifetime>, ControllerConfigError> {
        let seconds = config.number("lifetimeSeconds", f64::INFINITY, 0.0)?;
        let sigma = config.number("lifetimeSigma", 1.0, 0.0)?;
        let kind = config.text("lifetime", "fixed")?;
        let lifetime = match kind.as_str() {
            "fixed" => Lifetime::Fixed { seconds },
            "exponential" => Lifetime::Exponential { seconds },
            "logNormal" => Lifetime::LogNormal { seconds, sigma },
            other => {
                let value = Value::from(other);
                return Err(wrong("lifetime", &value, "`fixed`, `exponential` or `logNormal`"));
            }
        };
        Ok(seconds.is_finite().then_some(lifetime))
    }

    /// The time of one pod: the same for a seed and a pod, whatever happens else.
    #[must_use]
    pub fn draw_ns(self, seed: u64, pod: u64) -> u64 {
        let mut draws = Draws::new(seed ^ pod.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let seconds = match self {
            Lifetime::Fixed { seconds } => seconds,
            Lifetime::Exponential { seconds } => -unit(&mut draws).ln() * seconds,
            Lifetime::LogNormal { seconds, sigma } => {
                // Box and Muller.
                let (radius, angle) = (unit(&mut draws), unit(&mut draws));
                let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
                seconds * (sigma * normal).exp()
            }
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
        let ns = (seconds * 1e9) as u64;
        ns
    }
}

/// Above 0, up to 1.
#[allow(clippy::cast_precision_loss, reason = "a random number")]
fn unit(draws: &mut Draws) -> f64 {
    const STEPS: usize = 1 << 30;
    (draws.below(STEPS) as f64 + 1.0) / STEPS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean and the median of many draws, in seconds.
    #[allow(clippy::cast_precision_loss, reason = "a figure of a test")]
    fn drawn(lifetime: Lifetime) -> (f64, f64) {
        let mut seconds: Vec<f64> = (0..20_000).map(|pod| lifetime.draw_ns(7, pod) as f64 / 1e9).collect();
        seconds.sort_by(f64::total_cmp);
        (seconds.iter().sum::<f64>() / seconds.len() as f64, seconds[seconds.len() / 2])
    }

    #[test]
    fn lifetimes_have_the_mean_or_the_median_that_was_asked_for() {
        assert_eq!(drawn(Lifetime::Fixed { seconds: 3.0 }).1, 3.0);
        let (mean, median) = drawn(Lifetime::Exponential { seconds: 10.0 });
        assert!((mean - 10.0).abs() < 0.3 && (median - 6.93).abs() < 0.3, "{mean} {median}");
        let (mean, median) = drawn(Lifetime::LogNormal { seconds: 10.0, sigma: 0.5 });
        assert!((median - 10.0).abs() < 0.3 && (mean - 11.33).abs() < 0.4, "{mean} {median}");
    }
}
