//! Compares the documentation of the system calls with the constants and the dispatcher.
//!
//! A call is dispatched if a function reached from `syscall_dispatch`, in the files of the syscall layer, compares
//! the number with its constant for equality.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::ast::{Comparison, Cond, CondKind, Expr, ExprKind, Program, Rhs, Stmt, StmtKind, Unit};
use crate::finding::{Code, Finding};

const PREFIX: &str = "SYS_";
const ENTRY: &str = "syscall_dispatch";

/// The documentation, as `kernel/syscalls.toml` holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub call: Vec<Spanned<Call>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub number: u64,
    pub name: String,
    pub summary: String,
    pub arguments: Vec<Argument>,
    pub returns: Vec<Return>,
    pub errors: Vec<ErrorCase>,
    /// What stays unchanged when an error is returned.
    pub on_error: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    pub name: String,
    pub register: String,
    pub unit: String,
    pub meaning: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Return {
    pub name: String,
    pub register: String,
    pub meaning: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorCase {
    pub code: String,
    pub when: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}", path = path.display())]
pub struct TableError {
    path: PathBuf,
    error: Box<toml::de::Error>,
}

/// Reads the table's text; `path` is named in errors.
pub fn read_table(path: &Path, text: &str) -> Result<Table, TableError> {
    toml::from_str(text).map_err(|error| TableError { path: path.to_path_buf(), error: Box::new(error) })
}

/// What is compared.
pub struct Sources<'a> {
    pub table: &'a Table,
    pub table_path: &'a Path,
    pub table_text: &'a str,
    /// The file of the constants, checked.
    pub abi: &'a Unit,
    /// The files of the syscall layer, checked.
    pub layer: &'a Program,
    /// The dispatcher's file, for messages.
    pub dispatcher: &'a Path,
}

/// Every disagreement between the documentation, the constants and the dispatcher.
pub fn compare(sources: &Sources) -> Vec<Finding> {
    let constants: BTreeMap<&str, u64> =
        sources.abi.constants.iter().map(|constant| (constant.name.as_str(), constant.value)).collect();
    let dispatched = dispatched(sources.layer);
    let abi = &sources.abi.path;
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<u64, &str> = BTreeMap::new();
    let mut documented = BTreeSet::new();
    for entry in &sources.table.call {
        let call = entry.get_ref();
        let name = call.name.as_str();
        let before = &sources.table_text.as_bytes()[..entry.span().start.min(sources.table_text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        let mut fault = |code, message, remedy: String| {
            let file = sources.table_path.to_path_buf();
            findings.push(Finding { code, file, line: Some(line), message, remedy });
        };
        if !documented.insert(name) {
            fault(Code::CallTwice, format!("{name} is documented twice"), "keep one entry".to_string());
        }
        if let Some(other) = numbers.insert(call.number, name) {
            let message = format!("{name} and {other} have the number {}", call.number);
            fault(Code::NumberTwice, message, "give each call a number of its own".to_string());
        }
        match constants.get(name).filter(|_| name.starts_with(PREFIX)) {
            None => fault(
                Code::CallWithoutConstant,
                format!("{name} is documented, but {} defines no such constant", abi.display()),
                format!("add `#define {name} {}u`, or remove the entry", call.number),
            ),
            Some(value) if *value != call.number => fault(
                Code::NumberDiffers,
                format!("{name} is documented as {}, but {} says {value}", call.number, abi.display()),
                "make the two numbers one".to_string(),
            ),
            Some(_) => {}
        }
        if !dispatched.contains(name) {
            fault(
                Code::CallNotDispatched,
                format!("{name} is documented, but {} never compares the number with it", sources.dispatcher.display()),
                format!("dispatch it to a function syscall_{}", name.trim_start_matches(PREFIX).to_lowercase()),
            );
        }
        for case in call.errors.iter().filter(|case| !constants.contains_key(case.code.as_str())) {
            let message = format!("{name} returns {}, which {} does not define", case.code, abi.display());
            fault(Code::UnknownError, message, "use an ERR_ constant".to_string());
        }
    }
    for constant in &sources.abi.constants {
        if constant.name.starts_with(PREFIX) && !documented.contains(constant.name.as_str()) {
            findings.push(Finding {
                code: Code::CallUndocumented,
                file: abi.clone(),
                line: None,
                message: format!("{} = {} is documented nowhere", constant.name, constant.value),
                remedy: format!("add an entry to {}", sources.table_path.display()),
            });
        }
    }
    findings
}

/// Constants that functions reached from the entry compare for equality.
fn dispatched(program: &Program) -> BTreeSet<String> {
    let mut functions: HashMap<&str, (&Unit, &[Stmt])> = HashMap::new();
    for unit in &program.units {
        for function in &unit.functions {
            if let Some(body) = &function.body {
                functions.insert(&function.name, (unit, body));
            }
        }
    }
    let mut reached = BTreeSet::from([ENTRY.to_string()]);
    let mut waiting = vec![ENTRY.to_string()];
    let mut found = Found::default();
    while let Some(name) = waiting.pop() {
        let Some((unit, body)) = functions.get(name.as_str()) else { continue };
        found.calls.clear();
        found.statements(body);
        for id in &found.calls {
            let callee = unit.functions[*id].name.clone();
            if reached.insert(callee.clone()) {
                waiting.push(callee);
            }
        }
    }
    found.constants
}

#[derive(Default)]
struct Found {
    constants: BTreeSet<String>,
    calls: Vec<usize>,
}

impl Found {
    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Block(inner) => self.statements(inner),
            StmtKind::Local(_, Rhs::Call(call)) | StmtKind::Assign(_, Rhs::Call(call)) | StmtKind::Call(call) => {
                self.calls.push(call.function.0);
            }
            StmtKind::If(condition, yes, no) => {
                self.condition(condition);
                self.statements(yes);
                self.statements(no);
            }
            StmtKind::While(condition, body) => {
                self.condition(condition);
                self.statements(body);
            }
            StmtKind::For { init, condition, step, body } => {
                for part in [init, step].into_iter().flatten() {
                    self.statement(part);
                }
                if let Some(condition) = condition {
                    self.condition(condition);
                }
                self.statements(body);
            }
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Cond) {
        match &condition.kind {
            CondKind::Compare(Comparison::Eq, left, right) => {
                self.named(left);
                self.named(right);
            }
            CondKind::Not(inner) => self.condition(inner),
            CondKind::And(left, right) | CondKind::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
            _ => {}
        }
    }

    fn named(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(_, Some(name)) if name.starts_with(PREFIX) => {
                self.constants.insert(name.clone());
            }
            ExprKind::Cast(inner) => self.named(inner),
            _ => {}
        }
    }
}

/// The reference page, in Markdown.
pub fn page(table: &Table, first_line: &str) -> String {
    let mut out = format!("{first_line}\n\n# System calls\n\n");
    out.push_str("| number | name | summary |\n| ---: | --- | --- |\n");
    let mut calls: Vec<&Call> = table.call.iter().map(Spanned::get_ref).collect();
    calls.sort_by_key(|call| call.number);
    for call in &calls {
        let anchor = call.name.to_lowercase();
        out.push_str(&format!("| {} | [{}](#{anchor}) | {} |\n", call.number, call.name, cell(&call.summary)));
    }
    for call in calls {
        section(call, &mut out);
    }
    out
}

fn section(call: &Call, out: &mut String) {
    out.push_str(&format!("\n## {}\n\nNumber {}. {}\n", call.name, call.number, call.summary));
    if call.arguments.is_empty() {
        out.push_str("\nTakes nothing.\n");
    } else {
        out.push_str("\n| argument | register | unit | meaning |\n| --- | --- | --- | --- |\n");
        for Argument { name, register, unit, meaning } in &call.arguments {
            out.push_str(&format!("| {name} | {} | {} | {} |\n", cell(register), cell(unit), cell(meaning)));
        }
    }
    if call.returns.is_empty() {
        out.push_str("\nReturns its status.\n");
    } else {
        out.push_str("\n| result | register | meaning |\n| --- | --- | --- |\n");
        for Return { name, register, meaning } in &call.returns {
            out.push_str(&format!("| {name} | {} | {} |\n", cell(register), cell(meaning)));
        }
    }
    if !call.errors.is_empty() {
        out.push_str("\n| error | when |\n| --- | --- |\n");
        for ErrorCase { code, when } in &call.errors {
            out.push_str(&format!("| {code} | {} |\n", cell(when)));
        }
    }
    out.push_str(&format!("\nOn error: {}\n", call.on_error));
}

/// Text that stays inside its table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
