//! Streaming to a user interface: at most ten pictures a second of the newest output, however fast a command writes.
#![expect(clippy::print_stdout, reason = "it shows its result")]

use std::error::Error;
use std::time::Duration;

use bashful_engine::{
    ByteSize, Caller, Engine, Listening, Options, OutputForm, OutputListener, Reply, Request, Script, WhenBehind,
};

/// Time between two pictures.
const FRAME: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    bashful_engine::keeper_main(); // first thing in `main`
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
        // The command never waits for the screen.
        let (listener, stream) =
            OutputListener::new(Listening { form: OutputForm::Text, when_behind: WhenBehind::Drop });
        let caller = Caller { listener: Some(listener), ..Caller::default() };
        let request = Request::new(Script::new("seq 300000; sleep 0.3; echo the end")?);
        let drawing = async {
            let mut pictures = stream.into_tail(ByteSize::kib(1), FRAME);
            while let Some(picture) = pictures.next().await {
                let text = String::from_utf8_lossy(&picture.newest).into_owned();
                println!("{:>8} bytes | {}", picture.bytes, text.lines().last().unwrap_or_default());
            }
        };
        let (reply, ()) = tokio::join!(engine.call(request, caller), drawing);
        let Reply::Finished(finished) = reply? else { return Err("the guard refused it".into()) };
        println!("{:?} after {} lines", finished.outcome.end, finished.outcome.output.lines);
        Ok(())
    })
}
