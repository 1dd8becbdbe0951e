//! A value is kept over a call in which others may change memory: right only of what this CPU owns all the time.

use validation::FunctionResult;

use crate::small::{symbol, validated_with};

const HEADER: &str = "void arch_own(uint32_t lock);\nvoid arch_disown(uint32_t lock);
uint64_t arch_atomic_load(uint32_t cell);\nvoid draw(uint32_t lock);\nvoid pass(uint32_t lock);
uint32_t lower(uint32_t p);\nuint32_t upper(uint32_t p);";
/// Maps with a lock each, 8 and more, and what lock 7 guards. The calls of `draw` and `pass` stand for the lock's own cells.
const OBJECTS: &str = "struct map {\n    uint32_t root;\n    uint32_t rest;\n};\n\nstatic struct map map[4];\n
static uint32_t count[1];\n
void draw(uint32_t lock)\n{\n    uint64_t value = arch_atomic_load(lock);\n    while (value != 0ul) {
        value = arch_atomic_load(lock);\n    }\n}\n
void pass(uint32_t lock)\n{\n    uint64_t value = arch_atomic_load(lock);\n}\n\n";
const DATA: &str = ".bss\n.balign 4\n.type map, @object\n.size map, 32\nmap: .skip 32\n.type count, @object
.size count, 4\ncount: .skip 4\n.text\n";

/// What `lower` does while it has lock 7.
const COUNTS: &str = "count[0] = count[0] + p;";
const LOWER: &str = "draw(7u);\n    arch_own(7u);\n    COUNTS\n    arch_disown(7u);\n    pass(7u);";
const UPPER: &str =
    "draw(8u + p);\n    arch_own(8u + p);\n    uint32_t before = map[p].root;\n    uint32_t x = lower(p);
    uint32_t after = map[p].root;\n    arch_disown(8u + p);\n    pass(8u + p);\n    return before + after + x;";
/// `before` and `after` are one value, in esi: the callees do not touch it.
const CODE: &str = "sub rsp, 24\n mov dword ptr [rsp+12], edi\n add edi, 8\n call draw\n mov eax, dword ptr [rsp+12]
 mov esi, dword ptr [map+rax*8]\n mov edi, eax\n call lower\n lea eax, [rax+rsi*2]\n mov dword ptr [rsp+8], eax
 mov edi, dword ptr [rsp+12]\n add edi, 8\n call pass\n mov eax, dword ptr [rsp+8]\n add rsp, 24\n ret";

struct Case {
    lower: String,
    upper: String,
    code: String,
    certified: &'static [&'static str],
}

impl Case {
    fn right() -> Case {
        let (lower, upper, code) = (LOWER.replace("COUNTS", COUNTS), UPPER.to_string(), CODE.to_string());
        Case { lower, upper, code, certified: &["draw", "pass", "lower", "upper"] }
    }

    fn check(&self, test: &str) -> FunctionResult {
        let c = format!(
            "{OBJECTS}uint32_t lower(uint32_t p)\n{{\n    {}\n    return p;\n}}\n\nuint32_t upper(uint32_t p)\n{{\n    {}\n}}\n",
            self.lower, self.upper
        );
        let others = ["draw", "pass"].map(|name| symbol(name, "ret")).concat();
        let lower = symbol("lower", "mov eax, edi\n ret");
        let code = format!("{DATA}{others}{lower}{}", symbol("upper", &self.code));
        validated_with(test, "upper", HEADER, &c, &code, self.certified)
    }
}

fn refused(test: &str, case: &Case) {
    let found = case.check(test);
    assert!(!found.validated, "{test}");
    assert!(found.reasons[0].contains("the result differs"), "{test}: {:?}", found.reasons);
}

#[test]
fn what_a_lock_guards_is_kept_over_a_call() {
    let right = Case::right().check("own-right");
    assert!(right.validated, "{:?}", right.reasons);
    // A lock that is taken and given back here changes nothing of what was owned before.
    let upper = UPPER.replace(
        "uint32_t x = lower(p);",
        "draw(7u);\n    arch_own(7u);\n    arch_disown(7u);\n    pass(7u);\n    uint32_t x = lower(p);",
    );
    let code = CODE.replace(
        " mov edi, eax\n call lower",
        " mov edi, 7\n call draw\n mov edi, 7\n call pass\n mov edi, dword ptr [rsp+12]\n call lower",
    );
    let inner = Case { upper, code, ..Case::right() }.check("own-inner");
    assert!(inner.validated, "{:?}", inner.reasons);
}

/// The callee gives back the caller's lock, on some way or by another name, or a lock that it has not taken.
#[test]
fn what_a_callee_may_give_back_is_not_kept() {
    let gives = "arch_disown(8u + p);\n    pass(8u + p);\n    draw(8u + p);\n    arch_own(8u + p);";
    let with = |more: &str| Case { lower: format!("{}\n    {more}", Case::right().lower), ..Case::right() };
    refused("own-given", &with(gives));
    refused("own-given-once", &with(&format!("if (p == 3u) {{\n{gives}\n    }}")));
    refused("own-given-by-number", &with(&gives.replace("8u + p", "count[0]")));
    refused("own-given-twice", &with("arch_disown(7u);\n    arch_own(7u);"));
    refused("own-given-if-taken", &with("if (p == 3u) {\n    arch_own(8u + p);\n    }\n    arch_disown(8u + p);"));
    let turns = "for (uint32_t i = 0u; i < p; i = i + 1u) {\n    arch_disown(7u);\n    }";
    refused("own-given-in-a-loop", &with(&format!("arch_own(7u);\n    {turns}")));
    // The lock that is given back is not surely the one that was taken.
    let other =
        "arch_own(8u + p);\n    uint32_t q = p;\n    if (p == 1u) {\n    q = 2u;\n    }\n    arch_disown(8u + q);";
    refused("own-given-other", &with(other));
}

/// The callee writes it itself.
#[test]
fn what_a_callee_writes_is_not_kept() {
    let with = |counts: &str| Case { lower: LOWER.replace("COUNTS", counts), ..Case::right() };
    refused("own-written", &with("map[p].root = 5u;"));
    refused("own-written-other", &with("map[3].root = 5u;"));
    let rest = with("map[p].rest = 5u;").check("own-written-rest");
    assert!(rest.validated, "{:?}", rest.reasons);
}

/// The caller gives the lock back, and takes it again.
#[test]
fn what_the_caller_gives_back_is_not_kept() {
    let again = "arch_disown(8u + p);\n    pass(8u + p);\n    draw(8u + p);\n    arch_own(8u + p);";
    let code = CODE.replace(
        " mov edi, eax\n call lower",
        " lea edi, [rax+8]\n call pass\n mov edi, dword ptr [rsp+12]\n add edi, 8\n call draw\n mov edi, dword ptr [rsp+12]
 call lower",
    );
    let upper = UPPER.replace("uint32_t x =", &format!("{again}\n    uint32_t x ="));
    refused("own-again", &Case { upper, code: code.clone(), ..Case::right() });
    // The value is of a time when another lock was held, which is given back.
    let inner = "draw(8u + p);\n    arch_own(8u + p);\n    uint32_t before = map[p].root;\n    arch_disown(8u + p);
    pass(8u + p);\n    draw(8u + p);\n    arch_own(8u + p);";
    let outer = UPPER.replace("draw(8u + p);\n    arch_own(8u + p);\n    uint32_t before = map[p].root;", inner);
    let outer = format!("arch_own(6u);\n    {outer}");
    refused("own-outer", &Case { upper: outer, code, ..Case::right() });
}

/// Another scalar than the one that the term has accessed under the lock.
#[test]
fn another_index_and_another_object_are_not_kept() {
    // The machine reads map[p].root before the call, the term behind it alone.
    for (test, first) in [("own-field", "map[p].rest"), ("own-index", "map[p].rest + map[p ^ 1u].root")] {
        let upper = UPPER.replace("before = map[p].root", &format!("before = {first}"));
        refused(test, &Case { upper: upper.replace("before + after", "after + after"), ..Case::right() });
    }
}

/// Without a lock, and where no theorem says that the CPU owns what the term accesses.
#[test]
fn what_is_not_known_to_be_owned_is_not_kept() {
    refused("own-no-theorem", &Case { certified: &["draw", "pass", "lower"], ..Case::right() });
    let upper = UPPER.replace("arch_own(8u + p);", "").replace("arch_disown(8u + p);", "");
    refused("own-no-lock", &Case { upper, ..Case::right() });
}
