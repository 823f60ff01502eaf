//! `bashful jobs logs`

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use bashful_dialect::job::state_text;
use bashful_engine::{Eyes, Followed, JobStore};

use super::args::LogsArgs;
use crate::exit::Exit;
use crate::print;

/// Prints a job's output, to its end if that is wanted.
pub(super) async fn main(store: &Arc<JobStore>, args: &LogsArgs, mut eyes: Eyes) -> Result<Exit, Box<dyn Error>> {
    let mut follow = store.follow(args.id, args.since)?;
    let end = store.get(args.id)?.output_file.metadata().map_or(u64::MAX, |metadata| metadata.len());
    let mut show = |bytes: &[u8]| if args.raw { bytes.to_vec() } else { eyes.push(bytes) };
    while args.follow || follow.offset() < end {
        let text = match follow.next().await? {
            Followed::Output { bytes, .. } => show(&bytes),
            Followed::Missing(missing) => {
                print::talk(&format!("[{missing}]"));
                continue;
            }
            Followed::Over(job) => {
                write(&eyes.pending())?;
                print::talk(&format!("[job {}: {}]", job.id, state_text(&job)));
                return Ok(Exit::Code(0));
            }
        };
        if !write(&text)? {
            // `logs -f 7 | head` has seen enough.
            return Ok(Exit::Code(0));
        }
    }
    write(&eyes.pending())?;
    Ok(Exit::Code(0))
}

/// Whether anybody still reads.
fn write(text: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}
