//! Payloads: what a message carries has the message's type, and every field is within its declared range (rule 7). What the
//! driver receives is within its ranges, too: a client that sends anything else is cut off.

use super::types::Type;
use super::value::{Lvalue, Storage, Value};
use super::{Asked, Lower};
use crate::expr::{self, Compare, Expr};
use crate::program::{Claim, Message, Op, Wrong};
use protocol::model::{Field, MAX_PAYLOAD};
use std::rc::Rc;

/// Stands for the payload of the message taken last among places where objects are declared.
const TAKEN: usize = usize::MAX;

pub(super) fn is_payload(place: &Lvalue) -> bool {
    place.object == Some(TAKEN)
}

/// The payload as the framework gives it: a pointer without a type.
pub(super) fn taken() -> Value {
    let place = Lvalue { ty: Type::Void, storage: Storage::Opaque, object: Some(TAKEN) };
    Value::Pointer(expr::constant(0x4200_0000, 64), Some(Box::new(place)), Type::pointer(Type::Void))
}

impl Lower<'_> {
    /// The payload seen as an object of some type.
    pub(super) fn payload_as(&mut self, ty: &Type) -> Lvalue {
        if *ty == Type::Void {
            return Lvalue { ty: Type::Void, storage: Storage::Opaque, object: Some(TAKEN) };
        }
        let name = self.type_name(ty);
        let name = format!("MAIL({})", name.strip_prefix("struct ").unwrap_or(&name));
        let storage = self.payload_storage(&name, ty, 0);
        Lvalue { ty: ty.clone(), storage, object: None }
    }

    fn payload_storage(&mut self, name: &str, ty: &Type, at: u64) -> Storage {
        if at + ty.layout(&self.structs).0 > MAX_PAYLOAD {
            return Storage::Opaque;
        }
        match ty {
            Type::Int { bits, .. } => {
                let known = self.payload.get(&(at, *bits)).copied();
                let var = known.unwrap_or_else(|| self.fresh(name, *bits));
                self.payload.insert((at, *bits), var);
                Storage::Scalar(var)
            }
            Type::Struct(id) if !self.structs[*id].is_union => {
                let fields = self.structs[*id].fields.clone();
                let part = |field: &super::types::Field| {
                    self.payload_storage(&format!("{name}->{}", field.name), &field.ty, at + field.offset)
                };
                Storage::Fields(Rc::new(fields.iter().map(part).collect()))
            }
            Type::Array(element, count) if *count <= MAX_PAYLOAD => {
                let size = element.layout(&self.structs).0;
                let part = |index| self.payload_storage(&format!("{name}[{index}]"), element, at + index * size);
                Storage::Fields(Rc::new((0..*count).map(part).collect()))
            }
            _ => Storage::Opaque,
        }
    }

    /// A message comes: of its payload, what the driver reads anywhere.
    pub(super) fn receive_payload(&mut self, (protocol, message): Message) {
        for (at, bits) in self.payload_read.clone() {
            let known = self.payload.get(&(at, bits)).copied();
            let var = known.unwrap_or_else(|| self.fresh("MAIL()", bits));
            self.payload.insert((at, bits), var);
            self.op(Op::Havoc(var));
            let protocols = self.protocols;
            let fields = &protocols[protocol].protocol.messages[message].fields;
            if let Some(field) = fields.iter().find(|field| has(field, at, bits)) {
                let is_out = self.is_out(field, self.var(var));
                if !is_out.is_false() {
                    self.op(Op::Assume(expr::not(is_out)));
                }
            }
        }
    }

    /// Whether an element of a field is out of the field's range.
    fn is_out(&self, field: &Field, value: Expr) -> Expr {
        let less = |a: Expr, b: Expr| expr::compare(Compare::ULt, a, b);
        let bound = |bound: u64| expr::constant(bound, value.bits());
        let is_low = if field.least == 0 { expr::truth(false) } else { less(value, bound(field.least)) };
        let is_high =
            if field.most >= expr::mask(value.bits()) { expr::truth(false) } else { less(bound(field.most), value) };
        expr::or(is_low, is_high)
    }

    /// A message is about to be sent with a payload, or without. What is wrong whatever the driver does is refused; that
    /// needs the mailbox to be known.
    pub(super) fn check_payload(&mut self, message: Message, payload: Option<&Value>, is_known: bool) {
        let protocols = self.protocols;
        let protocol = &protocols[message.0].protocol;
        let own = &protocol.messages[message.1];
        if self.at.is_none() || (own.fields.is_empty() && (payload.is_none() || !is_known)) {
            return;
        }
        let wanted = format!("{}_{}", self.name_in_text(message.0), own.name);
        let place = match payload {
            Some(Value::Pointer(_, target, Type::Pointer(to))) => match &**to {
                Type::Struct(id) if self.structs[*id].tag == wanted => {
                    Some(target.as_deref().cloned().unwrap_or_else(|| Lvalue::opaque((**to).clone())))
                }
                _ => None,
            },
            _ => None,
        };
        if own.fields.is_empty() {
            return self.fault(format!("`{wanted}` has no fields: send it without a payload"));
        }
        let claim = Claim::Payload(message);
        let Some(place) = place else {
            if is_known {
                self.fault(format!("the payload of `{wanted}` is a `struct {wanted}`: give the address of one"));
            } else if self.asked == Asked::Payloads {
                self.wrong(expr::truth(true), Some(message), claim, Wrong::Form);
            }
            return;
        };
        if self.asked != Asked::Payloads {
            return;
        }
        for (number, field) in own.fields.iter().enumerate().filter(|(_, field)| field.is_bounded()) {
            let Some(whole) = self.field(&place, &field.name) else { continue };
            let parts: Vec<Lvalue> = match field.count {
                Some(count) => (0..count).filter_map(|index| self.part(&whole, index as usize)).collect(),
                None => vec![whole],
            };
            for part in parts {
                let value = self.read(&part);
                let (value, _) = self.integer(value);
                let is_out = self.is_out(field, value);
                let from = self.at;
                if is_out.is_false() || from.is_none() {
                    continue;
                }
                self.op(Op::Assume(is_out));
                self.op(Op::Show(value));
                self.op(Op::Emit(message));
                self.op(Op::Fail(claim, Wrong::Range(number)));
                self.at = from;
                self.op(Op::Assume(expr::not(is_out)));
            }
        }
    }
}

/// Whether a field, or one of its elements, stands at this byte and has so many bits.
fn has(field: &Field, at: u64, bits: u32) -> bool {
    let size = u64::from(field.bits / 8);
    field.bits == bits && at >= field.offset && at < field.offset + field.bytes() && (at - field.offset) % size == 0
}
