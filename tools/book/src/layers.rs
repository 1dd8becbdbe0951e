//! The stack of layers, each with the share of its functions that is certified.

use crate::{read, Error};
use c2coq::Options;
use picture::canvas::{Canvas, Picture, Rect};
use picture::{text_width, LINE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ROW: f64 = 22.0;
const MARGIN: f64 = 12.0;
/// Width of the bars, and where the words beside them begin.
const BAR: f64 = 300.0;

/// Beside the ground on which all layers stand.
const TRUSTED: &str = "primitives of the hardware, trusted";

struct Row {
    name: String,
    certified: usize,
    functions: usize,
}

pub fn picture(root: &Path) -> Result<Picture, Error> {
    let rows = rows(root)?;
    let mut canvas = Canvas::default();
    let mut y = MARGIN;
    for row in rows.iter().rev() {
        let whole = Rect { x: MARGIN, y, width: BAR, height: ROW - 3.0 };
        canvas.rect("paper", whole, 3.0);
        let share = row.certified as f64 / row.functions.max(1) as f64;
        if row.certified > 0 {
            canvas.rect("green", Rect { width: BAR * share, ..whole }, 3.0);
        }
        canvas.text(MARGIN + 8.0, y + LINE - 3.0, &[("bold", &row.name)]);
        let words = format!("{} of {} functions certified", row.certified, row.functions);
        canvas.text(MARGIN + BAR + 12.0, y + LINE - 3.0, &[(if row.certified > 0 { "" } else { "dim" }, &words)]);
        y += ROW;
    }
    let ground = Rect { x: MARGIN, y, width: BAR, height: ROW - 3.0 };
    canvas.rect("grey", ground, 3.0);
    canvas.text(MARGIN + 8.0, y + LINE - 3.0, &[("bold", "arch")]);
    canvas.text(MARGIN + BAR + 12.0, y + LINE - 3.0, &[("dim", TRUSTED)]);
    let width = 2.0 * MARGIN + BAR + text_width(TRUSTED) + 24.0;
    Ok(canvas.finish("The layers of the kernel and what is proved of them", width, y + ROW + MARGIN))
}

/// Lowest first.
fn rows(root: &Path) -> Result<Vec<Row>, Error> {
    let order = c2coq::read_order(&root.join("kernel/layers.order"))?;
    let path = root.join("proof/certified.toml");
    let certified: BTreeMap<String, BTreeMap<String, toml::Value>> =
        toml::from_str(&read(&path)?).map_err(|error| Error::Toml { path, error })?;
    let mut include_dirs = vec![root.join("kernel"), root.join("kernel/arch"), root.join("kernel/layers")];
    include_dirs.extend(order.names().iter().map(|name| root.join("kernel/layers").join(name)));
    let defines = vec![("LOCK_TICKET".to_string(), "1".to_string())];
    let options = Options { include_dirs, defines, order: Some(order.clone()) };
    let mut rows = Vec::new();
    for name in order.names() {
        let folder = root.join("kernel/layers").join(name);
        let sources = crate::files_below(&folder, &[".c"])?.into_iter().filter(|path| {
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            !stem.ends_with("_test") && !stem.ends_with("_check")
        });
        let checked = c2coq::check(&sources.collect::<Vec<_>>(), &options)?;
        if !checked.faults.is_empty() {
            return Err(Error::Subset { layer: name.clone() });
        }
        let defined = checked.program.units.iter().flat_map(|unit| &unit.functions).filter(|one| one.body.is_some());
        let functions: BTreeSet<&str> = defined.map(|function| function.name.as_str()).collect();
        // A layer that is built in several ways has a table for each, as `spinlock` and `spinlock-mcs`.
        let builds = certified.iter().filter(|(build, _)| build.split('-').next() == Some(name));
        let proved: BTreeSet<&str> = builds.flat_map(|(_, table)| table.keys().map(String::as_str)).collect();
        let certified = functions.intersection(&proved).count();
        rows.push(Row { name: name.clone(), certified, functions: functions.len() });
    }
    Ok(rows)
}
