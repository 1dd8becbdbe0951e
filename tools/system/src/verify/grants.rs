//! Grants, as kernel/start/table_processes.c checks them: no process holds what another owns.

use super::{Damage, Tables};
use crate::layout::*;
use crate::table::record::Grant;
use std::collections::HashSet;

pub(super) fn check(tables: &Tables, damages: &mut Vec<Damage>) {
    for (process, record) in (0..).zip(&tables.processes) {
        let first = record.first_grant as usize;
        let range = first..first.saturating_add(record.num_grants as usize);
        let Some(grants) = tables.grants.get(range) else { continue };
        let mut slots = HashSet::new();
        for (index, grant) in (first..).zip(grants) {
            let mut damage = |reason| damages.push(Damage::Record { what: "grant", index, reason });
            if grant.slot >= NUM_GRANT || !slots.insert(grant.slot) {
                damage("its slot is out of range or taken");
            }
            if let Some(reason) = fault(tables, process, grant) {
                damage(reason);
            }
        }
    }
}

/// Why `process` must not have this grant.
fn fault(tables: &Tables, process: u32, grant: &Grant) -> Option<&'static str> {
    let object = grant.object as usize;
    let told = grant.badge == u64::from(NONE) || grant.badge < tables.notifications.len() as u64;
    let no_rights = |all: u32| grant.rights == 0 || grant.rights & !all != 0;
    let holds = |condition: bool, reason| if condition { None } else { Some(reason) };
    match grant.kind {
        GRANT_ENDPOINT => match tables.endpoints.get(object) {
            Some(_) if no_rights(RIGHT_SEND | RIGHT_RECV) => Some("no such rights"),
            Some(endpoint) if grant.rights & RIGHT_RECV != 0 => {
                holds(endpoint.owner == process, "only an endpoint's owner receives")
            }
            Some(_) => None,
            None => Some("no such endpoint"),
        },
        GRANT_NOTIFICATION => match tables.notifications.get(object) {
            Some(_) if no_rights(RIGHT_SIGNAL | RIGHT_WAIT) => Some("no such rights"),
            Some(notification) if grant.rights & RIGHT_WAIT != 0 => {
                holds(notification.owner == process, "only a notification's owner waits")
            }
            Some(_) => None,
            None => Some("no such notification"),
        },
        GRANT_BUFFER => {
            let good = object < tables.buffers.len() && !no_rights(RIGHT_INSERT | RIGHT_REMOVE);
            holds(good, "no such bounded buffer or rights")
        }
        GRANT_SHARE => {
            let end = tables.shares.get(object).and_then(|share| match grant.rights {
                RIGHT_OFFER => Some(share.from),
                RIGHT_ACCEPT => Some(share.to),
                _ => None,
            });
            holds(end == Some(process), "the share joins other processes")
        }
        GRANT_PROCESS => {
            let child = tables.processes.get(object).is_some_and(|child| child.parent == process);
            holds(child && told, "only a parent controls a process, and it signals a notification or none")
        }
        GRANT_IRQ => {
            let bound = tables.irqs.iter().any(|irq| irq.gsi == grant.object);
            let tells = told && grant.badge != u64::from(NONE);
            holds(bound && tells, "no such interrupt, or it signals no notification")
        }
        GRANT_MMIO | GRANT_PORT => {
            let device = tables.devices.get(object);
            let own = device.is_some_and(|device| device.kind == grant.kind && device.owner == process);
            holds(own, "no such device, or it is another process's")
        }
        GRANT_VM => {
            let own = tables.vms.get(object).is_some_and(|vm| vm.process == process);
            holds(own, "the machine is another process's")
        }
        GRANT_CONSOLE => holds(object < tables.consoles.len() && told, "no such console, or no such notification"),
        GRANT_DMA | GRANT_POWER => None,
        _ => Some("unknown kind"),
    }
}
