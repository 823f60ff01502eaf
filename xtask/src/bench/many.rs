//! Many commands at once in one engine.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bashful_engine::Engine;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::host::{self, Host};

/// Interval between two counts of open descriptors.
const COUNT_EVERY: Duration = Duration::from_millis(10);

/// Starts all of them, waits for all of them, and looks at every result.
pub(crate) fn all(host: &Host, commands: usize) -> Result<Value, Box<dyn Error>> {
    bashful_sys::limits::raise_descriptors();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let counter = Counter::start();
    let (right, time, first_error) = runtime.block_on(run(host, commands))?;
    let peak = counter.stop();
    Ok(json!({
        "commands": commands,
        "right": right,
        "time_ms": u64::try_from(time.as_millis())?,
        "peak_descriptors": peak,
        "first_error": first_error,
    }))
}

async fn run(host: &Host, commands: usize) -> Result<(usize, Duration, Option<String>), Box<dyn Error>> {
    let engine = host.engine(0)?;
    let began = Instant::now();
    let tasks: Vec<_> = (0..commands).map(|number| tokio::spawn(one(engine.clone(), number))).collect();
    let mut right = 0;
    let mut first_error = None;
    for task in tasks {
        match task.await? {
            Ok(()) => right += 1,
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Ok((right, began.elapsed(), first_error))
}

async fn one(engine: Engine, number: usize) -> Result<(), String> {
    let mut request = host::request(&format!("sleep 1; echo {number}")).map_err(|error| error.to_string())?;
    // A thousand shells on two processors take their time to start, and that is not what is judged here.
    request.lifetime = Some(bashful_engine::Lifetime(Duration::from_mins(10)));
    let reply = engine.run(request).await.map_err(|error| error.to_string())?;
    host::right(reply, format!("{number}\n").as_bytes()).map(drop).map_err(|error| error.to_string())
}

/// Counts the open descriptors of this process, again and again, and keeps the highest count.
struct Counter {
    done: Arc<AtomicBool>,
    peak: Arc<AtomicUsize>,
    thread: std::thread::JoinHandle<()>,
}

impl Counter {
    fn start() -> Self {
        let (done, peak) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (is_done, highest) = (Arc::clone(&done), Arc::clone(&peak));
        let thread = std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                // One of them is the directory that is being read.
                let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count().saturating_sub(1));
                highest.fetch_max(open, Ordering::Relaxed);
                std::thread::sleep(COUNT_EVERY);
            }
        });
        Self { done, peak, thread }
    }

    fn stop(self) -> usize {
        self.done.store(true, Ordering::Relaxed);
        // After a panic the highest count would still be valid.
        let _ = self.thread.join();
        self.peak.load(Ordering::Relaxed)
    }
}
