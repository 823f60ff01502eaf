//! `bashful mcp`: serves the tools over MCP.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use bashful_dialect::Toolbox;
use bashful_engine::{CommandLog, Engine, Interceptor, Pattern, Request, Script, SessionOwner};
use bashful_mcp::{serve_http, serve_stdio};

use crate::cli::{McpArgs, McpCommand};
use crate::exit::Exit;
use crate::guard::{self, ToolAdvice};
use crate::http::{self, ListeningServer, TOKEN};
use crate::install;
use crate::log::Log;
use crate::print;
use crate::settings::Settings;
use crate::setup::{self, Surroundings};
use crate::shell_settings::SettingsFiles;
use crate::signals::Signals;

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
        let mut toolbox = toolbox(args, &settings, &around, http.as_ref())?;
        // A relative path is relative to the start directory, also after a change of directory.
        let named_file = file.map(std::path::absolute).transpose()?;
        let files = SettingsFiles::new(&settings, &toolbox, args.dialect, &around, named_file);
        toolbox.shell_settings = Some(Arc::new(files));
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
        match http {
            Some(ListeningServer { listener, access_rules }) => {
                serve_http(listener, toolbox, clients, access_rules, asked_to_end).await?;
            }
            // The future is large, so it goes on the heap.
            None => Box::pin(serve_stdio(toolbox, clients, asked_to_end)).await?,
        }
        Ok(Exit::Code(0))
    });
    // A thread may still wait for input that never comes. Dropping the runtime closes the sockets of all keepers,
    // which then stop their commands.
    runtime.shutdown_background();
    served
}

fn toolbox(
    args: &McpArgs,
    settings: &Settings,
    around: &Surroundings,
    http: Option<&ListeningServer>,
) -> Result<Toolbox, Box<dyn Error>> {
    let directory = setup::directory(around, args.cwd.as_deref())?;
    let mut options = setup::options(settings, around, Some(&directory))?;
    let limits = setup::limits(settings);
    args.dialect.adjust(&mut options, &limits);
    options.directory.clone_from(&directory);
    options.ready = settings.mcp.ready.number();
    options.registry = setup::registry(around, "mcp").map(Arc::new);
    options.judge = guard::judge_for(settings, around, "mcp")?;
    // Two servers may use the same session name for different shells.
    options.sessions = setup::sessions(settings, around, SessionOwner::Engine).map(Arc::new);
    if let Some(http) = http {
        // The engine withholds and redacts the token, whatever the settings say.
        options.host_environment.push((TOKEN.into(), http.access_rules.token.reveal().into()));
        options.environment.never.push(Pattern::new(TOKEN));
    }
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
    let mut toolbox = Toolbox::new(engine, args.dialect, limits, &directory);
    toolbox.no_state = around.state().notice();
    toolbox.log = Log::new(settings, around, "mcp").map(|log| Arc::new(log) as Arc<dyn CommandLog>);
    toolbox.interceptor = ToolAdvice::new(settings).map(|advice| Arc::new(advice) as Arc<dyn Interceptor>);
    Ok(toolbox)
}
