//! The abstract syntax of the subset: typed and resolved, with only the constructs that the proofs cover.
//!
//! It is printed as Coq terms, and pretty-printed as C again. Every node keeps its position in the source, and names stay
//! beside the ids that resolve them, so that the output reads like the input.

use std::path::PathBuf;

use crate::source::Span;

/// The unsigned scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    U8,
    U16,
    U32,
    U64,
}

impl Width {
    pub fn bits(self) -> u32 {
        match self {
            Width::U8 => 8,
            Width::U16 => 16,
            Width::U32 => 32,
            Width::U64 => 64,
        }
    }

    pub fn max(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    pub fn name(self) -> &'static str {
        match self {
            Width::U8 => "uint8_t",
            Width::U16 => "uint16_t",
            Width::U32 => "uint32_t",
            Width::U64 => "uint64_t",
        }
    }

    pub fn from_name(name: &str) -> Option<Width> {
        [Width::U8, Width::U16, Width::U32, Width::U64].into_iter().find(|width| width.name() == name)
    }

    /// Operators exist for this width.
    pub fn is_arithmetic(self) -> bool {
        matches!(self, Width::U32 | Width::U64)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub units: Vec<Unit>,
}

/// One source file with what its headers declare.
#[derive(Clone, Debug)]
pub struct Unit {
    pub path: PathBuf,
    /// The layer whose directory holds the file.
    pub layer: Option<String>,
    /// Constants this file and its certified headers define, in order of definition.
    pub constants: Vec<Constant>,
    pub structs: Vec<Struct>,
    pub objects: Vec<Object>,
    /// Functions declared or defined, primitives of `arch` included; calls refer to them by index.
    pub functions: Vec<Function>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub usize);

#[derive(Clone, Debug)]
pub struct Constant {
    pub name: String,
    pub value: u64,
    /// `None`: takes its type where it is used.
    pub width: Option<Width>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Struct {
    pub tag: Option<String>,
    pub fields: Vec<Field>,
    /// False if a field was refused.
    pub complete: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub width: Width,
    /// Elements, for a field that is an array.
    pub size: Option<u64>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    /// Elements; `None` for a single scalar.
    pub size: Option<u64>,
    pub element: ElementType,
    /// First values that are not zero, by number of the scalar: elements in order, in each its fields or inner
    /// elements in order.
    pub initial: Vec<(u64, u64)>,
    pub constant: bool,
    /// Alignment in bytes that the layout is asked for; without meaning for the program.
    pub alignment: Option<u64>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    Scalar(Width),
    Array(Width, u64),
    Struct(StructId),
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub is_static: bool,
    pub result: Option<Width>,
    /// Parameters' types; names stand in `locals` of a defined function, as its first entries.
    pub parameters: Vec<Width>,
    pub locals: Vec<Local>,
    /// `None`: declared only.
    pub body: Option<Vec<Stmt>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    pub width: Width,
    pub constant: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Skip,
    Block(Vec<Stmt>),
    /// Declaration of a local with its first value.
    Local(LocalId, Rhs),
    Assign(Target, Rhs),
    /// A call whose result, if any, is dropped.
    Call(Call),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    While(Cond, Vec<Stmt>),
    For {
        init: Option<Box<Stmt>>,
        condition: Option<Cond>,
        step: Option<Box<Stmt>>,
        body: Vec<Stmt>,
    },
    Break,
    Return(Option<Expr>),
}

#[derive(Clone, Debug)]
pub enum Rhs {
    Expr(Expr),
    Call(Call),
}

#[derive(Clone, Debug)]
pub struct Call {
    pub function: FunctionId,
    pub arguments: Vec<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Target {
    Local(LocalId),
    Place(Place),
}

/// One scalar of an object: `object`, `[index]`, `.field`, and an element of an inner array.
#[derive(Clone, Debug)]
pub struct Place {
    pub object: ObjectId,
    pub index: Option<Box<Expr>>,
    pub field: Option<FieldId>,
    pub element: Option<Box<Expr>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub width: Width,
    pub span: Span,
}

impl Expr {
    /// Whether it reads an object.
    pub fn loads(&self) -> bool {
        match &self.kind {
            ExprKind::Const(..) | ExprKind::Local(_) => false,
            ExprKind::Load(_) => true,
            ExprKind::Neg(inner) | ExprKind::Not(inner) | ExprKind::Cast(inner) => inner.loads(),
            ExprKind::Binary(_, left, right) => left.loads() || right.loads(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A value with the name of the constant it came from.
    Const(u64, Option<String>),
    Local(LocalId),
    Load(Place),
    /// Two's complement: 0 - e.
    Neg(Box<Expr>),
    /// Bitwise complement.
    Not(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// To the node's own width: zero-extended or cut off.
    Cast(Box<Expr>),
}

/// Operators on two words of one width, modulo 2^width; of a shift the count may have another width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Debug)]
pub struct Cond {
    pub kind: CondKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum CondKind {
    Compare(Comparison, Expr, Expr),
    NonZero(Expr),
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}
