//! One value, read as the kind its key has.

use super::document::Reader;
use super::{is_name, Field};
use crate::codes::Code;
use crate::pci_function::pci_function;
use crate::schema::{KeySpec, Kind};
use diagnostics::{toml_text, units, Spanned};
use toml::de::DeValue;

type Located<'a, 'i> = &'a toml::Spanned<DeValue<'i>>;

/// The value of `key`, or nothing if it is faulty (the fault is reported).
pub(super) fn read(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Field> {
    match key.kind {
        Kind::Text | Kind::Name(_) => text(reader, key, value).map(Field::Text),
        Kind::Regex => regex(reader, key, value).map(Field::Text),
        Kind::Choice(words) => choice(reader, key, value, words).map(Field::Text),
        Kind::Texts | Kind::Names(_) => Some(Field::Names(texts(reader, key, value)?)),
        Kind::Flag => flag(reader, key, value),
        Kind::Integer(low, high) => {
            let number = integer(reader, key, value)?;
            in_range(reader, key, number, (low, high), |n| n.to_string())
        }
        Kind::Integers(low, high) => integers(reader, key, value, (low, high)),
        Kind::Choices(words) => choices(reader, key, value, words),
        Kind::Size(low, high) => {
            let number =
                scaled(reader, key, value, units::size, units::meant_size, "a whole number and B, KiB, MiB or GiB")?;
            in_range(reader, key, number, (low, high), units::show_size)
        }
        Kind::Duration(low, high) => {
            let number = scaled(
                reader,
                key,
                value,
                units::duration,
                units::meant_duration,
                "a whole number and ns, us, ms or s",
            )?;
            in_range(reader, key, number, (low, high), units::show_duration)
        }
        Kind::Range => {
            let number = scaled(reader, key, value, units::range, |_| None, "FIRST..LAST, such as 0x2f8..0x2ff")?;
            Some(Field::Range(number))
        }
        Kind::Function => {
            let number = scaled(reader, key, value, pci_function, |_| None, "BUS:DEVICE.FUNCTION, such as 00:04.0")?;
            Some(Field::Number(number))
        }
        Kind::Arguments => pairs(reader, key, value, scalar_text),
        Kind::Files => pairs(reader, key, value, text),
        Kind::Tables(spec) => {
            let Some(table) = value.get_ref().as_table() else {
                mismatch(reader, key, value);
                return None;
            };
            let mut tables = Vec::new();
            for (name, inner) in table {
                let name = chosen_name(reader, key, name);
                if let Some(name) = name {
                    tables.extend(reader.table(spec, name, inner));
                }
            }
            Some(Field::Tables(tables))
        }
    }
}

fn mismatch(reader: &mut Reader, key: &KeySpec, value: Located) {
    let found = toml_text::kind(value.get_ref());
    // A value lost to a syntax fault reads as an empty string where the parser recovered; that fault is reported already.
    if reader.broken && value.span().is_empty() {
        return;
    }
    let message = format!("`{}` is {found}, but must be {}", key.name, key.kind.describe());
    reader.wrong_type(&value.span(), &message, &correction(key, value.get_ref()));
}

/// How to write a value that is of another type than its key wants.
fn correction(key: &KeySpec, value: &DeValue) -> String {
    let name = key.name;
    match (key.kind, value) {
        (Kind::Size(..), DeValue::Integer(number)) => {
            format!("write the unit too, in quotes: `{name} = \"{number}MiB\"`")
        }
        (Kind::Duration(..), DeValue::Integer(number)) => {
            format!("write the unit too, in quotes: `{name} = \"{number}ms\"`")
        }
        (Kind::Integer(..), DeValue::String(text)) if text.parse::<u64>().is_ok() => {
            format!("write it without quotes: `{name} = {text}`")
        }
        (Kind::Integers(..), DeValue::Integer(number)) => format!("write it as a list: `{name} = [{number}]`"),
        (Kind::Choices(_), DeValue::String(text)) => format!("write it as a list: `{name} = [\"{text}\"]`"),
        (Kind::Flag, DeValue::String(text)) if text == "true" || text == "false" => {
            format!("write it without quotes: `{name} = {text}`")
        }
        (Kind::Texts | Kind::Names(_), DeValue::String(text)) => format!("write it as a list: `{name} = [\"{text}\"]`"),
        (Kind::Text | Kind::Name(_) | Kind::Choice(_), DeValue::Array(items)) if items.len() == 1 => {
            format!(
                "write it without brackets: `{name} = {}`",
                items.iter().filter_map(|item| Some(format!("\"{}\"", item.get_ref().as_str()?))).collect::<String>()
            )
        }
        (Kind::Text | Kind::Name(_), DeValue::Integer(number)) => {
            format!("write it in quotes: `{name} = \"{number}\"`")
        }
        (Kind::Arguments, _) => format!("write `{name}.NAME = \"TEXT\"`, once for each"),
        (Kind::Files, _) => format!("write `{name}.NAME = \"FILE\"`, once for each"),
        _ => format!("write {}", key.kind.describe()),
    }
}

fn text(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Spanned<String>> {
    match value.get_ref() {
        DeValue::String(text) if text.contains(char::is_control) => {
            let message = format!("`{}` holds a line end or another control character", key.name);
            reader.fault(Code::BadValue, &message, "write it on one line", &value.span(), "this text");
            None
        }
        DeValue::String(text) => Some(Spanned::new(text.to_string(), value.span())),
        _ => {
            mismatch(reader, key, value);
            None
        }
    }
}

/// A text, or an integer or flag as the text that stands there.
fn scalar_text(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Spanned<String>> {
    match value.get_ref() {
        DeValue::Integer(_) | DeValue::Boolean(_) => {
            let written = reader.source.text.get(value.span())?;
            Some(Spanned::new(written.to_string(), value.span()))
        }
        _ => text(reader, key, value),
    }
}

fn texts(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Vec<Spanned<String>>> {
    let Some(items) = value.get_ref().as_array() else {
        mismatch(reader, key, value);
        return None;
    };
    Some(items.iter().filter_map(|item| text(reader, key, item)).collect())
}

fn flag(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Field> {
    match value.get_ref() {
        DeValue::Boolean(flag) => Some(Field::Flag(Spanned::new(*flag, value.span()))),
        _ => {
            mismatch(reader, key, value);
            None
        }
    }
}

fn integer(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Spanned<i128>> {
    let DeValue::Integer(number) = value.get_ref() else {
        mismatch(reader, key, value);
        return None;
    };
    let parsed = i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX);
    Some(Spanned::new(parsed, value.span()))
}

/// Numbers out of range are reported and left out; a list of none is a fault.
fn integers(reader: &mut Reader, key: &KeySpec, value: Located, bounds: (u64, u64)) -> Option<Field> {
    let Some(items) = value.get_ref().as_array() else {
        mismatch(reader, key, value);
        return None;
    };
    if items.is_empty() {
        let message = format!("`{}` is an empty list", key.name);
        reader.fault(Code::BadValue, &message, "name at least one, or leave the key out", &value.span(), "empty");
        return None;
    }
    let mut out = Vec::new();
    for item in items {
        let Some(number) = integer(reader, key, item) else { continue };
        if let Some(Field::Number(number)) = in_range(reader, key, number, bounds, |n| n.to_string()) {
            out.push(number);
        }
    }
    Some(Field::Numbers(out))
}

fn in_range(
    reader: &mut Reader,
    key: &KeySpec,
    number: Spanned<impl TryInto<u64> + std::fmt::Display + Copy>,
    (low, high): (u64, u64),
    show: fn(u64) -> String,
) -> Option<Field> {
    match number.value.try_into() {
        Ok(value) if (low..=high).contains(&value) => Some(Field::Number(Spanned::new(value, number.span))),
        _ => {
            let message = format!("`{}` is out of its range", key.name);
            let remedy = format!("choose a value from {} to {}", show(low), show(high));
            reader.fault(Code::OutOfRange, &message, &remedy, &number.span, "out of range");
            None
        }
    }
}

fn scaled<T>(
    reader: &mut Reader,
    key: &KeySpec,
    value: Located,
    parse: fn(&str) -> Option<T>,
    meant: fn(&str) -> Option<String>,
    form: &str,
) -> Option<Spanned<T>> {
    let text = text(reader, key, value)?;
    match parse(&text.value) {
        Some(number) => Some(Spanned::new(number, text.span)),
        None => {
            let message = format!("`{}` is not {}", text.value, key.kind.noun());
            let remedy = match meant(&text.value) {
                Some(meant) => format!("write `{} = \"{meant}\"`: {form}", key.name),
                None => format!("write {form}, in quotes"),
            };
            reader.fault(Code::BadValue, &message, &remedy, &text.span, "not understood");
            None
        }
    }
}

fn choice(reader: &mut Reader, key: &KeySpec, value: Located, words: &[&str]) -> Option<Spanned<String>> {
    let text = text(reader, key, value)?;
    if words.contains(&text.value.as_str()) {
        return Some(text);
    }
    let message = format!("`{}` cannot be \"{}\"", key.name, text.value);
    let remedy = format!("choose {}", key.kind.describe());
    reader.fault(Code::BadValue, &message, &remedy, &text.span, "not one of the choices");
    None
}

/// Words that are not among the choices are reported and left out.
fn choices(reader: &mut Reader, key: &KeySpec, value: Located, words: &[&str]) -> Option<Field> {
    let all = texts(reader, key, value)?;
    let mut out = Vec::new();
    for text in all {
        if words.contains(&text.value.as_str()) {
            out.push(text);
            continue;
        }
        let message = format!("`{}` cannot hold \"{}\"", key.name, text.value);
        let remedy = format!("choose from {}", words.join(", "));
        reader.fault(Code::BadValue, &message, &remedy, &text.span, "not one of the choices");
    }
    Some(Field::Names(out))
}

fn regex(reader: &mut Reader, key: &KeySpec, value: Located) -> Option<Spanned<String>> {
    let text = text(reader, key, value)?;
    let Err(error) = regex::Regex::new(&text.value) else { return Some(text) };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or("it does not parse").trim_start_matches("error: ");
    let message = format!("`{}` is not a regular expression: {reason}", key.name);
    let remedy = "put a backslash before a character that stands for itself, and the text in single quotes";
    reader.fault(Code::BadRegex, &message, remedy, &text.span, "this expression");
    None
}

fn pairs(
    reader: &mut Reader,
    key: &KeySpec,
    value: Located,
    item: fn(&mut Reader, &KeySpec, Located) -> Option<Spanned<String>>,
) -> Option<Field> {
    let Some(table) = value.get_ref().as_table() else {
        mismatch(reader, key, value);
        return None;
    };
    let mut out = Vec::new();
    for (name, value) in table {
        let written = format!("{}.{}", key.name, name.get_ref());
        let name = chosen_name(reader, key, name);
        if matches!(value.get_ref(), DeValue::Array(_) | DeValue::Table(_)) {
            let message = format!("`{written}` is {}, but must be a string", toml_text::kind(value.get_ref()));
            reader.wrong_type(&value.span(), &message, &format!("write `{written} = \"TEXT\"`"));
            continue;
        }
        let value = item(reader, key, value);
        out.extend(name.zip(value));
    }
    Some(Field::Pairs(out))
}

fn chosen_name(
    reader: &mut Reader,
    key: &KeySpec,
    name: &toml::Spanned<toml::de::DeString>,
) -> Option<Spanned<String>> {
    let text = name.get_ref().to_string();
    if is_name(&text) {
        return Some(Spanned::new(text, name.span()));
    }
    let message = format!("`{text}` cannot be a name in `{}`", key.name);
    let remedy = "use small letters, digits, `_` and `-`, beginning with a letter, at most 31";
    reader.fault(Code::BadName, &message, remedy, &name.span(), "this name");
    None
}
