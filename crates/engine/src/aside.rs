//! Work that may block, beside the tasks of a runtime.

use tokio::sync::oneshot;

/// Runs work that may block on a thread of its own. Where the system has none to give, the work is done here, and holds
/// up the tasks of this thread. None if the work panics. A dropped future does not stop the work.
pub async fn run_aside<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, done) = oneshot::channel();
    bashful_sys::threads::run_aside(name, move || drop(send.send(work())));
    done.await.ok()
}
