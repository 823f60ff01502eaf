//! Plays a keeper of another version of bashful, from a directory of recorded messages and records.
//!
//! `other_version job PLACE FIXTURES` and `other_version session PLACE FIXTURES` listen in the directory of a job or a session, as
//! the keepers of that version do, answer the orders in `messages.txt` with its reports, and hang up on all others, as bashful 0.1
//! does, or say that they do not understand them, as versions with a hello do. The keeper of a job holds the lock.
//!
//! The program prints `ready` when it listens, and `heard NAME` for each order. On its standard input, `write TEXT`
//! adds a line to the output of the job, and `end` ends the job.
//!
//! Without arguments it is a keeper of version 9 that an engine has started: its socket is its standard input.
#![expect(clippy::print_stdout, reason = "saying things is its job")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{FlockOperation, flock};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(kind) = arguments.next() else { return serve_engine() };
    let mut path = || PathBuf::from(arguments.next().expect("a place and fixtures"));
    let (place, fixtures) = (path(), path());
    let listener = listen_in(&place).expect("a socket");
    let lock = (kind == "job").then(|| take_lock(&place));
    let player = Arc::new(Player {
        messages: Messages::read(&fixtures),
        place,
        fixtures,
        connections: Mutex::default(),
        _lock: lock,
    });
    let listening = Arc::clone(&player);
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let player = Arc::clone(&listening);
            let kept = connection.try_clone().expect("a copy");
            player.connections.lock().expect("nobody panics").push(kept);
            std::thread::spawn(move || player.answer(connection));
        }
    });
    println!("ready");
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("write", text)) => player.write(&format!("{text}\n")),
            _ if line == "end" => player.end("own"),
            _ => panic!("it knows no {line:?}"),
        }
    }
    // The test is over, or only wants answers.
    loop {
        std::thread::park();
    }
}

/// Binds the socket of a keeper. Its path may be too long for an address, so it is named from its directory.
fn listen_in(place: &Path) -> io::Result<UnixListener> {
    let before = std::env::current_dir()?;
    std::env::set_current_dir(place)?;
    let listener = UnixListener::bind("control")?;
    std::env::set_current_dir(before)?;
    Ok(listener)
}

/// Locks the job's lock file, and writes the process id into it.
fn take_lock(place: &Path) -> File {
    let id = place.file_name().expect("a number");
    let live = place.with_file_name("live");
    fs::create_dir_all(&live).expect("a directory of marks");
    let mut mark = File::create(live.join(id)).expect("a mark");
    flock(&mark, FlockOperation::NonBlockingLockExclusive).expect("nobody else has it");
    let us = bashful_sys::proc::Process::read(rustix::process::getpid()).expect("it runs");
    writeln!(mark, "{} {}", us.pid.as_raw_nonzero(), us.began).expect("it is written");
    mark
}

/// The messages of a version, by name.
struct Messages(HashMap<String, Vec<u8>>);

impl Messages {
    fn read(fixtures: &Path) -> Self {
        let text = fs::read_to_string(fixtures.join("messages.txt")).expect("messages");
        let message = |line: &str| {
            let (name, hex) = line.split_once(": ").expect("a name and bytes");
            let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).expect("digits"), 16).expect("a byte");
            (name.to_owned(), hex.as_bytes().chunks(2).map(byte).collect())
        };
        Self(text.lines().filter(|line| !line.starts_with('#')).map(message).collect())
    }

    fn report(&self, name: &str) -> &[u8] {
        self.0.get(&format!("report {name}")).map_or(&[], Vec::as_slice)
    }

    /// The name of the order of these bytes. All signals are one order.
    fn order(&self, bytes: &[u8]) -> Option<&str> {
        let is_signal = |name: &str| name == "order signal" && bytes.get(4) == Some(&6);
        let found = self.0.iter().find(|(name, order)| *order == bytes || is_signal(name));
        found.and_then(|(name, _)| name.strip_prefix("order "))
    }
}

struct Player {
    place: PathBuf,
    fixtures: PathBuf,
    messages: Messages,
    connections: Mutex<Vec<UnixStream>>,
    _lock: Option<File>,
}

impl Player {
    /// Answers orders until one side closes the connection.
    fn answer(&self, mut connection: UnixStream) {
        let mut greeting: &[u8] = &[];
        while let Some(order) = frame(&mut connection) {
            let has_hello = !self.messages.report("hello").is_empty();
            if has_hello && order.get(4) == Some(&0) {
                println!("heard hello");
                greeting = self.messages.report("hello");
                continue;
            }
            let name = self.messages.order(&order);
            println!("heard {}", name.unwrap_or("nonsense"));
            let answer = match name {
                Some("look") => "session",
                Some(_) => "heard",
                None if has_hello => "not-understood",
                None => {
                    let _ = connection.shutdown(std::net::Shutdown::Both);
                    return;
                }
            };
            let report = [std::mem::take(&mut greeting), self.messages.report(answer)].concat();
            if connection.write_all(&report).is_err() {
                return;
            }
            match name {
                Some("stop") => self.end("stopped"),
                Some("end-session") => self.leave(),
                _ => {}
            }
        }
    }

    fn write(&self, text: &str) {
        let output = File::options().append(true).create(true).open(self.place.join("output"));
        output.and_then(|mut output| output.write_all(text.as_bytes())).expect("it is written");
    }

    /// Records the end of the job, reports it to all clients, and exits.
    fn end(&self, how: &str) -> ! {
        let read = |name: String| fs::read_to_string(self.fixtures.join(name)).expect("it was recorded");
        if how == "stopped" {
            let all = read("stopped-output".to_owned());
            self.write(all.strip_prefix(&read("running-output".to_owned())).expect("it goes on"));
        }
        let status = if how == "own" { "ended" } else { how };
        fs::write(self.place.join("status.json.new"), read(format!("{status}-status.json"))).expect("it is written");
        fs::rename(self.place.join("status.json.new"), self.place.join("status.json")).expect("it is renamed");
        for connection in self.connections.lock().expect("nobody panics").iter_mut() {
            let _ = connection.write_all(self.messages.report(&format!("ended-{how}")));
        }
        self.leave()
    }

    fn leave(&self) -> ! {
        let _ = fs::remove_file(self.place.join("control"));
        std::process::exit(0)
    }
}

/// The next frame, its length included; none at the end.
fn frame(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut frame = vec![0; 4];
    from.read_exact(&mut frame).ok()?;
    let length = u32::from_le_bytes(frame[..4].try_into().expect("four bytes"));
    frame.resize(4 + length as usize, 0);
    from.read_exact(&mut frame[4..]).ok()?;
    Some(frame)
}

/// Plays a keeper of version 2 for the engine that started it.
fn serve_engine() {
    let socket = io::stdin().as_fd().try_clone_to_owned().expect("a copy");
    let mut socket = UnixStream::from(socket);
    let newer = Messages::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/newer"));
    let mut greeting = newer.report("hello");
    while let Some(order) = frame(&mut socket) {
        if order.get(4) != Some(&0) {
            let report = [std::mem::take(&mut greeting), newer.report("not-understood")].concat();
            let _ = socket.write_all(&report);
        }
    }
}
