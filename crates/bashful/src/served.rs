//! The toolbox of a server: what the surfaces for agents and host programs have in common.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use bashful_dialect::{Dialect, Toolbox};
use bashful_engine::{CommandLog, Engine, Options, Request, Script, SessionOwner};

use crate::condense;
use crate::guard;
use crate::log::Log;
use crate::settings::Settings;
use crate::setup;
use crate::shell_settings::{Client, SettingsFiles};
use crate::stores;
use crate::surroundings::Surroundings;

/// A server's surface, as the log and `bashful ps` name it, its dialect, and the directory of its commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surface<'a> {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) directory: &'a Path,
    /// Commands follow the directory of the program that started this server.
    pub(crate) follows_client: bool,
}

/// Makes a toolbox whose settings are read again between commands, and prepares a keeper ahead of the first command.
/// `adjust` changes the options of the engine last. Needs a runtime.
pub(crate) fn toolbox(
    surface: Surface<'_>,
    settings: &Settings,
    around: &Surroundings,
    file: Option<&Path>,
    adjust: impl FnOnce(&mut Options),
) -> Result<Toolbox, Box<dyn Error>> {
    let Surface { name, dialect, directory, follows_client } = surface;
    let mut options = setup::options(settings, around, Some(directory))?;
    let limits = setup::limits(settings);
    dialect.adjust(&mut options, &limits);
    condense::load_filters(&mut options.condensing, settings, around)?;
    options.directory = directory.to_path_buf();
    options.ready = settings.mcp.ready.number();
    options.registry = stores::registry(around, name).map(Arc::new);
    options.judge = guard::judge_for(settings, around, name)?;
    // Two servers may use the same session name for different shells.
    options.sessions = stores::sessions(settings, around, SessionOwner::Engine).map(Arc::new);
    adjust(&mut options);
    let engine = Engine::new(options)?;
    let (ahead, first) = (engine.clone(), Request::new(Script::new("true")?));
    // Prepare a keeper while the client initializes.
    drop(tokio::spawn(async move {
        ahead.refresh_snapshot().await;
        let Ok(plan) = ahead.plan(first) else { return };
        if let Ok(checked) = ahead.check(plan, None).await {
            ahead.prepare(&checked);
        }
    }));
    let mut toolbox = Toolbox::new(engine, dialect, limits, directory);
    toolbox.no_state = around.state().notice();
    toolbox.log = Log::new(settings, around, name).map(|log| Arc::new(log) as Arc<dyn CommandLog>);
    toolbox.interceptor = guard::tool_advice(settings);
    // A relative path is relative to the start directory, also after a change of directory.
    let named_file = file.map(std::path::absolute).transpose()?;
    let client = follows_client.then(Client::find).flatten();
    let files = SettingsFiles::new(settings, &toolbox, dialect, around, named_file, client);
    toolbox.shell_settings = Some(Arc::new(files));
    Ok(toolbox)
}
