//! What functions do, by name and by what they are given. Which calls are possible at all is said by
//! `signatures`; values whose types were not known before are refused here.

mod lists;
mod texts;

use std::cmp::Ordering;
use std::sync::Arc;

use schedlab_core::quantity::Quantity;

use crate::eval::Fault;
use crate::semver::Semver;
use crate::value::{Value, compare_numbers, is_equal};

fn no_such_overload() -> Fault {
    "no such overload".to_owned()
}

fn int(count: usize) -> Result<Value, Fault> {
    i64::try_from(count).map(Value::Int).map_err(|_| "integer overflow".to_owned())
}

fn text(value: impl Into<Arc<str>>) -> Value {
    Value::String(value.into())
}

fn list(elements: Vec<Value>) -> Value {
    Value::List(Arc::new(elements))
}

/// Calls a function.
pub(crate) fn call(function: &str, args: &[Value]) -> Result<Value, Fault> {
    match (function, args) {
        ("==", [one, other]) => Ok(Value::Bool(is_equal(one, other))),
        ("!=", [one, other]) => Ok(Value::Bool(!is_equal(one, other))),
        ("!", [Value::Bool(it)]) => Ok(Value::Bool(!it)),
        ("in", [element, range]) => contains(element, range),
        ("includes", [of, element]) => match of {
            Value::List(_) => contains(element, of),
            scalar => Ok(Value::Bool(is_equal(scalar, element))),
        },
        ("<" | "<=" | ">" | ">=", [one, other]) => {
            let order = match compare(one, other) {
                Some(order) => order,
                None if is_nan(one) || is_nan(other) => return Ok(Value::Bool(false)),
                None => return Err(no_such_overload()),
            };
            Ok(Value::Bool(match function {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }))
        }
        ("+" | "-" | "*" | "/" | "%", _) => arithmetic(function, args),
        ("int" | "uint" | "double" | "string" | "bytes" | "bool" | "dyn" | "type", [of]) => {
            convert(function, of)
        }
        ("size", [of]) => match of {
            Value::String(it) => int(it.chars().count()),
            Value::Bytes(it) => int(it.len()),
            Value::List(it) => int(it.len()),
            Value::Map(it) => int(it.len()),
            Value::Names(it) => int(it.len()),
            Value::Domains(it) => int(it.len()),
            _ => Err(no_such_overload()),
        },
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [of]) => Ok(Value::Optional(Some(Arc::new(of.clone())))),
        ("optional.ofNonZeroValue", [of]) => {
            Ok(Value::Optional((!of.is_zero()).then(|| Arc::new(of.clone()))))
        }
        ("hasValue" | "value" | "or" | "orValue", [Value::Optional(of), ..]) => {
            optional(function, of.as_ref(), args)
        }
        ("semver" | "isSemver", [Value::String(of), normalize @ ..]) => {
            let version = match normalize {
                [] | [Value::Bool(false)] => Semver::parse(of),
                [Value::Bool(true)] => Semver::parse_tolerantly(of),
                _ => return Err(no_such_overload()),
            };
            match (function, version) {
                ("isSemver", version) => Ok(Value::Bool(version.is_some())),
                (_, Some(version)) => Ok(Value::Semver(Arc::new(version))),
                (_, None) => Err(format!("{of:?} is no semantic version")),
            }
        }
        (_, [Value::Semver(of), rest @ ..]) => of_version(function, of, rest),
        ("quantity" | "isQuantity", [Value::String(of)]) => match (function, Quantity::parse(of)) {
            ("isQuantity", parsed) => Ok(Value::Bool(parsed.is_ok())),
            (_, Ok(parsed)) => Ok(Value::Quantity(parsed)),
            (_, Err(error)) => Err(error.to_string()),
        },
        (_, [Value::Quantity(of), rest @ ..]) => of_quantity(function, *of, rest),
        (_, [Value::String(of), rest @ ..]) => texts::call(function, of, rest),
        (_, [Value::List(of), rest @ ..]) => lists::call(function, of, rest),
        ("lists.range", [Value::Int(end)]) => Ok(list((0..*end.min(&100_000)).map(Value::Int).collect())),
        _ => Err(no_such_overload()),
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Double(it) if it.is_nan())
}

fn contains(element: &Value, range: &Value) -> Result<Value, Fault> {
    match range {
        Value::List(elements) => Ok(Value::Bool(elements.iter().any(|it| is_equal(it, element)))),
        Value::Domains(domains) => {
            Ok(Value::Bool(matches!(element, Value::String(key) if domains.contains_key(&**key))))
        }
        Value::Map(_) | Value::Names(_) => Ok(Value::Bool(range.get(element).is_some())),
        _ => Err(no_such_overload()),
    }
}

/// How two values of one type compare.
fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Bytes(one), Value::Bytes(other)) => Some(one.cmp(other)),
        _ => compare_numbers(one, other),
    }
}

fn arithmetic(operator: &str, args: &[Value]) -> Result<Value, Fault> {
    let overflow = || "integer overflow".to_owned();
    match args {
        [Value::Int(it)] if operator == "-" => it.checked_neg().map(Value::Int).ok_or_else(overflow),
        [Value::Double(it)] if operator == "-" => Ok(Value::Double(-it)),
        [Value::Int(one), Value::Int(other)] => {
            let result = match operator {
                "+" => one.checked_add(*other),
                "-" => one.checked_sub(*other),
                "*" => one.checked_mul(*other),
                "/" if *other == 0 => return Err("division by zero".to_owned()),
                "/" => one.checked_div(*other),
                _ if *other == 0 => return Err("modulus by zero".to_owned()),
                _ => one.checked_rem(*other),
            };
            result.map(Value::Int).ok_or_else(overflow)
        }
        [Value::Uint(one), Value::Uint(other)] => {
            let result = match operator {
                "+" => one.checked_add(*other),
                "-" => one.checked_sub(*other),
                "*" => one.checked_mul(*other),
                "/" if *other == 0 => return Err("division by zero".to_owned()),
                "/" => one.checked_div(*other),
                _ if *other == 0 => return Err("modulus by zero".to_owned()),
                _ => one.checked_rem(*other),
            };
            result.map(Value::Uint).ok_or_else(|| "unsigned integer overflow".to_owned())
        }
        [Value::Double(one), Value::Double(other)] => match operator {
            "+" => Ok(Value::Double(one + other)),
            "-" => Ok(Value::Double(one - other)),
            "*" => Ok(Value::Double(one * other)),
            "/" => Ok(Value::Double(one / other)),
            _ => Err(no_such_overload()),
        },
        [Value::String(one), Value::String(other)] if operator == "+" => Ok(text(format!("{one}{other}"))),
        [Value::Bytes(one), Value::Bytes(other)] if operator == "+" => {
            Ok(Value::Bytes([&**one, &**other].concat().into()))
        }
        [Value::List(one), Value::List(other)] if operator == "+" => {
            Ok(list(one.iter().chain(other.iter()).cloned().collect()))
        }
        _ => Err(no_such_overload()),
    }
}

/// The number, if it is within the range of integers; what is behind the point is cut off.
#[allow(clippy::cast_possible_truncation, reason = "the range is checked before")]
pub(crate) fn truncated(of: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (of > -END && of < END).then_some(of as i64)
}

/// The number, if it is whole.
pub(crate) fn whole_of(of: f64) -> Option<i64> {
    truncated(of).filter(|_| of.fract() == 0.0)
}

#[allow(clippy::cast_precision_loss, reason = "as upstream converts")]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn convert(to: &str, of: &Value) -> Result<Value, Fault> {
    let bad = |of: &str| format!("type conversion error from 'string' to '{to}': {of:?}");
    let out_of_range = || format!("{to} out of range");
    match (to, of) {
        ("dyn", _) => Ok(of.clone()),
        ("type", _) => Ok(Value::Type(of.type_name())),
        ("int", Value::Int(_))
        | ("uint", Value::Uint(_))
        | ("double", Value::Double(_))
        | ("string", Value::String(_))
        | ("bytes", Value::Bytes(_))
        | ("bool", Value::Bool(_)) => Ok(of.clone()),
        ("int", Value::Uint(it)) => i64::try_from(*it).map(Value::Int).map_err(|_| out_of_range()),
        ("int", Value::Double(it)) => truncated(*it).map(Value::Int).ok_or_else(out_of_range),
        ("int", Value::String(it)) => it.parse().map(Value::Int).map_err(|_| bad(it)),
        ("uint", Value::Int(it)) => u64::try_from(*it).map(Value::Uint).map_err(|_| out_of_range()),
        ("uint", Value::Double(it)) if *it >= 0.0 && *it < 18_446_744_073_709_551_616.0 => {
            Ok(Value::Uint(*it as u64))
        }
        ("uint", Value::Double(_)) => Err(out_of_range()),
        ("uint", Value::String(it)) => it.parse().map(Value::Uint).map_err(|_| bad(it)),
        ("double", Value::Int(it)) => Ok(Value::Double(*it as f64)),
        ("double", Value::Uint(it)) => Ok(Value::Double(*it as f64)),
        ("double", Value::String(it)) => it.parse().map(Value::Double).map_err(|_| bad(it)),
        ("string", Value::Int(it)) => Ok(text(it.to_string())),
        ("string", Value::Uint(it)) => Ok(text(it.to_string())),
        ("string", Value::Double(it)) => Ok(text(it.to_string())),
        ("string", Value::Bool(it)) => Ok(text(it.to_string())),
        ("string", Value::Bytes(it)) => std::str::from_utf8(it)
            .map(text)
            .map_err(|_| "invalid UTF-8 in bytes, cannot convert to string".to_owned()),
        ("bytes", Value::String(it)) => Ok(Value::Bytes(it.as_bytes().into())),
        ("bool", Value::String(it)) => match &**it {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            other => Err(bad(other)),
        },
        _ => Err(no_such_overload()),
    }
}

fn optional(function: &str, of: Option<&Arc<Value>>, args: &[Value]) -> Result<Value, Fault> {
    match (function, of, args.get(1)) {
        ("hasValue", of, None) => Ok(Value::Bool(of.is_some())),
        ("value", Some(of), None) => Ok((**of).clone()),
        ("value", None, None) => Err("optional.none() dereference".to_owned()),
        ("or", Some(_), Some(_)) => Ok(args[0].clone()),
        ("orValue", Some(of), Some(_)) => Ok((**of).clone()),
        ("or" | "orValue", None, Some(other)) => Ok(other.clone()),
        _ => Err(no_such_overload()),
    }
}

fn order_number(order: Ordering) -> Value {
    Value::Int(order as i64)
}

fn of_version(function: &str, of: &Semver, rest: &[Value]) -> Result<Value, Fault> {
    let part =
        |at: usize| i64::try_from(of.parts[at]).map(Value::Int).map_err(|_| "integer overflow".to_owned());
    match (function, rest) {
        ("isGreaterThan", [Value::Semver(other)]) => Ok(Value::Bool(of > other)),
        ("isLessThan", [Value::Semver(other)]) => Ok(Value::Bool(of < other)),
        ("compareTo", [Value::Semver(other)]) => Ok(order_number(of.cmp(other))),
        ("major", []) => part(0),
        ("minor", []) => part(1),
        ("patch", []) => part(2),
        _ => Err(no_such_overload()),
    }
}

#[allow(clippy::cast_precision_loss, reason = "approximate by its name")]
fn of_quantity(function: &str, of: Quantity, rest: &[Value]) -> Result<Value, Fault> {
    let is_whole = Quantity::from_units(of.value()) == of;
    match (function, rest) {
        ("isGreaterThan", [Value::Quantity(other)]) => Ok(Value::Bool(of > *other)),
        ("isLessThan", [Value::Quantity(other)]) => Ok(Value::Bool(of < *other)),
        ("compareTo", [Value::Quantity(other)]) => Ok(order_number(of.cmp(other))),
        ("sign", []) => Ok(order_number(of.cmp(&Quantity::ZERO))),
        ("isInteger", []) => Ok(Value::Bool(is_whole)),
        ("asInteger", []) if is_whole => Ok(Value::Int(of.value())),
        ("asInteger", []) => Err("cannot convert value to integer".to_owned()),
        ("asApproximateFloat", []) => {
            let units = of.value();
            let below = of - Quantity::from_units(units);
            Ok(Value::Double(units as f64 + below.milli_value() as f64 / 1000.0))
        }
        ("add", [Value::Quantity(other)]) => Ok(Value::Quantity(of + *other)),
        ("add", [Value::Int(other)]) => Ok(Value::Quantity(of + Quantity::from_units(*other))),
        ("sub", [Value::Quantity(other)]) => Ok(Value::Quantity(of - *other)),
        ("sub", [Value::Int(other)]) => Ok(Value::Quantity(of - Quantity::from_units(*other))),
        _ => Err(no_such_overload()),
    }
}
