//! The parser's output: C as written, excluded constructs included, so that the checker can report each of them.
//!
//! Nothing here is resolved or typed; `crate::ast` holds what remains once a file is in the subset.

use std::rc::Rc;

use crate::ast::Width;
use crate::source::Span;

#[derive(Clone, Debug)]
pub struct Name {
    pub text: Rc<str>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Item {
    Function(Function),
    Declaration(Declaration),
    StaticAssert(Expr, Span),
}

#[derive(Clone, Debug)]
pub struct Function {
    pub specs: Specs,
    pub declarator: Declarator,
    /// `None` in a trusted file: its bodies are not read.
    pub body: Option<Block>,
}

#[derive(Clone, Debug)]
pub struct Declaration {
    pub specs: Specs,
    pub declarators: Vec<InitDeclarator>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct InitDeclarator {
    pub declarator: Declarator,
    pub bits: Option<Span>,
    pub initialiser: Option<Initialiser>,
}

#[derive(Clone, Debug)]
pub enum Initialiser {
    Value(Expr),
    List(Vec<Element>, Span),
}

impl Initialiser {
    pub fn span(&self) -> Span {
        match self {
            Initialiser::Value(value) => value.span,
            Initialiser::List(_, span) => *span,
        }
    }
}

/// One element of an initialiser list, with the index in `[index] =` if it has one.
#[derive(Clone, Debug)]
pub struct Element {
    pub index: Option<Expr>,
    pub field: Option<Name>,
    pub value: Initialiser,
}

/// Words before the declarator that are neither type nor meaning: `static`, `const`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specifier {
    Static,
    Extern,
    Typedef,
    Inline,
    Const,
    Auto,
    /// volatile, restrict, register, _Atomic, _Thread_local, _Noreturn
    Other,
}

#[derive(Clone, Debug)]
pub struct Specs {
    pub specifiers: Vec<(Specifier, Span)>,
    pub alignment: Option<Expr>,
    pub base: Base,
    pub base_span: Span,
    pub span: Span,
}

impl Specs {
    pub fn find(&self, wanted: Specifier) -> Option<Span> {
        self.specifiers.iter().find(|(specifier, _)| *specifier == wanted).map(|(_, span)| *span)
    }
}

#[derive(Clone, Debug)]
pub enum Base {
    Missing,
    Void,
    Scalar(Width),
    Struct(StructSpec),
    Union,
    Enum(EnumSpec),
    /// A type outside the subset, as written.
    Other(String),
}

#[derive(Clone, Debug)]
pub struct StructSpec {
    pub tag: Option<Name>,
    pub fields: Option<Vec<Declaration>>,
}

#[derive(Clone, Debug)]
pub struct EnumSpec {
    pub constants: Option<Vec<(Name, Option<Expr>)>>,
}

/// A declared name and what it is, from the name outwards: `*f(void)` is `[Function, Pointer]`.
#[derive(Clone, Debug)]
pub struct Declarator {
    pub name: Option<Name>,
    pub parts: Vec<Part>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Part {
    Pointer(Span),
    Array(Option<Box<Expr>>, Span),
    Function(Parameters),
}

#[derive(Clone, Debug)]
pub struct Parameters {
    pub list: Vec<Parameter>,
    pub variadic: Option<Span>,
    /// Written `()`: says nothing about the parameters.
    pub unspecified: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub specs: Specs,
    pub declarator: Declarator,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub statements: Vec<Statement>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StatementKind {
    Empty,
    /// Reported already.
    Broken,
    Block(Block),
    Declaration(Declaration),
    Expr(Expr),
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    While(Expr, Box<Statement>),
    DoWhile(Expr, Box<Statement>),
    For(Box<ForHead>, Box<Statement>),
    Switch(Expr, Box<Statement>),
    /// `name:`, `case e:` or `default:` and the statement behind it.
    Label(Label, Box<Statement>),
    Goto,
    Break,
    Continue,
    Return(Option<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Named,
    Case,
}

#[derive(Clone, Debug)]
pub struct ForHead {
    pub init: Option<Statement>,
    pub condition: Option<Expr>,
    pub step: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// Height of the tree, so that no later walk can run out of stack.
    pub height: u32,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Reported already.
    Broken,
    Number(Rc<str>),
    Char(Option<u8>),
    Str,
    Name(Rc<str>),
    Paren(Box<Expr>),
    /// `-` `~` `!` `+`
    Unary(&'static str, Box<Expr>),
    AddressOf,
    Dereference,
    Binary(&'static str, Span, Box<Expr>, Box<Expr>),
    /// `=` and the compound assignments.
    Assign(&'static str, Box<Expr>, Box<Expr>),
    /// `++` or `--`, before or behind.
    Step(&'static str, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Field(Box<Expr>, Name),
    Arrow(Box<Expr>),
    Cast(Box<Specs>, Box<Declarator>, Box<Expr>),
    CompoundLiteral,
    Sizeof,
    StatementExpr,
}

impl Expr {
    /// The expression without the parentheses around it.
    pub fn bare(&self) -> &Expr {
        let mut expr = self;
        while let ExprKind::Paren(inner) = &expr.kind {
            expr = inner;
        }
        expr
    }
}
