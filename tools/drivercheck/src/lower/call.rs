//! Calls: what is defined here is inlined, the rest returns any value.

use super::types::Type;
use super::value::{Lvalue, Storage, Value};
use super::{scan, Entity, Frame, Lower};
use crate::expr::{self, Op};
use crate::hash::{HashMap, HashSet};
use lang_c::ast::{CallExpression, DerivedDeclarator, Expression, FunctionDefinition, Statement};
use lang_c::span::Node;

/// Calls inside calls.
const MAX_DEPTH: usize = 64;

impl<'a> Lower<'a> {
    pub(super) fn call(&mut self, call: &'a CallExpression) -> Value {
        let Expression::Identifier(name) = &call.callee.node else {
            self.fault("a call through a pointer, which cannot be followed");
            return Value::Void;
        };
        let name = name.node.name.as_str();
        if matches!(self.find(name), Some(Entity::Object(_))) {
            self.fault("a call through a pointer, which cannot be followed");
            return Value::Void;
        }
        let is_primitive = self.names.is_primitive(name);
        self.is_for_drivers(name, call.callee.span.start);
        if is_primitive && self.names.emit.iter().any(|known| known == name) {
            self.is_for_clients(name);
            return self.emit(&call.arguments);
        }
        if is_primitive && self.names.wait.iter().any(|known| known == name) {
            self.is_for_clients(name);
            return self.wait(&call.arguments, false);
        }
        let clients = &self.names.clients;
        if clients.emit.iter().any(|known| known == name) {
            self.is_for_clients(name);
            return self.emit(&call.arguments);
        }
        if clients.wait.iter().chain(&clients.poll).any(|known| known == name) {
            let may_be_none = clients.poll.iter().any(|known| known == name);
            self.is_for_clients(name);
            return self.wait(&call.arguments, may_be_none);
        }
        let place = self.place.clone();
        let mut operands = Vec::new();
        let mut arguments: Vec<Value> = Vec::new();
        for argument in &call.arguments {
            let from = self.begin_operand();
            let value = self.expression(argument);
            // A later argument may change what this one was made of.
            let value = if call.arguments.len() > 1 { self.snapshot(value) } else { value };
            operands.push(self.effects(from, &value));
            arguments.push(value);
        }
        self.any_order(&operands);
        if self.at.is_some() {
            self.place = place;
        }
        if !self.functions.contains_key(name) {
            self.is_for_clients(name);
        }
        if let Some(bytes) = self.names.ports.iter().find_map(|(own, bytes)| (own == name).then_some(*bytes)) {
            self.check_port(name, bytes, &arguments);
        }
        if self.names.clients.areas.iter().any(|known| known == name) {
            self.area_of_turn(name, &arguments);
        }
        if let Some(act) = self.act_of(name).filter(|act| !self.has_just_sent(*act)) {
            self.op(crate::program::Op::Emit(act));
        }
        match (name, self.functions.get(name).copied()) {
            _ if name == "driver_cookie" => Value::Int(self.var(self.cookie), super::types::LONG),
            _ if name == "driver_payload" => super::payload::taken(),
            _ if self.names.clients.current.iter().any(|known| known == name) => self.current_client(),
            _ if self.names.clients.turn.iter().any(|known| known == name) => self.turn_to(&arguments),
            _ if is_primitive => self.external(name, &arguments),
            (_, Some(function)) => self.inline(name, function, &arguments),
            ("__builtin_expect", None) => arguments.into_iter().next().unwrap_or(Value::Void),
            // The driver ends here as if it returned.
            ("__builtin_trap", None) => {
                self.leave();
                self.at = None;
                Value::Void
            }
            ("__builtin_ctz" | "__builtin_ctzl" | "__builtin_ctzll", None) => self.lowest_bit(name, &arguments),
            ("memset" | "__builtin_memset", None) => {
                self.keeps_pointers(&arguments);
                self.fill(arguments)
            }
            (_, None) => {
                let is_known = name.starts_with("__builtin_") || self.names.external.iter().any(|own| own == name);
                if !is_known {
                    let known = self.names.external.join("`, `");
                    self.fault(format!("`{name}` is defined elsewhere; of such functions a driver may call `{known}`"));
                }
                self.keeps_pointers(&arguments);
                self.external(name, &arguments)
            }
        }
    }

    /// Refuses functions of the framework by which a driver would go round rules and monitor, where its own text calls them.
    fn is_for_drivers(&mut self, name: &str, at: usize) {
        if self.lines.is_framework(at) || !self.functions.contains_key(name) {
            return;
        }
        if name.starts_with("sys_port_") {
            self.fault(format!(
                "`{name}` is a system call: use `port_read8` and its like, and name the ports by `driver_ports`"
            ));
        } else if name.starts_with("sys_") {
            self.fault(format!("`{name}` is a system call: a driver speaks by EMIT and AWAIT, and to its device by the access functions"));
        }
    }

    /// The number of the lowest bit that is set; without one, any.
    fn lowest_bit(&mut self, name: &str, arguments: &[Value]) -> Value {
        let bits = if name == "__builtin_ctz" { 32 } else { 64 };
        let Some(Value::Int(of, ty)) = arguments.first() else { return self.external(name, arguments) };
        let of = super::operator::resize(*of, ty, bits);
        let result = self.any(&format!("{name}()"), 32);
        let (is_none, bit) = (
            expr::equal(of, expr::constant(0, bits)),
            if bits == 32 { result } else { expr::zero_extend(result, bits) },
        );
        let below = expr::binary(Op::Shl, expr::constant(1, bits), bit);
        let below = expr::binary(Op::Sub, below, expr::constant(1, bits));
        let none_below = expr::equal(expr::binary(Op::And, of, below), expr::constant(0, bits));
        let facts = [
            expr::compare(expr::Compare::ULt, result, expr::constant(u64::from(bits), 32)),
            expr::cut(expr::binary(Op::LShr, of, bit), 1),
            none_below,
        ];
        let done = self.node();
        self.branch(is_none, done);
        for fact in facts {
            self.op(crate::program::Op::Assume(fact));
        }
        self.enter(done);
        Value::Int(result, super::types::INT)
    }

    /// Bytes are not copied over pointers, which would make pointers of numbers.
    fn keeps_pointers(&mut self, arguments: &[Value]) {
        let has_pointer = |value: &Value| match value {
            Value::Pointer(_, Some(target), _) => target.ty.has_pointer(&self.structs),
            Value::Pointer(_, None, Type::Pointer(to)) => to.has_pointer(&self.structs),
            _ => false,
        };
        if arguments.iter().any(has_pointer) {
            self.fault("a function defined elsewhere is given an object that holds pointers: assign them one by one");
        }
    }

    /// `memset`: zero is the value that drivers use.
    fn fill(&mut self, arguments: Vec<Value>) -> Value {
        if let [Value::Pointer(_, Some(target), _), Value::Int(value, _), Value::Int(size, _)] = arguments.as_slice() {
            let whole = size.value() == Some(target.ty.layout(&self.structs).0);
            if value.value() == Some(0) && whole {
                self.zero(target);
            } else {
                // More may be filled than the pointer's target, such as the fields behind it.
                self.havoc(target);
                self.lose(target);
            }
        }
        arguments.into_iter().next().unwrap_or(Value::Void)
    }

    /// A function that is defined elsewhere: it returns, and gives any value.
    fn external(&mut self, name: &str, arguments: &[Value]) -> Value {
        let result = match self.find(name) {
            Some(Entity::Function(Type::Function(result))) => (**result).clone(),
            _ => super::types::INT,
        };
        // What these copy or compare stays as it is.
        let name_in_c = name.strip_prefix("__builtin_").unwrap_or(name);
        let kept = match name_in_c {
            "memcpy" | "memmove" => 1,
            "memcmp" => 0,
            _ => arguments.len(),
        };
        for argument in &arguments[..kept.min(arguments.len())] {
            if let Value::Pointer(_, Some(target), _) = argument {
                self.havoc(target);
                self.lose(target);
            }
        }
        if !self.names.is_primitive(name) {
            self.assume(format!("`{name}`, defined elsewhere, returns, and sends and receives no message"));
        }
        match result {
            Type::Int { bits, .. } => Value::Int(self.any(&format!("{name}()"), bits), result),
            Type::Pointer(_) => Value::Pointer(self.any(&format!("{name}()"), 64), None, result),
            Type::Struct(_) => Value::Aggregate(Box::new(Lvalue::opaque(result))),
            _ => Value::Void,
        }
    }

    pub(super) fn inline(&mut self, name: &str, function: &'a FunctionDefinition, arguments: &[Value]) -> Value {
        if self.at.is_none() {
            // Where the program cannot be: only the type matters.
            let base = self.declared_type(&function.specifiers);
            return match self.derived_type(base, &function.declarator.node) {
                Type::Function(result) => {
                    let place = Lvalue::opaque((*result).clone());
                    self.read(&place)
                }
                _ => Value::Void,
            };
        }
        if self.frames.iter().any(|frame| frame.name == name) || self.frames.len() >= MAX_DEPTH {
            self.fault(format!("`{name}` calls itself, directly or through others"));
            return Value::Void;
        }
        let place = self.place.clone();
        let base = self.declared_type(&function.specifiers);
        let result = match self.derived_type(base, &function.declarator.node) {
            Type::Function(result) => (*result).clone(),
            other => other,
        };
        let key = function as *const FunctionDefinition as usize;
        let storage = match &result {
            Type::Int { .. } | Type::Pointer(_) => {
                let kept = self.kept.get(&(key, String::new())).copied();
                let var = kept.unwrap_or_else(|| self.fresh(&format!("{name}()"), result.bits()));
                self.kept.insert((key, String::new()), var);
                Storage::Scalar(var)
            }
            _ => Storage::Opaque,
        };
        let result = Lvalue { ty: result, storage, object: None };
        self.own(&result, name);
        let exit = self.node();
        let changed = scan::changed_in(function);
        // The parameters' types are those of the file.
        let parameters = self.parameters(function);
        let scopes = self.scopes.len();
        self.open_scope();
        self.frames.push(Frame {
            name: name.to_string(),
            result: result.clone(),
            exit,
            labels: HashMap::default(),
            breaks: Vec::new(),
            continues: Vec::new(),
            cases: Vec::new(),
            changed: HashSet::default(),
            scopes,
        });
        for ((parameter, ty, at), value) in std::iter::zip(parameters, arguments) {
            let value = self.convert(value.clone(), &ty);
            if let (Value::Pointer(_, Some(_), _), false) = (&value, changed.contains(&parameter)) {
                let place = Lvalue { ty, storage: Storage::Alias(Box::new(value)), object: None };
                self.declare(&parameter, Entity::Object(place));
                continue;
            }
            let own = self.new_place(&parameter, ty, at);
            self.own(&own, name);
            self.declare(&parameter, Entity::Object(own.clone()));
            self.write(&own, value);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.changed = changed;
        }
        if let Statement::Compound(items) = &function.statement.node {
            items.iter().for_each(|item| self.block_item(item));
        }
        self.enter(exit);
        self.frames.pop();
        self.close_scope();
        self.place = place;
        match result.ty {
            Type::Void => Value::Void,
            _ => {
                let value = self.read(&result);
                // A second call of the function, in the same expression, would change it.
                self.snapshot(value)
            }
        }
    }

    fn parameters(&mut self, function: &'a FunctionDefinition) -> Vec<(String, Type, usize)> {
        let list = function.declarator.node.derived.iter().find_map(|one| match &one.node {
            DerivedDeclarator::Function(function) => Some(&function.node.parameters),
            _ => None,
        });
        let mut all = Vec::new();
        for Node { node: parameter, span } in list.into_iter().flatten() {
            let base = self.declared_type(&parameter.specifiers);
            let Some(declarator) = &parameter.declarator else {
                // A parameter without a name has its argument, too; `(void)` is none.
                if base != Type::Void {
                    all.push((String::new(), base, span.start));
                }
                continue;
            };
            let ty = match self.derived_type(base, &declarator.node) {
                Type::Array(element, _) => Type::Pointer(element),
                other => other,
            };
            let name = scan::declared_name(&declarator.node).unwrap_or_default().to_string();
            all.push((name, ty, span.start));
        }
        all
    }
}
