//! `bashful console`: builds the console from settings.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_console::{Console, Escape};

use crate::cli::ConsoleArgs;
use crate::color;
use crate::exit::Exit;
use crate::guard;
use crate::served::{self, Surface};
use crate::settings::EscapeKey;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;

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
        let surface = Surface { name: "console", dialect, directory: &directory, follows_client: false };
        // The console asks the person itself.
        let judge = guard::silent_judge(&settings, &around)?;
        let toolbox = served::toolbox(surface, &settings, &around, file, |options| options.judge = judge)?;
        let console = Console {
            toolbox,
            dialect,
            home: around.home(),
            // A person is there to stop what takes too long.
            timeout: Some(Duration::from_hours(1)),
            registry: stores::registry(&around, "console").map(Arc::new),
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
        let signal = Box::pin(console.run()).await?;
        Ok(signal.and_then(|number| u8::try_from(number).ok()).map_or(Exit::Code(0), Exit::Signal))
    });
    // Dropping the runtime closes the sockets of all keepers, which then stop their commands.
    runtime.shutdown_background();
    ran
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
