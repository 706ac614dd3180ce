//! How often the API was called, by verb, resource and subresource.

use std::collections::BTreeMap;

/// A reading of the call counters, keyed like `POST pods/binding`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiCallCounts {
    /// All calls, those that failed included.
    pub calls: BTreeMap<String, u64>,
    /// The calls that got an error.
    pub failed: BTreeMap<String, u64>,
}

impl ApiCallCounts {
    /// What happened between `earlier` and this reading; keys without calls are left out.
    #[must_use]
    pub fn since(&self, earlier: &ApiCallCounts) -> ApiCallCounts {
        ApiCallCounts {
            calls: subtract(&self.calls, &earlier.calls),
            failed: subtract(&self.failed, &earlier.failed),
        }
    }

    /// The sum over all verbs and resources.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }
}

fn subtract(later: &BTreeMap<String, u64>, earlier: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    later
        .iter()
        .map(|(key, &count)| (key.clone(), count.saturating_sub(earlier.get(key).copied().unwrap_or(0))))
        .filter(|&(_, count)| 0 < count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_counts_since_leave_out_zero_differences() {
        let counts = |pairs: &[(&str, u64)]| ApiCallCounts {
            calls: pairs.iter().map(|&(key, count)| (key.to_owned(), count)).collect(),
            failed: BTreeMap::new(),
        };
        let earlier = counts(&[("POST pods", 3), ("GET pods", 1)]);
        let later = counts(&[("POST pods", 5), ("GET pods", 1), ("DELETE pods", 2)]);
        assert_eq!(later.since(&earlier), counts(&[("POST pods", 2), ("DELETE pods", 2)]));
        assert_eq!(later.total(), 8);
    }
}
