//! I/O ports of a driver's device. A read gives any value of its width; a write is an effect on the device alone. What is checked is
//! that each access is wholly inside the ports that the driver says it has, for which its port must be a constant.

use super::value::Value;
use super::Lower;
use crate::program::Ports;
use lang_c::ast::{Expression, Initializer, InitializerListItem};

/// The object by which a driver says which ports it has.
pub const PORTS: &str = "driver_ports";

impl<'a> Lower<'a> {
    /// Notes which ports the driver says it has.
    pub(super) fn note_ports(&mut self, initializer: &'a Initializer) {
        let items = match initializer {
            Initializer::List(items) => items.as_slice(),
            Initializer::Expression(_) => &[],
        };
        let (device, count) = match items {
            [device, count] => (text(&device.node), self.plain_constant(&count.node)),
            _ => (None, None),
        };
        match (device, count) {
            (Some(device), Some(count)) => {
                self.assume(format!("the description gives the driver at least {count} ports of device {device}"));
                self.program.ports = Some(Ports { device, count, place: self.place.clone() });
            }
            _ => self.fault(format!("`{PORTS}` must be {{\"DEVICE\", COUNT}}, COUNT a constant")),
        }
    }

    /// Checks a call of an access function. Its first argument is the port.
    pub(super) fn check_port(&mut self, name: &str, bytes: u64, arguments: &[Value]) {
        let Some(count) = self.program.ports.as_ref().map(|ports| ports.count) else {
            let form = format!("const struct driver_ports {PORTS} = {{\"DEVICE\", COUNT}};");
            self.fault(format!("`{name}`, but no ports are the driver's: say which, by `{form}`"));
            return;
        };
        let port = match arguments.first() {
            Some(Value::Int(port, _)) => port.value(),
            _ => None,
        };
        match port {
            None => self.fault(format!("the port of `{name}` is no constant: write a call for each port")),
            // The parameter has 32 bits; what is lost by that is refused too.
            Some(port) if port.checked_add(bytes).is_none_or(|end| end > count) => self.fault(format!(
                "`{name}` of port {port} touches {bytes} from there, but `{PORTS}` has {count}, from 0: \
                 use one of those, or a larger COUNT"
            )),
            Some(_) => {}
        }
    }
}

/// A list's item, if it is a text without a designator.
fn text(item: &InitializerListItem) -> Option<String> {
    match (&item.initializer.node, item.designation.as_slice()) {
        (Initializer::Expression(value), []) => match &value.node {
            Expression::StringLiteral(parts) => Some(parts.node.iter().map(|part| part.trim_matches('"')).collect()),
            _ => None,
        },
        _ => None,
    }
}
