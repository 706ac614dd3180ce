//! Functions of texts. Places are counted in characters.
//!
//! Upstream: cel-go ext/strings.go, apiserver/pkg/cel/library/regex.go.

use std::sync::Arc;

use regex::Regex;

use super::{int, list, no_such_overload, text};
use crate::eval::Fault;
use crate::value::Value;

fn pattern(of: &str) -> Result<Regex, Fault> {
    Regex::new(of).map_err(|error| format!("error parsing regexp: {error}"))
}

fn place(at: i64, len: usize) -> Result<usize, Fault> {
    usize::try_from(at).ok().filter(|&at| at <= len).ok_or_else(|| format!("index out of range: {at}"))
}

/// Calls a function of a text.
pub(super) fn call(function: &str, of: &Arc<str>, rest: &[Value]) -> Result<Value, Fault> {
    let chars = || of.chars().collect::<Vec<char>>();
    match (function, rest) {
        ("contains", [Value::String(part)]) => Ok(Value::Bool(of.contains(&**part))),
        ("startsWith", [Value::String(part)]) => Ok(Value::Bool(of.starts_with(&**part))),
        ("endsWith", [Value::String(part)]) => Ok(Value::Bool(of.ends_with(&**part))),
        ("matches", [Value::String(of_pattern)]) => Ok(Value::Bool(pattern(of_pattern)?.is_match(of))),
        ("find", [Value::String(of_pattern)]) => {
            Ok(text(pattern(of_pattern)?.find(of).map_or("", |found| found.as_str())))
        }
        ("findAll", [Value::String(of_pattern), limit @ ..]) => {
            let max = match limit {
                [] => usize::MAX,
                [Value::Int(max)] => usize::try_from(*max).unwrap_or(usize::MAX),
                _ => return Err(no_such_overload()),
            };
            let of_pattern = pattern(of_pattern)?;
            Ok(list(of_pattern.find_iter(of).take(max).map(|found| text(found.as_str())).collect()))
        }
        ("lowerAscii", []) => Ok(text(of.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(text(of.to_ascii_uppercase())),
        ("trim", []) => Ok(text(of.trim())),
        ("charAt", [Value::Int(at)]) => {
            let chars = chars();
            let at = place(*at, chars.len())?;
            Ok(text(chars.get(at).map(char::to_string).unwrap_or_default()))
        }
        ("indexOf" | "lastIndexOf", [Value::String(part), from @ ..]) => {
            index_of(of, part, from, function == "lastIndexOf")
        }
        ("replace", [Value::String(old), Value::String(new), limit @ ..]) => Ok(text(match limit {
            [] => of.replace(&**old, new),
            [Value::Int(max)] => match usize::try_from(*max) {
                Ok(max) => of.replacen(&**old, new, max),
                Err(_) => of.replace(&**old, new),
            },
            _ => return Err(no_such_overload()),
        })),
        ("split", [Value::String(by), limit @ ..]) => {
            let max = match limit {
                [] => -1,
                [Value::Int(max)] => *max,
                _ => return Err(no_such_overload()),
            };
            Ok(list(split(of, by, max).into_iter().map(text).collect()))
        }
        ("substring", [Value::Int(from), to @ ..]) => {
            let chars = chars();
            let to = match to {
                [] => chars.len(),
                [Value::Int(to)] => place(*to, chars.len())?,
                _ => return Err(no_such_overload()),
            };
            let from = place(*from, chars.len())?;
            if from > to {
                return Err(format!("invalid substring range. start: {from}, end: {to}"));
            }
            Ok(text(chars[from..to].iter().collect::<String>()))
        }
        _ => Err(no_such_overload()),
    }
}

/// Where a part stands first or last, from a place on; -1 when it does not.
fn index_of(of: &str, part: &str, from: &[Value], is_last: bool) -> Result<Value, Fault> {
    let [chars, part] = [of, part].map(|text| text.chars().collect::<Vec<char>>());
    let from = match from {
        [] if is_last => chars.len(),
        [] => 0,
        [Value::Int(from)] => place(*from, chars.len())?,
        _ => return Err(no_such_overload()),
    };
    let is_at = |at: &usize| chars[*at..].starts_with(&part);
    let found = if is_last { (0..=from).rev().find(is_at) } else { (from..=chars.len()).find(is_at) };
    found.map_or(Ok(Value::Int(-1)), int)
}

/// As Go splits: an empty separator stands between any two characters, and no pieces are wanted with 0.
fn split(of: &str, by: &str, max: i64) -> Vec<String> {
    let max = match max {
        0 => return Vec::new(),
        max => usize::try_from(max).unwrap_or(usize::MAX),
    };
    if !by.is_empty() {
        return of.splitn(max, by).map(str::to_owned).collect();
    }
    let chars: Vec<char> = of.chars().collect();
    let alone = chars.len().min(max.saturating_sub(1));
    let mut pieces: Vec<String> = chars[..alone].iter().map(char::to_string).collect();
    if alone < chars.len() {
        pieces.push(chars[alone..].iter().collect());
    }
    pieces
}
