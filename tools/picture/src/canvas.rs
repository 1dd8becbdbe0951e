//! An SVG under construction.
//!
//! Colours are named by class and follow the reader's choice of light or dark: a picture that is opened by itself asks
//! the browser, one that stands in a page of the book follows the page's theme.

use std::fmt::Write;

/// Colours of a light page.
const LIGHT: &str = "--ink: #1f2328; --dim: #656d76; --paper: #ffffff; --box: #f6f8fa; --line: #57606a; \
--blue: #1a5fb4; --orange: #a04a08; --red: #b3161f; --green: #cfe8d5; --yellow: #fff3c9; --grey: #e6e8eb;";
/// Colours of a dark page.
const DARK: &str = "--ink: #e6e8eb; --dim: #a2abb5; --paper: #1b1f27; --box: #262c36; --line: #8b949e; \
--blue: #7cb2f2; --orange: #f0a065; --red: #ff8a85; --green: #24513a; --yellow: #55491a; --grey: #3a414c;";
/// Themes of the book that are dark.
const DARK_THEMES: [&str; 3] = ["coal", "navy", "ayu"];

const STYLE: &str = "\
svg.picture text { font: 11px ui-monospace, 'DejaVu Sans Mono', monospace; fill: var(--ink) } \
svg.picture .dim { fill: var(--dim) } svg.picture .bold { font-weight: bold } \
svg.picture .blue { fill: var(--blue) } svg.picture .orange { fill: var(--orange) } \
svg.picture .red { fill: var(--red); font-weight: bold } svg.picture .faint { opacity: .35 } \
svg.picture rect { fill: var(--box); stroke: var(--line) } svg.picture rect.paper { fill: var(--paper) } \
svg.picture rect.ground { fill: var(--paper); stroke: none } \
svg.picture rect.green { fill: var(--green) } svg.picture rect.yellow { fill: var(--yellow) } \
svg.picture rect.grey { fill: var(--grey) } svg.picture rect.dashed { stroke-dasharray: 7 4 } \
svg.picture rect.dotted { fill: none; stroke-dasharray: 2 4 } svg.picture rect.thick { stroke-width: 3px } \
svg.picture path { fill: none; stroke: var(--line); stroke-width: 1.2px } \
svg.picture path.blue { fill: none; stroke: var(--blue) } svg.picture path.orange { fill: none; stroke: var(--orange) } \
svg.picture path.red { fill: none; stroke: var(--red); stroke-width: 2.5px } \
svg.picture path.head { fill: var(--line); stroke: none }";

/// A rectangle in pixels, from its upper left corner.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    /// Whether a point lies inside, at least `margin` pixels from the border.
    pub fn contains(&self, (x, y): (f64, f64), margin: f64) -> bool {
        x > self.x + margin
            && x < self.x + self.width - margin
            && y > self.y + margin
            && y < self.y + self.height - margin
    }
}

/// Shapes in the order in which they are drawn.
#[derive(Debug, Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    pub fn rect(&mut self, class: &str, rect: Rect, radius: f64) {
        let Rect { x, y, width, height } = rect;
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"{radius:.0}\"/>"
        );
    }

    /// A line of text whose pieces have classes of their own; `y` is its base line.
    pub fn text(&mut self, x: f64, y: f64, pieces: &[(&str, &str)]) {
        let _ = write!(self.body, "<text x=\"{x:.0}\" y=\"{y:.0}\" xml:space=\"preserve\">");
        for (class, text) in pieces {
            let text = escape(text);
            let _ = match class.is_empty() {
                true => write!(self.body, "{text}"),
                false => write!(self.body, "<tspan class=\"{class}\">{text}</tspan>"),
            };
        }
        self.body.push_str("</text>\n");
    }

    /// A Bézier curve: a start, then three points for each piece. With `arrow` its end has an arrowhead.
    pub fn curve(&mut self, class: &str, points: &[(f64, f64)], arrow: bool) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let mut path = format!("M{x:.1},{y:.1}");
        for piece in rest.chunks(3) {
            path.push_str(if piece.len() == 3 { " C" } else { " L" });
            for (x, y) in piece {
                let _ = write!(path, "{x:.1},{y:.1} ");
            }
        }
        let end = if arrow { " marker-end=\"url(#arrowhead)\"" } else { "" };
        let _ = writeln!(self.body, "<path class=\"{class}\"{end} d=\"{}\"/>", path.trim_end());
    }

    pub fn finish(self, title: &str, width: f64, height: f64) -> Picture {
        Picture { title: escape(title), width: width.ceil(), height: height.ceil(), body: self.body }
    }
}

/// A finished picture.
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    width: f64,
    height: f64,
    body: String,
}

impl Picture {
    /// In a file of its own, which says by `banner` where it comes from.
    pub fn standalone(&self, banner: &str) -> String {
        self.svg(
            &format!("svg.picture {{ {LIGHT} }} @media (prefers-color-scheme: dark) {{ svg.picture {{ {DARK} }} }}"),
            banner,
        )
    }

    /// As a page of the book includes it: without blank lines, which would end the block of HTML.
    pub fn inline(&self, banner: &str) -> String {
        let dark = DARK_THEMES.map(|theme| format!("html.{theme} svg.picture")).join(", ");
        self.svg(&format!("svg.picture {{ {LIGHT} max-width: 100%; height: auto }} {dark} {{ {DARK} }}"), banner)
    }

    fn svg(&self, colours: &str, banner: &str) -> String {
        let Self { title, width, height, body } = self;
        format!(
            "<!-- {} -->\n<svg class=\"picture\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<title>{title}</title>\n\
             <style>{colours} {STYLE}</style>\n<defs><marker id=\"arrowhead\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
             markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path class=\"head\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n",
            banner.replace("--", "- -"),
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        let mut canvas = Canvas::default();
        canvas.text(0.0, 0.0, &[("dim", "a<b>&\"c")]);
        let picture = canvas.finish("x</title>", 10.0, 10.0).standalone("made -- by");
        assert!(picture.contains("a&lt;b&gt;&amp;&quot;c"));
        assert!(picture.contains("<title>x&lt;/title&gt;</title>"));
        assert!(picture.starts_with("<!-- made - - by -->"));
    }

    #[test]
    fn a_picture_in_a_page_has_no_blank_line() {
        let mut canvas = Canvas::default();
        canvas.rect("", Rect::default(), 0.0);
        canvas.curve("blue", &[(0.0, 0.0), (1.0, 1.0)], true);
        assert!(canvas.finish("t", 10.0, 10.0).inline("b").lines().all(|line| !line.trim().is_empty()));
    }
}
