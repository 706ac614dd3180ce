//! Functions of lists.
//!
//! Upstream: apiserver/pkg/cel/library/lists.go, cel-go ext/{lists,sets}.go.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{arithmetic, compare, int, list, no_such_overload, text};
use crate::eval::Fault;
use crate::value::{Value, is_equal};

/// Calls a function of a list.
pub(super) fn call(function: &str, of: &[Value], rest: &[Value]) -> Result<Value, Fault> {
    match (function, rest) {
        ("isSorted", []) => {
            for pair in of.windows(2) {
                if compare(&pair[0], &pair[1]).ok_or_else(no_such_overload)? == Ordering::Greater {
                    return Ok(Value::Bool(false));
                }
            }
            Ok(Value::Bool(true))
        }
        ("sum", []) => {
            let mut elements = of.iter();
            let first = elements.next().cloned().unwrap_or(Value::Int(0));
            elements.try_fold(first, |sum, it| arithmetic("+", &[sum, it.clone()]))
        }
        ("min" | "max", []) => {
            let wanted = if function == "min" { Ordering::Less } else { Ordering::Greater };
            let mut elements = of.iter();
            let mut best = elements.next().ok_or_else(|| format!("{function} called on empty list"))?;
            for element in elements {
                if compare(element, best).ok_or_else(no_such_overload)? == wanted {
                    best = element;
                }
            }
            Ok(best.clone())
        }
        ("indexOf", [wanted]) => {
            of.iter().position(|it| is_equal(it, wanted)).map_or(Ok(Value::Int(-1)), int)
        }
        ("lastIndexOf", [wanted]) => {
            of.iter().rposition(|it| is_equal(it, wanted)).map_or(Ok(Value::Int(-1)), int)
        }
        ("join", []) => join(of, ""),
        ("join", [Value::String(by)]) => join(of, by),
        ("slice", [Value::Int(from), Value::Int(to)]) => {
            let range = usize::try_from(*from).ok().zip(usize::try_from(*to).ok());
            let part = range.and_then(|(from, to)| of.get(from..to));
            part.map(|part| list(part.to_vec())).ok_or_else(|| format!("cannot slice({from}, {to})"))
        }
        ("distinct", []) => Ok(list(distinct(of))),
        ("reverse", []) => Ok(list(of.iter().rev().cloned().collect())),
        ("flatten", []) => {
            let mut flat = Vec::new();
            for element in of {
                match element {
                    Value::List(inner) => flat.extend(inner.iter().cloned()),
                    other => flat.push(other.clone()),
                }
            }
            Ok(list(flat))
        }
        ("first", []) => Ok(Value::Optional(of.first().map(|it| Arc::new(it.clone())))),
        ("last", []) => Ok(Value::Optional(of.last().map(|it| Arc::new(it.clone())))),
        ("sort", []) => {
            if of.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_none()) {
                return Err("list elements must have the same type".to_owned());
            }
            let mut sorted = of.to_vec();
            sorted.sort_by(|one, other| compare(one, other).unwrap_or(Ordering::Equal));
            Ok(list(sorted))
        }
        _ => of_sets(function, of, rest),
    }
}

/// Lists as sets.
fn of_sets(function: &str, of: &[Value], rest: &[Value]) -> Result<Value, Fault> {
    match (function, rest) {
        ("sets.contains", [Value::List(other)]) => Ok(Value::Bool(includes_all(of, other))),
        ("sets.equivalent", [Value::List(other)]) => {
            Ok(Value::Bool(includes_all(of, other) && includes_all(other, of)))
        }
        ("sets.intersects", [Value::List(other)]) => {
            Ok(Value::Bool(of.iter().any(|it| other.iter().any(|that| is_equal(it, that)))))
        }
        _ => Err(no_such_overload()),
    }
}

fn includes_all(of: &[Value], wanted: &[Value]) -> bool {
    wanted.iter().all(|it| of.iter().any(|known| is_equal(known, it)))
}

fn distinct(of: &[Value]) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for element in of {
        if !distinct.iter().any(|known| is_equal(known, element)) {
            distinct.push(element.clone());
        }
    }
    distinct
}

fn join(of: &[Value], by: &str) -> Result<Value, Fault> {
    let texts: Vec<&str> = of
        .iter()
        .map(|it| match it {
            Value::String(it) => Ok(&**it),
            _ => Err(no_such_overload()),
        })
        .collect::<Result<_, _>>()?;
    Ok(text(texts.join(by)))
}
