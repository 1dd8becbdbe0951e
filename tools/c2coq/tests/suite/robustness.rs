//! Damaged sources: for any text the checker terminates with a diagnostic or success and never panics.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use c2coq::source::Sources;
use c2coq::{check_with, Options};
use testing::{cut, damage, Random};

fn texts() -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths: Vec<PathBuf> = ["accept", "reject"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(tests.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).filter(|text| text.len() < 6000).collect()
}

/// Checks a text; every fault must stand inside a file that was read. Returns the faults' number.
fn survive(text: &str, what: &str) -> usize {
    let mut sources = Sources::default();
    let path = PathBuf::from("/nowhere/damaged.c");
    sources.add(&path, text);
    sources.add(Path::new("/nowhere/layer.h"), "#define NUM_ENTRY 64u\n");
    let begin = Instant::now();
    let checked = check_with(sources, &[path], &Options::default()).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "{what}: too slow on\n{text}");
    for fault in &checked.faults {
        let length = checked.sources.get(fault.span.file).text.len();
        assert!(fault.span.start <= fault.span.end && fault.span.end as usize <= length, "{what}: {fault:?}\n{text}");
    }
    let shown = c2coq::report::for_people(&checked.sources, &checked.faults);
    assert!(checked.faults.is_empty() || !shown.is_clean());
    checked.faults.len()
}

#[test]
fn truncated_sources_are_survived() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for text in texts() {
        for _ in 0..12 {
            survive(cut(&mut random, &text), "truncated");
        }
    }
}

#[test]
fn mutated_sources_are_survived() {
    const PLAIN: &str = r##"{ } ( ) [ ] ; , * & = == ? : # " ' \ /* */ 0 1u uint32_t static struct if else for return é -> ... sizeof typedef goto __attribute__(( asm("##;
    const SPECIAL: [&str; 10] = [
        "\n",
        "#if 1\n",
        "#else\n",
        "#endif\n",
        "\n#define A A\n",
        "\n#define B(x) x\n",
        "\u{0}",
        "enum {",
        "case 1:",
        "\n#include \"damaged.c\"\n",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let pieces: Vec<Vec<char>> = PLAIN.split(' ').chain(SPECIAL).map(|piece| piece.chars().collect()).collect();
    let mut faulty = 0;
    for text in texts() {
        for _ in 0..25 {
            let mut damaged: Vec<char> = text.chars().collect();
            damage(&mut random, &mut damaged, &pieces);
            let damaged: String = damaged.into_iter().collect();
            faulty += usize::from(survive(&damaged, "mutated") > 0);
        }
    }
    assert!(faulty > 500, "only {faulty} mutants were refused: the mutations do nothing");
}

#[test]
fn random_tokens_are_survived() {
    const WORDS: &[&str] = &[
        "static", "uint32_t", "uint64_t", "x", "f", "(", ")", "{", "}", "[", "]", ";", ",", "=", "+", "*", "&", "if",
        "else", "while", "for", "return", "1", "2u", "->", ".", "struct", "void", "?", ":", "<<", "enum", "\n",
    ];
    let mut random = Random(42);
    for _ in 0..400 {
        let count = random.below(300);
        let words: Vec<&str> = (0..count).map(|_| WORDS[random.below(WORDS.len())]).collect();
        survive(&words.join(" "), "random");
    }
}

#[test]
fn deep_and_long_sources_are_survived() {
    for (open, close) in
        [("(", ")"), ("{", "}"), ("[", "]"), ("-", ""), ("!", ""), ("(uint32_t)", ""), ("if (x) ", ";")]
    {
        for depth in [10, 1000, 50_000] {
            let nest = format!("{}x{}", open.repeat(depth), close.repeat(depth));
            survive(&format!("static uint32_t f(uint32_t x) {{ x = {nest}; return x; }}"), "deep expression");
            survive(&format!("static uint32_t f(uint32_t x) {{ {nest} }}"), "deep statement");
            survive(&nest, "deep item");
            survive(&format!("#if {nest}\n#endif\n"), "deep condition");
            survive(&format!("static uint32_t a[2] = {nest};"), "deep initialiser");
        }
    }
    survive(&"x + ".repeat(20_000), "long sum");
    survive(&format!("static void f(uint32_t x) {{ {} }}", "if (x) { } else ".repeat(5_000)), "long else chain");
    survive(&format!("#if {} 1\n#endif", "1 ? 1 : ".repeat(5_000)), "long choice");
    survive(&"#if 1\n".repeat(20_000), "many conditions");
    survive(&"#define A(x) x\n".repeat(5_000), "many macros");
}

#[test]
fn macros_that_explode_are_survived() {
    let mut text = String::from("#define X0 static static\n");
    for level in 1..60 {
        text.push_str(&format!("#define X{level} static X{} X{}\n", level - 1, level - 1));
    }
    text.push_str("X59 uint32_t x;\n#if X59\n#endif\n");
    survive(&text, "exploding text macro");
    let mut text = String::from("#define V0 (1u)\n");
    for level in 1..500 {
        text.push_str(&format!("#define V{level} (V{} + V{})\n", level - 1, level - 1));
    }
    text.push_str("static uint32_t x[V20];\n#if V499\n#endif\n");
    survive(&text, "exploding value macro");
}
