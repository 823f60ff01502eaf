//! A host that calls the entry point of keepers when its runtime already has threads, and runs one script.
#![expect(clippy::print_stdout, reason = "saying things is its job")]

use bashful_engine::{Engine, Options, Request, Script, find_bash};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    bashful_engine::keeper_main();
    let script = std::env::args().nth(1).expect("a script");
    let bash = find_bash(&std::env::var_os("PATH").expect("a PATH")).expect("bash");
    let mut options = Options::new(bash, std::env::current_dir().expect("a directory"));
    options.host_environment = std::env::vars_os().collect();
    let engine = Engine::new(options).expect("an engine");
    println!("keepers are small: {}", engine.promises().keepers_are_small);
    let reply = engine.run(Request::new(Script::new(script).expect("a script"))).await.expect("it starts");
    println!("{reply:?}");
}
