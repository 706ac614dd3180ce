//! The grammar, and the macros of it.
//!
//! Upstream: cel-go parser/gen/CEL.g4, parser/macro.go, ext/bindings.go, cel/library.go (optional types).

use crate::ast::{Comprehension, ComprehensionKind, Expr};
use crate::lexer::{Token, tokens};
use crate::value::Value;

/// Words that are no variables.
const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// No expression is nested deeper. Differs: upstream allows 250, on stacks that grow (`endless_expression_is_cut_off_and_a_deep_one_is_refused`).
const DEPTH_MAX: usize = 100;

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let expr = parser.expr()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].1
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].1.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(it) if *it == symbol)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let is_it = self.is(symbol);
        if is_it {
            self.next();
        }
        is_it
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> String {
        let (at, token) = &self.tokens[self.at];
        let what = match token {
            Token::End => "<EOF>".to_owned(),
            Token::Symbol(symbol) => format!("'{symbol}'"),
            Token::Ident(name) => format!("'{name}'"),
            other => format!("{other:?}"),
        };
        format!("<input>:1:{}: Syntax error: mismatched input {what}", at + 1)
    }

    fn expr(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("expression recursion limit exceeded".to_owned());
        }
        let condition = self.or()?;
        let expr = if self.take("?") {
            let then = self.or()?;
            self.expect(":")?;
            let other = self.expr()?;
            Expr::Conditional(Box::new([condition, then, other]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn or(&mut self) -> Result<Expr, String> {
        let mut left = self.and()?;
        while self.take("||") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr, String> {
        let mut left = self.relation()?;
        while self.take("&&") {
            left = Expr::And(Box::new(left), Box::new(self.relation()?));
        }
        Ok(left)
    }

    fn relation(&mut self) -> Result<Expr, String> {
        let mut left = self.sum()?;
        loop {
            let operator = match self.peek() {
                Token::Symbol(it) if ["<", "<=", ">", ">=", "==", "!="].contains(it) => *it,
                Token::Ident(name) if name == "in" => "in",
                _ => return Ok(left),
            };
            self.next();
            left = call(operator, vec![left, self.sum()?]);
        }
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            left = call(operator, vec![left, self.product()?]);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut left = self.unary()?;
        while let Some(operator) = self.operator(&["*", "/", "%"]) {
            left = call(operator, vec![left, self.unary()?]);
        }
        Ok(left)
    }

    fn operator(&mut self, of: &[&'static str]) -> Option<&'static str> {
        let found = of.iter().copied().find(|operator| self.is(operator))?;
        self.next();
        Some(found)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if self.is("!") {
            let mut count = 0;
            while self.take("!") {
                count += 1;
            }
            let operand = self.member()?;
            // Two of them cancel out. Upstream: parser.go `VisitLogicalNot`.
            return Ok(if count % 2 == 0 { operand } else { call("!", vec![operand]) });
        }
        if self.is("-") {
            let mut count = 0;
            while self.take("-") {
                count += 1;
            }
            if count == 1 {
                let literal = match self.peek() {
                    Token::Int(it) => Some(Value::Int(-it)),
                    Token::IntMin => Some(Value::Int(i64::MIN)),
                    Token::Double(it) => Some(Value::Double(-it)),
                    _ => None,
                };
                if let Some(literal) = literal {
                    self.next();
                    return self.members_of(Expr::Literal(literal));
                }
            }
            let operand = self.member()?;
            return Ok(if count % 2 == 0 { operand } else { call("-", vec![operand]) });
        }
        self.member()
    }

    fn member(&mut self) -> Result<Expr, String> {
        let primary = self.primary()?;
        self.members_of(primary)
    }

    /// What follows with points and brackets.
    fn members_of(&mut self, mut operand: Expr) -> Result<Expr, String> {
        loop {
            if self.take(".") {
                let is_optional = self.take("?");
                let Token::Ident(name) = self.next() else {
                    self.at -= 1;
                    return Err(self.unexpected());
                };
                if !is_optional && self.take("(") {
                    let args = self.args(")")?;
                    operand = member_call(operand, name, args)?;
                } else {
                    operand = Expr::Select { operand: Box::new(operand), field: name, is_optional };
                }
            } else if self.take("[") {
                let is_optional = self.take("?");
                let index = Box::new(self.expr()?);
                self.expect("]")?;
                operand = Expr::Index { operand: Box::new(operand), index, is_optional };
            } else if self.is("{") && matches!(operand, Expr::Ident(_) | Expr::Select { .. }) {
                return Err("undeclared message type: no messages can be made here".to_owned());
            } else {
                return Ok(operand);
            }
        }
    }

    fn args(&mut self, end: &str) -> Result<Vec<Expr>, String> {
        let mut args = Vec::new();
        if self.take(end) {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if !self.take(",") {
                self.expect(end)?;
                return Ok(args);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        let literal = match self.peek().clone() {
            Token::Int(it) => Value::Int(it),
            Token::Uint(it) => Value::Uint(it),
            Token::Double(it) => Value::Double(it),
            Token::String(it) => Value::String(it.into()),
            Token::Bytes(it) => Value::Bytes(it.into()),
            Token::IntMin | Token::End => return Err(self.unexpected()),
            Token::Ident(name) => return self.named(&name),
            Token::Symbol("(") => {
                self.next();
                let inner = self.expr()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol("[") => {
                self.next();
                return self.list();
            }
            Token::Symbol("{") => {
                self.next();
                return self.map();
            }
            // A leading point names something of the root, where everything is.
            Token::Symbol(".") => {
                self.next();
                return match self.peek().clone() {
                    Token::Ident(name) => self.named(&name),
                    _ => Err(self.unexpected()),
                };
            }
            Token::Symbol(_) => return Err(self.unexpected()),
        };
        self.next();
        Ok(Expr::Literal(literal))
    }

    fn named(&mut self, name: &str) -> Result<Expr, String> {
        match name {
            "true" | "false" => {
                self.next();
                return Ok(Expr::Literal(Value::Bool(name == "true")));
            }
            "null" => {
                self.next();
                return Ok(Expr::Literal(Value::Null));
            }
            _ if RESERVED.contains(&name) => return Err(self.unexpected()),
            _ => {}
        }
        self.next();
        if self.take("(") {
            let args = self.args(")")?;
            return global_call(name, args);
        }
        Ok(Expr::Ident(name.to_owned()))
    }

    fn list(&mut self) -> Result<Expr, String> {
        let mut elements = Vec::new();
        while !self.take("]") {
            let is_optional = self.take("?");
            elements.push((self.expr()?, is_optional));
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(Expr::List(elements))
    }

    fn map(&mut self) -> Result<Expr, String> {
        let mut entries = Vec::new();
        while !self.take("}") {
            let is_optional = self.take("?");
            let key = self.expr()?;
            self.expect(":")?;
            entries.push((key, self.expr()?, is_optional));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expr::Map(entries))
    }
}

fn call(function: &str, args: Vec<Expr>) -> Expr {
    Expr::Call { function: function.to_owned(), args, is_member: false }
}

fn global_call(name: &str, mut args: Vec<Expr>) -> Result<Expr, String> {
    if name == "has" && args.len() == 1 {
        return match args.remove(0) {
            Expr::Select { operand, field, is_optional: false } => Ok(Expr::Has { operand, field }),
            _ => Err("invalid argument to has() macro".to_owned()),
        };
    }
    Ok(call(name, args))
}

/// Namespaces of functions: `optional.of` is one name.
const NAMESPACES: [&str; 6] = ["optional", "sets", "strings", "lists", "math", "cel"];

fn member_call(target: Expr, name: String, mut args: Vec<Expr>) -> Result<Expr, String> {
    if let Expr::Ident(namespace) = &target
        && NAMESPACES.contains(&namespace.as_str())
    {
        let full = format!("{namespace}.{name}");
        if full == "cel.bind" && args.len() == 3 {
            let (body, value) = (Box::new(args.remove(2)), Box::new(args.remove(1)));
            let variable = variable(args.remove(0), "cel.bind() variable names must be simple identifiers")?;
            return Ok(Expr::Bind { variable, value, body });
        }
        return Ok(Expr::Call { function: full, args, is_member: false });
    }
    let kind = match (name.as_str(), args.len()) {
        ("all", 2) => ComprehensionKind::All,
        ("exists", 2) => ComprehensionKind::Exists,
        ("exists_one" | "existsOne", 2) => ComprehensionKind::ExistsOne,
        ("filter", 2) => ComprehensionKind::Filter,
        ("map", 2 | 3) => ComprehensionKind::Map,
        ("optMap" | "optFlatMap", 2) => {
            let body = Box::new(args.remove(1));
            let variable = variable(args.remove(0), "optMap() variable name must be a simple identifier")?;
            let is_flat = name == "optFlatMap";
            return Ok(Expr::OptMap { operand: Box::new(target), variable, body, is_flat });
        }
        _ => {
            args.insert(0, target);
            return Ok(Expr::Call { function: name, args, is_member: true });
        }
    };
    let last = args.pop();
    let middle = (args.len() == 2).then(|| args.remove(1));
    let variable = variable(args.remove(0), "argument must be a simple name")?;
    let (predicate, transform) = if kind == ComprehensionKind::Map { (middle, last) } else { (last, None) };
    Ok(Expr::Comprehension(Box::new(Comprehension { kind, range: target, variable, predicate, transform })))
}

fn variable(expr: Expr, otherwise: &str) -> Result<String, String> {
    match expr {
        Expr::Ident(name) => Ok(name),
        _ => Err(otherwise.to_owned()),
    }
}
