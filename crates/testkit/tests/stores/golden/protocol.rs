//! Every message of the protocol.

use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use bashful_keeper::protocol::{
    Begin, FailedStep, FenceLayer, FenceOrder, Hello, Input, LayerKind, Leftover, Order, PipeHandover, RecordKind,
    RecordOrder, Report, Script, SessionCommand, SessionOrder, SessionState, Setup, ShellStart, Terminal,
};
use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::limits::Limit;
use bashful_sys::spawn::Step;
use bashful_testkit::check_golden;

/// The name of an order. A new one has to be named here, and needs a sample.
fn order_name(order: &Order) -> &'static str {
    match order {
        Order::Setup(_) => "setup",
        Order::Begin(_) => "begin",
        Order::Stop(_) => "stop",
        Order::Signal(_) => "signal",
        Order::Record(_) => "record",
        Order::Release(_) => "release",
        Order::CloseInput => "close-input",
        Order::Session(_) => "session",
        Order::Command(_) => "command",
        Order::Withdraw => "withdraw",
        Order::Variables(_) => "variables",
        Order::QueryState => "look",
        Order::EndSession { .. } => "end-session",
        Order::Terminal(_) => "terminal",
        Order::GuardHostTerminal(_) => "guard-host-terminal",
        Order::HostTerminalRestored => "host-terminal-restored",
        Order::AskTerminal { .. } => "ask-terminal",
        Order::Resize { .. } => "resize",
        Order::EndWithClient => "end-with-client",
        Order::Lifetime(_) => "lifetime",
        Order::MakeFence(_) => "make-fence",
        Order::EnterFence { .. } => "enter-fence",
    }
}

/// The name of a report. A new one has to be named here, and needs a sample.
fn report_name(report: &Report) -> &'static str {
    match report {
        Report::Started { .. } => "started",
        Report::NotStarted { .. } => "not-started",
        Report::Ended { .. } => "ended",
        Report::Recorded { .. } => "recorded",
        Report::Heard => "heard",
        Report::Busy => "busy",
        Report::Waiting => "waiting",
        Report::Moved => "moved",
        Report::Session(_) => "session",
        Report::NotUnderstood => "not-understood",
        Report::Terminal { .. } => "terminal",
        Report::NoTerminal => "no-terminal",
        Report::Suspended => "suspended",
        Report::FenceMade { .. } => "fence-made",
    }
}

fn release() -> PipeHandover {
    PipeHandover { path: b"/a".to_vec(), at_most: 7, gap: 1..2, from_to: None }
}

fn layer(kind: LayerKind, from: &[u8], shown: Vec<Vec<u8>>) -> FenceLayer {
    FenceLayer { kind, at: b"/a".to_vec(), from: from.to_vec(), shown }
}

fn setup(input: Input) -> Setup {
    Setup {
        shell: b"/bin/bash".to_vec(),
        directory: b"/d".to_vec(),
        env: vec![b"A=1".to_vec(), b"B=".to_vec()],
        limits: vec![Limit::from_parts(9, Some(1024), None).expect("descriptors are limited")],
        umask: Some(0o22),
        grace: Duration::from_secs(5),
        when: ShellStart::Ahead,
        output: None,
        input,
        source: b"/s".to_vec(),
    }
}

fn command(script: Script) -> SessionCommand {
    SessionCommand {
        directory: b"/d".to_vec(),
        lifetime: Some(Duration::from_secs(1)),
        expected: b"/e".to_vec(),
        apart: true,
        waits: false,
        split: true,
        variables: Vec::new(),
        output: None,
        script,
    }
}

fn orders() -> Vec<Order> {
    let text = || Script::Text(b"echo".to_vec());
    let record = |kind| RecordOrder {
        id: 7,
        directory: b"/j/7".to_vec(),
        kind,
        at_most: 65536,
        stop_leftovers: true,
        alive: None,
        pipes: vec![release()],
    };
    let reasons = (1..=6).map(|number| Order::Stop(StopReason::from_number(number).expect("a reason")));
    let mut orders = vec![
        Order::Setup(setup(Input::Nothing)),
        Order::Setup(setup(Input::From(None))),
        Order::Begin(Begin { script: text(), lifetime: None }),
        Order::Begin(Begin { script: Script::File(None), lifetime: Some(Duration::from_secs(1)) }),
        Order::Signal(15),
        Order::Record(record(RecordKind::Background)),
        Order::Record(record(RecordKind::Outlasted)),
        Order::Record(record(RecordKind::Leftover)),
        Order::Release(vec![release()]),
        Order::CloseInput,
        Order::Session(SessionOrder { directory: b"/s".to_vec(), idle: Some(Duration::from_secs(9)), outlives: true }),
        Order::Command(command(text())),
        Order::Command(command(Script::File(None))),
        Order::Variables(vec![b"A=1".to_vec(), b"B=".to_vec()]),
        Order::Withdraw,
        Order::QueryState,
        Order::EndSession { makes_room: false },
        Order::EndSession { makes_room: true },
        Order::Terminal(Terminal { outside: None }),
        Order::GuardHostTerminal(None),
        Order::HostTerminalRestored,
        Order::AskTerminal { answers: true },
        Order::Resize { columns: 120, rows: 40 },
        Order::EndWithClient,
        Order::Lifetime(Some(Duration::from_millis(1))),
        Order::Lifetime(None),
        Order::MakeFence(FenceOrder {
            has_host_network: true,
            ports: vec![80],
            layers: vec![
                layer(LayerKind::Overlay, b"/f", Vec::new()),
                layer(LayerKind::HiddenDirectory, b"", vec![b"/a/b".to_vec()]),
            ],
        }),
        Order::EnterFence { has_host_network: false, handles: Vec::new() },
    ];
    orders.extend(reasons);
    orders
}

fn reports() -> Vec<Report> {
    let ended = |end, left| Report::Ended { end, left, shell_stays: true, at: Duration::from_nanos(3) };
    let steps =
        [Step::Clone, Step::Prepare, Step::Directory, Step::Limits, Step::Exec, Step::Fence].map(FailedStep::Spawn);
    let mut reports = vec![
        Report::Started { pid: 258 },
        ended(End::Own(Exit::Code(3)), Vec::new()),
        ended(End::Own(Exit::Signal(9)), Vec::new()),
        ended(End::Lost, vec![Leftover { pid: 5, command: "sleep 9".to_owned() }]),
        Report::Recorded { errno: 28 },
        Report::Heard,
        Report::Busy,
        Report::Waiting,
        Report::Moved,
        Report::Session(SessionState { pid: 5, busy: true, since: Duration::from_nanos(6), commands: 7, left: 8 }),
        Report::NotUnderstood,
        Report::Terminal { answers: true },
        Report::NoTerminal,
        Report::Suspended,
        Report::FenceMade { errno: 1, at: b"/a".to_vec() },
    ];
    let reasons = (1..=6).map(|number| StopReason::from_number(number).expect("a reason"));
    reports.extend(reasons.map(|why| ended(End::Stopped { why, exit: Exit::Signal(15) }, Vec::new())));
    let failed = steps.into_iter().chain([FailedStep::Record, FailedStep::Handover]);
    reports.extend(failed.map(|step| Report::NotStarted { step, errno: 2 }));
    reports
}

/// As many descriptors as any order takes.
fn descriptors() -> Vec<OwnedFd> {
    (0..8).map(|_| bashful_sys::null_file().expect("a file").into()).collect()
}

fn line(text: &mut String, name: &str, bytes: &[u8]) {
    let hex = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let _ = writeln!(text, "{name}: {hex}");
}

#[test]
fn every_message_is_as_it_is_written_down_and_is_read_as_it_was_meant() {
    let mut text = String::new();
    let mut bytes = Vec::new();
    Hello { version: 1, oldest: 0 }.encode(&mut bytes);
    line(&mut text, "hello", &bytes);
    for order in orders() {
        let mut bytes = Vec::new();
        order.encode(&mut bytes);
        line(&mut text, &format!("order {}", order_name(&order)), &bytes);
        let read = Order::decode(&bytes[4..], &mut descriptors()).expect("it is read");
        let mut again = Vec::new();
        read.encode(&mut again);
        assert_eq!(again, bytes, "{order:?}");
    }
    for report in reports() {
        let mut bytes = Vec::new();
        report.encode(&mut bytes);
        line(&mut text, &format!("report {}", report_name(&report)), &bytes);
        assert_eq!(Report::decode(&bytes[4..]), Ok(report));
    }
    check_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../keeper/golden/protocol.txt"), &text);
}

#[test]
fn the_messages_of_bashful_0_1_are_read_as_they_were_meant() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/0.1/messages.txt");
    let recorded = std::fs::read_to_string(recorded).expect("it was recorded");
    for message in recorded.lines().filter(|line| !line.starts_with('#')) {
        let (name, hex) = message.split_once(": ").expect("a name and bytes");
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).expect("digits"), 16).expect("a byte");
        let bytes: Vec<u8> = hex.as_bytes().chunks(2).map(byte).collect();
        let mut again = Vec::new();
        // `order stop`, or `report ended-left`: an end, and which.
        let is_named = match name.split_once(' ') {
            Some(("order", name)) => {
                let order = Order::decode(&bytes[4..], &mut descriptors()).expect("it is read");
                order.encode(&mut again);
                order_name(&order) == name
            }
            Some(("report", name)) => {
                let report = Report::decode(&bytes[4..]).expect("it is read");
                report.encode(&mut again);
                name.starts_with(report_name(&report))
            }
            _ => false,
        };
        assert!(is_named && again == bytes, "{message}");
    }
}
