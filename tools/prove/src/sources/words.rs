//! Words of a Coq file: sentences, without comments and strings.

/// A word or a sign outside comments and strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub line: usize,
}

/// The text with every comment blanked; lines stay where they are.
pub fn without_comments(text: &str) -> String {
    blank(text, false)
}

/// The text with every comment, and what stands in strings, blanked.
fn without_comments_and_strings(text: &str) -> String {
    blank(text, true)
}

fn blank(text: &str, strings: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut depth, mut quoted) = (0usize, false);
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let hidden = depth > 0 || (quoted && strings && c != '"');
        if c == '"' {
            quoted = !quoted;
            out.push(if depth > 0 { ' ' } else { c });
        } else if !quoted && c == '(' && next == Some('*') {
            depth += 1;
            chars.next();
            out.push_str("  ");
        } else if !quoted && depth > 0 && c == '*' && next == Some(')') {
            depth -= 1;
            chars.next();
            out.push_str("  ");
        } else {
            out.push(if hidden && c != '\n' { ' ' } else { c });
        }
    }
    out
}

/// The sentences of a file: each a list of its words and signs, without the period at its end.
pub fn sentences(text: &str) -> Vec<Vec<Word>> {
    let plain = without_comments_and_strings(text);
    let mut sentences = Vec::new();
    let mut sentence: Vec<Word> = Vec::new();
    let mut word = String::new();
    let mut line = 1;
    let mut chars = plain.chars().peekable();
    while let Some(c) = chars.next() {
        let next_is_space = chars.peek().is_none_or(|next| next.is_whitespace());
        let inside = is_word(c) || (c == '.' && !word.is_empty() && !next_is_space);
        if inside {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            sentence.push(Word { text: std::mem::take(&mut word), line });
        }
        match c {
            '\n' => line += 1,
            '.' if next_is_space => sentences.push(std::mem::take(&mut sentence)),
            c if c.is_whitespace() => {}
            c => sentence.push(Word { text: c.to_string(), line }),
        }
    }
    if !word.is_empty() {
        sentence.push(Word { text: word, line });
    }
    if !sentence.is_empty() {
        sentences.push(sentence);
    }
    sentences
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

#[cfg(test)]
mod tests {
    use super::{sentences, without_comments};

    fn texts(text: &str) -> Vec<Vec<String>> {
        sentences(text).into_iter().map(|words| words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn comments_nest_and_know_strings() {
        let text = "a (* b (* c *) \"*)\" d *) e";
        let plain = without_comments(text);
        assert_eq!((plain.len(), plain.split_whitespace().collect::<String>()), (text.len(), "ae".to_string()));
        assert_eq!(without_comments("\"(*\" x (* y *)"), "\"(*\" x        ");
        assert_eq!(without_comments("a (* never closed"), "a                ");
    }

    #[test]
    fn sentences_end_at_a_period_before_space() {
        let found = texts("Lemma a.b' : x.\nProof. exact (f 1.5). Qed.");
        assert_eq!(
            found,
            [vec!["Lemma", "a.b'", ":", "x"], vec!["Proof"], vec!["exact", "(", "f", "1.5", ")"], vec!["Qed"]]
        );
        assert_eq!(texts("\"Admitted. \" . x"), [vec!["\"", "\""], vec!["x"]]);
    }

    #[test]
    fn words_know_their_lines() {
        let lines: Vec<usize> = sentences("a\n(* b\n*)\nc d.\n").concat().into_iter().map(|word| word.line).collect();
        assert_eq!(lines, [1, 4, 4]);
    }
}
