//! The system calls of the kernel's description: their numbers, and which of them do not come back.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// System calls, each of which is a region of its own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// The handler of system calls, and the object from which its first block reads the number.
    pub function: String,
    pub object: String,
    /// A C header, in the description's folder, that defines the numbers as `PREFIXNAME number`.
    #[serde(default)]
    pub header: Option<String>,
    #[serde(default)]
    pub prefix: String,
    /// Names in lower case, with the numbers; those of the header come to them.
    #[serde(default)]
    pub numbers: BTreeMap<String, u64>,
    /// The table of calls in the description's folder: which of them do not come back is read there.
    #[serde(default)]
    pub table: Option<String>,
    /// Numbers of calls behind which the caller executes nothing; those of the table come to them.
    #[serde(default)]
    pub never_return: BTreeSet<u64>,
}

/// Of the table of calls, what is used here.
#[derive(Deserialize)]
struct CallTable {
    call: Vec<CallRow>,
}

#[derive(Deserialize)]
struct CallRow {
    number: u64,
    #[serde(default)]
    never_returns: bool,
}

impl Calls {
    /// Takes in the numbers that a header defines.
    pub(crate) fn read(&mut self, header: &str) {
        let define = format!("#define {}", self.prefix);
        let call = |line: &str| {
            let mut words = line.strip_prefix(&define)?.split_whitespace();
            let (name, number) = (words.next()?, words.next()?);
            Some((name.to_lowercase(), number.trim_end_matches(['u', 'l', 'U', 'L']).parse().ok()?))
        };
        self.numbers.extend(header.lines().filter_map(call));
    }

    /// Takes in which calls of a table do not come back.
    pub(crate) fn read_table(&mut self, table: &str) -> Result<(), String> {
        let table: CallTable = toml::from_str(table).map_err(|error| error.to_string())?;
        let ends = table.call.iter().filter(|call| call.never_returns);
        self.never_return.extend(ends.map(|call| call.number));
        Ok(())
    }

    /// The name of a number in lower case, or the number itself.
    pub fn name(&self, number: u64) -> String {
        let named = self.numbers.iter().find(|(_, one)| **one == number);
        named.map_or_else(|| number.to_string(), |(name, _)| name.clone())
    }

    /// The numbers that stand for no call, first and last of each stretch.
    pub fn others(&self) -> Vec<(u64, u64)> {
        let known: BTreeSet<u64> = self.numbers.values().copied().collect();
        let (mut found, mut from) = (Vec::new(), Some(0));
        for number in known {
            if let Some(first) = from.filter(|first| *first < number) {
                found.push((first, number - 1));
            }
            from = number.checked_add(1);
        }
        found.extend(from.map(|first| (first, u64::MAX)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_come_from_the_header_and_the_rest_is_other_calls() {
        let mut calls = Calls {
            function: String::new(),
            object: String::new(),
            header: None,
            prefix: "SYS_".to_string(),
            numbers: BTreeMap::new(),
            table: None,
            never_return: BTreeSet::new(),
        };
        calls
            .read_table("[[call]]\nnumber = 13\nname = 'SYS_END'\nnever_returns = true\n[[call]]\nnumber = 2\n")
            .unwrap();
        assert_eq!(calls.never_return, BTreeSet::from([13]));
        assert!(calls.read_table("[[call]]\nname = 'SYS_END'\n").is_err());
        calls.read(
            "#define SYS_NULL 0u\n#define SYS_MEM_MAP 2u   /* address */\n#define ERR_NONE 7u\n#define SYS_OF(x) (x)\n",
        );
        assert_eq!(calls.numbers, BTreeMap::from([("null".to_string(), 0), ("mem_map".to_string(), 2)]));
        assert_eq!(calls.others(), [(1, 1), (3, u64::MAX)]);
    }
}
