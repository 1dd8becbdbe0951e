//! Protocols of which a program is the client: those in its table `client_protocols`. They are checked as their mirror.

use crate::driver::DriverError;
use crate::lower::CLIENTS;
use lang_c::ast::{Expression, ExternalDeclaration, Initializer, TranslationUnit, UnaryOperator};
use protocol::mirror::mirror;
use protocol::Checked;

/// What the name of a protocol ends with whose server and client a program is both, where it is the client.
pub const TOWARDS_DRIVER: &str = "_driver";

/// The names in a table of protocols, each `&NAME_protocol`; nothing if there is no such table.
fn table(unit: &TranslationUnit, wanted: &str) -> Result<Vec<String>, DriverError> {
    let mut found = Vec::new();
    for item in &unit.0 {
        let ExternalDeclaration::Declaration(declaration) = &item.node else { continue };
        for one in &declaration.node.declarators {
            let is_wanted = crate::lower::declared_name(&one.node.declarator.node) == Some(wanted);
            let Some(initializer) = one.node.initializer.as_ref().filter(|_| is_wanted) else { continue };
            found.extend(names(&initializer.node).ok_or_else(|| {
                DriverError::Protocol(format!("`{wanted}` must be a list of the form {{&NAME_protocol, …, 0}}"))
            })?);
        }
    }
    Ok(found)
}

fn names(initializer: &Initializer) -> Option<Vec<String>> {
    let Initializer::List(items) = initializer else { return None };
    let (last, all) = items.split_last()?;
    let is_null = |item: &Initializer| matches!(item, Initializer::Expression(one) if matches!(one.node, Expression::Constant(_)));
    if !last.node.designation.is_empty() || !is_null(&last.node.initializer.node) {
        return None;
    }
    let name = |item: &Initializer| {
        let Initializer::Expression(expression) = item else { return None };
        let Expression::UnaryOperator(one) = &expression.node else { return None };
        let Expression::Identifier(name) = &one.node.operand.node else { return None };
        let is_address = one.node.operator.node == UnaryOperator::Address;
        name.node.name.strip_suffix("_protocol").filter(|_| is_address).map(str::to_string)
    };
    all.iter().map(|item| name(&item.node.initializer.node).filter(|_| item.node.designation.is_empty())).collect()
}

/// The protocols as the program keeps to them.
pub fn as_spoken(unit: &TranslationUnit, protocols: Vec<Checked>) -> Result<Vec<Checked>, DriverError> {
    let clients = table(unit, "client_protocols")?;
    if clients.is_empty() {
        return Ok(protocols);
    }
    let served = table(unit, "driver_protocols")?;
    let has_several = crate::lower::is_defined(unit, CLIENTS);
    let is_spoken = |name: &String| protocols.iter().any(|one| one.protocol.name == *name);
    for name in &clients {
        if served.contains(name) && !has_several {
            let text =
                format!("protocol {name} stands in `driver_protocols` and in `client_protocols`: without `{CLIENTS}` it has one port");
            return Err(DriverError::Protocol(text));
        }
        if !is_spoken(name) {
            let text = format!("protocol {name} stands in `client_protocols`, but its header is not included");
            return Err(DriverError::Protocol(text));
        }
    }
    let (mut all, mut both) = (Vec::new(), Vec::new());
    for one in protocols {
        if !clients.contains(&one.protocol.name) {
            all.push(one);
            continue;
        }
        let mut own = mirror(&one).map_err(|error| DriverError::Protocol(error.to_string()))?.checked;
        if served.contains(&one.protocol.name) {
            own.protocol.name.push_str(TOWARDS_DRIVER);
            both.push(own);
            all.push(one);
        } else {
            all.push(own);
        }
    }
    all.extend(both);
    Ok(all)
}
