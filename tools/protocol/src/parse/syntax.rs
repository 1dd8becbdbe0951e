//! The syntax tree: what was written, names not yet resolved.

use diagnostics::{Span, Spanned};

#[derive(Debug, Clone, Default)]
pub struct Syntax {
    pub name: Option<Spanned<String>>,
    pub number: Option<Spanned<u64>>,
    pub doc: String,
    pub messages: Vec<MessageSyntax>,
    pub requests: Vec<RequestSyntax>,
    pub states: Vec<StateSyntax>,
    pub edges: Vec<EdgeSyntax>,
}

/// `in NAME` or `out NAME`, and what is said about it.
#[derive(Debug, Clone)]
pub struct MessageSyntax {
    pub name: Spanned<String>,
    pub incoming: bool,
    pub doc: String,
    pub fields: Vec<FieldSyntax>,
    pub rules: Vec<RuleSyntax>,
    pub is_local: bool,
    pub is_owed: bool,
}

/// `NAME TYPE[COUNT] FIRST..LAST`
#[derive(Debug, Clone)]
pub struct FieldSyntax {
    pub name: Spanned<String>,
    pub kind: Spanned<String>,
    pub count: Option<Spanned<u64>>,
    pub range: Option<Spanned<(u64, u64)>>,
    pub doc: String,
}

/// `opens REQUEST` and its like.
#[derive(Debug, Clone)]
pub struct RuleSyntax {
    pub verb: Spanned<String>,
    pub request: Spanned<String>,
}

/// `request NAME LIMIT`
#[derive(Debug, Clone)]
pub struct RequestSyntax {
    pub name: Spanned<String>,
    pub limit: Spanned<u64>,
    pub doc: String,
}

/// `state NAME …` or `region NAME`
#[derive(Debug, Clone)]
pub struct StateSyntax {
    pub name: Spanned<String>,
    pub is_region: bool,
    pub parent: Option<usize>,
    pub initial: Option<Span>,
    pub timed: Option<Span>,
    pub fair: Option<Span>,
    pub is_final: Option<Span>,
    /// `needs PROTOCOL STATE`
    pub needs: Vec<(Spanned<String>, Spanned<String>)>,
    pub doc: String,
}

/// `?MESSAGE -> TARGET when STATE unless STATE`; no target means that the state stays.
#[derive(Debug, Clone)]
pub struct EdgeSyntax {
    pub source: usize,
    pub incoming: bool,
    pub message: Spanned<String>,
    pub target: Option<Spanned<String>>,
    /// States that must be active (true: `when`) or not (false: `unless`).
    pub guards: Vec<(bool, Spanned<String>)>,
    pub span: Span,
    pub doc: String,
}
