//! Rule 6: every request is completed exactly once, with its cookie.
//!
//! The model follows one request: `cookie` is any number, the same for the whole run, and `at` says where the request
//! with that cookie is. What holds for an arbitrary cookie holds for all. `count` is the number of open requests; the
//! client opens no more than the protocol's limit.
//!
//! Of an array that holds cookies one element is followed, with any index. Reading another element gives any cookie but
//! the one that is followed, unless that one's request was stored in another element. This is sound, though a cookie may
//! stand in several elements: the first time that an element is read that holds the cookie of an open request which was
//! moved elsewhere, it is [`Wrong::Elsewhere`] in the model that follows this element; up to then no run is left out.

use super::value::{Slot, Storage};
use super::{Asked, Lower};
use crate::expr::{self, Compare, Expr, Node, Op as Operation, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Claim, Message, Op, Step, Wrong};
use protocol::model::Cookie;
use std::collections::BTreeSet;

/// Where the request that is followed is: not open; in a message, or in variables; in the element that is followed; in
/// another element.
pub(super) const NONE: u64 = 0;
const HERE: u64 = 1;
const ELEMENT: u64 = 2;
pub(super) const ELSEWHERE: u64 = 3;

/// An array's values: where it is declared, and its name with those of the fields inside it.
pub(super) type Key = (usize, String);

/// The request that is followed.
#[derive(Clone, Copy)]
pub(super) struct Followed {
    protocol: usize,
    request: usize,
    pub(super) limit: u64,
    pub(super) cookie: Var,
    at: Var,
    pub(super) count: Var,
}

impl Followed {
    fn claim(&self) -> Claim {
        Claim::Requests(self.protocol, self.request)
    }

    /// Whether it is a request of this protocol.
    pub(super) fn is_of(&self, protocol: usize) -> bool {
        self.protocol == protocol
    }

    /// Variables that are not the program's own.
    pub(super) fn has(&self, var: Var) -> bool {
        [self.cookie, self.at, self.count].contains(&var)
    }
}

impl Lower<'_> {
    /// Begins to follow a request, if the model is to.
    pub(super) fn follow(&mut self) {
        let Asked::Requests(protocol, request) = self.asked else { return };
        let limit = self.protocols[protocol].protocol.requests[request].limit;
        let cookie = self.fresh("the request's cookie", 64);
        let at = self.fresh("(request)", 2);
        let count = self.fresh("open requests", 32);
        self.program.followed = Some(cookie);
        self.followed = Some(Followed { protocol, request, limit, cookie, at, count });
        self.assign(at, expr::constant(NONE, 2));
        self.assign(count, expr::constant(0, 32));
    }

    pub(super) fn is_at(&self, followed: &Followed, place: u64) -> Expr {
        expr::equal(self.var(followed.at), expr::constant(place, 2))
    }

    /// What a message's cookie does to the requests that are followed, whether none may be open, whether all end.
    fn role(&self, (protocol, message): Message) -> Option<(Followed, Option<Cookie>, bool, bool)> {
        let followed = self.followed.filter(|one| one.protocol == protocol)?;
        let own = &self.protocols[protocol].protocol.messages[message];
        let role = own.cookie.filter(|(_, request)| *request == followed.request).map(|(role, _)| role);
        let (drained, drops) = (own.drained.contains(&followed.request), own.drops.contains(&followed.request));
        (role.is_some() || drained || drops).then_some((followed, role, drained, drops))
    }

    fn step_count(&mut self, followed: &Followed, op: Operation) {
        let after = expr::binary(op, self.var(followed.count), expr::constant(1, 32));
        self.assign(followed.count, after);
    }

    /// More requests are open than the one that is followed.
    fn others(&self, followed: &Followed) -> Expr {
        let own = expr::zero_extend(expr::not(self.is_at(followed, NONE)), 32);
        expr::compare(Compare::ULt, own, self.var(followed.count))
    }

    fn forget_all(&mut self, followed: &Followed) {
        self.assign(followed.at, expr::constant(NONE, 2));
        self.assign(followed.count, expr::constant(0, 32));
    }

    /// A message comes that the protocol does not see.
    pub(super) fn receive_unseen(&mut self, message: Message) {
        self.op(Op::Havoc(self.cookie));
        // The client keeps below the limit.
        let own = &self.protocols[message.0].protocol;
        if let Some((_, request)) = own.messages[message.1].cookie {
            let limit = expr::constant(own.requests[request].limit, 64);
            self.op(Op::Assume(expr::compare(Compare::ULt, self.var(self.cookie), limit)));
        }
        self.receive_payload(message);
    }

    /// A message comes. The client keeps to the protocol.
    pub(super) fn receive(&mut self, message: Message) {
        self.receive_unseen(message);
        let Some((followed, role, drained, drops)) = self.role(message) else { return self.op(Op::Receive(message)) };
        if drained {
            self.op(Op::Assume(self.is_at(&followed, NONE)));
            self.op(Op::Assume(expr::equal(self.var(followed.count), expr::constant(0, 32))));
        }
        let Some(role) = role else {
            self.op(Op::Receive(message));
            if drops {
                self.forget_all(&followed);
            }
            return;
        };
        let cookie = self.var(self.cookie);
        let is_own = expr::equal(cookie, self.var(followed.cookie));
        let is_none = self.is_at(&followed, NONE);
        let (other, done) = (self.node(), self.node());
        self.branch(expr::not(is_own), other);
        for is_own in [true, false] {
            if role == Cookie::Opens {
                // Cookies are below the limit, and each is that of one open request at most.
                let limit = expr::constant(followed.limit, 32);
                self.op(Op::Assume(expr::compare(Compare::ULt, self.var(followed.count), limit)));
            }
            match (role, is_own) {
                (Cookie::Opens, true) => self.op(Op::Assume(is_none)),
                (_, true) => self.op(Op::Assume(expr::not(is_none))),
                (Cookie::Opens, false) => {}
                (_, false) => self.op(Op::Assume(self.others(&followed))),
            }
            if is_own {
                self.op(Op::Followed);
            }
            self.op(Op::Receive(message));
            self.account(&followed, role, is_own);
            if drops {
                self.forget_all(&followed);
            }
            self.jump(done);
            self.at = Some(if is_own { other } else { done });
        }
    }

    fn account(&mut self, followed: &Followed, role: Cookie, is_own: bool) {
        match role {
            Cookie::Opens => self.step_count(followed, Operation::Add),
            Cookie::Closes => self.step_count(followed, Operation::Sub),
            Cookie::Names => {}
        }
        if is_own && role != Cookie::Names {
            let place = if role == Cookie::Opens { HERE } else { NONE };
            self.assign(followed.at, expr::constant(place, 2));
        }
    }

    /// A message is sent with a cookie.
    pub(super) fn send(&mut self, message: Message, cookie: Expr) {
        let Some((followed, role, drained, drops)) = self.role(message) else { return self.op(Op::Emit(message)) };
        if self.at.is_none() {
            return;
        }
        if drained {
            // One in another element is found where that element is followed.
            let is_lost = expr::or(self.is_at(&followed, HERE), self.is_at(&followed, ELEMENT));
            self.wrong(is_lost, Some(message), followed.claim(), Wrong::Open);
            self.op(Op::Assume(self.is_at(&followed, NONE)));
        }
        match role {
            None => self.op(Op::Emit(message)),
            Some(role) => {
                self.closing.extend(cookie.vars().iter());
                let is_own = expr::equal(cookie, self.var(followed.cookie));
                let is_none = self.is_at(&followed, NONE);
                let (other, done) = (self.node(), self.node());
                self.branch(expr::not(is_own), other);
                if self.at.is_some() {
                    let is_out = expr::not(expr::compare(
                        Compare::ULt,
                        self.var(followed.cookie),
                        expr::constant(followed.limit, 64),
                    ));
                    let is_wrong = if role == Cookie::Opens { expr::or(expr::not(is_none), is_out) } else { is_none };
                    self.op(Op::Followed);
                    self.wrong(is_wrong, Some(message), followed.claim(), Wrong::NotOpen);
                    self.op(Op::Emit(message));
                    self.account(&followed, role, true);
                    self.jump(done);
                }
                self.at = Some(other);
                if role != Cookie::Opens {
                    // Otherwise the model that follows this cookie has found it.
                    self.op(Op::Assume(self.others(&followed)));
                }
                self.op(Op::Emit(message));
                self.account(&followed, role, false);
                self.enter(done);
            }
        }
        if drained || drops {
            self.forget_all(&followed);
        }
    }

    /// The driver returns.
    pub(super) fn leave(&mut self) {
        if let Some(followed) = self.followed {
            let is_lost = expr::or(self.is_at(&followed, HERE), self.is_at(&followed, ELEMENT));
            let Some(from) = self.at else { return };
            self.op(Op::Assume(is_lost));
            self.op(Op::Return);
            self.op(Op::Fail(followed.claim(), Wrong::Open));
            self.at = Some(from);
        }
        self.op(Op::Return);
    }

    /// If the condition holds, the claim does not, once the message was sent. The run goes on here if it does not hold, but
    /// a doubt leaves both open.
    pub(super) fn wrong(&mut self, condition: Expr, message: Option<Message>, claim: Claim, wrong: Wrong) {
        let Some(from) = self.at else { return };
        if condition.is_false() {
            return;
        }
        self.op(Op::Assume(condition));
        if let Some(message) = message {
            self.op(Op::Emit(message));
        }
        self.op(Op::Fail(claim, wrong));
        self.at = Some(from);
        if wrong != Wrong::Elsewhere {
            self.op(Op::Assume(expr::not(condition)));
        }
    }

    /// The value of the array element that is followed, or of another one.
    pub(super) fn load_slot(&mut self, slot: &Slot) -> Expr {
        let bits = self.program.vars[slot.var as usize].bits;
        let name = self.program.vars[slot.var as usize].name.clone();
        let value = self.fresh(&name, bits);
        self.loads.insert(value, slot.key.clone());
        let is_here = slot.is_here.unwrap_or_else(|| expr::truth(true));
        let Some(followed) = self.followed.filter(|_| slot.is_cookie) else {
            self.op(Op::Havoc(value));
            self.program.vars[value as usize].is_guess = true;
            let read = expr::choose(slot.is_followed(), self.var(slot.var), self.var(value));
            let result = self.fresh(&name, bits);
            self.loads.insert(result, slot.key.clone());
            self.assign(result, read);
            return self.var(result);
        };
        self.taken.insert(is_here);
        let (other, done) = (self.node(), self.node());
        if let Some(is_own) = slot.is_own {
            // Another client's cookies have nothing to do with this one's.
            let from = self.at;
            self.op(Op::Assume(expr::not(is_own)));
            self.op(Op::Havoc(value));
            self.jump(done);
            self.at = from;
            self.op(Op::Assume(is_own));
        }
        self.branch(expr::not(is_here), other);
        let own = self.var(followed.cookie);
        let is_own = expr::equal(expr::zero_extend(self.var(slot.var), 64), own);
        let is_moved = expr::and(is_own, expr::not(self.is_at(&followed, ELEMENT)));
        self.wrong(is_moved, None, followed.claim(), Wrong::Elsewhere);
        self.assign(value, self.var(slot.var));
        self.jump(done);
        self.at = Some(other);
        self.op(Op::Havoc(value));
        // Branches, not one condition: the abstraction keeps no disjunctions.
        let is_other = expr::not(expr::equal(expr::zero_extend(self.var(value), 64), own));
        self.branch(is_other, done);
        self.op(Op::Assume(self.is_at(&followed, ELSEWHERE)));
        self.enter(done);
        self.var(value)
    }

    pub(super) fn store_slot(&mut self, slot: &Slot, value: Expr) {
        let is_here = slot.is_here.unwrap_or_else(|| expr::truth(true));
        self.written.insert(is_here);
        let Some(followed) = self.followed.filter(|_| slot.is_cookie) else {
            let after = expr::choose(slot.is_followed(), value, self.var(slot.var));
            return self.assign(slot.var, after);
        };
        let is_own = expr::equal(expr::zero_extend(value, 64), self.var(followed.cookie));
        let (other, done) = (self.node(), self.node());
        if let Some(is_own) = slot.is_own {
            self.branch(expr::not(is_own), done);
        }
        self.branch(expr::not(is_here), other);
        for (start, place) in [(self.at, ELEMENT), (Some(other), ELSEWHERE)] {
            self.at = start;
            if place == ELEMENT {
                self.assign(slot.var, value);
            }
            self.branch(expr::not(is_own), done);
            self.branch(self.is_at(&followed, NONE), done);
            self.assign(followed.at, expr::constant(place, 2));
            self.jump(done);
        }
        self.at = Some(done);
    }

    /// Remembers by which counter a ring is indexed, for [`Self::hint`].
    pub(super) fn note_counter(&mut self, is_here: Expr, index: Expr, count: u64) {
        let mut counter = self.of_own(index);
        loop {
            counter = match counter.node() {
                Node::Zero(inner, _) | Node::Sign(inner, _) | Node::Cut(inner, _) => inner,
                Node::Binary(Operation::URem, inner, by) if by.value() == Some(count) => inner,
                Node::Binary(Operation::And, inner, by) if by.value() == Some(count - 1) => inner,
                _ => break,
            };
        }
        if counter != self.of_own(index) {
            self.counters.insert(is_here, counter);
        }
    }

    /// An array of which one element is followed.
    pub(super) fn cells(&mut self, name: &str, element: &super::types::Type, object: usize, count: u64) -> Storage {
        let inside = format!("{name}[]");
        let is_kept = self.cookie_cells.iter().any(|(own, path)| *own == object && path.starts_with(&inside));
        let index = match is_kept {
            true => match self.keep(&format!("{name}[?]"), 64, object) {
                Storage::Scalar(var) => Some(var),
                _ => None,
            },
            false => None,
        };
        if let Some(index) = index.filter(|index| self.followed_indexes.insert(*index, count).is_none()) {
            // The element is one of the array.
            let is_inside = expr::compare(Compare::ULt, self.var(index), expr::constant(count, 64));
            self.start.push(Step { op: Op::Assume(is_inside), place: self.place.clone() });
        }
        let element = self.cell(&inside, element, object, index);
        Storage::Cells(std::rc::Rc::new(element), index)
    }

    fn cell(&mut self, name: &str, ty: &super::types::Type, object: usize, index: Option<Var>) -> Storage {
        use super::types::Type;
        let key: std::rc::Rc<Key> = std::rc::Rc::new((object, name.to_string()));
        match ty {
            Type::Int { bits, .. } => {
                let Some(_) = index else { return Storage::Loose(*bits, key) };
                let is_cookie = self.cookie_cells.contains(&*key);
                match self.keep(name, *bits, object) {
                    Storage::Scalar(var) => Storage::Slot(Slot { var, is_here: None, is_own: None, key, is_cookie }),
                    other => other,
                }
            }
            Type::Struct(id) if !self.structs[*id].is_union => {
                let fields = self.structs[*id].fields.clone();
                let part = |field: &super::types::Field| {
                    if field.is_volatile || field.bits.is_some() {
                        return Storage::Opaque;
                    }
                    self.cell(&format!("{name}.{}", field.name), &field.ty, object, index)
                };
                Storage::Fields(std::rc::Rc::new(fields.iter().map(part).collect()))
            }
            _ => Storage::Opaque,
        }
    }

    /// The arrays whose values become cookies of messages that close requests.
    pub(super) fn find_cookie_cells(&self) -> BTreeSet<Key> {
        let mut sources: HashMap<Var, Vec<Expr>> = HashMap::default();
        for step in self.program.edges.iter().flat_map(|edge| &edge.steps) {
            if let Op::Assign(var, value) = &step.op {
                sources.entry(*var).or_default().push(*value);
            }
        }
        let mut found = BTreeSet::new();
        let mut seen = HashSet::default();
        let mut work: Vec<Var> = self.closing.iter().copied().collect();
        while let Some(var) = work.pop() {
            if !seen.insert(var) || self.followed.is_some_and(|followed| followed.has(var)) {
                continue;
            }
            found.extend(self.loads.get(&var).map(|key| (**key).clone()));
            work.extend(sources.get(&var).into_iter().flatten().flat_map(|value| value.vars().to_vec()));
        }
        found
    }
}
