//! `#include`: finding the file, and checking whether it may be included there.

use std::path::{Path, PathBuf};

use super::{Preprocessor, MAX_NESTING};
use crate::lex::{Token, TokenKind};
use crate::order::{locate, Location};
use crate::rule::Rule;
use crate::source::{FileId, Span};

/// Headers that one file may pull in, counted each time: two that include each other double at every step.
const MAX_INCLUDED: usize = 1000;

enum Permission {
    Granted,
    /// The hardware's contract: read for declarations only.
    Trusted,
    Refused(String),
}

/// Like [`locate`], also for a path relative to the file's own directory.
pub fn locate_file(path: &Path) -> Option<Location> {
    locate(path).or_else(|| locate(&path.canonicalize().ok()?))
}

impl Preprocessor<'_> {
    pub(super) fn include(&mut self, rest: &[Token], span: Span) {
        let (name, whole) = match rest.first() {
            Some(Token { kind: TokenKind::Str(name), span: at, .. }) => (name.to_string(), *at),
            Some(first) if first.is("<") => {
                let text = self.text(rest);
                let whole = rest.last().map_or(first.span, |last| first.span.to(last.span));
                (text.trim_end().to_string(), whole)
            }
            _ => {
                self.fault(span, Rule::Syntax, "#include needs \"file\" or <file>".to_string());
                return;
            }
        };
        if name == "<stdint.h>" {
            self.stdint();
            return;
        }
        self.included += 1;
        if self.depth >= MAX_NESTING || self.included > MAX_INCLUDED {
            self.fault(whole, Rule::Nesting, "these headers include one another without end".to_string());
            return;
        }
        let permission = self.permission(span.file, &name);
        if let Permission::Refused(message) = &permission {
            self.fault(whole, Rule::Include, message.clone());
        }
        if name.starts_with('<') {
            self.out.incomplete |= !self.sources.trusted(span.file);
            return;
        }
        let Some(path) = self.find(span.file, &name) else {
            // A trusted file may include what only its own compilation finds; names are then missing where used.
            self.out.incomplete |= !self.sources.trusted(span.file);
            if !matches!(permission, Permission::Refused(_)) {
                self.fault(whole, Rule::Include, format!("\"{name}\" is not found"));
            }
            return;
        };
        match self.sources.load(&path) {
            Ok(id) => {
                let outside = matches!(permission, Permission::Refused(_)) && locate(&path).is_none();
                if matches!(permission, Permission::Trusted) || outside {
                    self.sources.set_trusted(id);
                }
                self.depth += 1;
                self.file(id);
                self.depth -= 1;
            }
            Err(error) => self.fault(whole, Rule::Include, format!("\"{name}\" cannot be read: {error}")),
        }
    }

    /// May `from` include `name`?
    fn permission(&self, from: FileId, name: &str) -> Permission {
        if matches!(name, "arch.h" | "arch/arch.h") {
            return Permission::Trusted;
        }
        if matches!(name, "config.h" | "abi.h" | "syscall_numbers.h" | "locks.h") {
            return Permission::Granted;
        }
        if self.sources.trusted(from) {
            return Permission::Trusted;
        }
        if name.starts_with('<') {
            return Permission::Refused(format!("{name} is not for certified files: only <stdint.h> is"));
        }
        let own = locate_file(&self.sources.get(from).path).map(|location| location.layer);
        let (layer, file) = name.split_once('/').unwrap_or((own.as_deref().unwrap_or(""), name));
        let beside = self.sources.get(from).path.with_file_name(file);
        if self.is_check(from, name) {
            return Permission::Granted;
        }
        if !file.ends_with(".h") {
            return Permission::Refused(format!("\"{name}\" is no header"));
        }
        if self.sources.exists(&beside) && (!name.contains('/') || Some(layer) == own.as_deref()) {
            return Permission::Granted;
        }
        // "layer.h" or "layer/layer.h"
        let stem = file.strip_suffix(".h").unwrap_or(file);
        if name.contains('/') && stem != layer {
            return Permission::Refused(format!("\"{name}\" is not the header of a layer"));
        }
        let layer = stem;
        let Some(order) = &self.options.order else { return Permission::Granted };
        match (order.level(layer), own.as_deref().and_then(|own| order.level(own))) {
            (None, _) => {
                Permission::Refused(format!("\"{name}\" is no header of this layer, and no layer of layers.order"))
            }
            (Some(lower), Some(level)) if lower > level => {
                let own = own.as_deref().unwrap_or_default();
                Permission::Refused(format!("layer `{layer}` stands above `{own}` in layers.order"))
            }
            _ => Permission::Granted,
        }
    }

    /// `FILE.c` may include its invariant walk, `FILE_check.c`.
    fn is_check(&self, from: FileId, name: &str) -> bool {
        let path = &self.sources.get(from).path;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "c") && *name == format!("{stem}_check.c")
    }

    fn find(&self, from: FileId, name: &str) -> Option<PathBuf> {
        let path = &self.sources.get(from).path;
        let mut dirs: Vec<PathBuf> = vec![path.parent().unwrap_or(Path::new("")).to_path_buf()];
        dirs.extend(self.options.include_dirs.iter().cloned());
        if let Some(root) = &self.root {
            dirs.extend([root.clone(), root.join("layers"), root.join("arch")]);
            dirs.push(root.join("layers").join(name.strip_suffix(".h").unwrap_or(name)));
        }
        dirs.into_iter().map(|dir| dir.join(name)).find(|candidate| self.sources.exists(candidate))
    }

    /// The limits that <stdint.h> names.
    fn stdint(&mut self) {
        if std::mem::replace(&mut self.out.stdint, true) {
            return;
        }
        let text = "#define UINT8_MAX 255\n#define UINT16_MAX 65535\n#define UINT32_MAX 0xffffffffu\n\
                    #define UINT64_MAX 0xfffffffffffffffful\n";
        let id = self.sources.add(Path::new("<stdint.h>"), text);
        self.sources.set_trusted(id);
        self.file(id);
    }
}
