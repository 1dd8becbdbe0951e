//! Words of C, by what the subset makes of them.

/// Keywords of statements and declarations.
const KEYWORDS: &str =
    "auto break case const continue default do else enum extern for goto if inline register restrict \
    return sizeof static struct switch typedef union void volatile while";
const UNDERSCORED: &str = "_Alignas _Alignof _Atomic _Bool _Generic _Noreturn _Static_assert _Thread_local";
/// Keywords of types.
const TYPES: &str = "char short int long float double signed unsigned";
/// Types of standard headers and of the compiler that are not in the subset.
const FOREIGN: &str = "_Bool _Complex bool size_t ssize_t ptrdiff_t intptr_t uintptr_t int8_t int16_t int32_t int64_t \
    intmax_t uintmax_t __int128 __signed__ wchar_t va_list u8 u16 u32 u64 FILE uint_fast8_t uint_fast16_t uint_fast32_t \
    uint_fast64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t __uint128_t typeof __typeof__";
const EXTENSIONS: &str = "__attribute__ asm __asm__";

fn is_in(lists: &[&str], name: &str) -> bool {
    lists.iter().flat_map(|list| list.split(' ')).any(|word| word == name)
}

/// Type words of C and of its standard headers that are not in the subset.
pub fn is_foreign_type(name: &str) -> bool {
    is_in(&[TYPES, FOREIGN], name)
}

/// Words that cannot be names, besides the types of the subset.
pub fn is_reserved(name: &str) -> bool {
    is_in(&[KEYWORDS, UNDERSCORED, TYPES], name)
}

/// Words that make a macro body more than an expression.
pub fn is_beyond_expressions(name: &str) -> bool {
    is_in(&[KEYWORDS, TYPES, EXTENSIONS], name)
}

#[cfg(test)]
mod tests {
    use super::{is_beyond_expressions, is_foreign_type, is_reserved};

    #[test]
    fn words_are_whole() {
        assert!(is_reserved("while") && is_reserved("restrict") && is_reserved("return") && is_reserved("_Bool"));
        assert!(is_foreign_type("int") && is_foreign_type("_Bool") && is_foreign_type("int64_t"));
        assert!(is_foreign_type("intmax_t") && is_foreign_type("uint_fast64_t"));
        assert!(is_beyond_expressions("asm") && !is_beyond_expressions("_Bool") && !is_reserved("asm"));
        for no in ["", " ", "whil", "uint32_t", "int long"] {
            assert!(!is_reserved(no) && !is_foreign_type(no) && !is_beyond_expressions(no), "{no}");
        }
    }
}
