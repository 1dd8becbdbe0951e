//! The rules of the C subset, each stated once: name, requirement, remedy, example.
//! The checker's messages, the reference page and the tests all take them from here.

use diagnostics::CodeInfo;

/// The description of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleInfo {
    pub name: &'static str,
    pub says: &'static str,
    pub remedy: &'static str,
    /// Refused, and accepted instead; both are pieces of C.
    pub wrong: &'static str,
    pub right: &'static str,
}

macro_rules! rules {
    ($($id:ident $name:literal { says: $says:literal, remedy: $remedy:literal, wrong: $wrong:literal, right: $right:literal })*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $($id),* }

        impl Rule {
            pub const ALL: &'static [Rule] = &[$(Rule::$id),*];

            /// The rules as codes, in the same order.
            pub const CODES: &'static [CodeInfo] = &[$(
                CodeInfo::new(concat!("subset::", $name), $says, concat!("Remedy: ", $remedy, "."))
                    .with_example($wrong, $right)
            ),*];

            pub fn info(self) -> &'static RuleInfo {
                match self {
                    $(Rule::$id => &RuleInfo {
                        name: $name, says: $says, remedy: $remedy, wrong: $wrong, right: $right,
                    }),*
                }
            }
        }
    };
}

impl Rule {
    pub fn code(self) -> CodeInfo {
        Rule::CODES[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    pub fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

rules! {
    Syntax "syntax" {
        says: "A file is a sequence of declarations and functions in C's grammar.",
        remedy: "mend the text as the C compiler would ask",
        wrong: "static uint32_t f(void) { return 1 }",
        right: "static uint32_t f(void) { return 1; }"
    }
    Type "type" {
        says: "The only scalar types are uint8_t, uint16_t, uint32_t and uint64_t; void only as a result or an empty parameter list.",
        remedy: "use uint32_t or uint64_t (uint8_t and uint16_t for storage)",
        wrong: "int i = 0;",
        right: "uint32_t i = 0;"
    }
    NarrowArithmetic "narrow-arithmetic" {
        says: "Operators, conditions and array indices take uint32_t and uint64_t only; narrower types are for storage.",
        remedy: "widen the operand with (uint32_t) or (uint64_t)",
        wrong: "x = bytes[i] + 1;",
        right: "x = (uint32_t)bytes[i] + 1;"
    }
    MixedWidth "mixed-width" {
        says: "Both operands of an operator have the same type. A uint32_t constant may stand beside a uint64_t, and a shift's count may have either type.",
        remedy: "cast one side, so that both have the type you mean",
        wrong: "x64 = y64 + z32;",
        right: "x64 = y64 + (uint64_t)z32;"
    }
    ImplicitConversion "implicit-conversion" {
        says: "An assignment, initialiser, argument or return value has the type of its destination, or is a constant that fits it.",
        remedy: "write the conversion as a cast",
        wrong: "x32 = y64;",
        right: "x32 = (uint32_t)y64;"
    }
    Literal "literal" {
        says: "A constant with suffix u is uint32_t, with ul or ull uint64_t. Without suffix it takes the type its place asks for, must fit it, and stays below 2^31.",
        remedy: "add the suffix u or ul",
        wrong: "mask = 1 << bit;",
        right: "mask = 1ul << bit;"
    }
    Condition "condition" {
        says: "Comparisons and ! && || stand only in the conditions of if, while and for.",
        remedy: "write an if that assigns 1 or 0",
        wrong: "full = count == SIZE;",
        right: "if (count == SIZE) { full = 1; }"
    }
    Pointer "pointer" {
        says: "There are no pointers.",
        remedy: "name the object by its index in a static array",
        wrong: "struct thread *t;",
        right: "uint32_t thread = 0;"
    }
    AddressOf "address-of" {
        says: "No address is taken.",
        remedy: "pass the object's index",
        wrong: "clear(&threads[t]);",
        right: "clear(t);"
    }
    Dereference "dereference" {
        says: "Nothing is reached through a pointer: neither * nor ->.",
        remedy: "write object[index].field; frame contents go through arch_frame_read and arch_frame_write",
        wrong: "x = p->next;",
        right: "x = nodes[p].next;"
    }
    Cast "cast" {
        says: "A cast goes from one unsigned scalar type to another.",
        remedy: "cast to uint8_t, uint16_t, uint32_t or uint64_t only",
        wrong: "(void)g(x);",
        right: "g(x);"
    }
    Union "union" {
        says: "There are no unions.",
        remedy: "use a struct, or take the word apart with shifts and masks",
        wrong: "union word { uint64_t all; uint32_t low; };",
        right: "low = (uint32_t)all;"
    }
    BitField "bit-field" {
        says: "Struct fields have no bit widths.",
        remedy: "use a whole scalar, or shifts and masks",
        wrong: "struct entry { uint32_t present : 1; };",
        right: "struct entry { uint32_t present; };"
    }
    StructField "struct-field" {
        says: "A struct field is a scalar or an array of scalars with one constant size; structs are named or declared with their array.",
        remedy: "flatten the field, or move it to an array of its own",
        wrong: "struct node { struct link link; };",
        right: "struct node { uint32_t next; uint32_t previous; };"
    }
    FunctionPointer "function-pointer" {
        says: "A function is only ever called by its name.",
        remedy: "select with if and call each function directly",
        wrong: "void (*handler)(void);",
        right: "if (kind == TIMER) { timer_interrupt(); }"
    }
    Recursion "recursion" {
        says: "No function calls itself, directly or through others.",
        remedy: "use a loop, with the progress kept in locals or in the object",
        wrong: "static void walk(uint32_t n) { walk(n + 1); }",
        right: "for (uint32_t n = 0; n < SIZE; n++) { visit(n); }"
    }
    Variadic "variadic" {
        says: "Each function has a fixed list of parameters.",
        remedy: "declare every parameter",
        wrong: "void print(uint32_t n, ...);",
        right: "void print(uint32_t n, uint64_t value);"
    }
    Goto "goto" {
        says: "There are no labels and no goto.",
        remedy: "use if, while, break and early return",
        wrong: "goto out;",
        right: "return status;"
    }
    Switch "switch" {
        says: "There is no switch.",
        remedy: "write if ... else if ... else",
        wrong: "switch (kind) { case 1: f(); }",
        right: "if (kind == 1) { f(); }"
    }
    Comma "comma" {
        says: "There is no comma operator.",
        remedy: "write two statements",
        wrong: "a = 1, b = 2;",
        right: "a = 1; b = 2;"
    }
    ConditionalOperator "conditional-operator" {
        says: "There is no conditional operator.",
        remedy: "write if ... else",
        wrong: "x = a < b ? a : b;",
        right: "x = b; if (a < b) { x = a; }"
    }
    AssignmentInExpression "assignment-in-expression" {
        says: "Assignments, ++ and -- are whole statements.",
        remedy: "make it a statement of its own, before or after",
        wrong: "ring[head++] = byte;",
        right: "ring[head] = byte; head++;"
    }
    CallInExpression "call-in-expression" {
        says: "A call stands alone, or is the whole right-hand side of an assignment or initialiser.",
        remedy: "put the result in a local first: uint32_t result = f(x);",
        wrong: "if (queue_peek(q) == NONE) { return 0; }",
        right: "uint32_t head = queue_peek(q); if (head == NONE) { return 0; }"
    }
    Continue "continue" {
        says: "There is no continue.",
        remedy: "put the rest of the loop's body under an if",
        wrong: "if (skip != 0) { continue; } f();",
        right: "if (skip == 0) { f(); }"
    }
    DoWhile "do-while" {
        says: "There is no do loop.",
        remedy: "use while, or for",
        wrong: "do { f(); } while (x != 0);",
        right: "while (1) { f(); if (x == 0) { break; } }"
    }
    LocalInitialised "local-initialised" {
        says: "A local is initialised where it is declared.",
        remedy: "give it a value, 0 if nothing better is known",
        wrong: "uint32_t found;",
        right: "uint32_t found = NONE;"
    }
    LocalScalar "local-scalar" {
        says: "Locals and parameters are scalars, and live as long as their block.",
        remedy: "move the array or struct to file scope as a static array indexed by CPU or thread",
        wrong: "uint32_t list[4] = {0};",
        right: "static uint32_t list[NUM_CPU][4];"
    }
    ObjectStatic "object-static" {
        says: "A file-scope object is static in the one source of its layer: private data, reached only through functions.",
        remedy: "declare it static in the .c file, and export functions that read and change it",
        wrong: "extern uint32_t count;",
        right: "static uint32_t count;"
    }
    ObjectShape "object-shape" {
        says: "An object is a scalar, an array of scalars, an array of arrays of scalars, or an array of structs.",
        remedy: "use an array of structs of scalars (an array of one for a single struct)",
        wrong: "static struct state state;",
        right: "static struct state state[1];"
    }
    ArraySize "array-size" {
        says: "An array has a constant size, at least 1.",
        remedy: "give a #define constant from config.h or the layer's header",
        wrong: "static uint32_t table[];",
        right: "static uint32_t table[NUM_THREAD];"
    }
    Place "place" {
        says: "A place is a local, object, object[i], object[i][k], object[i].field or object[i].field[k].",
        remedy: "name one scalar: object, index, field",
        wrong: "threads[t] = threads[u];",
        right: "threads[t].state = threads[u].state;"
    }
    IndexRange "index-range" {
        says: "A constant index stands inside its array.",
        remedy: "use an index below the array's size",
        wrong: "static uint32_t a[4]; static void f(void) { a[4] = 0; }",
        right: "static uint32_t a[4]; static void f(void) { a[3] = 0; }"
    }
    FunctionMacro "function-macro" {
        says: "Macros take no arguments.",
        remedy: "write a static function in the .c file",
        wrong: "#define MIN(a, b) ((a) < (b) ? (a) : (b))",
        right: "static uint32_t min(uint32_t a, uint32_t b) { if (a < b) { return a; } return b; }"
    }
    MacroBody "macro-body" {
        says: "A macro is empty or one constant: a literal, a constant's name, or an expression of these in parentheses.",
        remedy: "put a compound expression in parentheses; anything but a constant becomes a function",
        wrong: "#define LAST FIRST + 1u",
        right: "#define LAST (FIRST + 1u)"
    }
    MacroRedefined "macro-redefined" {
        says: "A macro has one meaning: it is never undefined, redefined, or reused as another name.",
        remedy: "choose another name",
        wrong: "#undef SIZE",
        right: "#define SIZE 1u"
    }
    BuildSwitch "build-switch" {
        says: "A condition of #if names LOCK_TICKET, LOCK_MCS, LOCK_BIG, DEBUG, TRACE and constants that stand above it; #ifdef and defined only those five; #ifndef also guards a header as a whole.",
        remedy: "take the condition away: what the compiler or another header defines must not choose the text that is proved",
        wrong: "#ifdef __code_model_kernel__\n#endif",
        right: "#if DEBUG\n#endif"
    }
    Directive "directive" {
        says: "The directives are #include, #define, the #if family and #error.",
        remedy: "remove it",
        wrong: "#pragma once",
        right: "#if DEBUG"
    }
    HeaderFunction "header-function" {
        says: "A header declares functions and defines none.",
        remedy: "move the body to the layer's .c file; the compiler inlines across layers at link time",
        wrong: "static inline uint32_t one(void) { return 1; }",
        right: "uint32_t one(void);"
    }
    MissingReturn "missing-return" {
        says: "A function with a result returns on every path.",
        remedy: "end the function with return",
        wrong: "static uint32_t f(uint32_t x) { if (x == 0) { return 1; } }",
        right: "static uint32_t f(uint32_t x) { if (x == 0) { return 1; } return 0; }"
    }
    Return "return" {
        says: "A function with a result returns a value, a function without one returns none; void is no value.",
        remedy: "make the return fit the function's result type",
        wrong: "static void f(void) { return 1; }",
        right: "static void f(void) { return; }"
    }
    StringLiteral "string-literal" {
        says: "There are no strings.",
        remedy: "print from boot or user code, or report a number",
        wrong: "panic(\"no frame\");",
        right: "arch_power_off(CODE_NO_FRAME);"
    }
    Include "include" {
        says: "A certified file includes its own layer's headers, those of lower layers, config.h, abi.h, syscall_numbers.h, locks.h, arch.h and <stdint.h>; FILE.c its invariant walk FILE_check.c. Of the locks and cells in locks.h it names only those of its own layer.",
        remedy: "call only lower layers; what an upper layer must know it asks for itself",
        wrong: "#include <string.h>",
        right: "#include <stdint.h>"
    }
    SharedName "shared-name" {
        says: "No two files have an object or a function of one name, static or not, and no two files of a layer give a constant two values: the proofs know all by their names.",
        remedy: "choose another name, with the layer's name in front",
        wrong: "static uint32_t ring[8];",
        right: "static uint32_t queue_ring[8];"
    }
    Undeclared "undeclared" {
        says: "Every name is declared before it is used.",
        remedy: "declare it, or include the header that does",
        wrong: "x = missing;",
        right: "uint32_t missing = 0; x = missing;"
    }
    Redeclared "redeclared" {
        says: "A name has one meaning: nothing is declared twice, and no local hides another name.",
        remedy: "choose another name",
        wrong: "static uint32_t a; static uint64_t a;",
        right: "static uint32_t a; static uint64_t b;"
    }
    Prototype "prototype" {
        says: "A function's declarations agree, (void) says that there are no parameters, and a call passes one argument to each. What a file shows to others or takes from them stands in a header.",
        remedy: "make the declaration, the definition and the call agree",
        wrong: "void f();",
        right: "void f(void);"
    }
    Sizeof "sizeof" {
        says: "Sizes in bytes have no meaning in the subset: no sizeof, no _Alignof.",
        remedy: "use the array's size constant",
        wrong: "n = sizeof table / sizeof table[0];",
        right: "n = TABLE_SIZE;"
    }
    Extension "extension" {
        says: "No inline assembly, attributes, builtins or statement expressions.",
        remedy: "use an arch_ primitive, or plain C",
        wrong: "__asm__ volatile(\"cli\");",
        right: "uint32_t vector = arch_interrupt_poll();"
    }
    Typedef "typedef" {
        says: "There is no typedef.",
        remedy: "use the type's own name",
        wrong: "typedef uint32_t frame_t;",
        right: "uint32_t frame = 0;"
    }
    Qualifier "qualifier" {
        says: "No volatile, _Atomic, register, restrict, _Thread_local, and inline only beside static in a .c file.",
        remedy: "shared words that change under a reader are arch atomic cells; everything else is guarded by a lock",
        wrong: "static volatile uint32_t flag;",
        right: "uint64_t flag = arch_atomic_load(CELL_FLAG);"
    }
    Initialiser "initialiser" {
        says: "An object is initialised by a constant or a list of constants, not more than it has elements; other objects start at zero.",
        remedy: "list constants only",
        wrong: "static uint32_t a[2] = {1, 2, 3};",
        right: "static uint32_t a[3] = {1, 2, 3};"
    }
    Statement "statement" {
        says: "A statement assigns, calls, branches, loops or returns.",
        remedy: "remove it, or assign the value",
        wrong: "x + 1;",
        right: "x = x + 1;"
    }
    DivisionByZero "division-by-zero" {
        says: "Nothing is divided by the constant 0, nor shifted by its whole width or more.",
        remedy: "check the constant",
        wrong: "x = y / 0;",
        right: "x = y / SIZE;"
    }
    StaticAssert "static-assert" {
        says: "A static assertion holds.",
        remedy: "change the constants so that it holds again",
        wrong: "_Static_assert(1 == 2, \"one is two\");",
        right: "_Static_assert(1 == 1, \"one is one\");"
    }
    Nesting "nesting" {
        says: "Expressions, statements and includes nest to a bounded depth (200 levels of grammar).",
        remedy: "split it",
        wrong: "x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))));",
        right: "x = 1;"
    }
}

/// The reference page of the rules, in Markdown.
pub fn page(first_line: &str) -> String {
    let mut out = format!("{first_line}\n\n# Rules of the C subset\n\n");
    out.push_str("`c2coq check` refuses what breaks one of these rules and names it.\n\n");
    out.push_str("| rule | says |\n| --- | --- |\n");
    for rule in Rule::ALL {
        let RuleInfo { name, says, .. } = rule.info();
        out.push_str(&format!("| [{name}](#{name}) | {} |\n", says.replace('|', "\\|")));
    }
    for rule in Rule::ALL {
        let RuleInfo { name, says, remedy, wrong, right } = rule.info();
        out.push_str(&format!("\n## {name}\n\n{says}\n\nRefused:\n\n```c\n{wrong}\n```\n\n"));
        out.push_str(&format!("Accepted instead:\n\n```c\n{right}\n```\n\nRemedy: {remedy}.\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Rule;
    use std::collections::HashSet;

    #[test]
    fn rule_names_are_distinct_and_found_again() {
        let names: HashSet<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert_eq!(Rule::from_name(rule.name()), Some(*rule));
        }
    }
}
