//! From values to places on a chart, in percent of its width, and the ticks between.

/// Left free on either side of an axis, so that a mark at its end lies inside the track: on a phone
/// seven pixels, more than the radius of any mark.
const INSET: f64 = 2.0;

/// A logarithmic axis over whole decades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogScale {
    low_exponent: i32,
    high_exponent: i32,
}

impl LogScale {
    /// The decades that hold every positive value; one decade around 1 when there is none.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>) -> LogScale {
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
    pub(crate) fn percent(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return INSET;
        }
        self.percent_of_exponent(value.log10()).clamp(INSET, 100.0 - INSET)
    }

    /// Exponent and place of every decade.
    pub(crate) fn decades(self) -> impl Iterator<Item = (i32, f64)> {
        let exponents = self.low_exponent..=self.high_exponent;
        exponents.map(move |exponent| (exponent, self.percent_of_exponent(f64::from(exponent))))
    }

    fn percent_of_exponent(&self, exponent: f64) -> f64 {
        let span = f64::from(self.high_exponent - self.low_exponent);
        let share = (exponent - f64::from(self.low_exponent)) / span;
        INSET + share * (100.0 - 2.0 * INSET)
    }
}

/// How a label beside a place on the axis is anchored, so that it stays inside the chart.
pub(crate) fn anchor(percent: f64) -> &'static str {
    match percent {
        p if p < 6.0 => "start",
        p if 94.0 < p => "end",
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
        assert_eq!(scale.percent(0.0), INSET);
        assert_eq!(scale.percent(1e9), 100.0 - INSET);
        assert_eq!(scale.decades().count(), 5);
    }
}
