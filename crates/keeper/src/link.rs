//! The keeper's end of a connection.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::socket;

use crate::protocol::{Hello, Inbox, Order, Report};

/// A connection to an engine: the one that started this keeper, or one that came to the socket of a job or a session.
pub(crate) struct EngineLink {
    socket: OwnedFd,
    inbox: Inbox,
    descriptors: Vec<OwnedFd>,
    /// The engine is gone, or talks nonsense, which is the same.
    gone: bool,
    /// The versions that the engine speaks, as it has said.
    engine: Hello,
    /// The engine has said hello, and gets ours with the next report: it is not to be woken for that alone.
    owes_hello: bool,
    /// This client answers the queries that programs send to the job's terminal.
    pub(crate) answers: bool,
}

/// One message of the engine.
enum Message {
    Hello(Hello),
    Order(Order),
    /// An order of a version that is not ours.
    Foreign,
}

impl EngineLink {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            inbox: Inbox::default(),
            descriptors: Vec::new(),
            gone: false,
            engine: Hello::UNSAID,
            owes_hello: false,
            answers: false,
        }
    }

    /// The next order, waiting for it; none if the engine is gone.
    pub(crate) fn wait(&mut self) -> Option<Order> {
        loop {
            if let Some(order) = self.take() {
                return Some(order);
            }
            if self.gone {
                return None;
            }
            self.fill();
        }
    }

    /// Reads what has arrived; to be called when there is something to read.
    pub(crate) fn fill(&mut self) {
        let mut buffer = [0; 4096];
        match socket::receive(&self.socket, &mut buffer, &mut self.descriptors) {
            Ok(0) => self.gone = true,
            Ok(count) => self.inbox.add(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.gone = true,
        }
    }

    /// The next order that has arrived whole. Hellos, and orders that only another version understands, are dealt with here.
    pub(crate) fn take(&mut self) -> Option<Order> {
        loop {
            match self.next_message()? {
                Message::Order(order) => return Some(order),
                Message::Hello(hello) => {
                    self.engine = hello;
                    self.owes_hello = true;
                }
                Message::Foreign => {
                    // The next order must not get what belongs to this one.
                    self.descriptors.clear();
                    self.tell(&Report::NotUnderstood);
                }
            }
        }
    }

    fn next_message(&mut self) -> Option<Message> {
        let shares_version = self.shares_version();
        let Self { inbox, descriptors, .. } = self;
        let decode = |body: &[u8]| match Hello::decode(body) {
            Some(hello) => hello.map(Message::Hello),
            None if shares_version => Order::decode(body, descriptors).map(Message::Order),
            None => Ok(Order::decode_core(body).map_or(Message::Foreign, Message::Order)),
        };
        inbox.next(decode).unwrap_or_else(|_| {
            self.gone = true;
            None
        })
    }

    fn shares_version(&self) -> bool {
        Hello::OURS.common(self.engine).is_some()
    }

    /// True if the engine has said hello: bashful 0.1 has none, and knows no message that came later.
    pub(crate) fn has_greeted(&self) -> bool {
        self.engine != Hello::UNSAID
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Tells the engine. If it is gone there is nobody to tell, and the loop will see the end of file.
    pub(crate) fn tell(&mut self, report: &Report) {
        self.tell_all([report]);
    }

    /// Hands a descriptor to the engine, with this report.
    pub(crate) fn hand(&mut self, report: &Report, descriptor: BorrowedFd<'_>) {
        self.send([report], &[descriptor]);
    }

    /// Tells the engine several things at once, so that it is woken once. One that shares no version with us hears only what
    /// every version understands.
    pub(crate) fn tell_all<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>) {
        self.send(reports, &[]);
    }

    fn send<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>, descriptors: &[BorrowedFd<'_>]) {
        let mut bytes = Vec::new();
        let shares_version = self.shares_version();
        for report in reports.into_iter().filter(|report| shares_version || report.is_core()) {
            if std::mem::take(&mut self.owes_hello) {
                Hello::OURS.encode(&mut bytes);
            }
            report.encode(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        let mut descriptors = descriptors;
        while !rest.is_empty() {
            match socket::send(&self.socket, rest, descriptors) {
                Ok(count) => (rest, descriptors) = (&rest[count..], &[]),
                Err(_) => return,
            }
        }
    }
}

impl AsFd for EngineLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
