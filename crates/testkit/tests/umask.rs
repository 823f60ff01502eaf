//! The file-creation mask belongs to the whole process, so its one test has a process of its own.

use bashful_testkit::oracle::{Oracle, Way};
use bashful_testkit::request;
use rustix::fs::Mode;
use rustix::process::umask;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_the_umask_that_the_host_has_when_it_is_asked_for() {
    let oracle = Oracle::new(env!("CARGO_BIN_EXE_puppet"));
    let script = "umask; rm -f f; touch f; stat -c %a f";
    let request = request(script);
    for (mask, expected) in [(0o022, "0022\n644\n"), (0o077, "0077\n600\n"), (0o002, "0002\n664\n")] {
        // Shells wait with the mask of before, and none of them may be used now.
        oracle.waiting(&request).await;
        umask(Mode::from_raw_mode(mask));
        for engine in [&oracle.cold, &oracle.ready] {
            let outcome = bashful_testkit::run(engine, script).await;
            assert_eq!(bashful_testkit::output(&outcome), expected);
        }
        // And those that wait from now on have the new one.
        assert_eq!(oracle.ours(Way::Ready, &request).await.text(), expected);
    }
}
