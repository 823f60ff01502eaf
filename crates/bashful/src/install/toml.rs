//! Sets or removes one key or table in a TOML text, and leaves everything else as it is.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::edit::{EditError, without_mark};
use super::layout::newline;

/// Sets the key at the end of a path. A missing table is added at the end. None if the key has this value already.
pub(super) fn set(text: &str, path: &[&str], value: &serde_json::Value) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let before = read(body)?;
    let (key, tables) = path.split_last().ok_or_else(|| entangled(path))?;
    let value = Value::try_from(value).map_err(|error| EditError::Toml(error.to_string()))?;
    let there = table(&before, tables)?.and_then(|table| table.get(*key));
    if there == Some(&value) {
        return Ok(None);
    }
    let newline = newline(body);
    let line = format!("{} = {value}", name(key));
    let document = DeTable::parse(body).map_err(|_| entangled(path))?;
    let changed = if there.is_some() {
        let place = member(document.get_ref(), path).ok_or_else(|| entangled(path))?.1.span();
        format!("{}{value}{}", &body[..place.start], &body[place.end..])
    } else if let Some(end) = end_of_keys(body, document.get_ref(), tables) {
        format!("{}{newline}{line}{}", &body[..end], &body[end..])
    } else {
        // A text without a line end at its end stays one, so that a removal leaves it as it was.
        let (gap, last) = match body {
            "" => ("", newline),
            _ if body.ends_with('\n') => (newline, newline),
            _ => (&*[newline, newline].concat(), ""),
        };
        let head = tables.iter().map(|table| name(table)).collect::<Vec<_>>().join(".");
        format!("{body}{gap}[{head}]{newline}{line}{last}")
    };
    let mut expected = before;
    let within = tables.iter().fold(&mut expected, |table, name| {
        let inner = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
        inner.as_table_mut().expect("it has been looked at above")
    });
    within.insert((*key).to_owned(), value);
    checked(mark, &changed, &expected, path).map(Some)
}

/// Removes the key or table at the end of a path, and a table that becomes empty unless it is among the first `found`
/// names. None if it is missing.
pub(super) fn unset(text: &str, path: &[&str], found: usize) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let before = read(body)?;
    let (key, tables) = path.split_last().ok_or_else(|| entangled(path))?;
    let Some(within) = table(&before, tables)?.filter(|table| table.contains_key(*key)) else { return Ok(None) };
    let document = DeTable::parse(body).map_err(|_| entangled(path))?;
    let is_alone = within.len() == 1 && tables.len() > found;
    if is_alone && section(body, document.get_ref(), tables).is_some() {
        return unset(text, tables, found);
    }
    let changed = if let Some(place) = section(body, document.get_ref(), path) {
        without_section(body, place)
    } else {
        let (name, value) = member(document.get_ref(), path).ok_or_else(|| entangled(path))?;
        let start = body[..name.start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &body[line_end(body, value.span().end)..];
        let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
        format!("{}{rest}", &body[..start])
    };
    let mut expected = before;
    let within = tables.iter().try_fold(&mut expected, |table, name| table.get_mut(*name)?.as_table_mut());
    within.and_then(|table| table.remove(*key));
    checked(mark, &changed, &expected, path).map(Some)
}

/// Parses a TOML text.
pub(super) fn read(text: &str) -> Result<Table, EditError> {
    let text = without_mark(text).1;
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        EditError::Toml(format!("line {}: {}", 1 + before.matches('\n').count(), error.message()))
    })
}

/// The text without a section, and without the blank line that was put before it.
fn without_section(body: &str, place: Range<usize>) -> String {
    let lead = &body[..place.start];
    let mut rest = &body[place.end..];
    rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
    if lead.is_empty() {
        // At the very beginning, the blank line is the one before the next section.
        rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
    }
    let blank = ["\r\n\r\n", "\n\n"].into_iter().find(|blank| lead.ends_with(blank));
    let lead = blank.map_or(lead, |blank| &lead[..lead.len() - blank.len() / 2]);
    let lead = if rest.is_empty() && !body.ends_with('\n') { lead.trim_end_matches(['\r', '\n']) } else { lead };
    format!("{lead}{rest}")
}

/// A name as a key is written: bare if it can be.
fn name(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    if is_bare { name.to_owned() } else { Value::from(name).to_string() }
}

fn entangled(path: &[&str]) -> EditError {
    EditError::Entangled(path.join("."))
}

/// The table at the end of a path, if it is there.
fn table<'a>(root: &'a Table, path: &[&str]) -> Result<Option<&'a Table>, EditError> {
    let mut within = root;
    for name in path {
        match within.get(*name) {
            None => return Ok(None),
            Some(Value::Table(inner)) => within = inner,
            Some(_) => return Err(EditError::NotAGroup((*name).to_owned())),
        }
    }
    Ok(Some(within))
}

/// The place of a key, and its value.
fn member<'a, 'b>(root: &'a DeTable<'b>, path: &[&str]) -> Option<(Range<usize>, &'a Spanned<DeValue<'b>>)> {
    let (key, tables) = path.split_last()?;
    let within = tables.iter().try_fold(root, |table, name| table.get(*name)?.get_ref().as_table())?;
    let (name, value) = within.iter().find(|(name, _)| name.get_ref() == *key)?;
    Some((name.span(), value))
}

/// From the head of a table to the end of its last line. None if the table has no head of its own.
fn section(text: &str, root: &DeTable<'_>, path: &[&str]) -> Option<Range<usize>> {
    let table = member(root, path)?.1;
    let is_headed = table.get_ref().as_table().is_some() && text[table.span()].starts_with('[');
    is_headed.then(|| table.span().start..line_end(text, end(table)))
}

/// The end of the line of a table's last key, or of its head. None if the table has no head of its own.
fn end_of_keys(text: &str, root: &DeTable<'_>, path: &[&str]) -> Option<usize> {
    let head = section(text, root, path)?.start;
    let table = member(root, path)?.1.get_ref().as_table()?;
    let is_key = |value: &&Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Table(_) => !text[value.span()].starts_with('['),
        // A list of tables has heads of its own.
        DeValue::Array(_) => !text[value.span()].starts_with("[["),
        _ => true,
    };
    let last = table.iter().map(|(_, value)| value).filter(is_key).map(|value| value.span().end).max();
    Some(line_end(text, last.unwrap_or(head)))
}

fn line_end(text: &str, from: usize) -> usize {
    from + text[from..].find(['\r', '\n']).unwrap_or(text.len() - from)
}

/// The offset after a value.
fn end(value: &Spanned<DeValue<'_>>) -> usize {
    let within = value.get_ref().as_table().into_iter().flatten().map(|(_, inner)| end(inner)).max();
    within.unwrap_or(0).max(value.span().end)
}

/// The text, if its value is the expected one.
fn checked(mark: &str, text: &str, expected: &Table, path: &[&str]) -> Result<String, EditError> {
    if read(text).is_ok_and(|table| without_empty(&table) == without_empty(expected)) {
        return Ok(format!("{mark}{text}"));
    }
    Err(entangled(path))
}

/// A table without those that are empty: TOML forgets a table with the last head that names it.
fn without_empty(table: &Table) -> Table {
    let kept = table.iter().filter_map(|(name, value)| {
        match value {
            Value::Table(inner) => Some(without_empty(inner)).filter(|inner| !inner.is_empty()).map(Value::Table),
            other => Some(other.clone()),
        }
        .map(|value| (name.clone(), value))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "me"];
    const SECTION: &str = "[servers.me]\ncommand = \"/x\"\nargs = [\"mcp\"]\n";

    fn set_server(text: &str) -> Result<String, EditError> {
        let keys = [("command", json!("/x")), ("args", json!(["mcp"]))];
        keys.iter().try_fold(text.to_owned(), |text, (name, value)| {
            Ok(set(&text, &[PATH[0], PATH[1], name], value)?.unwrap_or(text))
        })
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let set = set_server(text).expect("possible");
        assert_eq!(set, expected);
        assert_eq!(set_server(&set).expect("possible"), set, "it is there already");
        let removed = unset(&set, &PATH, 0).expect("possible").expect("a change");
        assert_eq!(removed, text);
        assert_eq!(unset(&removed, &PATH, 0).expect("possible"), None, "it is gone already");
    }

    #[test]
    fn a_table_comes_behind_all_others() {
        check("", SECTION);
        check("# mine\na = 1\n", &format!("# mine\na = 1\n\n{SECTION}"));
        check("a = 1", &format!("a = 1\n\n{}", SECTION.trim_end()));
        let windows = SECTION.replace('\n', "\r\n");
        check("\u{feff}a = 1\r\n[servers.b]\r\n", &format!("\u{feff}a = 1\r\n[servers.b]\r\n\r\n{windows}"));
    }

    #[test]
    fn a_key_that_differs_is_replaced_where_it_is_and_its_neighbors_are_left() {
        let text = "[a]\n\n# about me\n[servers.me] # here\ncommand = '''\n[x]''' # c\n[servers.me.env]\nK = 'v' # k\n# about b\n[b]\n";
        let expected = text.replace("'''\n[x]''' # c", "\"/x\" # c\nargs = [\"mcp\"]");
        assert_eq!(set_server(text).expect("possible"), expected);
        let removed = unset(&expected, &PATH, 0).expect("possible").expect("a change");
        assert_eq!(removed, "[a]\n\n# about me\n# about b\n[b]\n");
    }

    /// Checks a text with a key set, and that taking the key out again gives the text from before.
    #[track_caller]
    fn check_key(text: &str, path: &[&str], found: usize, expected: &str) {
        let set = set(text, path, &json!(false)).expect("possible").expect("a change");
        assert_eq!(set, expected);
        assert_eq!(unset(&set, path, found).expect("possible").as_deref(), Some(text));
    }

    #[test]
    fn a_key_comes_behind_the_others_of_its_table() {
        let path = ["features", "shell"];
        check_key(
            "[features]\na = true # yes\n\n[b]\n",
            &path,
            1,
            "[features]\na = true # yes\nshell = false\n\n[b]\n",
        );
        check_key("[features]\n", &path, 1, "[features]\nshell = false\n");
        check_key(
            "[features]\nlist = [\n  1,\n]\n[features.x]\na = 1\n[[features.y]]\n",
            &path,
            1,
            "[features]\nlist = [\n  1,\n]\nshell = false\n[features.x]\na = 1\n[[features.y]]\n",
        );
        check_key("[b]\nc = 1\n", &path, 0, "[b]\nc = 1\n\n[features]\nshell = false\n");
        let dir = ["projects", "/a b.c", "trusted"];
        check_key("[b]\nc = 1\n", &dir, 0, "[b]\nc = 1\n\n[projects.\"/a b.c\"]\ntrusted = false\n");
    }

    #[test]
    fn a_table_that_was_there_before_stays() {
        let text = "[features]\nshell = false\n";
        assert_eq!(unset(text, &["features", "shell"], 1).expect("possible").as_deref(), Some("[features]\n"));
        assert_eq!(unset(text, &["features", "shell"], 0).expect("possible").as_deref(), Some(""));
    }

    #[test]
    fn a_text_that_cannot_be_changed_in_one_place_is_left_alone() {
        let refused = |text: &str| set_server(text).expect_err(text);
        let entangled = |key: &str| EditError::Entangled(format!("servers.me.{key}"));
        assert_eq!(refused("servers = { b = { command = 'x' } }\n"), entangled("command"));
        assert_eq!(refused("servers = { me = { command = '/x' } }\n"), entangled("args"));
        assert_eq!(refused("[servers]\nme.command = '/x'\n"), entangled("args"));
        assert_eq!(refused("servers = 1\n"), EditError::NotAGroup("servers".to_owned()));
        let wrong = refused("a = 1\nb = \n").to_string();
        assert!(wrong.starts_with("it is not TOML: line 2: "), "{wrong}");
        // The table is written in two places.
        let apart = "[servers.me]\nx = 1\n[b]\ny = 1\n[servers.me.env]\nz = 1\n";
        assert_eq!(unset(apart, &PATH, 0), Err(EditError::Entangled("servers.me".to_owned())));
        let inline = "features = { shell = false, a = 1 }\n";
        assert!(matches!(unset(inline, &["features", "shell"], 1), Err(EditError::Entangled(_))));
    }
}
