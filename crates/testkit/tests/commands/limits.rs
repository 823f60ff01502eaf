//! However a command's output grows on its way to a model, the reply stays within the limit that its dialect promises.

use bashful_dialect::{Answer, Dialect, Limits, ToolCaller, Toolbox};
use bashful_engine::{ByteSize, EnvironmentPolicy, Pattern, ReplyLimit, Window};
use bashful_testkit::{Place, WIDE};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::PUPPET;

/// Bytes of a reply beside its output, as the `native` dialect promises them.
const BESIDE: usize = 200;

const SECRET: &str = "s3cr3t-value";

/// A toolbox whose commands have a secret withheld that is longer once it is redacted.
struct Bench {
    place: Place,
    toolbox: Toolbox,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn new(dialect: Dialect, window: Window) -> Self {
        let mut place = Place::new(PUPPET);
        let name = "A_NAME_THAT_IS_MUCH_LONGER_THAN_ITS_VALUE_TOKEN";
        place.options.host_environment.push((name.into(), SECRET.into()));
        place.options.environment =
            EnvironmentPolicy { withhold: vec![Pattern::new("*TOKEN")], ..EnvironmentPolicy::default() };
        place.options.window = window;
        dialect.adjust(&mut place.options, &Limits::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let engine = runtime.block_on(async { place.engine() });
        let toolbox = Toolbox::new(engine, dialect, Limits::default(), place.path());
        Self { place, toolbox, runtime }
    }

    fn answer(&self, output: &[u8], behind: &str) -> Answer {
        self.answer_to(output, behind, ReplyLimit::default())
    }

    fn answer_to(&self, output: &[u8], behind: &str, limit: ReplyLimit) -> Answer {
        std::fs::write(self.place.path().join("output"), output).expect("it is written");
        let command = format!("cat output{behind}");
        let caller = ToolCaller { limit, ..ToolCaller::default() };
        let call = self.toolbox.call("bash", json!({ "command": command }), caller);
        self.runtime
            .block_on(async { tokio::time::timeout(WIDE, call).await })
            .expect("it comes back")
            .expect("there is such a tool")
    }
}

/// Output of up to some 300 KB: plain lines, one endless line, invalid bytes, secrets, escape sequences, NULs.
fn any_output() -> impl Strategy<Value = Vec<u8>> {
    let many = |piece: &'static [u8]| (0_usize..200_000 / piece.len()).prop_map(move |count| piece.repeat(count));
    let piece = prop_oneof![
        2 => many(b"an ordinary line of output\n"),
        2 => many(b"x"),
        2 => many(b"\xff"),
        1 => many(b"\0"),
        1 => many(b"\r\n"),
        1 => many(SECRET.as_bytes()),
        1 => many("é€😀".as_bytes()),
        1 => many(b"\x1b[31mred\x1b[m\n"),
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

/// Ends after `cat output`: well, with a failure, with many lines on standard error.
const ENDS: [&str; 4] = ["", "; exit 3", "; cat output >&2; exit 1", "; kill -9 $$"];

fn check(dialect: Dialect, window: Window, holds: impl Fn(&Answer) -> Result<(), TestCaseError>) {
    let bench = Bench::new(dialect, window);
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    let strategy = (any_output(), prop::sample::select(&ENDS[..]));
    TestRunner::new(config).run(&strategy, |(output, end)| holds(&bench.answer(&output, end))).expect("it holds");
    // The sizes at which the limit is just kept or just not.
    let limit = usize::try_from(window.limit().0).expect("small");
    for byte in [&b"x"[..], b"\xff", b"\0", b"\n"] {
        for size in [limit - 1, limit, limit + 1] {
            holds(&bench.answer(&byte.repeat(size), "; exit 3")).expect("it holds");
        }
    }
    bench.runtime.block_on(async { drop(bench.toolbox) });
    bench.place.check_nothing_survives();
}

#[test]
fn output_never_exceeds_limit() {
    for limit in [ByteSize::kib(128), ByteSize::kib(10), ByteSize(25_000)] {
        let window = Window::middle(limit, ByteSize::kib(4));
        check(Dialect::NATIVE, window, |answer| {
            let (got, most) = (answer.text.len(), limit.in_memory() + BESIDE);
            prop_assert!(got <= most, "{} bytes of {}", got, most);
            Ok(())
        });
    }
}

#[test]
fn output_of_pi_never_exceeds_limit() {
    check(Dialect::PI, Window::tail(ByteSize::kib(50)), |answer| {
        prop_assert!(answer.text.len() <= 50 * 1024 + BESIDE, "{} bytes", answer.text.len());
        Ok(())
    });
}

#[test]
fn each_stream_of_plain_never_exceeds_limit() {
    check(Dialect::PLAIN, Window::head(ByteSize(1_000_000)), |answer| {
        for stream in ["stdout", "stderr"] {
            let fields: serde_json::Value = serde_json::from_str(&answer.text).expect("JSON");
            let text = fields[stream].as_str().expect("text");
            prop_assert!(text.len() <= 1_000_000 + BESIDE, "{} bytes", text.len());
        }
        Ok(())
    });
}

#[test]
fn output_never_exceeds_the_limit_of_a_client() {
    let window = Window::middle(ByteSize::kib(128), ByteSize::kib(4));
    let limit =
        ReplyLimit { bytes: Some(ByteSize(30_000)), failed_bytes: Some(ByteSize(10_000)), ..ReplyLimit::default() };
    for dialect in [Dialect::NATIVE, Dialect::PI] {
        let bench = Bench::new(dialect, window);
        for byte in [&b"x"[..], b"\xff", b"\0", b"\n", SECRET.as_bytes(), b"a line\n"] {
            for (end, most) in [("", 30_000), ("; exit 3", 10_000)] {
                for size in [3000, 8700, 8800, 9900, 10_000, 10_100, 29_900, 30_000, 30_100, 200_000] {
                    let output = byte.repeat(size / byte.len());
                    let answer = bench.answer_to(&output, end, limit);
                    let got = answer.text.len();
                    assert!(got <= most + BESIDE, "{dialect}: {got} bytes of {size} times {byte:?}");
                    assert!(!answer.text.contains("[reply cut"), "{dialect}: {size} times {byte:?}");
                    let is_cut = answer.text.contains("omitted");
                    assert!(!is_cut || answer.text.contains("artifact://"), "{dialect}: {size} times {byte:?}");
                }
            }
        }
        bench.runtime.block_on(async { drop(bench.toolbox) });
        bench.place.check_nothing_survives();
    }
}

#[test]
fn a_long_list_of_processes_left_running_does_not_exceed_the_limit() {
    let window = Window::middle(ByteSize::kib(128), ByteSize::kib(4));
    let bench = Bench::new(Dialect::NATIVE, window);
    let sleepers = "; z=$(printf '0%.0s' {1..150}); for i in {1..60}; do sleep 1000.$z & done; exit 3";
    let answer = bench.answer(&vec![b'x'; 128 * 1024], sleepers);
    assert!(answer.text.len() <= 128 * 1024 + BESIDE, "{} bytes", answer.text.len());
    let end = &answer.text[answer.text.len().saturating_sub(1500)..];
    assert!(answer.text.contains("[60 processes are still running") && answer.text.contains(" more\n"), "{end}");
    // The output gave way, and is kept.
    assert!(answer.text.contains("full output: artifact://1"), "{}", &answer.text[..300]);
    let job = answer.facts["leftover"]["job"].as_u64().expect("they are a job");
    let killed = bench.toolbox.call("job", json!({ "action": "kill", "ids": [job] }), ToolCaller::default());
    bench.runtime.block_on(killed).expect("there is such a tool");
    bench.runtime.block_on(async { drop(bench.toolbox) });
    bench.place.check_nothing_survives();
}
