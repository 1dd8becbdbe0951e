//! Directives of a driver's source files that would give lines other places, or change the compiler's rules.

/// Lines of refused directives, with what is refused.
pub fn refused(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, spelling) in [("??", "trigraphs"), ("%:", "the digraph `%:`")] {
        if let Some(offset) = text.find(at) {
            found.push((1 + text[..offset].matches('\n').count(), format!("{spelling}: write the character itself")));
        }
    }
    for (line, text) in logical_lines(text) {
        let Some(rest) = text.trim_start().strip_prefix('#') else { continue };
        let rest = rest.trim_start();
        let word: String = rest.chars().take_while(|one| one.is_ascii_alphanumeric() || *one == '_').collect();
        let is_marker = word == "line" || word.starts_with(|one: char| one.is_ascii_digit());
        let is_pragma = word == "pragma" && rest["pragma".len()..].trim() != "once";
        if is_marker || is_pragma {
            found.push((
                line,
                format!("`#{}`: a driver's text has the compiler's own places and rules; remove it", rest.trim_end()),
            ));
        }
    }
    found
}

/// Lines without comments, with spliced lines joined: the number of the first line of each, and its text.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let (mut line, mut first) = (1, 1);
    let mut now = String::new();
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(one) = chars.next() {
        match one {
            '\\' if quote.is_none() || matches!(chars.peek(), Some('\n' | ' ')) => {
                // A splice, also with blanks behind the backslash, as gcc has it.
                let mut ahead = chars.clone();
                while ahead.peek().is_some_and(|one| matches!(one, ' ' | '\t' | '\r')) {
                    ahead.next();
                }
                if ahead.peek() == Some(&'\n') {
                    ahead.next();
                    chars = ahead;
                    line += 1;
                } else {
                    now.push(one);
                }
            }
            '\\' => {
                now.push(one);
                now.extend(chars.next());
            }
            '\n' => {
                all.push((first, std::mem::take(&mut now)));
                line += 1;
                first = line;
                quote = None;
            }
            '"' | '\'' => {
                quote = match quote {
                    None => Some(one),
                    Some(open) if open == one => None,
                    other => other,
                };
                now.push(one);
            }
            '/' if quote.is_none() && chars.peek() == Some(&'*') => {
                chars.next();
                let mut last = ' ';
                for one in chars.by_ref() {
                    if one == '\n' {
                        line += 1;
                    }
                    if last == '*' && one == '/' {
                        break;
                    }
                    last = one;
                }
                now.push(' ');
            }
            '/' if quote.is_none() && chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|one| *one != '\n') {
                    chars.next();
                }
            }
            _ => now.push(one),
        }
    }
    all.push((first, now));
    all
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn finds_directives_however_they_are_written() {
        for text in [
            "#line 3 \"x\"\n",
            "# 3 \"x\" 1\n",
            "/* */ # /* */ line 3\n",
            "#\\\nline 3\n",
            "#li\\\nne 3\n",
            "#pragma pack(1)\n",
            "%:line 3\n",
            "??=line 3\n",
        ] {
            assert_eq!(refused(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn leaves_other_lines_alone() {
        let text =
            "#include \"a.h\"\n#pragma once\n/*\n#line 3\n*/\nchar *s = \"#line 3\";\n#define S(x) #x\n// #line 3\n";
        assert_eq!(refused(text), []);
        assert_eq!(refused("int a;\n\n#line 3\n")[0].0, 3);
    }
}
