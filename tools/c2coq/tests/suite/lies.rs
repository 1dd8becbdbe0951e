//! Ways to build a kernel from other text than the proofs speak of: each is planted in a copy of the kernel, and refused.

use std::path::Path;
use std::process::{Command, Output};

use crate::refusals::copy_dir;
use testing::Folder;

const CONTAINER: &str = "layers/container/container.c";
/// The body of a certified function, where the lies stand.
const BODY: &str = "uint32_t container_quota(uint32_t c)\n{\n";

struct Copy(Folder);

impl Copy {
    fn new() -> Copy {
        let root = Folder::new("lies");
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap();
        copy_dir(&kernel, &root.join("kernel"));
        Copy(root)
    }

    /// A kernel of few layers: enough to see what the compiler reads.
    fn small() -> Copy {
        let copy = Copy::new();
        let kernel = copy.0.join("kernel");
        let kept = ["spinlock", "container", "frame"];
        for layer in std::fs::read_dir(kernel.join("layers")).unwrap().map(|entry| entry.unwrap()) {
            if !kept.contains(&layer.file_name().to_str().unwrap()) {
                std::fs::remove_dir_all(layer.path()).unwrap();
            }
        }
        std::fs::write(kernel.join("layers.order"), kept.join("\n")).unwrap();
        copy
    }

    /// Plants, runs, and puts the file back. An empty `from` appends; a file that is not there is made.
    fn with(&self, (file, from, to): (&str, &str, &str), run: impl Fn(&Copy) -> Output) -> (bool, String) {
        let path = self.0.join("kernel").join(file);
        let old = std::fs::read_to_string(&path).ok();
        let text = old.clone().unwrap_or_default();
        let changed = if from.is_empty() { format!("{text}{to}") } else { text.replacen(from, to, 1) };
        assert_ne!(changed, text, "{file} holds no `{from}`");
        std::fs::write(&path, changed).unwrap();
        let output = run(self);
        match old {
            Some(old) => std::fs::write(&path, old).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said.replace("\n  │", "").replace('\n', " "))
    }

    /// What `ashlar prove` asks before it builds anything.
    fn translate(&self) -> Output {
        let proof = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof");
        Command::new(env!("CARGO_BIN_EXE_c2coq"))
            .args(["coq", "--check", "--kernel", "kernel", "--proof"])
            .arg(proof)
            .current_dir(&*self.0)
            .output()
            .unwrap()
    }

    /// What each build of the kernel compares.
    fn texts(&self, lock: &str) -> Output {
        Command::new("make")
            .args(["--no-print-directory", "--always-make", "texts", &format!("LOCK={lock}")])
            .arg(format!("C2COQ={}", env!("CARGO_BIN_EXE_c2coq")))
            .current_dir(self.0.join("kernel"))
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    }

    fn refuses(&self, lie: (&str, &str, &str), run: impl Fn(&Copy) -> Output, words: &[&str]) {
        let (accepted, said) = self.with(lie, run);
        assert!(!accepted, "accepted: {lie:?}");
        for word in words {
            assert!(said.contains(word), "{lie:?}: `{word}` is not named in:\n{said}");
        }
    }
}

#[test]
fn no_condition_hides_a_branch_from_the_proofs() {
    let copy = Copy::new();
    let control = copy.translate();
    assert!(control.status.success(), "{}", String::from_utf8_lossy(&control.stdout));
    let hidden = |condition: &str| format!("{BODY}{condition}\n    c = 0u;\n#endif\n");
    for (condition, name) in [
        ("#if __code_model_kernel__", "`__code_model_kernel__` is neither a switch of the build nor a constant"),
        ("#ifdef __code_model_kernel__", "`__code_model_kernel__` is no switch of the build"),
        ("#if defined(ASHLAR_X86_64_INLINING_H)", "`ASHLAR_X86_64_INLINING_H` is no switch of the build"),
        ("#ifdef ASHLAR_FRAME_H", "`ASHLAR_FRAME_H` is no switch of the build"),
        ("#ifndef ASHLAR_CONFIG_H", "`ASHLAR_CONFIG_H` is no switch of the build"),
    ] {
        let words = ["subset::build-switch", "container.c:", name, "remedy"];
        copy.refuses((CONTAINER, BODY, &hidden(condition)), Copy::translate, &words);
    }
    for condition in ["#if defined(LOCK_MCS) && !DEBUG", "#if LOCK_BIG", "#if DEBUG && LOCK_TICKET"] {
        let words =
            ["coq::other-tree", "container.c:", "container_quota is another one in a build with LOCK_", "help:"];
        copy.refuses((CONTAINER, BODY, &hidden(condition)), Copy::translate, &words);
    }
    // A constant that depends on the build.
    let header = "#ifndef ASHLAR_CONFIG_H\n#define ASHLAR_CONFIG_H\n";
    let limit = format!("{header}#if LOCK_MCS\n#define NUM_OTHER 1u\n#else\n#define NUM_OTHER 2u\n#endif\n");
    let words = ["coq::other-tree", "config.h:", "NUM_OTHER is another one in a build with LOCK_MCS"];
    copy.refuses(("config.h", header, &limit), Copy::translate, &words);
}

#[test]
fn two_files_share_no_name() {
    let copy = Copy::new();
    let refuses = |lie: &str, word: &str| {
        let words = ["subset::shared-name", "frame_map.c:", word, "remedy"];
        copy.refuses(("layers/frame/frame_map.c", "", lie), Copy::translate, &words);
    };
    refuses("\nstatic uint8_t frame_kind[NUM_FRAME];\n", "`frame_kind` is also the name of another object or function");
    let first = copy.0.join("kernel/layers/frame/frame.c");
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, format!("{text}\n#define FRAME_KINDS 4u\n")).unwrap();
    refuses("\n#define FRAME_KINDS 3u\n", "`FRAME_KINDS` has the value 4");
}

#[test]
fn the_compiler_reads_what_is_proved() {
    let copy = Copy::small();
    let control = copy.texts("ticket");
    assert!(control.status.success(), "{}", String::from_utf8_lossy(&control.stdout));
    let inlining = "arch/x86_64/inlining.h";
    let narrow = "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef unsigned short uint32_t;\n\
        typedef unsigned long uint64_t;\n";
    let option = |flag: &str| format!("$(CC) {flag} $(CFLAGS) -MF $(@:.i=.d)");
    let command = "$(CC) $(CFLAGS) -MF $(@:.i=.d)";
    for (lie, lock, words) in [
        // Another type, by a header that shadows the compiler's.
        (("stdint.h", "", narrow), "ticket", ["`typedef`", "kernel/stdint.h:"]),
        // Another type or another function, by a macro of the header that is included first.
        ((inlining, "#endif", "#define uint8_t uint16_t\n#endif"), "ticket", ["reads `uint16_t`", "has `uint8_t`"]),
        ((inlining, "#endif", "#define frame_add_owner frame_alloc\n#endif"), "ticket", ["`frame_alloc`", "frame.h:"]),
        // More than attributes on inlining.
        (
            (
                inlining,
                "#endif",
                "uint32_t container_quota(uint32_t c) __attribute__((alias(\"container_usage\")));\n#endif",
            ),
            "ticket",
            ["`container_quota`", "inlining.h:"],
        ),
        (
            (inlining, "#endif", "#pragma redefine_extname container_quota container_usage\n#endif"),
            "ticket",
            ["directive", "inlining.h:"],
        ),
        // An option of the build.
        (
            ("Makefile", command, &option("-Dcontainer_quota=container_lied")),
            "mcs",
            ["`container_lied`", "container.h:"],
        ),
        (("Makefile", command, &option("-DNUM_LIE -D\"if(x)=if(!(x))\"")), "big", ["`!`", ".c:"]),
    ] {
        let told = ["text::other-text", "the compiler reads", "help: take away the macro"];
        copy.refuses(lie, |copy| copy.texts(lock), &[&words[..], &told].concat());
    }
}
