//! What stands inside what, by the depth of lines.

use super::line::{Line, Token};
use crate::codes::Code;
use crate::findings::Findings;
use diagnostics::{Diagnostic, Span};

/// A line, the comment that belongs to it, and the lines inside it.
#[derive(Debug, Clone)]
pub struct Node {
    pub span: Span,
    pub tokens: Vec<(Token, Span)>,
    /// The comment on the line, or the lines of comment directly above it.
    pub comment: String,
    /// Index of the node around it; none at the outermost depth.
    pub parent: Option<usize>,
}

/// Deeper lines than this are taken as if they stood here.
const MAX_NESTING: usize = 24;

/// Nodes in the order of their lines; and the comment at the head of the text, if an empty line follows it or it stands
/// above the first line.
pub fn tree(lines: Vec<Line>, report: &mut Findings) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    // Depth and node of the lines around the next one.
    let mut around: Vec<(usize, usize)> = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    for line in lines {
        if line.tokens.is_empty() {
            comments.extend(line.comment);
            continue;
        }
        let mut left = None;
        while let Some(&(depth, _)) = around.last() {
            if depth < line.depth {
                break;
            }
            left = Some(depth);
            around.pop();
        }
        if left.is_some_and(|depth| depth != line.depth) {
            let remedy = "let it stand as deep as the lines it belongs to";
            let message = "this line stands deeper than what it seems to belong to, and less deep than what is above";
            report.push(Diagnostic::new(Code::Indentation, message, remedy).at(
                &report.source,
                &line.span,
                "this line",
            ));
        }
        if around.len() == MAX_NESTING {
            let message = format!("lines nest more than {MAX_NESTING} deep");
            let remedy = "flatten the hierarchy";
            report.push(Diagnostic::new(Code::Indentation, message, remedy).at(
                &report.source,
                &line.span,
                "this line",
            ));
            around.pop();
        }
        let parent = around.last().map(|(_, node)| *node);
        around.push((line.depth, nodes.len()));
        let above = std::mem::take(&mut comments).join("\n");
        let comment = line.comment.unwrap_or(above);
        nodes.push(Node { span: line.span, tokens: line.tokens, comment, parent });
    }
    nodes
}
