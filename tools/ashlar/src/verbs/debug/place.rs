//! Where `--break` stops: PROCESS:PLACE.

use output::Failure;

#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub process: String,
    /// As gdb names it: a function, or FILE:LINE.
    pub location: String,
}

impl Place {
    /// `text` as a place in one of these processes.
    pub fn parse(text: &str, processes: &[&str]) -> Result<Place, Failure> {
        let Some((process, location)) = text.split_once(':').filter(|(_, location)| !location.trim().is_empty()) else {
            let message = format!("--break {text}: this names no place in a process");
            return Err(Failure::unable(message, "give PROCESS:FUNCTION or PROCESS:FILE:LINE"));
        };
        if !processes.contains(&process) {
            let message = format!("--break {text}: there is no process {process}");
            return Err(Failure::unable(message, format!("the processes are {}", processes.join(", "))));
        }
        Ok(Place { process: process.into(), location: location.trim().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    fn found(text: &str) -> Result<(String, String), String> {
        Place::parse(text, &["writer", "reader"])
            .map(|place| (place.process, place.location))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn places_are_functions_and_lines_of_a_process() {
        assert_eq!(found("writer:main"), Ok(("writer".into(), "main".into())));
        assert_eq!(found("reader:share_reader.c:20"), Ok(("reader".into(), "share_reader.c:20".into())));
    }

    #[test]
    fn others_are_refused() {
        assert!(found("main").unwrap_err().contains("names no place"));
        assert!(found("writer:").unwrap_err().contains("names no place"));
        assert!(found("reeder:main").unwrap_err().contains("no process reeder"));
    }
}
