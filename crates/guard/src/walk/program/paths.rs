//! Paths: calls that make them, and paths that are objects.

use std::rc::Rc;

use crate::marks::{HOME, REPO, START, UNKNOWN, alive, has_mark};
use crate::walk::files::normalized;
use crate::walk::program::call::Given;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

/// A path below another one, unless it begins at a root itself.
pub(super) fn joined_path(path: &str, part: &str) -> String {
    let is_whole = path.is_empty() || part.starts_with(['/', HOME, START, REPO]);
    match (is_whole, part) {
        (true, part) => part.to_owned(),
        (false, "") => format!("{}/", path.trim_end_matches('/')),
        (false, part) => format!("{}/{part}", path.trim_end_matches('/')),
    }
}

/// The directory above a path.
pub(super) fn parent(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((directory, _)) => directory.to_owned(),
        None if path == "/" => "/".to_owned(),
        None if path.starts_with([HOME, START, REPO]) => format!("{path}/.."),
        None if path.contains(UNKNOWN) => format!("{path}/.."),
        None => ".".to_owned(),
    }
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A name without its last suffix, and that suffix.
fn split_suffix(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 && !name.get(..at).unwrap_or("").ends_with('/') => name.split_at(at),
        _ => (name, ""),
    }
}

/// A path whose tilde is the home directory.
pub(super) fn with_home(path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    }
}

impl Trial<'_, '_> {
    /// Calls of `os.path` and `path`. None if this is no such call.
    pub(super) fn path_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let base = match (name.strip_prefix("os.path."), name.strip_prefix("path.")) {
            (Some(base), _) => base,
            (_, Some(base)) if !self.is_python() => base.trim_start_matches("posix."),
            _ => return Ok(None),
        };
        let text = if given.values.is_empty() { Rc::from("") } else { self.text_of(&given.at(0))? };
        let is_lost = given.values.iter().any(|value| matches!(value, Value::Unknown | Value::Lost));
        Ok(Some(match base {
            "join" if self.is_python() => {
                let mut path = String::new();
                for value in &given.values {
                    path = joined_path(&path, &self.text_of(value)?);
                }
                Value::text(path)
            }
            "join" => {
                let mut parts = Vec::new();
                for value in &given.values {
                    parts.push(self.text_of(value)?.to_string());
                }
                parts.retain(|part| !part.is_empty());
                Value::text(clean(&parts.join("/")))
            }
            "resolve" => {
                let mut path = String::from(".");
                for value in &given.values {
                    path = joined_path(&path, &self.text_of(value)?);
                }
                Value::text(self.walk.absolute(&path))
            }
            "abspath" | "realpath" => Value::text(self.walk.absolute(&text)),
            "normpath" | "normalize" => Value::text(clean(&text)),
            "normcase" | "toNamespacedPath" => Value::Text(text),
            "expanduser" => Value::text(with_home(&text)),
            "expandvars" => Value::text(self.expand_variables(&text)?),
            "basename" => match given.get(1) {
                Some(Value::Text(ending)) => {
                    Value::text(name_of(&text).strip_suffix(ending.as_ref()).unwrap_or(name_of(&text)))
                }
                _ => Value::text(if self.is_python() && text.ends_with('/') { "" } else { name_of(&text) }),
            },
            "dirname" if self.is_python() && !text.contains('/') && !has_mark(&text) => Value::text(""),
            "dirname" => Value::text(parent(&text)),
            "split" => Value::Tuple([Value::text(parent(&text)), Value::text(name_of(&text))].into()),
            "splitext" => {
                let (stem, suffix) = split_suffix(&text);
                Value::Tuple([Value::text(stem), Value::text(suffix)].into())
            }
            "extname" => Value::text(split_suffix(name_of(&text)).1),
            "isabs" | "isAbsolute" if !is_lost => Value::Bool(text.starts_with(['/', HOME, START, REPO])),
            "relpath" => Value::Text(text),
            "relative" => given.at(1),
            "parse" => {
                let name = name_of(&text);
                let (stem, suffix) = split_suffix(name);
                let parts = [
                    ("dir", parent(&text)),
                    ("base", name.to_owned()),
                    ("name", stem.to_owned()),
                    ("ext", suffix.to_owned()),
                ];
                let pairs = parts.into_iter().map(|(key, part)| (Value::text(key), Value::text(part))).collect();
                self.dict_of_pairs(pairs)
            }
            "format" => {
                let table = given.at(0);
                let (dir, name) = (self.member(&table, "dir")?, self.member(&table, "base")?);
                Value::text(joined_path(&self.text_of(&dir)?, &self.text_of(&name)?))
            }
            // The file system answers.
            "exists" | "isdir" | "isfile" | "islink" | "lexists" | "ismount" | "getsize" | "getmtime" | "getatime"
            | "getctime" | "samefile" | "commonpath" | "commonprefix" => Value::Unknown,
            _ => return Ok(None),
        }))
    }

    /// `$HOME/x` with its variables.
    fn expand_variables(&mut self, text: &str) -> Run<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            out.push_str(before);
            let (name, after) = match behind.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
                Some((name, after)) => (name, after),
                None => behind.split_at(
                    behind.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(behind.len()),
                ),
            };
            let value = self.environment(name).unwrap_or(Value::Unknown);
            out.push_str(&self.text_of(&value)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// A path that is an object, made of these parts.
    pub(super) fn new_path(&mut self, given: &Given) -> Run<Value> {
        let mut path = String::new();
        for value in &given.values {
            path = joined_path(&path, &self.text_of(value)?);
        }
        let path = if path.is_empty() { ".".to_owned() } else { path };
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { &path };
        Ok(Value::Path(Rc::from(if path.is_empty() { "/" } else { path })))
    }

    /// A member of a path that is no method.
    pub(super) fn path_member(&mut self, path: &Rc<str>, name: &str) -> Option<Value> {
        Some(match name {
            "parent" => Value::Path(parent(path).into()),
            "name" => Value::text(name_of(path)),
            "path" => Value::Text(Rc::clone(path)),
            "stem" => Value::text(split_suffix(name_of(path)).0),
            "suffix" => Value::text(split_suffix(name_of(path)).1),
            "parts" => {
                let root = if path.starts_with('/') { Some("/") } else { None };
                Value::Tuple(
                    root.into_iter().chain(path.split('/').filter(|part| !part.is_empty())).map(Value::text).collect(),
                )
            }
            "parents" => {
                let mut parents = Vec::new();
                let mut at = path.to_string();
                for _ in 0..12 {
                    let above = parent(&at);
                    if above == at {
                        break;
                    }
                    parents.push(Value::Path(above.as_str().into()));
                    at = above;
                }
                self.heap.new_list(parents)
            }
            "anchor" | "root" => Value::text(if path.starts_with('/') { "/" } else { "" }),
            "suffixes" => {
                let suffix = split_suffix(name_of(path)).1.to_owned();
                self.heap.new_texts([suffix])
            }
            _ => return None,
        })
    }

    pub(super) fn path_method(&mut self, path: &Rc<str>, name: &str, given: &Given) -> Run<Value> {
        let own = Value::Path(Rc::clone(path));
        let first = given.at(0);
        Ok(match name {
            "resolve" | "absolute" => Value::Path(self.walk.absolute(path).into()),
            "expanduser" => Value::Path(with_home(path).into()),
            "as_posix" | "__str__" | "__fspath__" => Value::Text(Rc::clone(path)),
            "joinpath" | "__truediv__" => {
                let mut all = vec![own];
                all.extend(given.values.iter().cloned());
                self.new_path(&Given::of(all))?
            }
            "with_name" => Value::Path(joined_path(&parent(path), &self.text_of(&first)?).into()),
            "with_suffix" | "with_stem" => {
                let (stem, suffix) = split_suffix(path);
                let given = self.text_of(&first)?;
                let changed = if name == "with_suffix" {
                    format!("{stem}{given}")
                } else {
                    joined_path(&parent(path), &format!("{given}{suffix}"))
                };
                Value::Path(changed.into())
            }
            "relative_to" => {
                let base = self.text_of(&first)?;
                let rest = path.strip_prefix(base.as_ref()).map(|rest| rest.trim_start_matches('/'));
                Value::Path(Rc::from(rest.filter(|rest| !rest.is_empty()).unwrap_or(path)))
            }
            "is_absolute" if !has_mark(path) => Value::Bool(path.starts_with('/')),
            "iterdir" => {
                let found = Self::everything_in(path);
                self.heap.new_list(vec![Value::Path(found.into())])
            }
            "glob" | "rglob" => {
                let pattern = self.text_of(&first)?;
                let pattern = if name == "rglob" { format!("**/{pattern}") } else { pattern.to_string() };
                let pattern = wild(&pattern);
                let found = if path.as_ref() == "." { pattern } else { joined_path(path, &pattern) };
                self.heap.new_list(vec![Value::Path(found.into())])
            }
            "walk" => self.walked(path, true),
            "read_text" | "read_bytes" => self.file_text(path).map_or(Value::Unknown, Value::text),
            "write_text" | "write_bytes" => {
                let text = self.content_of(&first)?;
                self.walk.write_file(path, &text, false);
                Value::None
            }
            "open" => {
                let mut all = vec![own];
                all.extend(given.values.iter().cloned());
                self.open_file(&Given { values: all, named: given.named.clone() })?
            }
            "unlink" => {
                self.delete_path(&own, false)?;
                Value::None
            }
            "rmtree" | "rmtree_p" | "remove_tree" => {
                self.delete_path(&own, true)?;
                Value::None
            }
            "rename" | "replace" | "move" => {
                let to = self.text_of(&first)?;
                self.walk.move_file(path, &to);
                Value::Path(to)
            }
            "symlink_to" | "hardlink_to" => {
                let target = self.text_of(&first)?;
                self.walk.link_file(&target, path);
                Value::None
            }
            "rmdir" | "mkdir" | "touch" | "chmod" => Value::None,
            "startswith" | "endswith" | "split" | "replace_" => self.text_method(path, name, given)?,
            _ => Value::Unknown,
        })
    }
}

/// A path without `.`, `..` and doubled slashes, as far as that is known.
fn clean(path: &str) -> String {
    let cleaned = normalized(path);
    if cleaned.is_empty() { ".".to_owned() } else { cleaned }
}

/// A pattern for files, which finds them at any depth where it has `**`.
pub(super) fn wild(pattern: &str) -> String {
    let stars: String = [crate::marks::STAR; 2].iter().collect();
    let alive = alive(pattern).replace(&stars, &crate::marks::TREE.to_string());
    // `**/*` is everything below.
    let all = format!("{}/{}", crate::marks::TREE, crate::marks::STAR);
    if let Some(before) = alive.strip_suffix(&all) { format!("{before}{}", crate::marks::TREE) } else { alive }
}
