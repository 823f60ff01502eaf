//! Approval: commands that the guard refuses are asked about, and the answer counts once.
#![expect(clippy::print_stdout, reason = "it shows its result")]

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use bashful_dialect::{Dialect, Limits, ToolCaller, Toolbox, question};
use bashful_engine::{
    Approval, Approver, BoxFuture, Engine, Guard, Judge, Level, Options, Plan, Policy, Setting, Verdict,
};

/// A person at the standard input.
struct Person;

impl Approver for Person {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            // The text names the command and every finding, with invisible characters escaped and secrets redacted.
            let text = match question(plan, verdict) {
                Ok(text) => text,
                Err(not_asked) => return not_asked,
            };
            let answer = tokio::task::spawn_blocking(move || {
                print!("{text}\n[y/N] ");
                std::io::stdout().flush()?;
                let mut answer = String::new();
                std::io::stdin().read_line(&mut answer).map(|_| answer)
            });
            match answer.await {
                Ok(Ok(answer)) if answer.trim() == "y" => Approval::Approved,
                Ok(Ok(_)) => Approval::Declined,
                _ => Approval::Dismissed,
            }
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    bashful_engine::keeper_main(); // first thing in `main`
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    let policy =
        Policy { levels: [("git/force-push".to_owned(), Setting::At(Level::Ask))].into(), ..Policy::default() };
    options.judge = Some(Judge::new(Guard::new(policy)?));
    runtime.block_on(async {
        let toolbox = Toolbox::new(Engine::new(options)?, Dialect::NATIVE, Limits::default(), "/".as_ref());
        for _ in 0..2 {
            let caller = ToolCaller { approver: Some(Arc::new(Person)), ..ToolCaller::default() };
            let arguments = serde_json::json!({ "command": "git push --force" });
            println!("{}", toolbox.call("bash", arguments, caller).await?.text);
        }
        Ok(())
    })
}
