//! The functions templates may call: Go's own, and the arithmetic upstream adds.
//!
//! Upstream: operations.go `getTemplateFuncs`. All arithmetic is done in float64, then cut to an
//! integer where the name says `Int`.

use std::sync::Arc;

use gotmpl::{FuncMap, TemplateError, Value};

use super::numbers::{go_json, go_text};
use super::tree;

/// What Go's text/template brings along.
const BUILT_IN: [&str; 19] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
    "printf", "println", "slice", "urlquery",
];

type Function = fn(&[Value]) -> Result<Value, TemplateError>;

/// What upstream adds.
const ADDED: [(&str, Function); 11] = [
    ("AddFloat", |args| sum(args).map(Value::Float)),
    ("AddInt", |args| sum(args).map(cut)),
    ("DivideFloat", |args| quotient(args).map(Value::Float)),
    ("DivideInt", |args| quotient(args).map(cut)),
    ("Int", |args| exactly::<1>("Int", args).and_then(|[value]| integer(value)).map(Value::Int)),
    ("JSON", json),
    ("Mod", remainder),
    ("MultiplyFloat", |args| product(args).map(Value::Float)),
    ("MultiplyInt", |args| product(args).map(cut)),
    ("SubtractFloat", |args| difference(args).map(Value::Float)),
    ("SubtractInt", |args| difference(args).map(cut)),
];

/// Whether a template may call this function.
pub(super) fn is_known(name: &str) -> bool {
    BUILT_IN.contains(&name) || ADDED.iter().any(|(added, _)| *added == name)
}

/// The names of upstream's functions, for an error message.
pub(super) fn added_names() -> [&'static str; 11] {
    ADDED.map(|(name, _)| name)
}

/// Upstream's functions and the two that [`tree::annotate`] calls.
pub(super) fn all() -> FuncMap {
    let mut map = FuncMap::new();
    for (name, function) in ADDED {
        map.insert(name.into(), Arc::new(function));
    }
    map.insert(tree::MARK_LINE.into(), Arc::new(mark_line));
    map.insert(tree::PRINT.into(), Arc::new(print));
    map
}

fn mark_line(args: &[Value]) -> Result<Value, TemplateError> {
    if let [Value::Int(line)] = args {
        tree::remember_line(usize::try_from(*line).unwrap_or_default());
    }
    Ok(Value::String("".into()))
}

/// Arguments: how the printed expression is written, and its value.
fn print(args: &[Value]) -> Result<Value, TemplateError> {
    match args {
        [Value::String(written), Value::Nil] => {
            Err(fail(format!("`{written}` has no value; set it in `templateParams` of the op")))
        }
        [_, value] => Ok(Value::String(go_text(value).into())),
        _ => Ok(Value::String("".into())),
    }
}

fn json(args: &[Value]) -> Result<Value, TemplateError> {
    let [value] = exactly::<1>("JSON", args)?;
    let text = go_json(value).ok_or_else(|| fail(format!("cannot JSON-encode {}", go_text(value))))?;
    Ok(Value::String(text.into()))
}

fn sum(args: &[Value]) -> Result<f64, TemplateError> {
    args.iter().try_fold(0.0, |sum, value| Ok(sum + float(value)?))
}

fn product(args: &[Value]) -> Result<f64, TemplateError> {
    args.iter().try_fold(1.0, |product, value| Ok(product * float(value)?))
}

fn difference(args: &[Value]) -> Result<f64, TemplateError> {
    let [left, right] = exactly::<2>("Subtract", args)?;
    Ok(float(left)? - float(right)?)
}

fn quotient(args: &[Value]) -> Result<f64, TemplateError> {
    let [left, right] = exactly::<2>("Divide", args)?;
    let (left, right) = (float(left)?, float(right)?);
    if right == 0.0 {
        return Err(fail("division by zero".into()));
    }
    Ok(left / right)
}

fn remainder(args: &[Value]) -> Result<Value, TemplateError> {
    let [left, right] = exactly::<2>("Mod", args)?;
    let (left, right) = (float(left)? as i64, float(right)? as i64);
    left.checked_rem(right).map(Value::Int).ok_or_else(|| fail("Mod by zero".into()))
}

fn cut(number: f64) -> Value {
    Value::Int(number as i64)
}

fn exactly<'a, const N: usize>(name: &str, args: &'a [Value]) -> Result<&'a [Value; N], TemplateError> {
    args.try_into().map_err(|_| fail(format!("{name} takes {N} arguments, got {}", args.len())))
}

fn float(value: &Value) -> Result<f64, TemplateError> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        Value::Uint(number) => Some(*number as f64),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| not_a_number(value))
}

fn integer(value: &Value) -> Result<i64, TemplateError> {
    match value {
        Value::Float(number) => Some(*number as i64),
        Value::Int(number) => Some(*number),
        Value::Uint(number) => i64::try_from(*number).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| not_a_number(value))
}

fn not_a_number(value: &Value) -> TemplateError {
    match value {
        Value::Nil => fail("a number is needed, and the name used here has no value".into()),
        other => fail(format!("`{}` is not a number", go_text(other))),
    }
}

fn fail(message: String) -> TemplateError {
    TemplateError::Exec(message)
}
