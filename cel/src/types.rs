//! Types of expressions.

use std::fmt;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Not known before there is a device: fits everywhere.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Quantity,
    Semver,
    /// The variable `device`.
    Device,
    /// A type as a value.
    Meta,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// Some type of a signature, by its letter.
    Param(char),
    /// Some type that is to be found out.
    Free(usize),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Null => f.write_str("null_type"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Quantity => f.write_str("kubernetes.Quantity"),
            Type::Semver => f.write_str("kubernetes.Semver"),
            Type::Device => f.write_str("kubernetes.DRADevice"),
            Type::Meta => f.write_str("type"),
            Type::List(of) => write!(f, "list({of})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(of) => write!(f, "optional_type({of})"),
            Type::Param(letter) => write!(f, "{letter}"),
            Type::Free(_) => f.write_str("dyn"),
        }
    }
}

impl Type {
    /// Reads a type as signatures write it: `list(A)`, `string`.
    pub(crate) fn read(text: &str) -> Type {
        let inner = |head: &str| text.strip_prefix(head)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(of) = inner("list") {
            return Type::List(Box::new(Type::read(of)));
        }
        if let Some(of) = inner("optional") {
            return Type::Optional(Box::new(Type::read(of)));
        }
        if let Some((key, value)) = inner("map").and_then(|of| of.split_once(',')) {
            return Type::Map(Box::new(Type::read(key)), Box::new(Type::read(value)));
        }
        match text {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "quantity" => Type::Quantity,
            "semver" => Type::Semver,
            "type" => Type::Meta,
            _ => Type::Param(text.chars().next().expect("a signature names its types")),
        }
    }
}

/// What is known of types that are to be found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Substitution {
    found: Vec<Option<Type>>,
}

impl Substitution {
    /// A type that is to be found out.
    pub(crate) fn fresh(&mut self) -> Type {
        self.found.push(None);
        Type::Free(self.found.len() - 1)
    }

    /// The type with everything in it that is known.
    pub(crate) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Free(at) => match &self.found[*at] {
                Some(known) => self.resolve(known),
                None => Type::Free(*at),
            },
            Type::List(of) => Type::List(Box::new(self.resolve(of))),
            Type::Optional(of) => Type::Optional(Box::new(self.resolve(of))),
            Type::Map(key, value) => Type::Map(Box::new(self.resolve(key)), Box::new(self.resolve(value))),
            other => other.clone(),
        }
    }

    /// The same, with `dyn` for what was never found out.
    pub(crate) fn finish(&self, of: &Type) -> Type {
        match self.resolve(of) {
            Type::Free(_) => Type::Dyn,
            Type::List(of) => Type::List(Box::new(self.finish(&of))),
            Type::Optional(of) => Type::Optional(Box::new(self.finish(&of))),
            Type::Map(key, value) => Type::Map(Box::new(self.finish(&key)), Box::new(self.finish(&value))),
            other => other,
        }
    }

    /// Whether a value of type `from` may stand where `to` is wanted; what follows for types that are to
    /// be found out is kept only then.
    /// Upstream: cel-go checker/types.go `isAssignable`.
    pub(crate) fn assign(&mut self, to: &Type, from: &Type) -> bool {
        let before = self.clone();
        let fits = self.try_assign(to, from);
        if !fits {
            *self = before;
        }
        fits
    }

    fn try_assign(&mut self, to: &Type, from: &Type) -> bool {
        if let (Type::Free(at), Type::Dyn) = (to, self.resolve(from)) {
            // What fits a known type and `dyn` is `dyn`. Upstream: `isValidTypeSubstitution`.
            self.found[*at] = Some(Type::Dyn);
            return true;
        }
        let (to, from) = (self.resolve(to), self.resolve(from));
        match (&to, &from) {
            (Type::Free(one), Type::Free(other)) if one == other => true,
            (Type::Free(at), other) | (other, Type::Free(at)) => {
                if self.occurs(*at, other) {
                    return false;
                }
                self.found[*at] = Some(other.clone());
                true
            }
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
                self.try_assign(one, other)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.try_assign(key, other_key) && self.try_assign(value, other_value)
            }
            _ => to == from,
        }
    }

    fn occurs(&self, at: usize, within: &Type) -> bool {
        match self.resolve(within) {
            Type::Free(other) => other == at,
            Type::List(of) | Type::Optional(of) => self.occurs(at, &of),
            Type::Map(key, value) => self.occurs(at, &key) || self.occurs(at, &value),
            _ => false,
        }
    }
}
