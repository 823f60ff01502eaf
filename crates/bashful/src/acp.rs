//! `bashful acp`: an agent that editors drive over the Agent Client Protocol.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use bashful_acp::{AcpOptions, serve_stdio};
use bashful_dialect::{Dialect, Toolbox};
use bashful_engine::{CommandLog, Engine, Interceptor, SessionOwner};

use crate::cli::AcpArgs;
use crate::exit::Exit;
use crate::guard::{self, ToolAdvice, find_no_keeper};
use crate::log::Log;
use crate::print;
use crate::settings::Settings;
use crate::setup::{self, Surroundings};
use crate::shell_settings::SettingsFiles;
use crate::signals::Signals;

/// The dialect of the agent: its facts are those that cards show.
const DIALECT: Dialect = Dialect::NATIVE;

/// Serves until the editor closes its input or a signal arrives.
pub(crate) fn main(args: &AcpArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, DIALECT);
    let runtime = setup::runtime()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let mut toolbox = toolbox(&settings, &around)?;
        // A relative path is relative to the start directory, also after a change of directory.
        let named_file = file.map(std::path::absolute).transpose()?;
        let files = SettingsFiles::new(&settings, &toolbox, DIALECT, &around, named_file);
        toolbox.shell_settings = Some(Arc::new(files));
        if std::io::stdin().is_terminal() {
            print::talk(
                "[waiting for an ACP client on standard input; Ctrl-C ends this]\n\
                 [editors start this program themselves: name `bashful acp` as an agent in their settings]",
            );
        }
        // A command that starts this agent must not be able to approve another one.
        let options = AcpOptions { use_client_terminals: !args.here, can_answer: find_no_keeper().is_ok() };
        let asked_to_end = async {
            signals.next().await;
        };
        // The future is large, so it goes on the heap.
        Box::pin(serve_stdio(toolbox, options, asked_to_end)).await?;
        Ok(Exit::Code(0))
    });
    // A thread may still wait for input that never comes. Dropping the runtime closes the sockets of all keepers,
    // which then stop their commands.
    runtime.shutdown_background();
    served
}

fn toolbox(settings: &Settings, around: &Surroundings) -> Result<Toolbox, Box<dyn Error>> {
    let directory = setup::directory(around, None)?;
    let mut options = setup::options(settings, around, Some(&directory))?;
    let limits = setup::limits(settings);
    DIALECT.adjust(&mut options, &limits);
    options.directory.clone_from(&directory);
    options.ready = settings.mcp.ready.number();
    options.registry = setup::registry(around, "acp").map(Arc::new);
    // Two agents may use the same session name for different shells.
    options.sessions = setup::sessions(settings, around, SessionOwner::Engine).map(Arc::new);
    let mut toolbox = Toolbox::new(Engine::new(options)?, DIALECT, limits, &directory);
    toolbox.no_state = around.state().notice();
    toolbox.log = Log::new(settings, around, "acp").map(|log| Arc::new(log) as Arc<dyn CommandLog>);
    toolbox.interceptor = ToolAdvice::new(settings).map(|advice| Arc::new(advice) as Arc<dyn Interceptor>);
    Ok(toolbox)
}
