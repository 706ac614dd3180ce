//! What we read from a parsed template, and what we write into it.
//!
//! Read: unknown functions (Go finds them when it parses, `gotmpl` only when it runs), and whether
//! the result can depend on `.Index`.
//! Written ([`annotate`]): a call in front of every action that remembers its line, because
//! `gotmpl` does not say where an evaluation failed; and a call behind every printed value that
//! prints it as Go does.

use std::cell::Cell;

use gotmpl::parse::{
    ActionNode, BranchNode, CommandNode, Expr, ListNode, Node, Number, PipeNode, Pos, SmolStr,
};

use super::blocks::Stray;
use super::funcs;

/// The function that remembers a line.
pub(super) const MARK_LINE: &str = "schedlabLine";
/// The function that prints a value.
pub(super) const PRINT: &str = "schedlabPrint";

thread_local! {
    /// Line of the action that runs now. Rendering never leaves its thread.
    static LINE: Cell<usize> = const { Cell::new(1) };
}

pub(super) fn forget_line() {
    remember_line(1);
}

pub(super) fn remember_line(line: usize) {
    LINE.set(line);
}

pub(super) fn current_line() -> usize {
    LINE.get()
}

/// What `.` means at some place of a template.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dot {
    /// The whole environment, with `.Index` in it.
    Root,
    /// Something else: the item of a `range`, the value of a `with`, the argument of a `template`.
    Inner,
}

/// The first call of a function that does not exist.
pub(super) fn unknown_function(list: &ListNode) -> Option<Stray> {
    let mut found = None;
    visit_list(list, Dot::Root, &mut |expr, _| {
        if let Expr::Identifier(pos, name) = expr
            && !funcs::is_known(name)
            && found.is_none()
        {
            let known = funcs::added_names().join(", ");
            let message =
                format!("function `{name}` does not exist; there are Go's built-in functions and {known}");
            found = Some(Stray { line: pos.line, message });
        }
    });
    found
}

/// Whether the result may depend on `.Index`. Sound: an unseen way to it does not exist, because
/// the environment can only be reached through `.`, `$` or one of its fields.
///
/// - `.Index`, `$.Index`, `$x.Index`, `(..).Index`: yes, wherever they stand.
/// - `$` alone, or `.` alone where it is the whole environment: yes, it may be passed on.
/// - Anything else is made of values that are the same for every index.
pub(super) fn reads_index(list: &ListNode, dot: Dot) -> bool {
    let mut reads = false;
    visit_list(list, dot, &mut |expr, dot| {
        reads |= match expr {
            Expr::Dot(_) => dot == Dot::Root,
            Expr::Variable(_, name, fields) => (name == "$" && fields.is_empty()) || names_index(fields),
            Expr::Field(_, fields) | Expr::Chain(_, _, fields) => names_index(fields),
            _ => false,
        };
    });
    reads
}

fn names_index(fields: &[SmolStr]) -> bool {
    fields.iter().any(|field| field == "Index")
}

fn visit_list(list: &ListNode, dot: Dot, see: &mut impl FnMut(&Expr, Dot)) {
    for node in &list.nodes {
        match node {
            Node::List(list) => visit_list(list, dot, see),
            Node::Action(action) => visit_pipe(&action.pipe, dot, see),
            Node::If(branch) => visit_branch(branch, dot, dot, see),
            Node::Range(branch) | Node::With(branch) => visit_branch(branch, dot, Dot::Inner, see),
            Node::Template(call) => {
                if let Some(pipe) = &call.pipe {
                    visit_pipe(pipe, dot, see);
                }
            }
            Node::Define(define) => visit_list(&define.body, Dot::Inner, see),
            Node::Text(_) | Node::Break(_) | Node::Continue(_) => {}
        }
    }
}

fn visit_branch(branch: &BranchNode, outside: Dot, inside: Dot, see: &mut impl FnMut(&Expr, Dot)) {
    visit_pipe(&branch.pipe, outside, see);
    visit_list(&branch.body, inside, see);
    if let Some(otherwise) = &branch.else_body {
        visit_list(otherwise, outside, see);
    }
}

fn visit_pipe(pipe: &PipeNode, dot: Dot, see: &mut impl FnMut(&Expr, Dot)) {
    for expr in pipe.commands.iter().flat_map(|command| &command.args) {
        visit_expr(expr, dot, see);
    }
}

fn visit_expr(expr: &Expr, dot: Dot, see: &mut impl FnMut(&Expr, Dot)) {
    see(expr, dot);
    match expr {
        Expr::Pipe(_, pipe) => visit_pipe(pipe, dot, see),
        Expr::Chain(_, inner, _) => visit_expr(inner, dot, see),
        _ => {}
    }
}

/// The same template with a line mark in front of every action and [`PRINT`] behind every print.
pub(super) fn annotate(list: &ListNode) -> ListNode {
    let mut nodes = Vec::with_capacity(2 * list.nodes.len());
    for node in &list.nodes {
        if let Some(pos) = position(node) {
            nodes.push(line_mark(pos));
        }
        nodes.push(annotate_node(node));
    }
    ListNode { pos: list.pos, nodes }
}

fn annotate_node(node: &Node) -> Node {
    match node {
        Node::List(list) => Node::List(annotate(list)),
        Node::Action(action) => Node::Action(annotate_action(action)),
        Node::If(branch) => Node::If(annotate_branch(branch)),
        Node::Range(branch) => Node::Range(annotate_branch(branch)),
        Node::With(branch) => Node::With(annotate_branch(branch)),
        other => other.clone(),
    }
}

fn annotate_branch(branch: &BranchNode) -> BranchNode {
    BranchNode {
        pos: branch.pos,
        pipe: branch.pipe.clone(),
        body: annotate(&branch.body),
        else_body: branch.else_body.as_ref().map(annotate),
    }
}

fn annotate_action(action: &ActionNode) -> ActionNode {
    let mut action = action.clone();
    if action.pipe.decl.is_empty() {
        let written = Expr::String(action.pos, written(&action.pipe).into());
        action.pipe.commands.push(call(action.pos, PRINT, written));
    }
    action
}

fn line_mark(pos: Pos) -> Node {
    let line = i64::try_from(pos.line).unwrap_or_default();
    let commands = vec![call(pos, MARK_LINE, Expr::Number(pos, Number::Int(line)))];
    Node::Action(ActionNode { pos, pipe: PipeNode { pos, decl: Vec::new(), commands, is_assign: false } })
}

fn call(pos: Pos, function: &'static str, argument: Expr) -> CommandNode {
    CommandNode { pos, args: vec![Expr::Identifier(pos, SmolStr::new_static(function)), argument] }
}

fn position(node: &Node) -> Option<Pos> {
    match node {
        Node::Action(action) => Some(action.pos),
        Node::If(branch) | Node::Range(branch) | Node::With(branch) => Some(branch.pos),
        Node::Template(call) => Some(call.pos),
        Node::List(_) | Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => None,
    }
}

/// How a printed value is written, for a message; only the simple forms are spelled out.
fn written(pipe: &PipeNode) -> String {
    match pipe.commands.as_slice() {
        [CommandNode { args, .. }] => match args.as_slice() {
            [Expr::Field(_, fields)] => format!(".{}", fields.join(".")),
            [Expr::Variable(_, name, fields)] if fields.is_empty() => name.to_string(),
            _ => "this action".into(),
        },
        _ => "this action".into(),
    }
}
