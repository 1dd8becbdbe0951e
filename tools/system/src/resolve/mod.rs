//! From a checked description and the files it names to every id, slot and address: numbering, grants, environment pages,
//! places of segments in memory and in the image.

mod environment;
mod grants;
mod ids;
mod objects;
mod payload;
pub mod resolved;
mod space;

use crate::codes::Code;
use crate::description::{Description, Machine, Process};
use crate::environment::Environment;
use crate::file::{read_all, Files, Strictness};
use crate::layout::{NUM_GRANT, NUM_SEGMENT};
use crate::load::System;
use crate::memory::{self, mapped_files};
use crate::table;
use crate::Assets;
use diagnostics::{Diagnostic, Report};
use ids::Ids;
use payload::Payload;
use resolved::{Grant, Image, Resolved};

/// A resolved system with the bytes of its payload.
#[derive(Debug, Clone)]
pub struct Resolution {
    pub resolved: Resolved,
    pub(crate) payload: Vec<u8>,
}

/// Gives every object its id, every grant its slot and every segment its place. All programs and files must be there;
/// what is missing or damaged is reported.
pub fn resolve(system: &System, assets: &Assets) -> Result<Resolution, Report> {
    let mut report = Report::default();
    let description = &system.description;
    let machine = &system.machine_description;
    let files = read_all(description, assets, Strictness::All, &mut report);
    let shares = memory::plan(description, Some(machine), &files, assets, &mut report);
    check_tables(description, Some(machine), &files, assets, &mut report);
    if !report.is_clean() {
        report.sort();
        return Err(report);
    }
    let ids = Ids::new(description, Some(machine));
    let world = World { ids: &ids, files: &files, assets };
    let mut payload = Payload::default();
    let mut processes = Vec::new();
    for (index, process) in (0..).zip(&description.processes) {
        let (grants, page) = tables_of(&world, index, process);
        let segments = space::segments(&world, process, &page, &mut payload);
        processes.push(space::process(&world, index, shares[index as usize], &page, segments, grants));
    }
    check_segments(description, &processes)?;
    let mut resolved = Resolved {
        memory_frames: memory::frames_of_roots(description, &shares),
        processes,
        ..objects::objects(&ids, system)
    };
    let offset = table::size(&resolved).next_multiple_of(crate::layout::PAGE_SIZE);
    place_payload(&mut resolved, &payload, offset);
    Ok(Resolution { resolved, payload: payload.bytes })
}

/// Faults that show only once grants and environment pages are laid out; works on a faulty description too.
pub(crate) fn check_tables(
    description: &Description,
    machine: Option<&Machine>,
    files: &Files,
    assets: &Assets,
    report: &mut Report,
) {
    let ids = Ids::new(description, machine);
    let world = World { ids: &ids, files, assets };
    for (index, process) in (0..).zip(&description.processes) {
        let (grants, page) = tables_of(&world, index, process);
        let at = |code, message: String, remedy: &str| {
            Diagnostic::new(code, message, remedy).at(&description.source, &process.name.span, "this process")
        };
        let name = &process.name.value;
        if grants.len() > NUM_GRANT as usize {
            let message = format!("`{name}` holds {} grants, but a process has {NUM_GRANT} slots", grants.len());
            report.push(at(Code::TooMany, message, "split it into several processes"));
        }
        if !page.fits() {
            let message = format!("the environment of `{name}` takes {} bytes, but has 4095", page.text().len());
            report.push(at(Code::EnvironmentFull, message, "use fewer or shorter `args`; pass large data as a file"));
        }
    }
}

/// The kernel has room for all segments.
fn check_segments(description: &Description, processes: &[resolved::Process]) -> Result<(), Report> {
    let mut sum = 0;
    for (described, process) in description.processes.iter().zip(processes) {
        sum += process.segments.len();
        if sum > NUM_SEGMENT as usize {
            let message = format!("more than {NUM_SEGMENT} segments of programs, stacks and files");
            let fault = Diagnostic::new(Code::TooMany, message, "use fewer processes or files");
            let fault = fault.at(&description.source, &described.name.span, "the first too many");
            return Err(Report { diagnostics: vec![fault] });
        }
    }
    Ok(())
}

/// What the stages of resolving look things up in.
struct World<'a> {
    ids: &'a Ids<'a>,
    files: &'a Files,
    assets: &'a Assets,
}

fn tables_of(world: &World, index: u32, process: &Process) -> (Vec<Grant>, Environment) {
    let grants = grants::grants(world.ids, index, process);
    let mapped = mapped_files(world.ids.description, process, world.files, world.assets);
    let page = environment::environment(world.ids, process, &grants, &mapped);
    (grants, page)
}

/// Turns offsets in the payload into offsets in the image.
fn place_payload(resolved: &mut Resolved, payload: &Payload, offset: u64) {
    for segment in resolved.processes.iter_mut().flat_map(|process| &mut process.segments) {
        segment.image_offset += offset;
    }
    let mut chunks = payload.chunks.clone();
    for chunk in &mut chunks {
        chunk.offset += offset;
    }
    resolved.image = Image { payload_offset: offset, size: offset + payload.bytes.len() as u64, payload: chunks };
}
