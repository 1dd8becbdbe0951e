//! The layer check: each layer calls only functions of layers below it, by the symbols of the linked object files.
//!
//! A layer's objects are `DIR/LAYER.o`, `DIR/LAYER_part.o`, or any object in a directory `DIR/.../LAYER/`. Other
//! objects (arch, boot) are not layers. Link-time optimisation comes after this check, so it also sees calls
//! that are inlined later; objects must hold machine code (`-ffat-lto-objects`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind, SymbolKind};

use crate::finding::{Code, Finding};
use crate::order::LayerOrder;

/// Prefix of the hardware's primitives, which every layer may call.
const ARCH: &str = "arch_";
/// Functions the compiler calls on its own.
const INTRINSICS: &[&str] = &["memcpy", "memset", "memmove", "memcmp", "strlen", "abort"];

#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    #[error("{path} cannot be read: {error}", path = path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path} is no object file: {error}", path = path.display())]
    Object { path: PathBuf, error: object::Error },
}

/// One reference from a layer to a symbol it does not define.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    layer: String,
    /// The function (or object) the reference stands in.
    from: String,
    to: String,
    file: PathBuf,
}

#[derive(Default)]
struct Symbols {
    /// Exported function -> layer.
    functions: BTreeMap<String, String>,
    references: BTreeSet<Reference>,
    findings: Vec<Finding>,
    seen: BTreeSet<String>,
}

/// Checks the objects below `objects` against the order. `order_file` is named in messages. With `sources`, the
/// directory of the layers' sources, `DIR/LAYER/part.o` counts only while there is a `sources/LAYER/part.c`.
pub fn check_objects(
    order: &LayerOrder,
    order_file: &Path,
    objects: &Path,
    sources: Option<&Path>,
) -> Result<Vec<Finding>, LayersError> {
    let mut symbols = Symbols::default();
    for file in object_files(objects)? {
        if sources.is_some_and(|sources| is_leftover(sources, &file)) {
            continue;
        }
        if let Some(layer) = layer_of(order, objects, &file) {
            symbols.seen.insert(layer.clone());
            symbols.read(&layer, &file)?;
        }
    }
    let mut findings = std::mem::take(&mut symbols.findings);
    for name in order.names().iter().filter(|name| !symbols.seen.contains(*name)) {
        findings.push(Finding {
            code: Code::LayerWithoutObject,
            file: order_file.to_path_buf(),
            line: None,
            message: format!("layer `{name}` has no object file below {}", objects.display()),
            remedy: "compile the layer, or take it out of the order".to_string(),
        });
    }
    findings.extend(symbols.references.iter().filter_map(|reference| symbols.judge(order, order_file, reference)));
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Compares the directories of `layers` with the order.
pub fn check_directories(order: &LayerOrder, order_file: &Path, layers: &Path) -> Result<Vec<Finding>, LayersError> {
    let mut present = BTreeSet::new();
    for entry in read_dir(layers)? {
        if entry.is_dir() {
            present.extend(entry.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    let mut findings = Vec::new();
    for name in order.names().iter().filter(|name| !present.contains(*name)) {
        findings.push(Finding {
            code: Code::LayerWithoutDirectory,
            file: order_file.to_path_buf(),
            line: None,
            message: format!("layer `{name}` has no directory {}", layers.join(name).display()),
            remedy: "write the layer, or take it out of the order".to_string(),
        });
    }
    for name in present.iter().filter(|name| order.level(name).is_none()) {
        findings.push(Finding {
            code: Code::LayerNotInOrder,
            file: layers.join(name),
            line: None,
            message: format!("`{name}` is no layer of {}", order_file.display()),
            remedy: "give it its place in the order, above all layers it calls".to_string(),
        });
    }
    Ok(findings)
}

fn read_dir(dir: &Path) -> Result<Vec<PathBuf>, LayersError> {
    let read = |error| LayersError::Read { path: dir.to_path_buf(), error };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(read)? {
        entries.push(entry.map_err(read)?.path());
    }
    entries.sort();
    Ok(entries)
}

/// All `.o` files below a directory.
fn object_files(dir: &Path) -> Result<Vec<PathBuf>, LayersError> {
    let mut files = Vec::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in read_dir(&dir)? {
            if entry.is_dir() && !entry.is_symlink() {
                waiting.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "o") {
                files.push(entry);
            }
        }
    }
    Ok(files)
}

/// An object of an earlier build, whose source is gone.
fn is_leftover(sources: &Path, object: &Path) -> bool {
    let layer = object.parent().and_then(Path::file_name).map(|layer| sources.join(layer));
    let Some((layer, stem)) = layer.zip(object.file_stem()) else { return false };
    layer.is_dir() && !layer.join(stem).with_extension("c").is_file()
}

fn layer_of(order: &LayerOrder, root: &Path, file: &Path) -> Option<String> {
    let inner = file.strip_prefix(root).unwrap_or(file);
    let dirs = inner.parent().into_iter().flat_map(Path::components);
    let by_dir = dirs.filter_map(|dir| dir.as_os_str().to_str()).rfind(|name| order.level(name).is_some());
    if let Some(name) = by_dir {
        return Some(name.to_string());
    }
    if inner.components().any(|part| part.as_os_str() == "arch" || part.as_os_str() == "boot") {
        return None;
    }
    let stem = file.file_stem()?.to_str()?;
    let owns =
        |name: &&String| stem == *name || stem.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('_'));
    order.names().iter().filter(owns).max_by_key(|name| name.len()).cloned()
}

/// The compiler names parts of its debug information by symbols, too. What stands there is never loaded.
fn is_debug_information(file: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
    section.is_some_and(|section| match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & object::elf::SHF_ALLOC.0 == 0,
        _ => false,
    })
}

impl Symbols {
    fn read(&mut self, layer: &str, path: &Path) -> Result<(), LayersError> {
        let bytes = std::fs::read(path).map_err(|error| LayersError::Read { path: path.to_path_buf(), error })?;
        let failed = |error| LayersError::Object { path: path.to_path_buf(), error };
        let file = object::File::parse(&*bytes).map_err(failed)?;
        let finding = |code, message: String, remedy: &str| Finding {
            code,
            file: path.to_path_buf(),
            line: None,
            message,
            remedy: remedy.to_string(),
        };
        for symbol in file.symbols() {
            let name = symbol.name().map_err(failed)?;
            if name.starts_with("__gnu_lto_slim") {
                let message = "this object holds no machine code, so its calls cannot be seen".to_string();
                self.findings.push(finding(Code::SlimObject, message, "compile with -ffat-lto-objects"));
            }
            let exported = symbol.is_global() && (symbol.is_definition() || symbol.is_common());
            if !exported || name.starts_with("__gnu_lto") || is_debug_information(&file, &symbol) {
                continue;
            }
            if symbol.kind() != SymbolKind::Text {
                let message = format!("layer `{layer}` exports the object `{name}`");
                self.findings.push(finding(
                    Code::ExportedData,
                    message,
                    "make it static and export functions that use it",
                ));
                continue;
            }
            match self.functions.insert(name.to_string(), layer.to_string()) {
                Some(other) if other != layer => {
                    let message = format!("layers `{other}` and `{layer}` both export `{name}`");
                    self.findings.push(finding(Code::ExportedTwice, message, "begin its name with its layer's name"));
                }
                _ => {}
            }
        }
        for section in file.sections() {
            // Debug information and LTO bytecode refer to symbols without using them.
            if matches!(section.kind(), SectionKind::Debug | SectionKind::Other | SectionKind::Note) {
                continue;
            }
            let section_name = section.name().map_err(failed)?.to_string();
            if section_name.starts_with(".gnu.lto") || section_name.starts_with(".debug") || section_name == ".eh_frame"
            {
                continue;
            }
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let target = file.symbol_by_index(index).map_err(failed)?;
                if !target.is_undefined() {
                    continue;
                }
                let within = file.symbols().find(|symbol| {
                    symbol.section_index() == Some(section.index())
                        && matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data)
                        && (symbol.address()..symbol.address().saturating_add(symbol.size())).contains(&offset)
                });
                let from = within.and_then(|symbol| symbol.name().ok().map(str::to_string));
                self.references.insert(Reference {
                    layer: layer.to_string(),
                    from: from.unwrap_or_else(|| section_name.clone()),
                    to: target.name().map_err(failed)?.to_string(),
                    file: path.to_path_buf(),
                });
            }
        }
        Ok(())
    }

    fn judge(&self, order: &LayerOrder, order_file: &Path, reference: &Reference) -> Option<Finding> {
        let Reference { layer, from, to, file } = reference;
        let finding = |code, message, remedy: &str| {
            Some(Finding { code, file: file.clone(), line: None, message, remedy: remedy.to_string() })
        };
        if let Some(callee) = self.functions.get(to) {
            if callee == layer || order.level(callee) < order.level(layer) {
                return None;
            }
            let message = format!(
                "`{from}` of layer `{layer}` calls `{to}` of layer `{callee}`, which stands above it in {}",
                order_file.display()
            );
            return finding(Code::UpwardCall, message, "let the upper layer call this one, or move the function down");
        }
        if to.starts_with(ARCH) {
            return None;
        }
        // Names the linker gives, not functions.
        if to == "_GLOBAL_OFFSET_TABLE_" {
            return finding(
                Code::ForeignSymbol,
                format!("`{from}` of layer `{layer}` is position independent"),
                "compile with -fno-pic",
            );
        }
        if INTRINSICS.contains(&to.as_str()) || to.starts_with("__") {
            let message = format!("`{from}` of layer `{layer}` makes the compiler call `{to}`");
            return finding(
                Code::CompilerCall,
                message,
                "write the loop so that the compiler keeps it, or use an arch primitive",
            );
        }
        let message = format!("`{from}` of layer `{layer}` uses `{to}`, which no layer exports");
        finding(Code::ForeignSymbol, message, "call layers below, or arch_ primitives")
    }
}
