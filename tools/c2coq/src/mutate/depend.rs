//! Whether two neighbouring statements are independent, so that they may be swapped.
//!
//! Conservative: two scalars of an object count as dependent if they have the same field, whatever their index.

use crate::ast::*;

/// What a simple statement reads and writes.
#[derive(Default)]
struct Footprint {
    read_locals: Vec<LocalId>,
    written_local: Option<LocalId>,
    /// Objects with their fields.
    reads: Vec<(ObjectId, Option<FieldId>)>,
    write: Option<(ObjectId, Option<FieldId>)>,
    /// A call may read and write every object.
    calls: bool,
}

impl Footprint {
    /// Of a statement without statements inside that control cannot leave.
    fn of(statement: &Stmt) -> Option<Footprint> {
        let mut footprint = Footprint::default();
        match &statement.kind {
            StmtKind::Local(id, value) | StmtKind::Assign(Target::Local(id), value) => {
                footprint.written_local = Some(*id);
                footprint.right_hand_side(value);
            }
            StmtKind::Assign(Target::Place(place), value) => {
                footprint.write = Some((place.object, place.field));
                footprint.indices(place);
                footprint.right_hand_side(value);
            }
            StmtKind::Call(call) => footprint.call(call),
            _ => return None,
        }
        Some(footprint)
    }

    fn right_hand_side(&mut self, value: &Rhs) {
        match value {
            Rhs::Expr(expr) => self.expr(expr),
            Rhs::Call(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &Call) {
        self.calls = true;
        call.arguments.iter().for_each(|argument| self.expr(argument));
    }

    fn indices(&mut self, place: &Place) {
        [&place.index, &place.element].into_iter().flatten().for_each(|index| self.expr(index));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(..) => {}
            ExprKind::Local(id) => self.read_locals.push(*id),
            ExprKind::Load(place) => {
                self.reads.push((place.object, place.field));
                self.indices(place);
            }
            ExprKind::Neg(inner) | ExprKind::Not(inner) | ExprKind::Cast(inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
        }
    }

    fn touches_objects(&self) -> bool {
        self.calls || self.write.is_some() || !self.reads.is_empty()
    }

    /// This one's writes leave alone what the other one reads and writes.
    fn spares(&self, other: &Footprint) -> bool {
        let local = |id| other.read_locals.contains(&id) || other.written_local == Some(id);
        let place = |place| other.calls || other.reads.contains(&place) || other.write == Some(place);
        let touched = self.calls && other.touches_objects();
        !touched && !self.written_local.is_some_and(local) && !self.write.is_some_and(place)
    }
}

/// What exchanging two neighbours means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    Independent,
    Dependent,
}

/// `None` if the exchanged statements would be none: of statements with others inside, and of a local's first value and
/// what needs the local.
pub fn exchange(first: &Stmt, second: &Stmt) -> Option<Exchange> {
    let (one, two) = (Footprint::of(first)?, Footprint::of(second)?);
    if one.spares(&two) && two.spares(&one) {
        return Some(Exchange::Independent);
    }
    let declared = matches!(first.kind, StmtKind::Local(..)).then_some(one.written_local).flatten();
    let needs = |id| two.read_locals.contains(&id) || two.written_local == Some(id);
    (!declared.is_some_and(needs)).then_some(Exchange::Dependent)
}
