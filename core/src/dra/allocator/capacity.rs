//! How much of a device that can be shared a request takes.
//!
//! Upstream: structured/internal/incubating/consumable_capacity.go, with gate
//! `DRAFractionalCapacityRange` off: ranges are counted in whole units, rounded up.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input::dra::{CapacityRangeInput, CapacityRequestPolicyInput, DeviceCapacityInput, Quantities};
use crate::quantity::Quantity;

type Capacity = BTreeMap<Arc<str>, DeviceCapacityInput>;

/// Whether a request fits into what is left of a device's capacity and obeys its policies. An error ends
/// the cycle.
/// Upstream: `CmpRequestOverCapacity`.
pub(super) fn fits(
    requested: &Quantities,
    capacity: &Capacity,
    in_use: &[Option<&Quantities>],
) -> Result<bool, String> {
    if requested.keys().any(|name| !capacity.contains_key(name)) {
        return Ok(false);
    }
    let consumed = consumed_capacity(requested, capacity)?;
    if let Some((name, _)) = consumed.iter().find(|(_, amount)| **amount < Quantity::ZERO) {
        return Err(format!("capacity {name:?}: capacity value is negative"));
    }
    Ok(capacity.iter().all(|(name, capacity)| {
        let amount = consumed[name];
        let others = in_use.iter().flatten().filter_map(|it| it.get(name)).copied();
        !violates_policy(amount, capacity.request_policy.as_ref())
            && others.fold(amount, |sum, other| sum + other) <= capacity.value
    }))
}

/// What a request takes of each capacity of a device.
/// Upstream: `GetConsumedCapacityFromRequest`.
pub(super) fn consumed_capacity(requested: &Quantities, capacity: &Capacity) -> Result<Quantities, String> {
    let consumed = capacity.iter().map(|(name, capacity)| {
        let amount = calculate(requested.get(name).copied(), capacity);
        amount.map(|amount| (Arc::clone(name), amount)).map_err(|why| format!("capacity {name:?}: {why}"))
    });
    consumed.collect()
}

/// Upstream: `calculateConsumedCapacity`, `fillEmptyRequest`, `roundUpValidValues`.
fn calculate(requested: Option<Quantity>, capacity: &DeviceCapacityInput) -> Result<Quantity, String> {
    let policy = capacity.request_policy.as_ref();
    let Some(requested) = requested else {
        return Ok(policy.and_then(|policy| policy.default).unwrap_or(capacity.value));
    };
    let Some(policy) = policy else { return Ok(requested) };
    if let Some((range, min)) = policy.valid_range.as_ref().and_then(|range| Some((range, range.min?))) {
        return round_up_range(requested, range, min);
    }
    let values = policy.valid_values.iter().flatten().copied();
    Ok(values.into_iter().find(|&valid| requested <= valid).unwrap_or(requested))
}

/// Upstream: `roundUpRange`.
fn round_up_range(
    requested: Quantity,
    range: &CapacityRangeInput,
    min: Quantity,
) -> Result<Quantity, String> {
    if requested < min {
        return Ok(min);
    }
    let Some(step) = range.step else { return Ok(requested) };
    let not_representable =
        || format!("capacity request cannot be represented in the device's range arithmetic: {requested}");
    if requested > Quantity::from_units(i64::MAX) {
        return Err(not_representable());
    }
    let (requested, step, min) = (requested.value(), whole_step(step), min.value());
    let added = i128::from(requested) - i128::from(min);
    let steps = (added + i128::from(step) - 1).div_euclid(i128::from(step));
    let rounded = i128::from(min) + i128::from(step) * steps;
    i64::try_from(rounded).map(Quantity::from_units).map_err(|_| not_representable())
}

/// API validation lets no step of 0 pass.
fn whole_step(step: Quantity) -> i64 {
    step.value().max(1)
}

/// Upstream: `violatesPolicy`.
fn violates_policy(amount: Quantity, policy: Option<&CapacityRequestPolicyInput>) -> bool {
    let Some(policy) = policy else { return false };
    if policy.default == Some(amount) {
        return false;
    }
    match (&policy.valid_range, &policy.valid_values) {
        (Some(range), _) => {
            let is_off_step = range.step.is_some_and(|step| {
                let min = range.min.unwrap_or_default().value();
                (i128::from(amount.value()) - i128::from(min)) % i128::from(whole_step(step)) != 0
            });
            is_off_step || range.max.is_some_and(|max| amount > max)
        }
        (None, Some(values)) if !values.is_empty() => !values.contains(&amount),
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    fn range(min: &str, max: &str, step: &str) -> Option<CapacityRangeInput> {
        let some = |text: &str| (!text.is_empty()).then(|| quantity(text));
        Some(CapacityRangeInput { min: some(min), max: some(max), step: some(step) })
    }

    fn capacity(value: &str, policy: Option<CapacityRequestPolicyInput>) -> Capacity {
        let capacity = DeviceCapacityInput { value: quantity(value), request_policy: policy };
        Capacity::from([("memory".into(), capacity)])
    }

    fn policy(
        default: &str,
        values: &[&str],
        range: Option<CapacityRangeInput>,
    ) -> CapacityRequestPolicyInput {
        CapacityRequestPolicyInput {
            default: (!default.is_empty()).then(|| quantity(default)),
            valid_values: (!values.is_empty()).then(|| values.iter().map(|it| quantity(it)).collect()),
            valid_range: range,
        }
    }

    #[test]
    fn capacity_request_is_rounded_up_by_its_policy_and_must_obey_it_then() {
        struct Case {
            name: &'static str,
            value: &'static str,
            policy: Option<CapacityRequestPolicyInput>,
            requested: &'static str,
            in_use: &'static str,
            /// What it takes, if it fits.
            expected: Option<&'static str>,
        }
        let case = |name, value, policy, requested, in_use, expected| Case {
            name,
            value,
            policy,
            requested,
            in_use,
            expected,
        };
        let cases = [
            case("no request takes all", "10", None, "", "0", Some("10")),
            case("no request takes the default", "10", Some(policy("2", &[], None)), "", "8", Some("2")),
            case("and must fit", "10", Some(policy("2", &[], None)), "", "9", None),
            case("without a policy as it is", "10", None, "3", "7", Some("3")),
            case("a step above", "10", Some(policy("", &[], range("2", "8", "3"))), "4", "0", Some("5")),
            case("on a step", "10", Some(policy("", &[], range("2", "8", "3"))), "5", "0", Some("5")),
            case("below the range", "10", Some(policy("", &[], range("2", "8", "3"))), "1", "0", Some("2")),
            case("rounded above its end", "20", Some(policy("", &[], range("2", "8", "4"))), "7", "0", None),
            case(
                "a range without steps",
                "10",
                Some(policy("", &[], range("2", "8", ""))),
                "7",
                "0",
                Some("7"),
            ),
            case(
                "milli counts as a whole",
                "10",
                Some(policy("", &[], range("0", "", "1"))),
                "300m",
                "9",
                Some("1"),
            ),
            case("a valid value above", "10", Some(policy("", &["2", "4"], None)), "3", "0", Some("4")),
            case("above all valid values", "10", Some(policy("", &["2", "4"], None)), "5", "0", None),
        ];
        for case in cases {
            let capacity = capacity(case.value, case.policy);
            let list = |text: &str| match text {
                "" => Quantities::new(),
                text => Quantities::from([("memory".into(), quantity(text))]),
            };
            let fits = fits(&list(case.requested), &capacity, &[Some(&list(case.in_use))]);
            assert_eq!(fits, Ok(case.expected.is_some()), "case: {}", case.name);
            if let Some(expected) = case.expected {
                let consumed = consumed_capacity(&list(case.requested), &capacity).unwrap();
                assert_eq!(consumed["memory"], quantity(expected), "case: {}", case.name);
            }
        }
    }

    #[test]
    fn unknown_capacity_skips_the_device_and_a_negative_or_huge_one_is_an_error() {
        let unknown = Quantities::from([("cores".into(), quantity("1"))]);
        assert_eq!(fits(&unknown, &capacity("10", None), &[]), Ok(false));
        let negative = Quantities::from([("memory".into(), quantity("-1"))]);
        assert!(fits(&negative, &capacity("10", None), &[]).is_err());
        let stepped = capacity("10", Some(policy("", &[], range("1", "", "2"))));
        let huge = Quantities::from([("memory".into(), quantity("1e20"))]);
        assert!(fits(&huge, &stepped, &[]).is_err());
    }
}
