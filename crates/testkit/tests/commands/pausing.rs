//! A command that its caller pauses and continues.

use std::time::Duration;

use bashful_engine::{Caller, End, Exit, Lifetime, Pauser, StopReason};
use bashful_testkit::{Place, WIDE, finished, request};
use tokio::time::{sleep, timeout};

use crate::PUPPET;

/// Tells the process ids of a shell and of a child in a session of its own, and waits for the file `go`.
const SCRIPT: &str = "setsid sh -c 'echo $$ >new; mv new child; exec sleep 1000' & echo $$ >new.shell; mv new.shell shell; \
                      until [ -e go ]; do sleep 0.01; done; kill $(cat child); wait; echo went on";

/// Waits for a file, and returns the number in it.
async fn number_in(place: &Place, file: &str) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(place.path().join(file)) {
            return text.trim().to_owned();
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Waits until a process is stopped, or no longer is.
async fn until_stopped(pid: &str, is_stopped: bool) {
    while state(pid).is_none_or(|state| (state == 'T') != is_stopped) {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn every_process_of_a_paused_command_stands_still_until_it_goes_on() {
    let place = Place::new(PUPPET);
    let (pauser, pausing) = Pauser::new();
    let engine = place.engine();
    let call = Box::pin(engine.call(request(SCRIPT), Caller { pausing: Some(pausing), ..Caller::default() }));
    let orders = async {
        let (shell, child) = (number_in(&place, "shell").await, number_in(&place, "child").await);
        pauser.pause().await;
        for pid in [&shell, &child] {
            until_stopped(pid, true).await;
        }
        std::fs::write(place.path().join("go"), "").expect("a file");
        assert_eq!((state(&shell), state(&child)), (Some('T'), Some('T')));
        pauser.resume();
    };
    let (reply, ()) = Box::pin(timeout(WIDE, async { tokio::join!(call, orders) })).await.expect("it goes on");
    let outcome = finished(reply.expect("it starts"));
    assert_eq!((outcome.end, outcome.output.text().as_ref()), (End::Own(Exit::Code(0)), "went on\n"));
    // The call is over.
    timeout(WIDE, pauser.pause()).await.expect("there is nothing to wait for");
    place.check_nothing_survives();
}

#[tokio::test]
async fn the_lifetime_of_a_paused_command_goes_on() {
    let place = Place::new(PUPPET);
    let (pauser, pausing) = Pauser::new();
    let mut request = request(SCRIPT);
    request.lifetime = Some(Lifetime(Duration::from_secs(1)));
    let engine = place.engine();
    let call = Box::pin(engine.call(request, Caller { pausing: Some(pausing), ..Caller::default() }));
    let orders = async {
        number_in(&place, "child").await;
        pauser.pause().await;
    };
    let (reply, ()) = Box::pin(timeout(WIDE, async { tokio::join!(call, orders) })).await.expect("it is stopped");
    let end = finished(reply.expect("it starts")).end;
    assert!(matches!(end, End::Stopped { why: StopReason::TimeUp, .. }), "{end:?}");
    place.check_nothing_survives();
}
