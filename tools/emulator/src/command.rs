//! The emulator's command line: the template of a machine description, filled in, with the options that a run adds.

use std::fmt;
use std::path::Path;

/// A program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables of its environment, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The program draws on a terminal, and its serial line is another one, named by the variable SERIAL.
    pub terminal: bool,
}

/// What a machine description leaves open.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    pub kernel: &'a Path,
    pub image: &'a Path,
    pub disk: &'a Path,
    /// The disc image.
    pub disc: &'a Path,
    pub cpus: u32,
    pub memory_mib: u64,
}

impl CommandLine {
    /// Fills in a machine's template. The serial line becomes the emulator's standard input and output.
    pub fn from_template(emulator: &system::Emulator, settings: &Settings<'_>) -> CommandLine {
        let fill = |text: &String| {
            text.replace("{kernel}", &settings.kernel.display().to_string())
                .replace("{folder}", &settings.image.parent().unwrap_or(Path::new("")).display().to_string())
                .replace("{image}", &settings.image.display().to_string())
                .replace("{disk}", &settings.disk.display().to_string())
                .replace("{disc}", &settings.disc.display().to_string())
                .replace("{machines}", &emulator.folder.display().to_string())
                .replace("{cpus}", &settings.cpus.to_string())
                .replace("{memory}", &settings.memory_mib.to_string())
                .replace("{serial}", if emulator.terminal { "$SERIAL" } else { "stdio" })
        };
        CommandLine {
            program: emulator.command.clone(),
            arguments: emulator.arguments.iter().map(fill).collect(),
            environment: emulator.environment.iter().map(fill).collect(),
            terminal: emulator.terminal,
        }
    }

    /// Names and values of the variables.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().filter_map(|text| text.split_once('='))
    }

    /// Appends arguments.
    pub fn with<const N: usize>(mut self, arguments: [&str; N]) -> CommandLine {
        self.arguments.extend(arguments.map(String::from));
        self
    }

    /// Gives `option` another value, or adds it.
    pub fn setting(mut self, option: &str, value: &str) -> CommandLine {
        let at = self.arguments.iter().position(|argument| argument == option);
        match at.and_then(|at| self.arguments.get_mut(at + 1)) {
            Some(old) => {
                *old = value.to_string();
                self
            }
            None => self.with([option, value]),
        }
    }

    /// Replaces the kernel and image by an ISO to boot from.
    pub fn booting_iso(mut self, iso: &Path) -> CommandLine {
        for option in ["-kernel", "-initrd", "-append"] {
            if let Some(at) = self.arguments.iter().position(|argument| argument == option) {
                self.arguments.drain(at..(at + 2).min(self.arguments.len()));
            }
        }
        let iso = iso.display().to_string();
        self.with(["-cdrom", &iso, "-boot", "d"])
    }
}

impl fmt::Display for CommandLine {
    /// As it can be pasted into a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.variables() {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// A word as it can be pasted into a shell.
pub fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=,:+@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, Settings};
    use std::path::Path;

    fn line() -> CommandLine {
        let arguments =
            ["-smp", "{cpus}", "-m", "{memory}M", "-kernel", "{kernel}", "-initrd", "{image}", "-serial", "{serial}"];
        let emulator = system::Emulator {
            command: "qemu".into(),
            arguments: arguments.iter().map(|text| text.to_string()).collect(),
            ..Default::default()
        };
        let settings = Settings {
            kernel: Path::new("/k.elf"),
            image: Path::new("/a b/s.img"),
            disk: Path::new("/d.img"),
            disc: Path::new("/d.iso"),
            cpus: 4,
            memory_mib: 2048,
        };
        CommandLine::from_template(&emulator, &settings)
    }

    #[test]
    fn fills_in_and_can_be_pasted() {
        assert_eq!(line().to_string(), "qemu -smp 4 -m 2048M -kernel /k.elf -initrd '/a b/s.img' -serial stdio");
    }

    #[test]
    fn files_of_a_run_stand_beside_the_image() {
        let emulator = system::Emulator {
            command: "qemu".into(),
            arguments: vec![
                "path={folder}/sound.wav".into(),
                "file={disk},{disc}".into(),
                "-rc={machines}/rc".into(),
                "{serial}".into(),
            ],
            environment: vec!["SOUND={folder}/x y".into()],
            terminal: true,
            folder: "/m".into(),
            ..Default::default()
        };
        let settings = Settings {
            kernel: Path::new("/k"),
            image: Path::new("/a/s.img"),
            disk: Path::new("/a/d.img"),
            disc: Path::new("/a/d.iso"),
            cpus: 1,
            memory_mib: 1,
        };
        assert_eq!(
            CommandLine::from_template(&emulator, &settings).to_string(),
            "SOUND='/a/x y' qemu path=/a/sound.wav file=/a/d.img,/a/d.iso -rc=/m/rc '$SERIAL'"
        );
    }

    #[test]
    fn a_setting_is_replaced_or_added() {
        let line = line().setting("-m", "64M").setting("-icount", "shift=0");
        let shown = line.to_string();
        assert!(shown.contains("-m 64M") && !shown.contains("2048M") && shown.ends_with("-icount shift=0"), "{shown}");
    }

    #[test]
    fn an_iso_takes_the_place_of_kernel_and_image() {
        let line = line().booting_iso(Path::new("/x.iso"));
        assert_eq!(line.to_string(), "qemu -smp 4 -m 2048M -serial stdio -cdrom /x.iso -boot d");
    }
}
