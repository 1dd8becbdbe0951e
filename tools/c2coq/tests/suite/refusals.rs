//! The kernel's own build stops and names the fault when a layer calls upwards and when a certified file leaves the
//! subset. Works on a copy of the kernel.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testing::Folder;

struct Copy(Folder);

impl Copy {
    fn new() -> Copy {
        let root = Folder::new("refusals");
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap();
        copy_dir(&kernel, &root.join("kernel"));
        Copy(root)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join("kernel").join(file)
    }

    /// Runs the checks of the kernel's Makefile.
    fn check(&self) -> Output {
        Command::new("make")
            .args(["--no-print-directory", "-j2", "check"])
            .arg(format!("C2COQ={}", env!("CARGO_BIN_EXE_c2coq")))
            .current_dir(self.0.join("kernel"))
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    }

    /// Changes files, expects the checks to fail with all of `words` in their message, and puts the files back.
    fn refuses(&self, edits: &[(&str, &str, &str)], words: &[&str]) {
        let read = |file| std::fs::read_to_string(self.path(file)).unwrap();
        let originals: Vec<(&str, String)> = edits.iter().map(|(file, ..)| (*file, read(file))).collect();
        for (file, from, to) in edits {
            let text = read(file);
            let changed = if from.is_empty() { format!("{text}{to}") } else { text.replacen(from, to, 1) };
            assert_ne!(changed, text, "{file} holds no `{from}`");
            std::fs::write(self.path(file), changed).unwrap();
        }
        let output = self.check();
        let message = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        for (file, original) in originals {
            std::fs::write(self.path(file), original).unwrap();
        }
        assert!(!output.status.success(), "accepted: {edits:?}");
        // The report breaks long lines.
        let message = message.replace("\n  │", "").replace('\n', " ");
        for word in words {
            assert!(message.contains(word), "`{word}` is not named in:\n{message}");
        }
    }
}

pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_build_refuses_and_names_the_culprit() {
    let copy = Copy::new();
    let control = copy.check();
    assert!(control.status.success(), "{}", String::from_utf8_lossy(&control.stderr));

    // Upwards by the header.
    let call = "\nvoid queue_poke(void)\n{\n    sched_yield();\n}\n";
    let include = ("layers/queue/queue.c", "#include \"queue.h\"\n", "#include \"queue.h\"\n#include \"sched.h\"\n");
    let declare = ("layers/queue/queue.h", "void queue_init(void);", "void queue_init(void);\nvoid queue_poke(void);");
    copy.refuses(&[include, declare, ("layers/queue/queue.c", "", call)], &["subset::include", "queue.c", "`sched`"]);

    // Upwards behind the header's back.
    let hidden = (
        "layers/queue/queue.h",
        "void queue_init(void);",
        "void queue_init(void);\nvoid queue_poke(void);\nvoid sched_yield(void);",
    );
    copy.refuses(
        &[hidden, ("layers/queue/queue.c", "", call)],
        &["upward-call", "`queue_poke` of layer `queue` calls `sched_yield` of layer `sched`"],
    );

    // The lock of another layer, even of a lower one.
    let other = ("layers/irq/irq.c", "spinlock_acquire(LOCK_IRQ)", "spinlock_acquire(LOCK_FRAME)");
    copy.refuses(&[other], &["subset::include", "irq.c", "`LOCK_FRAME` is no lock or cell of layer `irq`"]);

    // Good C, but outside the subset.
    let flag = "\nuint32_t queue_poke(uint32_t q)\n{\n    return q > 3u;\n}\n";
    let declare =
        ("layers/queue/queue.h", "void queue_init(void);", "void queue_init(void);\nuint32_t queue_poke(uint32_t q);");
    copy.refuses(&[declare, ("layers/queue/queue.c", "", flag)], &["subset::condition", "queue.c", "remedy:"]);
}
