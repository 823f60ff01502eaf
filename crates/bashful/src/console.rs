//! `bashful console`: builds the console from settings.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use bashful_console::{Console, Escape};
use bashful_dialect::Toolbox;
use bashful_engine::{CommandLog, Engine, Interceptor, SessionOwner};

use crate::cli::ConsoleArgs;
use crate::color;
use crate::exit::Exit;
use crate::guard::{self, ToolAdvice};
use crate::log::Log;
use crate::settings::{EscapeKey, Settings};
use crate::setup::{self, Surroundings};

/// The pager of a person who has named none.
const USUAL_PAGER: &str = "less -R";

/// Runs the console until the person leaves.
pub(crate) fn main(args: &ConsoleArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    let dialect = args.dialect.unwrap_or_else(|| settings.console.dialect.dialect());
    guard::set_dialect_levels(&mut settings, dialect);
    let runtime = setup::runtime()?;
    let ran = runtime.block_on(async {
        let directory = setup::directory(&around, args.cwd.as_deref())?;
        let toolbox = toolbox(&settings, &around, &directory, dialect)?;
        let console = Console {
            toolbox,
            dialect,
            home: around.home(),
            timeout: Some(settings.console.timeout_seconds.duration()),
            registry: setup::registry(&around, "console").map(Arc::new),
            history: around.state_part("console_history"),
            escape: match settings.console.escape {
                EscapeKey::Kill => Escape::Kill,
                EscapeKey::Pass => Escape::Pass,
            },
            colors: color::on_stdout(),
            unicode: is_unicode(&around),
            pager: pager(&around),
            questions: guard::questions(&settings, &around, "console").map(Arc::new),
            no_person: guard::find_no_keeper().err().map(|why| why.to_string()),
            directory,
        };
        // The future is large, so it goes on the heap.
        Box::pin(console.run()).await?;
        Ok(Exit::Code(0))
    });
    // Dropping the runtime closes the sockets of all keepers, which then stop their commands.
    runtime.shutdown_background();
    ran
}

fn toolbox(
    settings: &Settings,
    around: &Surroundings,
    directory: &Path,
    dialect: bashful_dialect::Dialect,
) -> Result<Toolbox, Box<dyn Error>> {
    let mut options = setup::options(settings, around, Some(directory))?;
    let limits = setup::limits(settings);
    dialect.adjust(&mut options, &limits);
    options.directory = directory.to_path_buf();
    options.registry = setup::registry(around, "console").map(Arc::new);
    // The shell of `!` commands ends with the console.
    options.sessions = setup::sessions(settings, around, SessionOwner::Engine).map(Arc::new);
    options.judge = guard::silent_judge(settings, around)?;
    let mut toolbox = Toolbox::new(Engine::new(options)?, dialect, limits, directory);
    toolbox.no_state = around.state().notice();
    toolbox.log = Log::new(settings, around, "console").map(|log| Arc::new(log) as Arc<dyn CommandLog>);
    toolbox.interceptor = ToolAdvice::new(settings).map(|advice| Arc::new(advice) as Arc<dyn Interceptor>);
    Ok(toolbox)
}

/// The person's own pager.
fn pager(around: &Surroundings) -> OsString {
    around.variable("PAGER").filter(|pager| !pager.is_empty()).cloned().unwrap_or_else(|| USUAL_PAGER.into())
}

/// True if the locale says that the terminal shows UTF-8. The first variable that is set decides.
fn is_unicode(around: &Surroundings) -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| around.variable(name).filter(|value| !value.is_empty()));
    locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
