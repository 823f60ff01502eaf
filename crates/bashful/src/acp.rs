//! `bashful acp`: an agent that editors drive over the Agent Client Protocol.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

use bashful_acp::{AcpOptions, serve_stdio};
use bashful_dialect::Dialect;

use crate::cli::AcpArgs;
use crate::exit::Exit;
use crate::guard::{self, find_no_keeper};
use crate::print;
use crate::served::{self, Surface};
use crate::setup;
use crate::signals::Signals;
use crate::surroundings::Surroundings;

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
        let directory = setup::directory(&around, None)?;
        let surface = Surface { name: "acp", dialect: DIALECT, directory: &directory, follows_client: false };
        let toolbox = served::toolbox(surface, &settings, &around, file, |_| ())?;
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
        let engine = toolbox.engine().clone();
        // The future is large, so it goes on the heap.
        let served = Box::pin(serve_stdio(toolbox, options, asked_to_end)).await;
        engine.leave().await;
        Ok(served.map(|()| Exit::Code(0))?)
    });
    // A thread may still wait for input that never comes. Dropping the runtime closes the sockets of all keepers,
    // which then stop their commands.
    runtime.shutdown_background();
    served
}
