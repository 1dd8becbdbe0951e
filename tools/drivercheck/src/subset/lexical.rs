//! The words of a driver's text. Every reserved identifier, and with it every extension of the compiler, is refused unless
//! it stands on a list here.

/// Keywords, and builtins whose meaning the model has.
const WORDS: [&str; 29] = [
    "_Bool",
    "_Static_assert",
    "__attribute__",
    "__builtin_add_overflow",
    "__builtin_bswap16",
    "__builtin_bswap32",
    "__builtin_bswap64",
    "__builtin_clz",
    "__builtin_clzl",
    "__builtin_clzll",
    "__builtin_ctz",
    "__builtin_ctzl",
    "__builtin_ctzll",
    "__builtin_expect",
    "__builtin_ffs",
    "__builtin_ffsl",
    "__builtin_ffsll",
    "__builtin_memcmp",
    "__builtin_memcpy",
    "__builtin_memmove",
    "__builtin_memset",
    "__builtin_mul_overflow",
    "__builtin_offsetof",
    "__builtin_parity",
    "__builtin_popcount",
    "__builtin_popcountl",
    "__builtin_popcountll",
    "__builtin_sub_overflow",
    "__builtin_trap",
];

/// Attributes that change no meaning.
const ATTRIBUTES: [&str; 4] = ["always_inline", "fallthrough", "noinline", "unused"];

/// Words that are no keywords in the build's dialect of C but are for the parser.
const OTHER_DIALECT: [&str; 2] = ["asm", "typeof"];

/// Refused words: their offsets, and why.
pub fn refused(text: &str) -> Vec<(usize, String)> {
    let words = words(text);
    let mut found = pragmas(text);
    // Where the brackets of an attribute end.
    let mut attribute = 0;
    for (offset, word) in &words {
        if *offset < attribute {
            continue;
        }
        if *word == "__attribute__" {
            let rest = &text[*offset..];
            let length = brackets(rest);
            attribute = offset + length;
            for name in attributes(&rest[..length]) {
                if !ATTRIBUTES.contains(&name.trim_matches('_')) {
                    let known = ATTRIBUTES.join("`, `");
                    found.push((*offset, format!("attribute `{name}`: the checker knows `{known}`; remove it")));
                }
            }
            continue;
        }
        if OTHER_DIALECT.contains(word) || (is_reserved(word) && !WORDS.contains(word)) {
            found.push((*offset, format!("`{word}`: an extension that the checker does not follow; write plain C11")));
        }
    }
    found
}

/// The text with `_Alignas(…)` blanked out, which the parser does not know inside structs. Only the framework's own types
/// have it: in a driver the word is refused.
pub fn without_alignment(text: &str) -> String {
    let mut made = text.to_string();
    for (offset, _) in words(text).into_iter().filter(|(_, word)| *word == "_Alignas") {
        let end = offset + brackets(&text[offset..]);
        made.replace_range(offset..end, &" ".repeat(end - offset));
    }
    made
}

/// What is left of `_Pragma`.
fn pragmas(text: &str) -> Vec<(usize, String)> {
    let mut offset = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("#pragma") {
            found.push((offset, format!("`{}`: it changes the compiler's rules; remove it", line.trim_end())));
        }
        offset += line.len();
    }
    found
}

fn is_reserved(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next() == Some('_') && chars.next().is_some_and(|second| second == '_' || second.is_ascii_uppercase())
}

/// Identifiers outside of literals and preprocessor lines, with their offsets.
pub fn words(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    let mut all = Vec::new();
    let (mut at, mut is_line_start) = (0, true);
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'\n' => is_line_start = true,
            b'#' if is_line_start => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'"' | b'\'' => {
                at += 1;
                while at < bytes.len() && bytes[at] != byte && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                is_line_start = false;
            }
            _ if byte.is_ascii_digit() => {
                while at + 1 < bytes.len() && (is_part(bytes[at + 1]) || bytes[at + 1] == b'.') {
                    at += 1;
                }
                is_line_start = false;
            }
            _ if is_part(byte) => {
                let start = at;
                while at + 1 < bytes.len() && is_part(bytes[at + 1]) {
                    at += 1;
                }
                all.push((start, &text[start..=at]));
                is_line_start = false;
            }
            _ => is_line_start &= byte.is_ascii_whitespace(),
        }
        at += 1;
    }
    all
}

/// Bytes up to the end of the first group in brackets.
fn brackets(text: &str) -> usize {
    let mut depth = 0;
    for (at, one) in text.char_indices() {
        match one {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// The names of attributes in `__attribute__((a, b(1)))`.
fn attributes(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, None, Vec::new());
    for (at, one) in text.char_indices() {
        let is_part = one.is_ascii_alphanumeric() || one == '_';
        match (depth, is_part, start) {
            (2, true, None) => start = Some(at),
            (2, false, Some(first)) => {
                all.push(&text[first..at]);
                start = None;
            }
            _ => {}
        }
        depth += match one {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{refused, words};

    #[test]
    fn words_stand_outside_of_literals() {
        let text = "# 1 \"a_b\"\nint a = 0x1f, b; char *c = \"d \\\" e\"; char f = '\"'; g(h1);";
        let all: Vec<&str> = words(text).into_iter().map(|(_, word)| word).collect();
        assert_eq!(all, ["int", "a", "b", "char", "c", "char", "f", "g", "h1"]);
    }

    #[test]
    fn extensions_are_refused_unless_listed() {
        for text in [
            "int a __attribute__((cleanup(f)));",
            "int a __attribute__ ((__mode__(QI)));",
            "int f(void) __attribute__((unused, alias(\"g\")));",
            "int a __asm__(\"b\");",
            "asm(\"\");",
            "_Noreturn void f(void);",
            "_Atomic int a;",
            "_Alignas(8) int a;",
            "__int128 a;",
            "__builtin_unreachable();",
            "__builtin_constant_p(a);",
            "__extension__ int a;",
            "__volatile__ int a;",
            "__typeof__(a) b;",
            "#pragma pack(1)\n",
        ] {
            assert_eq!(refused(text).len(), 1, "{text}");
        }
        for text in [
            "static int f(void) __attribute__((noinline, __unused__));",
            "a = __builtin_ctz(b); _Static_assert(1, \"__asm__\");",
            "int _a, __; uint32_t b_;",
        ] {
            let is_placeholder = text.contains(" __;");
            assert_eq!(refused(text).len(), usize::from(is_placeholder), "{text}");
        }
    }
}
