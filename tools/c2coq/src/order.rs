//! The layer stack as `kernel/layers.order` states it: one name a line, lowest first, `#` begins a comment.

use std::path::{Component, Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerOrder {
    names: Vec<String>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OrderError {
    #[error("line {line}: layer `{name}` stands twice; each layer has one place in the order")]
    Twice { name: String, line: usize },
    #[error("line {line}: `{name}` is no layer name; write one name a line, in lower-case letters, digits and _")]
    BadName { name: String, line: usize },
    #[error("the file names no layer")]
    Empty,
}

impl LayerOrder {
    /// Reads the order; all mistakes at once.
    pub fn parse(text: &str) -> Result<LayerOrder, Vec<OrderError>> {
        let mut names: Vec<String> = Vec::new();
        let mut errors = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let name = line.split('#').next().unwrap_or("").trim();
            let line = index + 1;
            if name.is_empty() {
                continue;
            }
            if !name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_') {
                errors.push(OrderError::BadName { name: name.to_string(), line });
            } else if names.iter().any(|known| known == name) {
                errors.push(OrderError::Twice { name: name.to_string(), line });
            } else {
                names.push(name.to_string());
            }
        }
        if names.is_empty() && errors.is_empty() {
            errors.push(OrderError::Empty);
        }
        if errors.is_empty() {
            Ok(LayerOrder { names })
        } else {
            Err(errors)
        }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Height in the stack, 0 for the lowest.
    pub fn level(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

/// Where a kernel source stands: `root/layers/LAYER/file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub root: PathBuf,
    pub layer: String,
}

/// The layer a file belongs to, read off its path.
pub fn locate(path: &Path) -> Option<Location> {
    let parts: Vec<Component> = path.components().collect();
    let at = parts.iter().rposition(|part| part.as_os_str() == "layers")?;
    // layers / LAYER / file, and nothing deeper
    if parts.len() != at + 3 {
        return None;
    }
    let layer = parts[at + 1].as_os_str().to_str()?.to_string();
    Some(Location { root: parts[..at].iter().collect(), layer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_keeps_lines_and_drops_comments() {
        let order = LayerOrder::parse("# stack\nspinlock\n\nqueue # lists\n").unwrap();
        assert_eq!(order.names(), ["spinlock", "queue"]);
        assert_eq!(order.level("queue"), Some(1));
        assert_eq!(order.level("sched"), None);
    }

    #[test]
    fn order_reports_every_mistake() {
        let errors = LayerOrder::parse("queue\nQueue\nqueue\n").unwrap_err();
        assert_eq!(errors.len(), 2);
        assert_eq!(LayerOrder::parse("# nothing\n").unwrap_err(), [OrderError::Empty]);
    }

    #[test]
    fn layer_is_read_off_the_path() {
        let location = locate(Path::new("kernel/layers/queue/queue.c")).unwrap();
        assert_eq!(location.layer, "queue");
        assert_eq!(location.root, Path::new("kernel"));
        assert_eq!(locate(Path::new("kernel/start/start.c")), None);
    }
}
