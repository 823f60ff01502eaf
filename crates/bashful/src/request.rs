//! Builds requests from arguments.

use std::error::Error;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use bashful_dialect::{MOST_IN_BACKGROUND, MOST_SECONDS};
use bashful_engine::{LONGEST_SCRIPT, Lifetime, Request, Script};

use crate::cli::{CommandArgs, Mode};
use crate::settings::Settings;
use crate::setup::SetupError;

/// The request from the arguments, and notices about it. A command that a person attends to has as much time as one in the
/// background: they end it when they want to.
pub(crate) fn request(
    args: &CommandArgs,
    settings: &Settings,
    is_attended: bool,
) -> Result<(Request, Vec<String>), Box<dyn Error>> {
    let mut notices = Vec::new();
    let mut request = Request::new(Script::new(script(&args.script)?)?);
    request.workdir.clone_from(&args.cwd);
    request.session.clone_from(&args.session);
    request.env = args.env.iter().map(variable).collect::<Result<_, _>>()?;
    let mode = if is_attended && args.mode() == Mode::Default { Mode::Background } else { args.mode() };
    let lifetime = match (args.timeout, mode) {
        (Some(asked), Mode::Background) => clamp(asked, MOST_IN_BACKGROUND, &mut notices)?,
        (Some(asked), _) => clamp(asked, MOST_SECONDS, &mut notices)?,
        (None, Mode::Background) => settings.lifetime.background_seconds.duration(),
        (None, Mode::Default) => settings.lifetime.default_seconds.duration(),
        (None, Mode::Slow) => settings.lifetime.slow_seconds.duration(),
    };
    request.lifetime = Some(Lifetime(lifetime));
    Ok((request, notices))
}

fn clamp(asked: f64, most: f64, notices: &mut Vec<String>) -> Result<Duration, SetupError> {
    if !asked.is_finite() {
        return Err(SetupError::Timeout(asked));
    }
    let clamped = bashful_dialect::clamp_timeout(asked, most);
    notices.extend(clamped.notice);
    Ok(clamped.lifetime.0)
}

/// The script of an argument; `-` is standard input.
pub(crate) fn script(argument: &OsString) -> Result<Vec<u8>, SetupError> {
    if argument != "-" {
        return Ok(argument.as_bytes().to_vec());
    }
    let mut text = Vec::new();
    // One byte more than the limit, so that a longer script is an error.
    std::io::stdin().lock().take(LONGEST_SCRIPT.0 + 1).read_to_end(&mut text).map_err(SetupError::Stdin)?;
    Ok(text)
}

/// Parses `NAME=VALUE`.
pub(crate) fn variable(given: &OsString) -> Result<(String, OsString), SetupError> {
    let bytes = given.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').ok_or_else(|| SetupError::Env { given: given.clone() })?;
    let name = String::from_utf8_lossy(&bytes[..at]).into_owned();
    Ok((name, OsString::from_vec(bytes[at + 1..].to_vec())))
}
