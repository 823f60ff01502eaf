//! Judges scripts on threads of their own, with a deadline.
//!
//! The guard works on text that anybody may have written. Its steps are bounded, but a fault in it must not take the server
//! along, with all its other calls: a panic on such a thread, and a script that takes too long, become a question.
//!
//! A thread that has answered waits for the next script. One that is late is told to give up, and is not used again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_guard::{Guard, Prelude, Verdict};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time for one script. Real scripts take milliseconds; a busy machine, or a build without optimization, must not turn one
/// of them into a question.
const DEADLINE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 100 } else { 10 });

/// Name of the threads. A program whose panics abort has to let those of these threads pass.
pub const JUDGE_THREAD: &str = "judge";

/// Stack of a thread. Deeply nested scripts need much of it; what is not used costs nothing.
const STACK: usize = 8 << 20;

/// The threads that wait for a script.
#[derive(Debug)]
pub(crate) struct JudgeThreads {
    idle: Mutex<Vec<Sender<Task>>>,
    deadline: Duration,
}

impl Default for JudgeThreads {
    fn default() -> Self {
        Self { idle: Mutex::default(), deadline: DEADLINE }
    }
}

/// A script for a thread.
struct Task {
    guard: Arc<Guard>,
    script: String,
    prelude: Prelude,
    gives_up: Arc<AtomicBool>,
    answer: oneshot::Sender<Verdict>,
}

impl JudgeThreads {
    /// Judges a script. A dropped future leaves the thread to its work, and unused afterwards.
    pub(crate) async fn judge(&self, guard: &Arc<Guard>, script: String, prelude: Prelude) -> Verdict {
        let thread = self.idle().pop();
        let Some(thread) = thread.or_else(start) else {
            // No thread is to be had, and the guard's own bounds have to do.
            return guard.judge(&script, &prelude);
        };
        let (answer, answered) = oneshot::channel();
        let gives_up = Arc::new(AtomicBool::new(false));
        let length = script.len();
        let task = Task { guard: Arc::clone(guard), script, prelude, gives_up: Arc::clone(&gives_up), answer };
        if thread.send(task).is_err() {
            return guard.not_judged(length, "the guard has failed on an earlier one");
        }
        match timeout(self.deadline, answered).await {
            Ok(Ok(verdict)) => {
                self.idle().push(thread);
                verdict
            }
            // The thread has panicked.
            Ok(Err(_)) => guard.not_judged(length, "the guard itself has failed on it"),
            Err(_) => {
                gives_up.store(true, Ordering::Relaxed);
                guard.not_judged(length, "it takes too long to follow")
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Sender<Task>>> {
        // Each change is a single step, so a panic leaves consistent data.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread; none if the system has none. It ends when its sender is dropped.
fn start() -> Option<Sender<Task>> {
    let (send, tasks) = channel();
    let builder = std::thread::Builder::new().name(JUDGE_THREAD.to_owned()).stack_size(STACK);
    builder.spawn(move || work(&tasks)).ok()?;
    Some(send)
}

fn work(tasks: &Receiver<Task>) {
    while let Ok(Task { guard, script, prelude, gives_up, answer }) = tasks.recv() {
        // Nobody may be waiting any more.
        let _ = answer.send(guard.judge_until(&script, &prelude, gives_up));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guard that fails on some scripts, as a fault of its own would make it.
    fn faulty() -> Arc<Guard> {
        Arc::new(Guard::default().with_probe(|script| match script {
            "panic" => panic!("as asked"),
            "loop" => loop {
                std::thread::park();
            },
            _ => {}
        }))
    }

    async fn judged(threads: &JudgeThreads, guard: &Arc<Guard>, script: &str) -> Vec<String> {
        let verdict = threads.judge(guard, script.to_owned(), Prelude::default()).await;
        verdict.refusals().map(|finding| format!("{} {}", finding.rule, finding.message)).collect()
    }

    #[tokio::test]
    async fn a_guard_that_panics_or_never_ends_asks_and_others_are_judged_meanwhile() {
        let (threads, guard) = (JudgeThreads::default(), faulty());
        let hasty = JudgeThreads { deadline: Duration::from_millis(100), ..JudgeThreads::default() };
        let (looped, panicked, good, bad) = tokio::join!(
            judged(&hasty, &guard, "loop"),
            judged(&threads, &guard, "panic"),
            judged(&threads, &guard, "echo fine"),
            judged(&threads, &guard, "rm -rf /"),
        );
        assert!(looped[0].starts_with("guard/too-complex") && looped[0].ends_with("too long to follow"), "{looped:?}");
        assert!(panicked[0].starts_with("guard/too-complex") && panicked[0].contains("failed"), "{panicked:?}");
        assert_eq!(good, Vec::<String>::new());
        assert!(bad[0].starts_with("rm/critical"), "{bad:?}");
        // And afterwards.
        assert!(judged(&threads, &guard, "git push -f").await[0].starts_with("git/force-push"));
    }
}
