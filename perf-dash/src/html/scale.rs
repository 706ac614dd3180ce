//! From values to places on a chart, in percent of its width, and the ticks between.

/// A logarithmic axis over whole decades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogScale {
    low_exponent: i32,
    high_exponent: i32,
}

impl LogScale {
    /// The decades that hold every positive value; one decade around 1 when there is none.
    pub(super) fn around(values: impl IntoIterator<Item = f64>) -> LogScale {
        let positive = values.into_iter().filter(|value| 0.0 < *value);
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low.is_infinite() {
            return LogScale { low_exponent: 0, high_exponent: 1 };
        }
        let low_exponent = low.log10().floor() as i32;
        let high_exponent = (high.log10().ceil() as i32).max(low_exponent + 1);
        LogScale { low_exponent, high_exponent }
    }

    /// Place of a value; what is off the axis stands at its end.
    pub(super) fn percent(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return 0.0;
        }
        self.percent_of_exponent(value.log10()).clamp(0.0, 100.0)
    }

    /// Exponent and place of every decade.
    pub(super) fn decades(self) -> impl Iterator<Item = (i32, f64)> {
        let exponents = self.low_exponent..=self.high_exponent;
        exponents.map(move |exponent| (exponent, self.percent_of_exponent(f64::from(exponent))))
    }

    fn percent_of_exponent(&self, exponent: f64) -> f64 {
        let span = f64::from(self.high_exponent - self.low_exponent);
        (exponent - f64::from(self.low_exponent)) / span * 100.0
    }
}

/// Ticks from 0 on, 1, 2, 2.5 or 5 times a power of ten apart, the last at or above `max`.
pub(super) fn linear_ticks(max: f64, intervals: u32) -> Vec<f64> {
    if max <= 0.0 {
        return vec![0.0, 1.0];
    }
    let rough = max / f64::from(intervals);
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * magnitude)
        .into_iter()
        .find(|step| rough <= step * (1.0 + 1e-9))
        .unwrap_or(10.0 * magnitude);
    let last = (max / step - 1e-9).ceil() as u32;
    (0..=last).map(|i| f64::from(i) * step).collect()
}

/// How a label beside a place on the axis is anchored, so that it stays inside the chart.
pub(super) fn anchor(percent: f64) -> &'static str {
    match percent {
        p if p < 4.0 => "start",
        p if 96.0 < p => "end",
        _ => "middle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_scale_holds_its_values_in_whole_decades() {
        let cases: [(&str, &[f64], (i32, i32)); 5] = [
            ("no value", &[], (0, 1)),
            ("zero is not a value", &[0.0, 5.0], (0, 1)),
            ("a power of ten alone", &[100.0], (2, 3)),
            ("below one", &[0.02, 3.0], (-2, 1)),
            ("wide", &[62.0, 1_000_001.0], (1, 7)),
        ];
        for (name, values, (low_exponent, high_exponent)) in cases {
            let scale = LogScale::around(values.iter().copied());
            assert_eq!(scale, LogScale { low_exponent, high_exponent }, "case: {name}");
        }
    }

    #[test]
    fn log_scale_places_decades_evenly_and_clamps() {
        let scale = LogScale::around([10.0, 100_000.0]);
        assert_eq!(scale.percent(1000.0), 50.0);
        assert_eq!(scale.percent(0.0), 0.0);
        assert_eq!(scale.percent(1e9), 100.0);
        assert_eq!(scale.decades().count(), 5);
    }

    #[test]
    fn ticks_are_round_and_reach_the_maximum() {
        assert_eq!(linear_ticks(0.0, 4), [0.0, 1.0]);
        assert_eq!(linear_ticks(100.0, 4), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(linear_ticks(101.0, 4), [0.0, 50.0, 100.0, 150.0]);
        for max in [0.003, 7.0, 99.0, 62_500.0, 1_234_567.0] {
            let ticks = linear_ticks(max, 4);
            let last = ticks.last().copied().expect("there are always two ticks");
            assert!(max <= last && last < 2.0 * max, "{max}: {ticks:?}");
            assert!((3..=6).contains(&ticks.len()), "{max}: {ticks:?}");
        }
    }
}
