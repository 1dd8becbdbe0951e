//! The C header of a system: its objects' numbers, for code that is built for this system alone. Programs for any system use
//! the environment page instead.

use crate::resolve::Resolution;
use std::fmt::Write;

impl Resolution {
    /// `system_NAME.h`: slots, thread indices and object ids as constants.
    pub fn c_header(&self) -> String {
        let resolved = &self.resolved;
        let guard = format!("SYSTEM_{}_H", constant(&resolved.system));
        let mut out = format!(
            "/* Generated from {}.toml by `ashlar build`; changes here are lost. */\n#ifndef {guard}\n#define {guard}\n",
            resolved.system
        );
        // Writing to a string cannot fail.
        for process in &resolved.processes {
            let prefix = constant(&process.name);
            let _ = writeln!(out, "\n/* {} */", process.name);
            let _ = writeln!(out, "#define PROCESS_{prefix} {}u", process.id);
            for grant in &process.grants {
                let _ = writeln!(out, "#define {prefix}_SLOT_{} {}u", constant(&grant.name), grant.slot);
            }
            for (index, thread) in process.threads.iter().enumerate() {
                let _ = writeln!(out, "#define {prefix}_THREAD_{} {index}u", constant(&thread.name));
            }
        }
        out.push('\n');
        for console in &resolved.consoles {
            let _ = writeln!(out, "#define CONSOLE_{} {}u", constant(&console.name), console.id);
        }
        let _ = writeln!(out, "\n#endif");
        out
    }
}

fn constant(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
