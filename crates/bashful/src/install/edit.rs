//! Sets or removes one key or list item in a JSON text, and leaves everything else as it is.
//!
//! A changed text is parsed again. Its value must equal the old value with the one change; otherwise the change is
//! refused.

use jsonc_parser::common::Ranged;
use serde_json::Value;
use thiserror::Error;

use super::jsonc::{Document, descend};
use super::layout::{Lines, Splices, cut, insert, is_alone, one_line, spliced};

/// The reason why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum EditError {
    #[error("it is not JSON: {0}")]
    Json(String),
    #[error("it is not TOML: {0}")]
    Toml(String),
    #[error("{0} is not where settings have it: it should be a group of names and values")]
    NotAGroup(String),
    #[error("{0} should be a list")]
    NotAList(String),
    #[error("{0:?} is there twice, and only one of them counts")]
    Twice(String),
    #[error("somebody else has written into it")]
    NotOurs,
    #[error("{0:?} is written in a way that cannot be changed without touching other things")]
    Entangled(String),
}

/// Sets the key at the end of a path, and creates missing groups. None if the key has this value already.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<Option<String>, EditError> {
    let document = Document::parse(text)?;
    let Some(root) = document.root()? else {
        let (Document { mark, body, .. }, lines) = (&document, Lines::of(&document));
        let lead = if body.is_empty() || body.ends_with('\n') { "" } else { lines.newline };
        return Ok(Some(format!("{mark}{body}{lead}{}{}", lines.object(path, value, ""), lines.newline)));
    };
    let mut expected = document.value();
    let splices = match document.at(path)? {
        Some(_) if value_at(&expected, path) == Some(value) => return Ok(None),
        Some(there) => vec![(there.start()..there.end(), one_line(value))],
        None => {
            let (within, missing) = descend(root, path)?;
            insert(&document, &document.object(within), missing, value)
        }
    };
    *place(&mut expected, path) = value.clone();
    changed(&document, splices, &expected, path)
}

/// Adds an item to the list at a path, and creates a missing list. None if the list has the item already.
pub(super) fn add(text: &str, path: &[&str], item: &Value) -> Result<Option<String>, EditError> {
    let document = Document::parse(text)?;
    let Some(list) = document.at(path)? else { return set(text, path, &Value::from(vec![item.clone()])) };
    let list = list.as_array().ok_or_else(|| EditError::NotAList(path.join(".")))?;
    let mut expected = document.value();
    let items = items(&mut expected, path);
    if items.contains(item) {
        return Ok(None);
    }
    items.push(item.clone());
    changed(&document, insert(&document, &document.list(list), &[], item), &expected, path)
}

/// Removes the key at the end of a path, and the groups that become empty. The first `found` names of the path stay.
/// None if the key is missing.
pub(super) fn unset(text: &str, path: &[&str], found: usize) -> Result<Option<String>, EditError> {
    let document = Document::parse(text)?;
    let Some(root) = document.root()? else { return Ok(None) };
    if document.at(path)?.is_none() {
        return Ok(None);
    }
    let mut length = path.len();
    while length > found + 1 && is_alone(document.body, &document.object(descend(root, &path[..length])?.0)) {
        length -= 1;
    }
    let path = &path[..length];
    let (within, _) = descend(root, path)?;
    let (name, groups) = path.split_last().ok_or_else(|| entangled(path))?;
    let index = within.properties.iter().position(|property| property.name.as_str() == *name);
    let index = index.ok_or_else(|| entangled(path))?;
    let mut expected = document.value();
    place(&mut expected, groups).as_object_mut().and_then(|group| group.remove(*name));
    changed(&document, cut(&document, &document.object(within), index), &expected, path)
}

/// Removes an item from the list at a path, and a list and groups that become empty, as [`unset`] does. None if the
/// item is missing.
pub(super) fn discard(text: &str, path: &[&str], item: &Value, found: usize) -> Result<Option<String>, EditError> {
    let document = Document::parse(text)?;
    let Some(list) = document.at(path)? else { return Ok(None) };
    let list = document.list(list.as_array().ok_or_else(|| EditError::NotAList(path.join(".")))?);
    let mut expected = document.value();
    let items = items(&mut expected, path);
    // The added item comes after those of the user.
    let Some(index) = items.iter().rposition(|there| there == item) else { return Ok(None) };
    if found < path.len() && is_alone(document.body, &list) {
        return unset(text, path, found);
    }
    items.remove(index);
    changed(&document, cut(&document, &list, index), &expected, path)
}

/// The value of a text; an empty object for an empty text.
pub(super) fn read(text: &str) -> Result<Value, EditError> {
    Ok(Document::parse(text)?.value())
}

/// The value at a path.
pub(super) fn value_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |group, name| group.get(*name))
}

/// Some editors write a byte order mark first.
pub(super) fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The place for a value at a path. Missing groups are created.
fn place<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(value, |group, name| &mut group[*name])
}

/// The items of the list at a path.
fn items<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Vec<Value> {
    place(value, path).as_array_mut().expect("the document has a list there")
}

fn entangled(path: &[&str]) -> EditError {
    EditError::Entangled(path.join("."))
}

/// The text with replacements made, if its value is the expected one.
fn changed(
    document: &Document<'_>,
    splices: Splices,
    expected: &Value,
    path: &[&str],
) -> Result<Option<String>, EditError> {
    let changed = spliced(document.body, splices);
    if read(&changed).is_ok_and(|value| value == *expected) {
        return Ok(Some(format!("{}{changed}", document.mark)));
    }
    Err(entangled(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "me"];

    fn server() -> [(&'static str, Value); 2] {
        [("command", json!("/x")), ("args", json!(["mcp"]))]
    }

    /// Sets all keys of a server, one by one.
    fn set_server(text: &str) -> Result<String, EditError> {
        server().iter().try_fold(text.to_owned(), |text, (name, value)| {
            Ok(set(&text, &[PATH[0], PATH[1], name], value)?.unwrap_or(text))
        })
    }

    fn depth(text: &str) -> usize {
        let value = read(text).expect("JSON");
        (0..=2).rev().find(|length| value_at(&value, &PATH[..*length]).is_some()).unwrap_or_default()
    }

    /// Checks a text with a server put in, and that taking the server out again gives the text from before.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let set = set_server(text).expect("possible");
        assert_eq!(set, expected);
        for (name, value) in server() {
            assert_eq!(
                super::set(&set, &[PATH[0], PATH[1], name], &value).expect("possible"),
                None,
                "it is there already"
            );
        }
        let removed = unset(&set, &PATH, depth(text)).expect("possible").expect("a change");
        assert_eq!(unset(&removed, &PATH, 0).expect("possible"), None, "it is gone already");
        if text.contains('}') {
            assert_eq!(removed, text);
        }
    }

    #[test]
    fn a_text_without_anything_gets_all_of_it() {
        let all = "{\n  \"servers\": {\n    \"me\": {\n      \"command\": \"/x\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        check("", all);
        check("{}", all.trim_end());
        check("// mine\r\n", &format!("// mine\r\n{}", all.replace('\n', "\r\n")));
        check("\u{feff}{}\n", &format!("\u{feff}{all}"));
    }

    #[test]
    fn an_entry_comes_behind_the_others_in_their_manner() {
        check(
            "{\r\n\t\"a\": 1, // one\r\n\t\"servers\": {\r\n\t\t\"b\": {} // two\r\n\t}\r\n}",
            "{\r\n\t\"a\": 1, // one\r\n\t\"servers\": {\r\n\t\t\"b\": {}, // two\r\n\t\t\"me\": {\r\n\t\t\t\"command\": \
             \"/x\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}",
        );
        check(
            "{\n    \"servers\": {\n        \"b\": {},\n        // \"c\": {},\n    },\n}\n",
            "{\n    \"servers\": {\n        \"b\": {},\n        \"me\": {\n            \"command\": \"/x\",\n            \"args\": \
             [\"mcp\"]\n        },\n        // \"c\": {},\n    },\n}\n",
        );
        check(
            "{\"servers\":{\"b\":{}}}",
            "{\"servers\":{\"b\":{}, \"me\": { \"command\": \"/x\", \"args\": [\"mcp\"] }}}",
        );
        check("{\"b\":{}}", "{\"b\":{}, \"servers\": { \"me\": { \"command\": \"/x\", \"args\": [\"mcp\"] } }}");
    }

    #[test]
    fn an_empty_group_may_have_comments_in_it() {
        check(
            "{\n  \"servers\": { // none yet\n  }\n}",
            "{\n  \"servers\": {\n    \"me\": {\n      \"command\": \"/x\",\n      \"args\": [\"mcp\"]\n    } // none yet\n  }\n}",
        );
    }

    #[test]
    fn a_key_that_differs_is_replaced_and_its_neighbors_are_left() {
        let text = "{ \"servers\": {\n  \"me\": { \"command\": \"/old\", \"env\": {\"A\": \"b\"} }, \"b\": 1 } }";
        let expected = text.replace("/old", "/x").replace("{\"A\": \"b\"} }", "{\"A\": \"b\"}, \"args\": [\"mcp\"] }");
        assert_eq!(set_server(text).expect("possible"), expected);
    }

    /// Checks a text with an item added to a list, and that taking it out again gives the text from before.
    #[track_caller]
    fn check_list(text: &str, expected: &str) {
        let path = ["permissions", "deny"];
        let value = read(text).expect("JSON");
        let found = (0..=2).rev().find(|length| value_at(&value, &path[..*length]).is_some()).unwrap_or_default();
        let added = add(text, &path, &json!("Bash")).expect("possible").expect("a change");
        assert_eq!(added, expected);
        assert_eq!(add(&added, &path, &json!("Bash")).expect("possible"), None, "it is there already");
        let removed = discard(&added, &path, &json!("Bash"), found).expect("possible").expect("a change");
        assert_eq!(removed, text);
        assert_eq!(discard(&removed, &path, &json!("Bash"), found).expect("possible"), None, "it is gone already");
    }

    #[test]
    fn an_item_comes_behind_the_others_of_a_list() {
        check_list("{\"permissions\":{\"deny\":[\"a\"]}}", "{\"permissions\":{\"deny\":[\"a\", \"Bash\"]}}");
        check_list("{\"permissions\": {\"deny\": []}}", "{\"permissions\": {\"deny\": [\"Bash\"]}}");
        check_list(
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"a\" // why\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"a\", // why\n      \"Bash\"\n    ]\n  }\n}\n",
        );
        check_list(
            "{\n  \"permissions\": {\n    \"deny\": [ // none\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\" // none\n    ]\n  }\n}\n",
        );
        check_list(
            "{\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [],\n    \"deny\": [\"Bash\"]\n  }\n}\n",
        );
        check_list("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"permissions\": {\n    \"deny\": [\"Bash\"]\n  }\n}\n");
    }

    #[test]
    fn groups_that_were_there_before_stay_even_if_they_are_empty() {
        let text = "{\"permissions\": {\"deny\": [\"Bash\"]}}";
        let path = ["permissions", "deny"];
        let discarded = |found| discard(text, &path, &json!("Bash"), found).expect("possible").expect("a change");
        assert_eq!(discarded(2), "{\"permissions\": {\"deny\": []}}");
        assert_eq!(discarded(1), "{\"permissions\": {}}");
        assert_eq!(discarded(0), "{}");
    }

    #[test]
    fn taking_out_spares_the_rest_of_the_line() {
        for (text, expected) in [
            ("{\"servers\": { // c\n \"me\": 1, \"b\": 2 }}", "{\"servers\": { // c\n \"b\": 2 }}"),
            ("{\"servers\": {\n \"b\": 2, // c\n \"me\": 1 /* d */ }}", "{\"servers\": {\n \"b\": 2 // c\n /* d */ }}"),
            ("{\"servers\": {\"me\": 1 /* c */, \"b\": 2}}", "{\"servers\": {/* c */ \"b\": 2}}"),
            ("{\"servers\": {\"a\": 1, \"me\": 1, \"b\": 2}}", "{\"servers\": {\"a\": 1, \"b\": 2}}"),
            ("{\"servers\": {\"me\": 1,}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  \"me\": 1\n}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  // c\n  \"me\": 1\n}}", "{\"servers\": {\n  // c\n}}"),
        ] {
            assert_eq!(unset(text, &PATH, 1).expect("possible").as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_text_of_another_shape_is_left_alone() {
        let refused = |text: &str| set_server(text).expect_err(text);
        assert_eq!(refused("[]"), EditError::NotAGroup("the whole".to_owned()));
        assert_eq!(refused("{\"servers\": null}"), EditError::NotAGroup("servers".to_owned()));
        assert_eq!(refused("{\"servers\": []}"), EditError::NotAGroup("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {}, \"servers\": {}}"), EditError::Twice("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {\"me\": {}, \"me\": {}}}"), EditError::Twice("me".to_owned()));
        assert!(matches!(refused("{\"servers\": {"), EditError::Json(_)));
        let list = add("{\"a\": {\"b\": \"c\"}}", &["a", "b"], &json!("x")).expect_err("no list");
        assert_eq!(list.to_string(), "a.b should be a list");
    }
}
