//! `bashful mcp`: serves the tools over MCP.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

use bashful_engine::Pattern;
use bashful_mcp::{serve_http, serve_stdio};

use crate::cli::{McpArgs, McpCommand};
use crate::exit::Exit;
use crate::guard;
use crate::http::{self, ListeningServer, TOKEN};
use crate::install;
use crate::print;
use crate::served::{self, Surface};
use crate::setup;
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// Help text: how to add this server to a client.
pub(crate) const SET_UP: &str = "\
To tell a client of it:
  bashful mcp install CLIENT    writes its settings, once you have seen what; CLIENT is claude,
                                claude-desktop, codex, gemini, qwen, vscode, cursor, windsurf,
                                zed, copilot or opencode; --approve lets it run without questions
or by hand:
  Claude Code       claude mcp add --scope user bashful -- bashful mcp
  Codex             codex mcp add bashful -- bashful mcp
  Gemini CLI        gemini mcp add --scope user bashful bashful mcp
  Qwen Code         qwen mcp add --scope user bashful bashful mcp
  Copilot CLI       copilot mcp add bashful -- bashful mcp
  VS Code           code --add-mcp '{\"name\":\"bashful\",\"command\":\"bashful\",\"args\":[\"mcp\"]}'
  Claude Desktop, Cursor, Windsurf (`mcpServers` in their JSON settings), Zed (`context_servers`):
                    \"bashful\": { \"command\": \"bashful\", \"args\": [\"mcp\", \"--cwd\", \"/your/project\"] }
  opencode (`mcp`)  \"bashful\": { \"type\": \"local\", \"command\": [\"bashful\", \"mcp\"], \"enabled\": true }

Over HTTP, the server is at /mcp, and clients show its token as `Authorization: Bearer TOKEN`. \
Connections are not encrypted: for clients on other machines put a proxy with TLS in front, and name its host in `[mcp] hosts`.

Example: bashful mcp --dialect plain --cwd /your/project";

/// Serves until the client closes its input or a signal arrives.
pub(crate) fn main(args: &McpArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if let Some(McpCommand::Install(args)) = &args.command {
        return install::main(args, file);
    }
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, args.dialect);
    let runtime = setup::runtime()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let http = args.http.as_deref().map(|address| http::listen(address, args, &settings.mcp)).transpose()?;
        let directory = setup::directory(&around, args.cwd.as_deref())?;
        // A directory that a person names is not left, and a client over HTTP is not the parent.
        let follows_client = args.cwd.is_none() && http.is_none();
        let surface = Surface { name: "mcp", dialect: args.dialect, directory: &directory, follows_client };
        let toolbox = served::toolbox(surface, &settings, &around, file, |options| {
            if let Some(http) = &http {
                // The engine withholds and redacts the token, whatever the settings say.
                options.host_environment.push((TOKEN.into(), http.access_rules.token.reveal().into()));
                options.environment.never.push(Pattern::new(TOKEN));
            }
        })?;
        let asked_to_end = async {
            signals.next().await;
        };
        if http.is_none() && std::io::stdin().is_terminal() {
            print::talk(
                "[waiting for an MCP client on standard input; Ctrl-C ends this]\n\
                 [agents start this program themselves: bashful mcp install claude]",
            );
        }
        let clients = settings.mcp.clients(args.structured);
        let engine = toolbox.engine().clone();
        let served = match http {
            Some(ListeningServer { listener, access_rules }) => {
                serve_http(listener, toolbox, clients, access_rules, asked_to_end).await
            }
            // The future is large, so it goes on the heap.
            None => Box::pin(serve_stdio(toolbox, clients, asked_to_end)).await,
        };
        engine.leave().await;
        Ok(served.map(|()| Exit::Code(0))?)
    });
    // A thread may still wait for input that never comes. Dropping the runtime closes the sockets of all keepers,
    // which then stop their commands.
    runtime.shutdown_background();
    served
}
