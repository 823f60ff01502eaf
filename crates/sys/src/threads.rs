//! Threads, for systems that may have none to give: at a limit on processes, or where a filter refuses `clone3`.

use std::sync::{Arc, Mutex, PoisonError};

/// Runs work on a thread of its own, or on this one if the system gives none. Then it is done when the call returns.
pub fn run_aside(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(work) = start(name, work, |work| work()) {
        work();
    }
}

/// Starts a thread with something that it owns. The error is that thing, if the system gives no thread.
pub fn start<T: Send + 'static>(name: &str, owned: T, work: impl FnOnce(T) + Send + 'static) -> Result<(), T> {
    let place = Arc::new(Mutex::new(Some(owned)));
    let take = |place: &Mutex<Option<T>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = Arc::clone(&place);
    let run = move || {
        if let Some(owned) = take(&theirs) {
            work(owned);
        }
    };
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    if started.is_ok() { Ok(()) } else { take(&place).map_or(Ok(()), Err) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_another_thread() {
        let (send, done) = std::sync::mpsc::channel();
        run_aside("test", move || send.send(std::thread::current().id()).expect("somebody listens"));
        assert_ne!(done.recv().expect("it is done"), std::thread::current().id());
    }
}
