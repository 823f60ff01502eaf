//! Puts one table into a TOML text, or takes it out, and leaves everything else as it is.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::edit::{EditError, Entry, Spot, newline, without_mark};

/// Puts an entry where it belongs. None if it is there already.
pub(super) fn set(text: &str, spot: Spot<'_>, entry: &Entry) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let before = read(body)?;
    let newline = newline(body);
    let mut wanted = Table::new();
    let mut lines = vec![format!("[{}.{}]", spot.groups.join("."), spot.name)];
    for (name, value) in &entry.0 {
        let value = Value::try_from(value).map_err(|error| EditError::Toml(error.to_string()))?;
        lines.push(format!("{name} = {value}"));
        wanted.insert((*name).to_owned(), value);
    }
    let section = lines.join(newline);
    let changed = match group(&before, spot)?.and_then(|group| group.get(spot.name)) {
        Some(there) if wanted.iter().all(|(name, value)| there.get(name) == Some(value)) => return Ok(None),
        Some(_) => {
            let place = extent(body, spot).ok_or_else(|| EditError::Entangled(spot.name.to_owned()))?;
            format!("{}{section}{}", &body[..place.start], &body[place.end..])
        }
        None => {
            let gap = match body {
                "" => "",
                _ if body.ends_with('\n') => newline,
                _ => &[newline, newline].concat(),
            };
            format!("{body}{gap}{section}{newline}")
        }
    };
    let mut expected = before;
    let groups = spot.groups.iter().fold(&mut expected, |group, name| {
        let inner = group.entry(*name).or_insert_with(|| Value::Table(Table::new()));
        inner.as_table_mut().expect("it has been looked at above")
    });
    groups.insert(spot.name.to_owned(), Value::Table(wanted));
    checked(mark, &changed, &expected, spot).map(Some)
}

/// Takes an entry out. None if it is not there.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let before = read(body)?;
    if group(&before, spot)?.is_none_or(|group| !group.contains_key(spot.name)) {
        return Ok(None);
    }
    let place = extent(body, spot).ok_or_else(|| EditError::Entangled(spot.name.to_owned()))?;
    let lead = &body[..place.start];
    let mut rest = &body[place.end..];
    rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
    // The blank line that was put before it goes with it.
    let blank = ["\r\n\r\n", "\n\n"].into_iter().find(|blank| lead.ends_with(blank));
    let lead = blank.map_or(lead, |blank| &lead[..lead.len() - blank.len() / 2]);
    let mut expected = before;
    let groups = spot.groups.iter().try_fold(&mut expected, |group, name| group.get_mut(*name)?.as_table_mut());
    groups.and_then(|group| group.remove(spot.name));
    checked(mark, &format!("{lead}{rest}"), &expected, spot).map(Some)
}

fn read(text: &str) -> Result<Table, EditError> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        EditError::Toml(format!("line {}: {}", 1 + before.matches('\n').count(), error.message()))
    })
}

/// The group that the entry belongs to, if it is there.
fn group<'a>(table: &'a Table, spot: Spot<'_>) -> Result<Option<&'a Table>, EditError> {
    let mut within = table;
    for name in spot.groups {
        match within.get(*name) {
            None => return Ok(None),
            Some(Value::Table(inner)) => within = inner,
            Some(_) => return Err(EditError::NotAGroup((*name).to_owned())),
        }
    }
    Ok(Some(within))
}

/// From the head of the entry's table to the end of its last line. None if it has no head of its own.
fn extent(text: &str, spot: Spot<'_>) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let mut entry = None;
    let mut within = document.get_ref();
    for name in spot.groups.iter().chain([&spot.name]) {
        let inner = within.get(*name)?;
        entry = Some(inner);
        within = inner.get_ref().as_table()?;
    }
    let head = entry?.span();
    if !text[head.clone()].starts_with('[') {
        return None;
    }
    let last = end(entry?);
    Some(head.start..last + text[last..].find(['\r', '\n']).unwrap_or(text.len() - last))
}

/// Where a value ends, with all that is in it.
fn end(value: &Spanned<DeValue<'_>>) -> usize {
    let within = value.get_ref().as_table().into_iter().flatten().map(|(_, inner)| end(inner)).max();
    within.unwrap_or(0).max(value.span().end)
}

/// The text, if it says what it should.
fn checked(mark: &str, text: &str, expected: &Table, spot: Spot<'_>) -> Result<String, EditError> {
    if read(text).is_ok_and(|table| without_empty(&table) == without_empty(expected)) {
        return Ok(format!("{mark}{text}"));
    }
    Err(EditError::Entangled(spot.name.to_owned()))
}

/// A group is not there any more when its last table is gone.
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

    const SPOT: Spot<'_> = Spot { groups: &["servers"], name: "me" };
    const SECTION: &str = "[servers.me]\ncommand = \"/x\"\nargs = [\"mcp\"]\n";

    fn entry() -> Entry {
        Entry(vec![("command", json!("/x")), ("args", json!(["mcp"]))])
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let set = set(text, SPOT, &entry()).expect("possible").expect("a change");
        assert_eq!(set, expected);
        assert_eq!(super::set(&set, SPOT, &entry()).expect("possible"), None, "it is there already");
        let removed = remove(&set, SPOT).expect("possible").expect("a change");
        assert_eq!(removed.trim_end(), text.trim_end());
    }

    #[test]
    fn a_table_comes_behind_all_others() {
        check("", SECTION);
        check("# mine\na = 1\n", &format!("# mine\na = 1\n\n{SECTION}"));
        check("a = 1", &format!("a = 1\n\n{SECTION}"));
        let windows = SECTION.replace('\n', "\r\n");
        check("\u{feff}a = 1\r\n[servers.b]\r\n", &format!("\u{feff}a = 1\r\n[servers.b]\r\n\r\n{windows}"));
    }

    #[test]
    fn a_table_that_differs_is_replaced_where_it_is() {
        let text = "[a]\n\n# about me\n[servers.me] # here\nurl = '''\n[x]'''\n[servers.me.env]\nK = 'v' # k\n# about b\n[b]\n";
        let changed = set(text, SPOT, &entry()).expect("possible").expect("a change");
        assert_eq!(changed, format!("[a]\n\n# about me\n{SECTION}# about b\n[b]\n"));
        let removed = remove(&changed, SPOT).expect("possible").expect("a change");
        assert_eq!(removed, "[a]\n\n# about me\n# about b\n[b]\n");
        let more = format!("{SECTION}enabled = true\n");
        assert_eq!(set(&more, SPOT, &entry()).expect("possible"), None);
    }

    #[test]
    fn what_cannot_be_changed_alone_is_left_alone() {
        let refused = |text: &str| set(text, SPOT, &entry()).expect_err(text);
        let entangled = EditError::Entangled("me".to_owned());
        assert_eq!(refused("servers = { b = { command = 'x' } }\n"), entangled);
        assert_eq!(refused("servers = { me = { command = 'x' } }\n"), entangled);
        assert_eq!(refused("[servers]\nme.command = 'x'\n"), entangled);
        assert_eq!(refused("servers = 1\n"), EditError::NotAGroup("servers".to_owned()));
        // Its parts are in two places.
        assert_eq!(refused("[servers.me]\nx = 1\n[b]\ny = 1\n[servers.me.env]\nz = 1\n"), entangled);
        let wrong = refused("a = 1\nb = \n").to_string();
        assert!(wrong.starts_with("it is not TOML: line 2: "), "{wrong}");
    }
}
