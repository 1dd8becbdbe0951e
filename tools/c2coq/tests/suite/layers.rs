//! The layer check on object files that the C compiler makes of small sources.

use std::path::Path;
use std::process::Command;

use c2coq::finding::Finding;
use c2coq::layers::{check_directories, check_objects};
use c2coq::order::LayerOrder;
use testing::Folder;

struct Work(Folder);

impl Work {
    fn new(name: &str) -> Work {
        Work(Folder::new(name))
    }

    fn compile(&self, object: &str, source: &str) {
        let path = self.0.join(object);
        let file = self.0.write(object.replace(".o", ".c"), source);
        let status = Command::new("gcc")
            .args(["-c", "-O2", "-g", "-ffreestanding", "-fno-pic", "-flto", "-ffat-lto-objects", "-o"])
            .arg(&path)
            .arg(&file)
            .status()
            .expect("gcc runs");
        assert!(status.success());
    }

    fn check(&self, order: &str) -> Vec<Finding> {
        let order = LayerOrder::parse(order).unwrap();
        check_objects(&order, Path::new("kernel/layers.order"), &self.0, None).unwrap()
    }
}

const ORDER: &str = "spinlock\nframe\nsched\n";

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.name()).collect()
}

#[test]
fn downward_calls_and_arch_primitives_are_allowed() {
    let work = Work::new("good");
    work.compile("spinlock.o", "unsigned arch_cpu(void); unsigned spinlock_take(void) { return arch_cpu(); }");
    work.compile("frame.o", "unsigned spinlock_take(void); unsigned frame_alloc(void) { return spinlock_take() + 1; }");
    work.compile("sched.o", "unsigned frame_alloc(void); unsigned sched_pick(void) { return frame_alloc() + 1; }");
    work.compile("start/start.o", "unsigned sched_pick(void); int state; void start(void) { state = sched_pick(); }");
    assert_eq!(work.check(ORDER), []);
}

#[test]
fn an_upward_call_is_named() {
    let work = Work::new("upward");
    work.compile("spinlock.o", "void spinlock_take(void) {}");
    let source = "void sched_wake(unsigned); static __attribute__((noinline)) void helper(void) { sched_wake(3); }\n\
                  void frame_alloc(void) { helper(); helper(); }";
    work.compile("frame.o", source);
    work.compile("sched.o", "void sched_wake(unsigned t) { (void)t; }");
    let findings = work.check(ORDER);
    assert_eq!(codes(&findings), ["layers::upward-call"]);
    for part in ["`helper`", "`frame`", "`sched_wake`", "`sched`", "layers.order"] {
        assert!(findings[0].message.contains(part), "{}", findings[0].message);
    }
}

#[test]
fn exported_data_foreign_and_compiler_calls_are_named() {
    let work = Work::new("data");
    work.compile("spinlock.o", "unsigned spinlock_word; void spinlock_take(void) { spinlock_word = 1; }");
    let copy = "static unsigned char a[9000]; int printf(const char *, ...);\n\
                unsigned frame_copy(unsigned n) { __builtin_memset(a, 0, n); return a[n]; } void frame_clear(void) { printf(\"x\"); }";
    work.compile("frame.o", copy);
    work.compile("sched.o", "extern unsigned spinlock_word; unsigned sched_peek(void) { return spinlock_word; }");
    let findings = work.check(ORDER);
    let mut found = codes(&findings);
    found.sort_unstable();
    assert_eq!(
        found,
        ["layers::compiler-call", "layers::exported-data", "layers::foreign-symbol", "layers::foreign-symbol"]
    );
    assert!(findings
        .iter()
        .any(|finding| finding.message.contains("memset") && finding.message.contains("frame_copy")));
}

#[test]
fn a_layer_of_several_objects_is_one_layer() {
    let work = Work::new("parts");
    work.compile("spinlock.o", "void spinlock_take(void) {}");
    work.compile("frame.o", "void frame_part(void); void frame_alloc(void) { frame_part(); }");
    work.compile("frame_parts.o", "void frame_alloc(void); void frame_part(void) { frame_alloc(); }");
    work.compile("sched/inner.o", "void frame_alloc(void); void sched_pick(void) { frame_alloc(); }");
    assert_eq!(work.check(ORDER), []);
}

#[test]
fn a_layer_without_object_and_a_name_exported_twice_are_found() {
    let work = Work::new("missing");
    work.compile("spinlock.o", "void same(void) {}");
    work.compile("frame.o", "void same(void) {}");
    let findings = work.check(ORDER);
    let mut found = codes(&findings);
    found.sort_unstable();
    assert_eq!(found, ["layers::exported-twice", "layers::layer-without-object"]);
}

#[test]
fn an_object_without_machine_code_is_refused() {
    let work = Work::new("slim");
    work.compile("spinlock.o", "void spinlock_take(void) {}");
    let file = work.0.join("slim.c");
    std::fs::write(&file, "void slim(void) {}").unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-c", "-O2", "-flto", "-fno-fat-lto-objects", "-o"]).arg(work.0.join("frame.o")).arg(&file);
    assert!(gcc.status().unwrap().success());
    let order = LayerOrder::parse("spinlock\nframe\n").unwrap();
    let findings = check_objects(&order, Path::new("order"), &work.0, None).unwrap();
    assert_eq!(codes(&findings), ["layers::slim-object"]);
}

#[test]
fn a_broken_object_is_an_error() {
    let work = Work::new("broken");
    std::fs::write(work.0.join("frame.o"), "no object").unwrap();
    let order = LayerOrder::parse("frame\n").unwrap();
    assert!(check_objects(&order, Path::new("order"), &work.0, None).is_err());
}

#[test]
fn an_object_whose_source_is_gone_does_not_count() {
    let work = Work::new("leftover");
    work.compile("objects/spinlock/spinlock.o", "void spinlock_take(void) {}");
    work.compile("objects/spinlock/old.o", "void frame_alloc(void); void spinlock_old(void) { frame_alloc(); }");
    work.compile("objects/frame/frame.o", "void spinlock_take(void); void frame_alloc(void) { spinlock_take(); }");
    let order = LayerOrder::parse("spinlock\nframe\n").unwrap();
    let objects = work.0.join("objects");
    // The compiled sources stand beside their objects.
    let check = || check_objects(&order, Path::new("order"), &objects, Some(&objects)).unwrap();
    assert_eq!(codes(&check()), ["layers::upward-call"]);
    std::fs::remove_file(objects.join("spinlock/old.c")).unwrap();
    assert_eq!(check(), []);
}

#[test]
fn directories_and_order_agree() {
    let work = Work::new("directories");
    for name in ["spinlock", "frame", "extra"] {
        std::fs::create_dir_all(work.0.join(name)).unwrap();
    }
    let order = LayerOrder::parse(ORDER).unwrap();
    let findings = check_directories(&order, Path::new("order"), &work.0).unwrap();
    assert_eq!(codes(&findings), ["layers::layer-without-directory", "layers::layer-not-in-order"]);
    assert!(findings[0].message.contains("sched") && findings[1].message.contains("extra"));
}
