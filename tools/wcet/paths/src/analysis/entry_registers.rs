//! What a person states of registers at the entry.

use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Register;
use wcet_binary::lift::Registers;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, Found};
use crate::analysis::request::pair;

/// The first and the last number of each register, on through 0 if the first is negative; or everything that cannot be
/// understood.
pub fn registers(table: Registers, texts: &[String]) -> Found<BTreeMap<Register, (u64, u64)>> {
    let (mut found, mut errors) = (BTreeMap::new(), Vec::new());
    for text in texts {
        match one(table, text) {
            Ok((register, range)) if found.insert(register, range).is_none() => {}
            Ok((register, _)) => {
                let message = format!("what `{}` holds is stated twice", table.name(register));
                errors.push(fault(Code::Statement, message, "keep one range"));
            }
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

fn one(table: Registers, text: &str) -> Found<(Register, (u64, u64))> {
    let wrong = |message: String, remedy: &str| vec![fault(Code::Statement, message, remedy)];
    let (name, range) = pair(text)?;
    let general = |register: &Register| !table.is_flag(*register) && *register != table.stack_pointer();
    let Some(register) = table.named(name).filter(general) else {
        let names: Vec<&str> = table.all().filter(general).map(|register| table.name(register)).collect();
        return Err(wrong(
            format!("`{name}` in `{text}` is no register that may be stated"),
            &format!("name one of {}", names.join(", ")),
        ));
    };
    let ends = range.split_once("..").and_then(|(first, last)| Some((number(first)?, number(last)?)));
    let form = "write NAME=FIRST..LAST with numbers such as 10, -5 or 0x1f";
    let (first, last) = ends.ok_or_else(|| wrong(format!("`{range}` in `{text}` is no range of numbers"), form))?;
    let size = table.value(register).size;
    let most = mask(size) as i128;
    if first > last || last > most || first < -(most / 2) - 1 || (first < 0 && last > most / 2) {
        let message = format!("`{text}` is no range of numbers of {} bits", 8 * u32::from(size));
        return Err(wrong(message, "give the smaller number first, both signed or both unsigned"));
    }
    let bits = |number: i128| (number as u128 & mask(size)) as u64;
    Ok((register, (bits(first), bits(last))))
}

fn number(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * i128::from(number))
}

#[cfg(test)]
mod tests {
    use wcet_binary::load::Architecture;

    use super::*;

    fn of(architecture: Architecture, texts: &[&str]) -> Result<Vec<(u64, u64)>, String> {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        let found = registers(Registers::of(architecture), &texts);
        found.map(|all| all.into_values().collect()).map_err(|errors| errors[0].message.clone())
    }

    #[test]
    fn ranges_are_signed_or_unsigned() {
        let ranges = of(Architecture::RiscV64, &["a0=-0x80000000..0x7fffffff", "a1=0..99"]);
        assert_eq!(ranges, Ok(vec![(0xffff_ffff_8000_0000, 0x7fff_ffff), (0, 99)]));
        assert_eq!(of(Architecture::RiscV32, &["a0=-1..1"]), Ok(vec![(0xffff_ffff, 1)]));
        assert_eq!(of(Architecture::X86_64, &["RDI=0..0xffffffffffffffff"]), Ok(vec![(0, u64::MAX)]));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "a0",
            "a0=5",
            "a0=5..",
            "a0=9..3",
            "a0=-1..0xffffffffffffffff",
            "a0=0..0x10000000000000000",
            "sp=0..8",
            "b0=0..1",
        ] {
            assert!(of(Architecture::RiscV64, &[text]).is_err(), "{text}");
        }
        assert!(of(Architecture::RiscV32, &["a0=0..0x100000000"]).is_err());
        assert!(of(Architecture::RiscV64, &["a0=0..1", "a0=2..3"]).is_err());
    }
}
