//! Types of an expression, and with them whether it compiles.
//!
//! Upstream: cel-go checker/checker.go.

use crate::ast::{Comprehension, ComprehensionKind, Expr};
use crate::signatures::overloads;
use crate::types::{Substitution, Type};
use crate::value::Value;

/// The expression and its type.
pub(crate) fn check(expr: Expr) -> Result<(Expr, Type), String> {
    let mut checker = Checker::default();
    let of = checker.type_of(&expr)?;
    let of = checker.known.finish(&of);
    Ok((expr, of))
}

#[derive(Default)]
struct Checker {
    known: Substitution,
    /// Innermost last.
    variables: Vec<(String, Type)>,
}

fn boxed(of: Type) -> Box<Type> {
    Box::new(of)
}

impl Checker {
    fn type_of(&mut self, expr: &Expr) -> Result<Type, String> {
        match expr {
            Expr::Literal(value) => Ok(type_of_literal(value)),
            Expr::Ident(name) => self.type_of_variable(name),
            Expr::Select { operand, field, is_optional } => {
                let of = self.type_of(operand)?;
                self.selected(&of, field, *is_optional)
            }
            Expr::Has { operand, field } => {
                let of = self.type_of(operand)?;
                self.selected(&of, field, false)?;
                Ok(Type::Bool)
            }
            Expr::Index { operand, index, is_optional } => self.indexed(operand, index, *is_optional),
            Expr::Call { function, args, is_member } => self.called(function, args, *is_member),
            Expr::And(left, right) | Expr::Or(left, right) => {
                for side in [left, right] {
                    let of = self.type_of(side)?;
                    self.want(&Type::Bool, &of, "logical operator")?;
                }
                Ok(Type::Bool)
            }
            Expr::Conditional(parts) => {
                let [condition, then, other] = &**parts;
                let of = self.type_of(condition)?;
                self.want(&Type::Bool, &of, "_?_:_")?;
                let result = self.known.fresh();
                for side in [then, other] {
                    let of = self.type_of(side)?;
                    self.want(&result, &of, "_?_:_")?;
                }
                Ok(result)
            }
            Expr::List(elements) => {
                let element = self.known.fresh();
                for (expr, is_optional) in elements {
                    self.aggregated(&element, expr, *is_optional)?;
                }
                Ok(Type::List(boxed(element)))
            }
            Expr::Map(entries) => {
                let (key, value) = (self.known.fresh(), self.known.fresh());
                for (key_expr, value_expr, is_optional) in entries {
                    self.aggregated(&key, key_expr, false)?;
                    self.aggregated(&value, value_expr, *is_optional)?;
                }
                Ok(Type::Map(boxed(key), boxed(value)))
            }
            Expr::Comprehension(it) => self.comprehension(it),
            Expr::Bind { variable, value, body } => {
                let of = self.type_of(value)?;
                self.within(variable, of, body)
            }
            Expr::OptMap { operand, variable, body, is_flat } => {
                let of = self.type_of(operand)?;
                let inner = self.known.fresh();
                self.want(&Type::Optional(boxed(inner.clone())), &of, "optMap")?;
                let result = self.within(variable, inner, body)?;
                if !is_flat {
                    return Ok(Type::Optional(boxed(result)));
                }
                let flat = Type::Optional(boxed(self.known.fresh()));
                self.want(&flat, &result, "optFlatMap")?;
                Ok(flat)
            }
        }
    }

    fn want(&mut self, wanted: &Type, of: &Type, by: &str) -> Result<(), String> {
        if self.known.assign(wanted, of) {
            return Ok(());
        }
        let of = self.known.finish(of);
        Err(format!("found no matching overload for '{by}' applied to '({of})'"))
    }

    fn type_of_variable(&mut self, name: &str) -> Result<Type, String> {
        if let Some((_, of)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return Ok(of.clone());
        }
        match name {
            "device" => Ok(Type::Device),
            "bool" | "int" | "uint" | "double" | "string" | "bytes" | "list" | "map" | "null_type"
            | "type" => Ok(Type::Meta),
            _ => Err(format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn within(&mut self, variable: &str, of: Type, body: &Expr) -> Result<Type, String> {
        self.variables.push((variable.to_owned(), of));
        let result = self.type_of(body);
        self.variables.pop();
        result
    }

    fn selected(&mut self, of: &Type, field: &str, is_optional: bool) -> Result<Type, String> {
        let resolved = self.known.resolve(of);
        let (of, is_within_optional) = match resolved {
            Type::Optional(inner) => (self.known.resolve(&inner), true),
            other => (other, false),
        };
        let of_attributes = |value: Type| {
            let inner = Type::Map(boxed(Type::String), boxed(value));
            Type::Map(boxed(Type::String), boxed(inner))
        };
        let found = match (&of, field) {
            (Type::Dyn, _) => Type::Dyn,
            (Type::Map(key, value), _) => {
                let (key, value) = (key.clone(), (**value).clone());
                self.want(&key, &Type::String, "select")?;
                value
            }
            (Type::Free(_), _) => {
                self.known.assign(&of, &Type::Dyn);
                Type::Dyn
            }
            (Type::Device, "driver") => Type::String,
            (Type::Device, "allowMultipleAllocations") => Type::Bool,
            (Type::Device, "attributes") => of_attributes(Type::Dyn),
            (Type::Device, "capacity") => of_attributes(Type::Quantity),
            (Type::Device, _) => return Err(format!("undefined field '{field}'")),
            _ => return Err(format!("type '{of}' does not support field selection")),
        };
        Ok(if is_optional || is_within_optional { Type::Optional(boxed(found)) } else { found })
    }

    fn indexed(&mut self, operand: &Expr, index: &Expr, is_optional: bool) -> Result<Type, String> {
        let of = self.type_of(operand)?;
        let index = self.type_of(index)?;
        let (of, is_within_optional) = match self.known.resolve(&of) {
            Type::Optional(inner) => (self.known.resolve(&inner), true),
            other => (other, false),
        };
        let no_overload = |of: &Type, index: &Type| {
            format!("found no matching overload for '_[_]' applied to '({of}, {index})'")
        };
        let found = match &of {
            Type::Dyn | Type::Free(_) => Type::Dyn,
            Type::List(element) if self.known.assign(&Type::Int, &index) => (**element).clone(),
            Type::Map(key, value) => {
                if !self.known.assign(key, &index) {
                    return Err(no_overload(&of, &self.known.finish(&index)));
                }
                (**value).clone()
            }
            _ => return Err(no_overload(&of, &self.known.finish(&index))),
        };
        Ok(if is_optional || is_within_optional { Type::Optional(boxed(found)) } else { found })
    }

    /// Elements of lists and maps are of one type.
    /// Upstream: `HomogeneousAggregateLiterals`.
    fn aggregated(&mut self, of_all: &Type, expr: &Expr, is_optional: bool) -> Result<(), String> {
        let mut of = self.type_of(expr)?;
        if is_optional {
            let inner = self.known.fresh();
            self.want(&Type::Optional(boxed(inner.clone())), &of, "optional element")?;
            of = inner;
        }
        let expected = self.known.finish(of_all);
        if self.known.assign(of_all, &of) {
            return Ok(());
        }
        let found = self.known.finish(&of);
        Err(format!("expected type '{expected}' but found '{found}'"))
    }

    fn called(&mut self, function: &str, args: &[Expr], is_member: bool) -> Result<Type, String> {
        let mut of_args = Vec::with_capacity(args.len());
        for arg in args {
            of_args.push(self.type_of(arg)?);
        }
        let overloads = overloads(function)
            .filter(|overloads| overloads.iter().any(|it| it.is_member == is_member))
            .ok_or_else(|| format!("undeclared reference to '{function}' (in container '')"))?;
        let mut result: Option<Type> = None;
        let before = self.known.clone();
        let mut after = None;
        for overload in
            overloads.iter().filter(|it| it.is_member == is_member && it.params.len() == args.len())
        {
            // Every overload is tried with what was known before; what the first that fits adds is kept.
            self.known = after.clone().unwrap_or_else(|| before.clone());
            let mut letters = Vec::new();
            let params: Vec<Type> =
                overload.params.iter().map(|it| self.instance(it, &mut letters)).collect();
            let fits = params.iter().zip(&of_args).all(|(param, arg)| self.known.assign(param, arg));
            if !fits {
                continue;
            }
            let of = self.instance(&overload.result, &mut letters);
            match &result {
                None => {
                    after = Some(self.known.clone());
                    result = Some(of);
                }
                Some(first) => {
                    let same = self.known.finish(first) == self.known.finish(&of);
                    if !same {
                        result = Some(Type::Dyn);
                    }
                }
            }
        }
        self.known = after.unwrap_or(before);
        result.ok_or_else(|| {
            let args: Vec<String> = of_args.iter().map(|of| self.known.finish(of).to_string()).collect();
            format!("found no matching overload for '{function}' applied to '({})'", args.join(", "))
        })
    }

    /// A type of a signature, with a type to be found out for each of its letters.
    fn instance(&mut self, of: &Type, letters: &mut Vec<(char, Type)>) -> Type {
        match of {
            Type::Param(letter) => {
                if let Some((_, known)) = letters.iter().find(|(known, _)| known == letter) {
                    return known.clone();
                }
                let fresh = self.known.fresh();
                letters.push((*letter, fresh.clone()));
                fresh
            }
            Type::List(of) => Type::List(boxed(self.instance(of, letters))),
            Type::Optional(of) => Type::Optional(boxed(self.instance(of, letters))),
            Type::Map(key, value) => {
                Type::Map(boxed(self.instance(key, letters)), boxed(self.instance(value, letters)))
            }
            other => other.clone(),
        }
    }

    fn comprehension(&mut self, it: &Comprehension) -> Result<Type, String> {
        let range = self.type_of(&it.range)?;
        let range = self.known.resolve(&range);
        let element = match &range {
            Type::List(element) => (**element).clone(),
            Type::Map(key, _) => (**key).clone(),
            Type::Dyn | Type::Free(_) => Type::Dyn,
            other => {
                return Err(format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                ));
            }
        };
        if let Some(predicate) = &it.predicate {
            let of = self.within(&it.variable, element.clone(), predicate)?;
            self.want(&Type::Bool, &of, "predicate")?;
        }
        Ok(match it.kind {
            ComprehensionKind::All | ComprehensionKind::Exists | ComprehensionKind::ExistsOne => Type::Bool,
            ComprehensionKind::Filter => Type::List(boxed(element)),
            ComprehensionKind::Map => {
                let transform = it.transform.as_ref().expect("map has a transform");
                Type::List(boxed(self.within(&it.variable, element, transform)?))
            }
        })
    }
}

fn type_of_literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}
