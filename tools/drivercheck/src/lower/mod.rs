//! From C to the program model: calls inlined, one graph.
//!
//! Scalars, pointers and fields of structs become variables. Arrays (but for small ones with constant indices), unions and
//! whatever stands behind a pointer whose target is not known are not modelled: reading gives any value, writing does
//! nothing. For this to be sound, an object whose address escapes is not modelled either. Escapes are found while
//! lowering, so lowering repeats until it finds no further one.
//!
//! Refused: recursion, calls through pointers, floating point, computed jumps. All faults come at once.

mod branch;
mod call;
mod clients;
mod declare;
mod expression;
mod guess;
mod hints;
mod initial;
mod messages;
mod object;
mod operator;
mod order;
mod payload;
mod place;
mod ports;
mod requests;
mod scan;
mod statement;
mod types;
mod value;

use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Edge, Message, Op, Place, Program, Step, Variable};
use crate::source_map::Lines;
use crate::Fault;
pub use clients::CLIENTS;
use lang_c::ast::{ExternalDeclaration, FunctionDefinition, TranslationUnit};
use lang_c::span::Span;
use protocol::Checked;
use requests::{Followed, Key};
pub use scan::{declared_name, is_defined};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use types::{Struct, Type};
use value::{Lvalue, Storage};

/// Names by which the driver speaks to the framework.
#[derive(Debug, Clone)]
pub struct Names {
    pub emit: Vec<String>,
    pub wait: Vec<String>,
    /// The function that is the driver.
    pub entry: Vec<String>,
    /// Functions whose call is an act of the driver: function, protocol, message. It counts if the protocol is given.
    pub acts: Vec<(String, String, String)>,
    /// Functions that access an I/O port, with how many ports they touch.
    pub ports: Vec<(String, u64)>,
    /// Functions of the framework whose result may be any value.
    pub unknown: Vec<String>,
    /// What a driver with several clients calls instead (`ashlar/clients.h`).
    pub clients: clients::Names,
    /// Functions defined elsewhere that a driver may call.
    pub external: Vec<String>,
}

impl Names {
    /// Whether it is a function of the framework that is known by name.
    pub fn is_primitive(&self, name: &str) -> bool {
        let all = self.emit.iter().chain(&self.wait).chain(&self.unknown).chain(self.clients.all());
        all.chain(self.ports.iter().map(|(function, _)| function))
            .chain(self.acts.iter().map(|(function, ..)| function))
            .any(|known| known == name)
    }
}

impl Default for Names {
    fn default() -> Self {
        let all = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let touch = |function: &str| (function.to_string(), "pci".to_string(), "access".to_string());
        let registers = ["read8", "read16", "read32", "read64", "write8", "write16", "write32", "write64"];
        let widths = [("read", 8), ("read", 16), ("read", 32), ("write", 8), ("write", 16), ("write", 32)];
        let ports = widths.map(|(verb, bits)| (format!("port_{verb}{bits}"), bits / 8));
        Names {
            emit: all(&["driver_emit", "driver_emit_payload"]),
            wait: all(&["driver_await"]),
            entry: all(&["driver"]),
            acts: (registers.iter().map(|one| touch(&format!("register_{one}"))))
                .chain(ports.iter().map(|(function, _)| touch(function)))
                .collect(),
            ports: ports.to_vec(),
            unknown: all(&["driver_cookie", "driver_payload"]),
            clients: clients::Names::default(),
            external: all(&[
                "area_clear",
                "area_copy",
                "area_read",
                "area_size",
                "area_write",
                "client_count",
                "client_name",
                "client_value",
                "driver_is_named",
                "driver_number",
                "dma_memory",
                "dma_physical",
                "dma_size",
                "memcmp",
                "memcpy",
                "memmove",
                "memset",
                "print",
                "time_now",
            ]),
        }
    }
}

/// What the model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Rules 1 to 5.
    States,
    /// Rule 6, for a protocol's requests of one kind.
    Requests(usize, usize),
    /// Rule 7.
    Payloads,
    /// The part of rule 1 that is about the turn of one of several clients.
    Turns,
}

#[derive(Debug, Clone)]
enum Entity {
    Object(Lvalue),
    /// Defined elsewhere.
    External,
    Constant(u64, Type),
    Typedef(Type),
    Function(Type),
}

struct Frame {
    name: String,
    result: Lvalue,
    exit: usize,
    labels: HashMap<String, usize>,
    breaks: Vec<usize>,
    continues: Vec<usize>,
    /// Of each switch around: the targets of its `case` labels, and that of `default`.
    cases: Vec<(HashMap<usize, usize>, Option<usize>)>,
    /// Names that are changed or whose address is taken in the function.
    changed: HashSet<String>,
    scopes: usize,
}

pub(crate) struct Lower<'a> {
    lines: &'a Lines<'a>,
    protocols: &'a [Checked],
    names: &'a Names,
    /// By number, and whether the driver awaits it: of a protocol whose server and client it is, it sends half of the messages
    /// to its clients and half to its driver.
    mailboxes: HashMap<(u64, bool), Message>,
    /// The text of the framework's primitives.
    primitives: &'a HashMap<String, String>,
    /// Sets of mailboxes that never change, by where they are declared.
    sets: HashMap<usize, Vec<u64>>,
    /// The function whose local a variable is.
    owners: HashMap<Var, String>,
    functions: HashMap<&'a str, &'a FunctionDefinition>,
    scopes: Vec<HashMap<String, Entity>>,
    structs: Vec<Struct>,
    tags: Vec<HashMap<String, usize>>,
    frames: Vec<Frame>,
    program: Program,
    /// Variables of objects, so that inlined copies of a function share its locals.
    kept: HashMap<(usize, String), Var>,
    /// Objects whose address escapes: found so far, and in the round before.
    escaped: BTreeSet<usize>,
    lost: BTreeSet<usize>,
    /// Node at which the next operation begins; none where the program cannot be.
    at: Option<usize>,
    place: Place,
    /// Operations that give objects of static duration their first values.
    start: Vec<Step>,
    changed: HashSet<String>,
    constants: HashMap<usize, Vec<u64>>,
    /// Names of the files: where they are defined, and whether with a value.
    defined: HashMap<String, Definition>,
    asked: Asked,
    /// The cookie of the message taken last.
    cookie: Var,
    followed: Option<Followed>,
    /// Arrays that hold cookies, and what else is needed to follow them: see `requests`.
    cookie_cells: BTreeSet<Key>,
    loads: HashMap<Var, Rc<Key>>,
    /// What is stored in elements of arrays that are not followed.
    stored: Vec<(Rc<Key>, Expr)>,
    closing: HashSet<Var>,
    counters: HashMap<Expr, Expr>,
    written: HashSet<Expr>,
    taken: HashSet<Expr>,
    /// Variables by which the driver has named the client whose turn it is.
    turns: std::collections::BTreeSet<Expr>,
    followed_indexes: BTreeMap<Var, u64>,
    /// The payload of the message taken last, by byte and bits: its variables, and what the round before has read of it.
    payload: BTreeMap<(u64, u32), Var>,
    payload_read: BTreeSet<(u64, u32)>,
    /// Enumerations with negative values.
    signed_enums: HashSet<String>,
    /// The client that is followed, of several.
    clients: Option<clients::Clients>,
    faults: Vec<Fault>,
}

/// A name of the files: where it is defined, whether with a value, and how.
struct Definition {
    place: Place,
    has_value: bool,
    text: String,
}

/// Makes the program model of a translation unit. `primitives` has the text of the framework's functions.
pub fn lower(
    unit: &TranslationUnit,
    lines: &Lines,
    protocols: &[Checked],
    names: &Names,
    primitives: &HashMap<String, String>,
    asked: Asked,
) -> Result<Program, Vec<Fault>> {
    let mut escaped = BTreeSet::new();
    let mut cookie_cells = BTreeSet::new();
    let mut payload_read = BTreeSet::new();
    // Arrays are declared before it is known how many clients there are.
    let mut several = None;
    loop {
        let mut lower = Lower::new(unit, lines, protocols, names, primitives, escaped.clone());
        lower.asked = asked;
        lower.begin_clients(several);
        lower.cookie_cells.clone_from(&cookie_cells);
        lower.payload_read.clone_from(&payload_read);
        lower.unit(unit);
        if !lower.faults.is_empty() {
            lower.faults.sort();
            lower.faults.dedup();
            return Err(lower.faults);
        }
        let (known, cells) = (several, lower.find_cookie_cells());
        several = lower.clients.map(|clients| clients.several);
        let read: BTreeSet<(u64, u32)> = lower.payload.keys().copied().collect();
        if known == several
            && lower.lost.is_subset(&escaped)
            && cells.is_subset(&cookie_cells)
            && read.is_subset(&payload_read)
        {
            lower.hint();
            lower.assume(
                "no store through a pointer that cannot be followed changes an object whose address goes nowhere",
            );
            lower.settle_guesses();
            lower.program.payload = lower.payload.values().copied().chain([lower.cookie]).collect();
            lower.program.tidy();
            return Ok(lower.program);
        }
        escaped.extend(lower.lost);
        cookie_cells.extend(cells);
        payload_read.extend(read);
    }
}

impl<'a> Lower<'a> {
    fn new(
        unit: &'a TranslationUnit,
        lines: &'a Lines<'a>,
        protocols: &'a [Checked],
        names: &'a Names,
        primitives: &'a HashMap<String, String>,
        escaped: BTreeSet<usize>,
    ) -> Self {
        let mut mailboxes = HashMap::default();
        for (index, checked) in protocols.iter().enumerate() {
            for message in 0..checked.protocol.messages.len() {
                let number = protocol::generate::header::mailbox(&checked.protocol, message);
                let is_incoming = checked.protocol.messages[message].incoming;
                mailboxes.insert((u64::from(number), is_incoming), (index, message));
            }
        }
        let mut functions = HashMap::default();
        for item in &unit.0 {
            if let ExternalDeclaration::FunctionDefinition(function) = &item.node {
                if let Some(name) = scan::declared_name(&function.node.declarator.node) {
                    functions.insert(name, &function.node);
                }
            }
        }
        Lower {
            lines,
            protocols,
            names,
            mailboxes,
            primitives,
            sets: HashMap::default(),
            owners: HashMap::default(),
            functions,
            scopes: vec![HashMap::default()],
            structs: Vec::new(),
            tags: vec![HashMap::default()],
            frames: Vec::new(),
            program: Program::default(),
            kept: HashMap::default(),
            escaped,
            lost: BTreeSet::new(),
            at: None,
            place: Place::default(),
            start: Vec::new(),
            changed: scan::changed_in_unit(unit),
            constants: HashMap::default(),
            defined: HashMap::default(),
            signed_enums: HashSet::default(),
            clients: None,
            asked: Asked::States,
            cookie: 0,
            followed: None,
            cookie_cells: BTreeSet::new(),
            loads: HashMap::default(),
            stored: Vec::new(),
            closing: HashSet::default(),
            counters: HashMap::default(),
            written: HashSet::default(),
            taken: HashSet::default(),
            turns: std::collections::BTreeSet::new(),
            followed_indexes: BTreeMap::new(),
            payload: BTreeMap::new(),
            payload_read: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    fn unit(&mut self, unit: &'a TranslationUnit) {
        self.cookie = self.fresh("COOKIE()", 64);
        for item in &unit.0 {
            self.mark(item.span);
            match &item.node {
                ExternalDeclaration::Declaration(declaration) => self.declaration(&declaration.node, true),
                ExternalDeclaration::FunctionDefinition(function) => {
                    self.declare_function(&function.node, item.span);
                }
                ExternalDeclaration::StaticAssert(_) => {}
            }
        }
        let entry = self.names.entry.iter().find_map(|name| self.functions.get(name.as_str()).map(|one| (name, *one)));
        let Some((name, function)) = entry else {
            let known = self.names.entry.join("`, `");
            self.fault(format!("no function is the driver: none of `{known}` is defined here"));
            return;
        };
        let first = self.node();
        let body = self.node();
        self.program.entry = first;
        self.at = Some(body);
        self.follow_client();
        self.follow();
        self.inline(name, function, &[]);
        self.leave();
        // What static objects hold at the start is known only now that all functions were seen.
        let steps = std::mem::take(&mut self.start);
        let set = |step: &Step| match step.op {
            Op::Assign(var, _) | Op::Havoc(var) => Some(var),
            _ => None,
        };
        self.program.lasting = steps.iter().filter_map(set).collect();
        self.program.edges.push(Edge { from: first, to: body, steps, ..Edge::default() });
    }

    /// From here operations belong to this text. Those of a framework's function belong to the driver's call of it.
    fn mark(&mut self, span: Span) {
        if self.lines.is_framework(span.start) && !self.frames.is_empty() {
            return;
        }
        self.place = self.lines.place(span.start);
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault { place: self.place.clone(), message: message.into() });
    }

    fn assume(&mut self, text: impl Into<String>) {
        self.program.assumptions.insert(text.into());
    }

    fn node(&mut self) -> usize {
        self.program.nodes += 1;
        self.program.nodes - 1
    }

    fn fresh(&mut self, name: &str, bits: u32) -> Var {
        self.program.vars.push(Variable { name: name.to_string(), bits, is_mailbox: false, is_guess: false });
        (self.program.vars.len() - 1) as Var
    }

    fn var(&self, var: Var) -> Expr {
        expr::var(var, self.program.vars[var as usize].bits)
    }

    /// Any value.
    fn any(&mut self, name: &str, bits: u32) -> Expr {
        let var = self.fresh(name, bits);
        self.op(Op::Havoc(var));
        self.var(var)
    }

    /// Appends an operation.
    fn op(&mut self, op: Op) {
        if let Some(from) = self.at {
            let to = self.node();
            self.program.edges.push(Edge {
                from,
                to,
                steps: vec![Step { op, place: self.place.clone() }],
                ..Edge::default()
            });
            self.at = Some(to);
        }
    }

    fn assign(&mut self, var: Var, value: Expr) {
        self.op(Op::Assign(var, value));
    }

    /// Goes to a node; nothing follows here.
    fn jump(&mut self, to: usize) {
        if let Some(from) = self.at.take() {
            self.program.edges.push(Edge { from, to, steps: Vec::new(), ..Edge::default() });
        }
    }

    fn enter(&mut self, node: usize) {
        self.jump(node);
        self.at = Some(node);
    }

    /// Goes to `to` if the condition holds; otherwise the program goes on here.
    fn branch(&mut self, condition: Expr, to: usize) {
        let Some(from) = self.at else { return };
        if condition.is_true() {
            return self.jump(to);
        }
        if condition.is_false() {
            return;
        }
        let step = |op| vec![Step { op, place: self.place.clone() }];
        self.program.edges.push(Edge { from, to, steps: step(Op::Assume(condition)), ..Edge::default() });
        self.op(Op::Assume(expr::not(condition)));
    }

    /// The object's address escapes.
    fn lose(&mut self, place: &Lvalue) {
        if let (Some(object), false) = (place.object, matches!(place.storage, Storage::Opaque)) {
            self.lost.insert(object);
        }
    }

    fn find(&self, name: &str) -> Option<&Entity> {
        // Inside a function only its own scopes and the file's are visible, not the caller's.
        let own = self.frames.last().map_or(1, |frame| frame.scopes);
        let local = self.scopes[own..].iter().rev().find_map(|scope| scope.get(name));
        local.or_else(|| self.scopes[0].get(name))
    }

    fn declare(&mut self, name: &str, entity: Entity) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), entity);
        }
    }

    fn is_changed(&self, name: &str) -> bool {
        match self.frames.last() {
            Some(frame) => frame.changed.contains(name),
            None => self.changed.contains(name),
        }
    }

    fn type_name(&self, ty: &Type) -> String {
        match ty {
            Type::Struct(id) => format!("struct {}", self.structs[*id].tag),
            other => format!("{other:?}"),
        }
    }
}
