//! The Common Expression Language (CEL) of device selectors, as kube-scheduler evaluates it: cel-go's
//! language with the types and functions that Kubernetes adds.
//!
//! ```text
//! text ─lexer─▶ tokens ─parser, macros─▶ Expr ─checker─▶ type ─▶ CelSelector ─eval, per device─▶ bool or error
//! ```
//!
//! What an expression is checked against matters as much as what it evaluates to: one that does not
//! compile ends the cycle even where `||` would never have come to the wrong part, so there is a type
//! checker, with cel-go's rules for overloads.
//!
//! Upstream: dynamic-resource-allocation/cel/compile.go, which compiles for stored expressions (all
//! versions of all libraries, attributes are `dyn`); apiserver/pkg/cel/{environment,library};
//! google/cel-go.
//!
//! Not built: timestamps and durations, the libraries for URLs, IP addresses, CIDRs and named
//! formats, `string.format`, two-variable comprehensions and sorting by key. An expression with one of them
//! does not compile here (`expressions_with_libraries_that_are_not_built_do_not_compile`).
//! Differs: the cost limit counts steps, not cel-go's units
//! (`endless_expression_is_cut_off_and_a_deep_one_is_refused`).

mod ast;
mod checker;
mod eval;
mod functions;
mod lexer;
mod parser;
mod semver;
mod signatures;
mod types;
mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};

use schedlab_core::input::dra::{DeviceSelector, SelectedDevice, SelectorError, SelectorInput};

use ast::Expr;

/// An expression over `device`, compiled when it is asked first: most claims are never looked at by most
/// nodes, and one that does not compile counts only where it is asked.
pub struct CelSelector {
    expression: Arc<str>,
    program: OnceLock<Result<Expr, String>>,
}

impl fmt::Debug for CelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CelSelector").field(&self.expression).finish()
    }
}

/// A selector as the engine takes it.
#[must_use]
pub fn selector(expression: &str) -> SelectorInput {
    let expression: Arc<str> = expression.into();
    let program = Arc::new(CelSelector { expression: Arc::clone(&expression), program: OnceLock::new() });
    SelectorInput { expression, program }
}

impl CelSelector {
    fn program(&self) -> &Result<Expr, String> {
        self.program.get_or_init(|| compile(&self.expression))
    }
}

/// Reads and checks an expression: it must be a truth value, or of a type that is not known before a device
/// is.
///
/// # Errors
///
/// When it is no CEL, or its types do not fit.
fn compile(expression: &str) -> Result<Expr, String> {
    let parsed = parser::parse(expression).map_err(|error| format!("compilation failed: ERROR: {error}"))?;
    let (expr, of) = checker::check(parsed).map_err(|error| format!("compilation failed: ERROR: {error}"))?;
    if matches!(of, types::Type::Bool | types::Type::Dyn) {
        Ok(expr)
    } else {
        Err(format!("must evaluate to bool or the unknown type, not {of}"))
    }
}

impl DeviceSelector for CelSelector {
    fn matches(&self, device: SelectedDevice<'_>) -> Result<bool, SelectorError> {
        let program = self.program().as_ref().map_err(|error| SelectorError::Compile(error.clone()))?;
        eval::matches(program, device).map_err(SelectorError::Runtime)
    }
}
