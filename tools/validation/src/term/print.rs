//! Terms as SMT-LIB. Names count from 0 in each text, so that equal questions are equal texts.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::{below, Binary, Node, Term};

/// A question: whether all conditions can hold together.
pub struct Question {
    /// Declarations, definitions and assertions.
    pub text: String,
    /// Variables, and products that stand for any number, with their names.
    pub variables: Vec<(Term, String)>,
    /// Elements that a model must give: array, name of the index, name of the element.
    pub elements: Vec<(Term, String, String)>,
}

fn literal(value: u128, width: u32) -> String {
    format!("(_ bv{value} {width})")
}

/// What a term makes of others, which have names.
fn operation(term: Term, name: &dyn Fn(&Term) -> String) -> String {
    let width = term.width();
    match term.node() {
        Node::Constant(value) => literal(value, width),
        Node::Variable(_) | Node::Array(_) | Node::LeadingZeros(_) => name(&term),
        Node::Sum(terms, rest) => {
            let mut sum = if rest == 0 { None } else { Some(literal(rest, width)) };
            for (part, times) in terms.iter() {
                let one = match times {
                    1 => name(part),
                    _ if times.wrapping_neg() & super::mask(width) == 1 => format!("(bvneg {})", name(part)),
                    _ => format!("(bvmul {} {})", name(part), literal(*times, width)),
                };
                sum = Some(sum.map_or(one.clone(), |sum| format!("(bvadd {sum} {one})")));
            }
            sum.unwrap_or_else(|| literal(0, width))
        }
        Node::Binary(operation, a, b) => {
            let (a, b) = (name(&a), name(&b));
            let bit = |test: &str| format!("(ite ({test} {a} {b}) #b1 #b0)");
            match operation {
                Binary::Equal => bit("="),
                Binary::Less => bit("bvult"),
                Binary::LessSigned => bit("bvslt"),
                Binary::Multiply => format!("(bvmul {a} {b})"),
                Binary::Divide => format!("(bvudiv {a} {b})"),
                Binary::Remainder => format!("(bvurem {a} {b})"),
                Binary::And => format!("(bvand {a} {b})"),
                Binary::Or => format!("(bvor {a} {b})"),
                Binary::Xor => format!("(bvxor {a} {b})"),
                Binary::ShiftLeft => format!("(bvshl {a} {b})"),
                Binary::ShiftRight => format!("(bvlshr {a} {b})"),
                Binary::ShiftRightSigned => format!("(bvashr {a} {b})"),
            }
        }
        Node::If(c, a, b) => format!("(ite (= {} #b1) {} {})", name(&c), name(&a), name(&b)),
        Node::Extract(low, a) => format!("((_ extract {} {low}) {})", low + width - 1, name(&a)),
        Node::ZeroExtend(a) => format!("((_ zero_extend {}) {})", width - a.width(), name(&a)),
        Node::SignExtend(a) => format!("((_ sign_extend {}) {})", width - a.width(), name(&a)),
        Node::Store(a, i, v) => {
            format!("(store {} {} {})", name(&a), name(&i), name(&v))
        }
        Node::Read(a, i) => {
            format!("(select {} {})", name(&a), name(&i))
        }
    }
}

/// Definitions of terms over symbols that have names; the names of what is defined are added. None if a term is over others.
pub fn definitions(terms: &[Term], names: &mut HashMap<Term, String>) -> Option<String> {
    let mut text = String::new();
    for term in below(terms) {
        if names.contains_key(&term) {
            continue;
        }
        if matches!(term.node(), Node::Variable(_) | Node::Array(_) | Node::LeadingZeros(_)) {
            return None;
        }
        let body = operation(term, &|one| names.get(one).cloned().unwrap_or_default());
        let mut sort = format!("(_ BitVec {})", term.width());
        if matches!(term.node(), Node::Store(..)) {
            sort = format!("(Array (_ BitVec 32) {sort})");
        }
        let defined = format!("t{}", names.len());
        let _ = writeln!(text, "(define-fun {defined} () {sort} {body})");
        names.insert(term, defined);
    }
    Some(text)
}

pub fn question(conditions: &[Term]) -> Question {
    let mut text = String::new();
    let mut names: HashMap<Term, String> = HashMap::new();
    let mut variables = Vec::new();
    let mut reads: BTreeSet<(Term, String)> = BTreeSet::new();
    for (at, term) in below(conditions).into_iter().enumerate() {
        let width = term.width();
        let name = |term: &Term| names.get(term).cloned().unwrap_or_default();
        let mut sort = format!("(_ BitVec {width})");
        if matches!(term.node(), Node::Variable(_)) || term.is_any_product() {
            let _ = writeln!(text, "(declare-const v{at} {sort})");
            variables.push((term, format!("v{at}")));
            names.insert(term, format!("v{at}"));
            continue;
        }
        let body = match term.node() {
            Node::Variable(_) => continue,
            Node::Constant(value) => {
                names.insert(term, literal(value, width));
                continue;
            }
            Node::Array(_) => {
                let _ = writeln!(text, "(declare-const a{at} (Array (_ BitVec 32) {sort}))");
                names.insert(term, format!("a{at}"));
                continue;
            }
            Node::LeadingZeros(a) => {
                // Without a meaning of its own but these bounds: what holds for any such function holds for this one.
                let (known, of) = (format!("z{at}"), name(&a));
                let _ = writeln!(text, "(declare-const {known} {sort})");
                let _ = writeln!(text, "(assert (bvule {known} {}))", literal(u128::from(width), width));
                let zero = literal(0, width);
                let full = literal(u128::from(width), width);
                let _ = writeln!(text, "(assert (= (= {of} {zero}) (= {known} {full})))");
                let top = literal(u128::from(width - 1), width);
                let one = literal(1, width);
                let _ = writeln!(text, "(assert (or (= {of} {zero}) (= (bvlshr {of} (bvsub {top} {known})) {one})))");
                names.insert(term, known);
                continue;
            }
            Node::Read(a, i) => {
                reads.insert((base(a), name(&i)));
                operation(term, &name)
            }
            Node::Store(..) => {
                sort = format!("(Array (_ BitVec 32) {sort})");
                operation(term, &name)
            }
            _ => operation(term, &name),
        };
        let _ = writeln!(text, "(define-fun t{at} () {sort} {body})");
        names.insert(term, format!("t{at}"));
    }
    let mut elements = Vec::new();
    for (at, (array, index)) in reads.into_iter().enumerate() {
        let (sort, held) = (array.width(), names.get(&array).cloned().unwrap_or_default());
        let _ = writeln!(text, "(define-fun i{at} () (_ BitVec 32) {index})");
        let _ = writeln!(text, "(define-fun e{at} () (_ BitVec {sort}) (select {held} i{at}))");
        elements.push((array, format!("i{at}"), format!("e{at}")));
    }
    for condition in conditions {
        let _ = writeln!(text, "(assert (= {} #b1))", names.get(condition).cloned().unwrap_or_default());
    }
    Question { text, variables, elements }
}

/// The array below all stores.
fn base(array: Term) -> Term {
    let mut from = array;
    while let Node::Store(below, _, _) = from.node() {
        from = below;
    }
    from
}

/// A short text for people.
pub fn shown(term: Term) -> String {
    let mut text = write(term, 4);
    if text.len() > 160 {
        text.truncate(157);
        text.push_str("...");
    }
    text
}

fn write(term: Term, depth: u32) -> String {
    let name = |number: u32| super::POOL.with(|pool| pool.borrow().names[number as usize].clone());
    if let Some(value) = term.value() {
        return format!("{value:#x}");
    }
    if depth == 0 {
        return "..".to_string();
    }
    let inner = |term: Term| write(term, depth - 1);
    match term.node() {
        Node::Constant(value) => format!("{value:#x}"),
        Node::Variable(number) => format!("{}'{number}", name(number)),
        Node::Array(number) => format!("{}'{number}", name(number)),
        Node::Sum(terms, rest) => {
            let mut parts: Vec<String> = terms
                .iter()
                .map(|(term, times)| if *times == 1 { inner(*term) } else { format!("{times:#x}*{}", inner(*term)) })
                .collect();
            if rest != 0 {
                parts.push(format!("{rest:#x}"));
            }
            format!("({})", parts.join(" + "))
        }
        Node::Binary(operation, a, b) => format!("{operation:?}({}, {})", inner(a), inner(b)),
        Node::If(c, a, b) => format!("if({}, {}, {})", inner(c), inner(a), inner(b)),
        Node::Extract(low, a) => format!("{}[{low}..{}]", inner(a), low + term.width()),
        Node::ZeroExtend(a) => inner(a),
        Node::SignExtend(a) => format!("signed({})", inner(a)),
        Node::LeadingZeros(a) => format!("zeros({})", inner(a)),
        Node::Store(a, i, _) => format!("{} changed at {}", inner(a), inner(i)),
        Node::Read(a, i) => format!("{}[{}]", inner(a), inner(i)),
    }
}
