//! The variables that a client keeps from MCP servers, although its own shell has them.

use serde_json::{Map, Value, json};

use super::client::Client;
use crate::settings::Settings;
use crate::setup;
use crate::surroundings::Surroundings;

/// Variables that Codex gives to every server, and those that describe the shell alone.
const KNOWN: [&str; 12] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "TZ", "USER"];

/// The socket of `ssh-agent`. Gemini CLI takes it for a secret, because of its name.
const SSH_AGENT: &str = "SSH_AUTH_SOCK";

/// The key of a server's entry that passes the variables of this shell on. It has no withheld ones, and keeps those of
/// the user's own entry. None for other clients, which pass everything, and if there is nothing to pass.
pub(super) fn key(
    client: Client,
    entry: Option<&Value>,
    settings: &Settings,
    around: &Surroundings,
) -> Result<Option<(String, Value)>, bashful_engine::EnvError> {
    let names = names(settings, around)?;
    let there = |key: &str| entry.and_then(|entry| entry.get(key)).cloned();
    let key = match client {
        Client::Codex if !names.is_empty() => {
            let mut all = there("env_vars").and_then(|there| there.as_array().cloned()).unwrap_or_default();
            let missing = names.into_iter().map(Value::from).filter(|name| !all.contains(name)).collect::<Vec<_>>();
            all.extend(missing);
            Some(("env_vars", Value::from(all)))
        }
        Client::Gemini if names.iter().any(|name| name == SSH_AGENT) => {
            let mut all = there("env").and_then(|there| there.as_object().cloned()).unwrap_or_else(Map::new);
            all.entry(SSH_AGENT).or_insert_with(|| json!(format!("${SSH_AGENT}")));
            Some(("env", Value::from(all)))
        }
        _ => None,
    };
    Ok(key.map(|(name, value)| (name.to_owned(), value)))
}

/// The variables of this shell that commands get, without those that every server has.
fn names(settings: &Settings, around: &Surroundings) -> Result<Vec<String>, bashful_engine::EnvError> {
    let host = setup::host_environment(around);
    let environment = settings.environment.policy().resolve(&host, &[])?;
    let passes = |name: &String| environment.variables.contains_key(std::ffi::OsStr::new(name));
    let is_plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let names = host.into_iter().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| passes(name) && is_plain(name) && !KNOWN.contains(&name.as_str())).collect();
    names.sort();
    Ok(names)
}
