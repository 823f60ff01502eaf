//! The sandbox on this machine: it is made, and something inside tries to get out.

use std::error::Error;
use std::net::TcpListener;
use std::path::Path;

use bashful_engine::{End, Engine, Exit, Network, Options, Reply, Request, SandboxMode, Script, error_chain};
use serde_json::{Value, json};

use crate::settings::Settings;

/// A file that a command in a sandbox must not be able to make.
const OUTSIDE: &str = "/usr/.bashful-doctor";

/// The word that the script ends with if it got nowhere.
const HELD: &str = "held";

/// Makes a sandbox, and tries to write, to read, to connect and to signal past it.
pub(super) async fn examine(settings: &Settings, mut options: Options) -> Result<Value, Box<dyn Error>> {
    let mode = settings.sandbox.mode.mode();
    let Some(sandbox) = &mut options.sandbox else { return Ok(Value::Null) };
    let place = std::env::temp_dir().join(format!("bashful-doctor-{}", std::process::id()));
    let hidden = sandbox.own.last().map_or_else(|| place.join("none"), |(path, _)| path.clone());
    bashful_engine::make_directory(&place)?;
    (sandbox.policy.mode, sandbox.policy.network) = (SandboxMode::Workspace, Network::Off);
    sandbox.workspace = Some(place.clone());
    options.directory.clone_from(&place);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let request = Request::new(Script::new(attempts(&listener, &hidden)?)?);
    let reply = Engine::new(options)?.run(request).await;
    let _ = std::fs::remove_dir_all(&place);
    let why_not = match reply {
        Ok(Reply::Finished(finished)) => {
            let said = finished.outcome.output.text();
            let held = finished.outcome.end == End::Own(Exit::Code(0)) && said.trim() == HELD;
            if held { None } else { Some(format!("a command got out of it: {}", said.trim())) }
        }
        Ok(_) => Some("the command did not run".to_owned()),
        Err(error) => Some(error_chain(&error)),
    };
    let _ = std::fs::remove_file(OUTSIDE);
    Ok(json!({ "mode": mode.word(), "namespaces": why_not.is_none(), "why_not": why_not }))
}

/// A script that names every way out that it finds.
fn attempts(listener: &TcpListener, hidden: &Path) -> Result<String, Box<dyn Error>> {
    let (port, us) = (listener.local_addr()?.port(), std::process::id());
    let hidden = bashful_dialect::shell_quoted(&hidden.to_string_lossy());
    Ok(format!(
        "exec 2>/dev/null
read -r name </proc/1/comm; [ \"$name\" = bashful-init ] || echo \"it is not inside\"
: >{OUTSIDE} && echo \"it wrote {OUTSIDE}\"
(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo \"it connected to a port of this machine\"
[ -n \"$(ls -A {hidden})\" ] && echo \"it read {hidden}\"
[ \"$(readlink /proc/{us}/exe)\" = \"$(readlink /proc/self/exe)\" ] && echo \"it sees process {us}\"
echo {HELD}"
    ))
}

/// The result in a line.
pub(super) fn as_text(facts: &Value) -> String {
    let state = match (facts["namespaces"] == true, facts["why_not"].as_str()) {
        (true, _) => "can be made, and nothing got out".to_owned(),
        (false, why) => format!("cannot be had here: {}", why.unwrap_or("unknown")),
    };
    let mode = facts["mode"].as_str().unwrap_or("off");
    let problem = if facts["namespaces"] != true && mode != "off" { "PROBLEM: " } else { "" };
    format!("\nsandbox\n  {problem}the sandbox (`{mode}` by the settings) {state}\n")
}
