//! The kernel's own checks of the boot table, compiled for this machine (`start_up.c`).

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct StartUp {
    folder: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StartUp {
    /// `name` tells the tests of one process apart.
    pub fn new(name: &str) -> StartUp {
        let folder = std::env::temp_dir().join(format!("ashlar-start-up-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let kernel = crate_folder.join("../../kernel");
        let includes = ["", "start", "arch", "arch/x86_64", "layers/process", "layers/sched"];
        let program = folder.join("start-up");
        let compiled = Command::new("gcc")
            .args(["-std=gnu11", "-O1", "-w"])
            .args(includes.iter().map(|include| format!("-iquote{}", kernel.join(include).display())))
            .arg("-o")
            .arg(&program)
            .arg(crate_folder.join("tests/suite/common/start_up.c"))
            .arg(kernel.join("arch/x86_64/boot/crc32_fold.S"))
            .output()
            .expect("gcc runs");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut child =
            Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        StartUp { folder, child, input, output }
    }

    /// Why start-up refuses the image; `None` if it accepts it.
    pub fn refusal(&mut self, image: &[u8]) -> Option<String> {
        let input = self.input.as_mut().expect("the program runs");
        input.write_all(&(image.len() as u64).to_le_bytes()).expect("the program reads");
        input.write_all(image).expect("the program reads");
        let mut line = String::new();
        let read = self.output.read_line(&mut line).expect("the program answers");
        assert!(read > 0, "the kernel's checks crashed");
        Some(line.trim_end().to_string()).filter(|reason| !reason.is_empty())
    }
}

impl Drop for StartUp {
    fn drop(&mut self) {
        drop(self.input.take());
        // Leftovers do no harm.
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
