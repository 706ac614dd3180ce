//! The value of an expression for a device.
//!
//! Upstream: cel-go interpreter; dynamic-resource-allocation/cel/compile.go `DeviceMatches`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_core::input::dra::{DeviceAttributeInput, SelectedDevice};

use crate::ast::{Comprehension, ComprehensionKind, Expr};
use crate::functions;
use crate::semver::Semver;
use crate::value::Value;

/// How many steps an evaluation may take.
/// Upstream: api/resource/v1 `CELSelectorExpressionMaxCost`, in cel-go's units of cost.
const STEPS_MAX: u64 = 1_000_000;

/// What went wrong.
pub(crate) type Fault = String;

/// Whether an expression selects a device.
pub(crate) fn matches(expr: &Expr, device: SelectedDevice<'_>) -> Result<bool, Fault> {
    let evaluation = Evaluation {
        attributes: Value::Domains(Arc::new(attributes(device)?)),
        capacity: Value::Domains(Arc::new(capacity(device))),
        device,
        steps: Cell::new(0),
    };
    match evaluation.value(expr, &Scope::Empty)? {
        Value::Bool(selects) => Ok(selects),
        other => {
            let of = other.type_name();
            Err(format!("CEL result of type {of} could not be converted to bool: type conversion error"))
        }
    }
}

type Domains = BTreeMap<String, Arc<BTreeMap<String, Value>>>;

/// A name without a domain is of the driver's.
fn qualified<'a>(name: &'a str, driver: &'a str) -> (&'a str, &'a str) {
    name.split_once('/').unwrap_or((driver, name))
}

fn put(domains: &mut Domains, name: &str, driver: &str, value: Value) {
    let (domain, id) = qualified(name, driver);
    let names = domains.entry(domain.to_owned()).or_default();
    Arc::make_mut(names).insert(id.to_owned(), value);
}

fn attributes(device: SelectedDevice<'_>) -> Result<Domains, Fault> {
    let mut domains = Domains::new();
    for (name, attribute) in device.attributes {
        let value = match attribute {
            DeviceAttributeInput::Int(it) => Value::Int(*it),
            DeviceAttributeInput::Bool(it) => Value::Bool(*it),
            DeviceAttributeInput::String(it) => Value::String(Arc::clone(it)),
            DeviceAttributeInput::Version(it) => {
                let version = Semver::parse(it);
                let version =
                    version.ok_or_else(|| format!("attribute {name}: parse semantic version: {it:?}"))?;
                Value::Semver(Arc::new(version))
            }
            DeviceAttributeInput::Unknown => {
                return Err(format!("attribute {name}: unsupported attribute value"));
            }
        };
        put(&mut domains, name, device.driver, value);
    }
    Ok(domains)
}

fn capacity(device: SelectedDevice<'_>) -> Domains {
    let mut domains = Domains::new();
    for (name, capacity) in device.capacity {
        put(&mut domains, name, device.driver, Value::Quantity(capacity.value));
    }
    domains
}

/// Variables, innermost first.
enum Scope<'a> {
    Empty,
    Variable { name: &'a str, value: Value, outer: &'a Scope<'a> },
}

struct Evaluation<'a> {
    device: SelectedDevice<'a>,
    attributes: Value,
    capacity: Value,
    steps: Cell<u64>,
}

pub(crate) fn no_such_key(key: &Value) -> Fault {
    match key {
        Value::String(key) => format!("no such key: {key}"),
        other => format!("no such key: {other:?}"),
    }
}

fn not_a_truth_value() -> Fault {
    "no such overload".to_owned()
}

impl Evaluation<'_> {
    fn value(&self, expr: &Expr, scope: &Scope<'_>) -> Result<Value, Fault> {
        self.step(1)?;
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Ident(name) => self.variable(name, scope),
            Expr::Select { operand, field, is_optional } => {
                let of = self.value(operand, scope)?;
                let key = Value::String(field.as_str().into());
                self.member(&of, &key, *is_optional)
            }
            Expr::Has { operand, field } => {
                let mut of = self.value(operand, scope)?;
                while let Value::Optional(inner) = &of {
                    match inner {
                        Some(inner) => of = (**inner).clone(),
                        None => return Ok(Value::Bool(false)),
                    }
                }
                let key = Value::String(field.as_str().into());
                match &of {
                    Value::Device => Ok(Value::Bool(self.field(field).is_some())),
                    Value::Map(_) | Value::Names(_) | Value::Domains(_) => {
                        Ok(Value::Bool(of.get(&key).is_some()))
                    }
                    other => Err(format!("no such overload: has() of {}", other.type_name())),
                }
            }
            Expr::Index { operand, index, is_optional } => {
                let of = self.value(operand, scope)?;
                let key = self.value(index, scope)?;
                self.member(&of, &key, *is_optional)
            }
            Expr::Call { function, args, .. } => {
                let args: Vec<Value> =
                    args.iter().map(|arg| self.value(arg, scope)).collect::<Result<_, _>>()?;
                self.step(args.iter().map(size).sum::<u64>() / 10)?;
                functions::call(function, &args)
            }
            Expr::And(left, right) => self.logical([left, right], false, scope),
            Expr::Or(left, right) => self.logical([left, right], true, scope),
            Expr::Conditional(parts) => {
                let [condition, then, other] = &**parts;
                match self.value(condition, scope)? {
                    Value::Bool(true) => self.value(then, scope),
                    Value::Bool(false) => self.value(other, scope),
                    _ => Err(not_a_truth_value()),
                }
            }
            Expr::List(elements) => self.list(elements, scope),
            Expr::Map(entries) => self.map(entries, scope),
            Expr::Comprehension(it) => self.comprehension(it, scope),
            Expr::Bind { variable, value, body } => {
                let value = self.value(value, scope)?;
                self.value(body, &Scope::Variable { name: variable, value, outer: scope })
            }
            Expr::OptMap { operand, variable, body, is_flat } => {
                let Value::Optional(inner) = self.value(operand, scope)? else {
                    return Err("no such overload: optMap of what is no optional".to_owned());
                };
                let Some(inner) = inner else { return Ok(Value::Optional(None)) };
                let inner = Scope::Variable { name: variable, value: (*inner).clone(), outer: scope };
                let value = self.value(body, &inner)?;
                Ok(if *is_flat { value } else { Value::Optional(Some(Arc::new(value))) })
            }
        }
    }

    fn step(&self, count: u64) -> Result<(), Fault> {
        self.steps.set(self.steps.get() + count);
        if self.steps.get() > STEPS_MAX {
            return Err("operation cancelled: actual cost limit exceeded".to_owned());
        }
        Ok(())
    }

    fn variable(&self, name: &str, scope: &Scope<'_>) -> Result<Value, Fault> {
        let mut scope = scope;
        while let Scope::Variable { name: known, value, outer } = scope {
            if *known == name {
                return Ok(value.clone());
            }
            scope = outer;
        }
        match name {
            "device" => Ok(Value::Device),
            "bool" => Ok(Value::Type("bool")),
            "int" => Ok(Value::Type("int")),
            "uint" => Ok(Value::Type("uint")),
            "double" => Ok(Value::Type("double")),
            "string" => Ok(Value::Type("string")),
            "bytes" => Ok(Value::Type("bytes")),
            "list" => Ok(Value::Type("list")),
            "map" => Ok(Value::Type("map")),
            "null_type" => Ok(Value::Type("null_type")),
            "type" => Ok(Value::Type("type")),
            _ => Err(format!("no such attribute(s): {name}")),
        }
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "driver" => Some(Value::String(self.device.driver.into())),
            "allowMultipleAllocations" => Some(Value::Bool(self.device.allow_multiple_allocations)),
            "attributes" => Some(self.attributes.clone()),
            "capacity" => Some(self.capacity.clone()),
            _ => None,
        }
    }

    /// `of.key`, `of[key]`, `of.?key`. What is taken of an optional is an optional.
    fn member(&self, of: &Value, key: &Value, is_optional: bool) -> Result<Value, Fault> {
        if let Value::Optional(inner) = of {
            let Some(inner) = inner else { return Ok(Value::Optional(None)) };
            let found = self.find(inner, key)?;
            return Ok(Value::Optional(found.map(Arc::new)));
        }
        let found = self.find(of, key)?;
        if is_optional {
            return Ok(Value::Optional(found.map(Arc::new)));
        }
        found.ok_or_else(|| match (of, key) {
            (Value::List(_), Value::Int(at)) => format!("index out of bounds: {at}"),
            _ => no_such_key(key),
        })
    }

    fn find(&self, of: &Value, key: &Value) -> Result<Option<Value>, Fault> {
        match (of, key) {
            (Value::Device, Value::String(name)) => Ok(self.field(name)),
            (Value::Map(_) | Value::Names(_) | Value::Domains(_), _) => Ok(of.get(key)),
            (Value::List(elements), key) => {
                let at = match key {
                    Value::Int(at) => usize::try_from(*at).ok(),
                    Value::Uint(at) => usize::try_from(*at).ok(),
                    Value::Double(at) => functions::whole_of(*at).and_then(|at| usize::try_from(at).ok()),
                    _ => return Err("unsupported index type in list".to_owned()),
                };
                Ok(at.and_then(|at| elements.get(at)).cloned())
            }
            _ => Err(format!("no such overload: select of {}", of.type_name())),
        }
    }

    /// `&&` and `||`: the side that decides makes up for a fault of the other.
    fn logical(&self, sides: [&Expr; 2], deciding: bool, scope: &Scope<'_>) -> Result<Value, Fault> {
        let mut fault = None;
        for side in sides {
            match self.value(side, scope) {
                Ok(Value::Bool(it)) if it == deciding => return Ok(Value::Bool(deciding)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => fault = fault.or_else(|| Some(not_a_truth_value())),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        self.step(0)?;
        fault.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    fn list(&self, elements: &[(Expr, bool)], scope: &Scope<'_>) -> Result<Value, Fault> {
        let mut list = Vec::with_capacity(elements.len());
        for (expr, is_optional) in elements {
            match (self.value(expr, scope)?, is_optional) {
                (Value::Optional(inner), true) => list.extend(inner.map(|inner| (*inner).clone())),
                (value, _) => list.push(value),
            }
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn map(&self, entries: &[(Expr, Expr, bool)], scope: &Scope<'_>) -> Result<Value, Fault> {
        let mut map: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
        for (key, value, is_optional) in entries {
            let key = self.value(key, scope)?;
            if !matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_)) {
                return Err(format!("unsupported key type: {}", key.type_name()));
            }
            if map.iter().any(|(known, _)| crate::value::is_equal(known, &key)) {
                return Err(format!("duplicate key in map: {key:?}"));
            }
            match (self.value(value, scope)?, is_optional) {
                (Value::Optional(inner), true) => map.extend(inner.map(|inner| (key, (*inner).clone()))),
                (value, _) => map.push((key, value)),
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn comprehension(&self, it: &Comprehension, scope: &Scope<'_>) -> Result<Value, Fault> {
        let range = self.value(&it.range, scope)?;
        let elements = range.elements();
        let elements =
            elements.ok_or_else(|| format!("got '{}', expected iterable type", range.type_name()))?;
        let ask = |expr: &Expr, element: &Value| {
            self.step(1)?;
            self.value(expr, &Scope::Variable { name: &it.variable, value: element.clone(), outer: scope })
        };
        let truth = |element: &Value| match &it.predicate {
            None => Ok(true),
            Some(predicate) => match ask(predicate, element)? {
                Value::Bool(holds) => Ok(holds),
                _ => Err(not_a_truth_value()),
            },
        };
        match it.kind {
            ComprehensionKind::All | ComprehensionKind::Exists => {
                // One element that decides makes up for faults of the others.
                let deciding = it.kind == ComprehensionKind::Exists;
                let mut fault = None;
                for element in &elements {
                    match truth(element) {
                        Ok(holds) if holds == deciding => return Ok(Value::Bool(deciding)),
                        Ok(_) => {}
                        Err(error) => fault = fault.or(Some(error)),
                    }
                    self.step(0)?;
                }
                fault.map_or(Ok(Value::Bool(!deciding)), Err)
            }
            ComprehensionKind::ExistsOne => {
                let mut count = 0;
                for element in &elements {
                    count += usize::from(truth(element)?);
                }
                Ok(Value::Bool(count == 1))
            }
            ComprehensionKind::Filter | ComprehensionKind::Map => {
                let mut list = Vec::new();
                for element in elements {
                    if truth(&element)? {
                        list.push(match &it.transform {
                            Some(transform) => ask(transform, &element)?,
                            None => element,
                        });
                    }
                }
                Ok(Value::List(Arc::new(list)))
            }
        }
    }
}

/// What a function has to look through.
fn size(value: &Value) -> u64 {
    let len = match value {
        Value::String(it) => it.len(),
        Value::Bytes(it) => it.len(),
        Value::List(it) => it.len(),
        Value::Map(it) => it.len(),
        Value::Names(it) => it.len(),
        _ => 1,
    };
    len as u64
}
