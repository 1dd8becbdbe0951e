//! The proved side: the terms of all functions, as a tree to execute.
//!
//! They are read from the very trees that `c2coq` prints as `Code.v` ([`c2coq::coq::terms`]): a function has one translation,
//! and the comparison of the committed files with a fresh one is `ashlar prove`'s first check. Widths, which the printed terms
//! leave to the C, come from the checked declarations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use c2coq::ast::Unit;
use c2coq::certified::{built, Build, CoqError};
use c2coq::coq::{fields, terms};

use crate::reader::Reader;
use crate::syntax::Stmt;

#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub layer: String,
    pub parameters: usize,
    /// Bits of each local, parameters first.
    pub widths: Vec<u32>,
    pub body: Arc<Stmt>,
}

/// Result, if any, and parameters in bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    pub result: Option<u32>,
    pub parameters: Vec<u32>,
}

/// One field of all elements of an object: cells of one width.
#[derive(Debug, Clone)]
pub struct Cells {
    pub object: usize,
    pub field: String,
    pub width: u32,
    /// Inner elements.
    pub count: u64,
    /// Bytes from the start of an element of the object.
    pub offset: u64,
}

#[derive(Debug, Clone)]
pub struct Object {
    pub name: String,
    pub count: u64,
    /// Bytes of an element.
    pub stride: u64,
    /// Numbers of its cells, in the order of their offsets.
    pub cells: Vec<usize>,
    /// Where it does not begin with 0: offset, bytes, value. None for objects of `arch`, whose start-up is not described.
    pub initial: Option<Vec<(u64, u64, u64)>>,
}

#[derive(Debug, Default)]
pub struct Program {
    pub functions: BTreeMap<String, Arc<Function>>,
    /// Of functions and primitives.
    pub prototypes: HashMap<String, Prototype>,
    pub objects: Vec<Object>,
    pub cells: Vec<Cells>,
    places: HashMap<(String, String), usize>,
    /// Names that stand for several functions or objects.
    pub ambiguous: BTreeSet<String>,
    /// Where a statement stands in its function, by its address here.
    pub lines: HashMap<usize, u32>,
    /// Functions with a theorem, which says too that they are not stuck.
    pub certified: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error(transparent)]
    C(#[from] CoqError),
    #[error("{function}: the term has a form that is not known: {form}")]
    Form { function: String, form: String },
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {error}", path = path.display())]
    Certified { path: PathBuf, error: String },
}

/// Objects of `arch` that its primitives stand for: name, elements, fields with bits and inner elements.
type ArchObject = (&'static str, u64, &'static [(&'static str, u32, u64)]);
const ARCH_OBJECTS: &[ArchObject] = &[
    (
        "arch_threads",
        144,
        &[
            ("word", 64, 24),
            ("kernel_rsp", 64, 1),
            ("stack_top", 64, 1),
            ("fpu_fresh", 32, 1),
            ("at_exit", 32, 1),
            ("spare", 32, 10),
        ],
    ),
    // Of this CPU, by the segment register.
    (
        "percpu",
        1,
        &[
            ("cpu", 32, 1),
            ("apic_id", 32, 1),
            ("thread", 64, 1),
            ("scratch", 64, 1),
            ("vector", 32, 1),
            ("fpu_left", 32, 1),
            ("fpu_owner", 32, 1),
            ("current", 32, 1),
            ("need_resched", 32, 1),
            ("root", 32, 1),
            ("floor", 32, 1),
            ("space", 32, 1),
            ("spare", 32, 1),
            ("tss_reserved", 32, 1),
            ("tss_stack", 64, 1),
        ],
    ),
    ("frame", 4_194_304, &[("word", 64, 512)]),
    ("cpus_started", 1, &[("", 32, 1)]),
    ("root", 1, &[("", 64, 512)]),
    ("tsc_base", 1, &[("", 64, 1)]),
    ("ns_per_tsc", 1, &[("", 64, 1)]),
];
/// Those of them that do not change once the processor runs code of the layers.
const SET_AT_START: [(&str, &str); 4] =
    [("percpu", "cpu"), ("percpu_records", "apic_id"), ("tsc_base", ""), ("ns_per_tsc", "")];

impl Program {
    /// The terms of all layers of the kernel in a build.
    pub fn read(kernel: &Path, build: &Build) -> Result<Program, ProgramError> {
        let mut program = Program::default();
        for (name, count, list) in ARCH_OBJECTS {
            program.object(name, *count, list);
        }
        program.processor_records();
        for name in ["apic_write", "apic_command"] {
            program.prototypes.insert(name.to_string(), Prototype { result: None, parameters: vec![32, 32] });
        }
        let layers = built(kernel, build)?;
        for (_, checked) in &layers {
            checked.program.units.iter().for_each(|unit| program.declarations(unit));
        }
        for (layer, checked) in &layers {
            for unit in &checked.program.units {
                program.definitions(layer, unit)?;
            }
        }
        program.contracts(kernel, build)?;
        program.certified = certified(&kernel.join("../proof/certified.toml"), build)?;
        Ok(program)
    }

    /// The records of all CPUs, of which the terms know one field that start-up sets.
    fn processor_records(&mut self) {
        let (object, cells) = (self.objects.len(), self.cells.len());
        let (name, field) = ("percpu_records".to_string(), "apic_id".to_string());
        self.places.insert((name.clone(), field.clone()), cells);
        self.cells.push(Cells { object, field, width: 32, count: 1, offset: 4 });
        self.objects.push(Object { name, count: 16, stride: 512, cells: vec![cells], initial: None });
    }

    /// An object with its fields laid out as C does.
    pub fn object(&mut self, name: &str, count: u64, list: &[(&str, u32, u64)]) {
        let number = self.objects.len();
        let (mut at, mut alignment, mut cells) = (0u64, 1u64, Vec::new());
        for (field, width, inner) in list {
            let bytes = u64::from(*width / 8);
            at = at.next_multiple_of(bytes);
            alignment = alignment.max(bytes);
            cells.push(self.cells.len());
            self.places.insert((name.to_string(), field.to_string()), self.cells.len());
            let field = field.to_string();
            self.cells.push(Cells { object: number, field, width: *width, count: *inner, offset: at });
            at += bytes * inner;
        }
        let stride = at.next_multiple_of(alignment).max(1);
        self.objects.push(Object { name: name.to_string(), count, stride, cells, initial: None });
    }

    /// Offset and size of a scalar by its number: elements in order, in each its fields and inner elements in order.
    fn scalar(&self, object: usize, number: u64) -> (u64, u64) {
        let object = &self.objects[object];
        let in_element: u64 = object.cells.iter().map(|cells| self.cells[*cells].count).sum();
        let (element, mut rest) = (number / in_element.max(1), number % in_element.max(1));
        for cells in object.cells.iter().map(|cells| &self.cells[*cells]) {
            let bytes = u64::from(cells.width / 8);
            if rest < cells.count {
                return (element * object.stride + cells.offset + rest * bytes, bytes);
            }
            rest -= cells.count;
        }
        (0, 0)
    }

    fn declarations(&mut self, unit: &Unit) {
        self.prototypes_of(unit);
        self.objects_of(unit);
    }

    pub fn prototypes_of(&mut self, unit: &Unit) {
        for function in &unit.functions {
            let parameters = function.parameters.iter().map(|width| width.bits()).collect();
            let prototype = Prototype { result: function.result.map(|width| width.bits()), parameters };
            let known = self.prototypes.insert(function.name.clone(), prototype.clone());
            if known.is_some_and(|known| known != prototype) {
                self.ambiguous.insert(function.name.clone());
            }
        }
    }

    fn objects_of(&mut self, unit: &Unit) {
        for object in &unit.objects {
            let list: Vec<(&str, u32, u64)> =
                fields(unit, object).into_iter().map(|(name, width, count)| (name, width.bits(), count)).collect();
            if self.objects.iter().any(|known| known.name == object.name) {
                self.ambiguous.insert(object.name.clone());
            }
            self.object(&object.name, object.size.unwrap_or(1), &list);
            let number = self.objects.len() - 1;
            let initial = object.initial.iter().map(|(scalar, value)| {
                let (at, bytes) = self.scalar(number, *scalar);
                (at, bytes, *value)
            });
            self.objects[number].initial = Some(initial.collect());
        }
    }

    pub fn definitions(&mut self, layer: &str, unit: &Unit) -> Result<(), ProgramError> {
        let refused = |refusal: c2coq::coq::Refusal| ProgramError::Refused(refusal.message);
        for term in terms(unit).map_err(refused)? {
            let form = |form| ProgramError::Form { function: term.name.clone(), form };
            let reader = Reader { program: self };
            let body = reader.statement(&term.body).map_err(form)?;
            let Some(declared) = unit.functions.iter().find(|one| one.name == term.name && one.body.is_some()) else {
                continue;
            };
            let mut widths: Vec<u32> = declared.locals.iter().map(|local| local.width.bits()).collect();
            let mut results = HashMap::new();
            result_widths(&body, &self.prototypes, &mut results);
            for added in widths.len()..term.locals.len() {
                widths.push(results.get(&added).copied().unwrap_or(64));
            }
            let (name, layer) = (term.name.clone(), layer.to_string());
            let body = Arc::new(body);
            enumerate(&body, &mut 0, &mut self.lines);
            let function = Function { name, layer, parameters: term.parameters, widths, body };
            if self.functions.insert(term.name.clone(), Arc::new(function)).is_some() {
                self.ambiguous.insert(term.name);
            }
        }
        Ok(())
    }

    pub fn place(&self, object: &str, field: &str) -> Option<usize> {
        self.places.get(&(object.to_string(), field.to_string())).copied()
    }

    /// Whether cells of this kind hold what start-up has left in them.
    pub fn is_set_at_start(&self, cells: usize) -> bool {
        SET_AT_START.iter().any(|(object, field)| self.place(object, field) == Some(cells))
    }
}

/// Functions with a theorem in a build; none without the list. Terms of certified functions are the same in all builds, but for
/// those of locks and in builds that record (`c2coq::certified::dependent`).
fn certified(path: &Path, build: &Build) -> Result<BTreeSet<String>, ProgramError> {
    let failed = |error: String| ProgramError::Certified { path: path.to_path_buf(), error };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        text => text.map_err(|error| failed(error.to_string()))?,
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let has_theorems = |layer: &str| match layer {
        "spinlock" => build.lock == "TICKET",
        "spinlock-mcs" => build.lock == "MCS",
        _ => true,
    };
    let layers = table.iter().filter(|(layer, _)| !build.trace && has_theorems(layer));
    let functions = layers.filter_map(|(_, functions)| functions.as_table());
    Ok(functions.flat_map(|functions| functions.keys().cloned()).collect())
}

/// Numbers statements in the order of the text.
fn enumerate(stmt: &Arc<Stmt>, next: &mut u32, out: &mut HashMap<usize, u32>) {
    *next += 1;
    out.insert(Arc::as_ptr(stmt) as usize, *next);
    match &**stmt {
        Stmt::Seq(a, b) | Stmt::If(_, a, b) => {
            enumerate(a, next, out);
            enumerate(b, next, out);
        }
        Stmt::While(_, body) => enumerate(body, next, out),
        _ => {}
    }
}

/// Widths of locals that hold results of calls.
fn result_widths(stmt: &Stmt, prototypes: &HashMap<String, Prototype>, out: &mut HashMap<usize, u32>) {
    match stmt {
        Stmt::Seq(a, b) | Stmt::If(_, a, b) => {
            result_widths(a, prototypes, out);
            result_widths(b, prototypes, out);
        }
        Stmt::While(_, body) => result_widths(body, prototypes, out),
        Stmt::Call(Some(to), function, _) => {
            if let Some(width) = prototypes.get(function).and_then(|prototype| prototype.result) {
                out.insert(*to, width);
            }
        }
        _ => {}
    }
}
