//! Values as Go prints them: `fmt.Fprint` for actions, encoding/json for the function `JSON`.

use gotmpl::Value;
use serde_json::Value as Json;

use crate::yaml::json_number;

/// A value as Go's `fmt.Fprint` writes it.
///
/// The `gotmpl` crate writes a float of a million as `1000000`; Go writes `1e+06`, and so the
/// pod or node upstream creates differs. We follow Go.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::Float(number) => go_float(*number),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(go_text).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(name, value)| format!("{name}:{}", go_text(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

/// Go's `%v` of a float: the shortest digits, with an exponent below 1e-4 and from 1e6 on. That is
/// why upstream's templates write `{{AddInt 0 .priority}}`.
///
/// Upstream: Go's strconv/ftoa.go, format `g` with precision -1.
fn go_float(number: f64) -> String {
    if !number.is_finite() {
        return match number {
            f64::INFINITY => "+Inf".into(),
            f64::NEG_INFINITY => "-Inf".into(),
            _ => "NaN".into(),
        };
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) || number == 0.0 {
        // Up to six digits before the point: Rust's plain form is Go's.
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A value as JSON text, as Go's encoder writes it: whole floats without a fraction, keys sorted.
pub(super) fn go_json(value: &Value) -> Option<String> {
    to_json(value).map(|json| json.to_string())
}

fn to_json(value: &Value) -> Option<Json> {
    match value {
        Value::Nil => Some(Json::Null),
        Value::Bool(value) => Some(Json::Bool(*value)),
        Value::Int(number) => Some(Json::from(*number)),
        Value::Uint(number) => Some(Json::from(*number)),
        Value::Float(number) => json_number(*number).map(Json::Number),
        Value::String(text) => Some(Json::String(text.to_string())),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => {
            entries.iter().map(|(name, value)| Some((name.to_string(), to_json(value)?))).collect()
        }
        Value::Function(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (100.0, "100"),
            (999_999.0, "999999"),
            (1_000_000.0, "1e+06"),
            (1_048_576.0, "1.048576e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
        ];
        for (number, expected) in cases {
            assert_eq!(go_text(&Value::Float(number)), expected, "number: {number}");
        }
    }

    #[test]
    fn lists_print_as_go_prints_them_and_encode_as_json() {
        let list = Value::List(Arc::from([Value::Float(1e6), Value::String("a\"".into()), Value::Nil]));
        assert_eq!(go_text(&list), "[1e+06 a\" <nil>]");
        assert_eq!(go_json(&list).unwrap(), r#"[1000000,"a\"",null]"#);
    }
}
