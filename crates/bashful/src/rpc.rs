//! `bashful rpc`: serves one host program as JSON lines. `bashful run --events`: one command in the same form.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

use bashful_rpc::{Service, serve, stdio};

use crate::cli::RpcArgs;
use crate::exit::Exit;
use crate::guard::{self, find_no_keeper};
use crate::print;
use crate::served::{self, Surface};
use crate::setup;
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// Help text: the first lines to send.
pub(crate) const FIRST_LINES: &str = "\
The host sends one JSON object a line and reads responses and events, one a line:
  {\"id\": 1, \"type\": \"hello\"}
  {\"id\": 2, \"type\": \"bash\", \"command\": \"make test\", \"stream\": true}
  {\"type\": \"abort_bash\"}
docs/rpc.md has all messages, and `bashful schema --rpc` their JSON schema. The end
of the input stops all commands.

Example: bashful rpc --cwd /your/project";

/// Serves until the host closes its input, asks for the end, or a signal arrives.
pub(crate) fn main(args: &RpcArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, args.dialect);
    let directory = setup::directory(&around, args.cwd.as_deref())?;
    let runtime = setup::runtime()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let surface = Surface { name: "rpc", dialect: args.dialect, directory: &directory, follows_client: false };
        let toolbox = served::toolbox(surface, &settings, &around, file, |_| ())?;
        if std::io::stdin().is_terminal() {
            print::talk("[waiting for JSON lines on standard input; Ctrl-D ends this; see: bashful rpc --help]");
        }
        let engine = toolbox.engine().clone();
        let service = Service {
            toolbox,
            directory: directory.clone(),
            limits: setup::limits(&settings),
            // A service that a command started must not take its host's answers for approval.
            can_answer: find_no_keeper().is_ok(),
        };
        let (input, output) = stdio();
        let asked_to_end = async {
            signals.next().await;
        };
        // The future is large, so it goes on the heap.
        let served = Box::pin(serve(service, input, output, asked_to_end)).await;
        engine.leave().await;
        served.map_err(|error| format!("the connection to the host failed: {error}"))?;
        Ok(Exit::Code(0))
    });
    // A thread may still wait for input that never comes. Dropping the runtime closes the sockets of all keepers,
    // which then stop their commands.
    runtime.shutdown_background();
    served
}
