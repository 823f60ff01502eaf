//! The keeper's end of a connection.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::socket;

use crate::protocol::{Hello, Inbox, Order, Report};

/// A connection to an engine: the one that started this keeper, or a client of the socket of a job or a session.
pub(crate) struct EngineLink {
    socket: OwnedFd,
    inbox: Inbox,
    descriptors: Vec<OwnedFd>,
    /// True if the engine has closed the connection or sent a message that cannot be decoded.
    gone: bool,
    /// Versions that the engine speaks.
    engine: Hello,
    /// True if the engine has sent a hello. Ours goes out with the next report, so that the engine is not woken for it
    /// alone.
    owes_hello: bool,
    /// The client's part in answering the queries that programs send to the job's terminal.
    pub(crate) answering: Answering,
    /// The job ends with this connection.
    pub(crate) owns_job: bool,
}

/// A client's part in answering for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answering {
    /// It has not offered to answer.
    No,
    /// It answers when those before it are gone.
    Later,
    /// It answers now.
    Now,
}

/// A message from the engine.
enum EngineMessage {
    Hello(Hello),
    Order(Order),
    /// An order of a version that this keeper does not speak.
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
            answering: Answering::No,
            owns_job: false,
        }
    }

    /// Waits for the next order; none if the engine is gone.
    pub(crate) fn wait_for_order(&mut self) -> Option<Order> {
        loop {
            if let Some(order) = self.next_order() {
                return Some(order);
            }
            if self.gone {
                return None;
            }
            self.receive();
        }
    }

    /// Reads bytes that have arrived. Call it when the socket is readable.
    pub(crate) fn receive(&mut self) {
        let mut buffer = [0; 4096];
        match socket::receive(&self.socket, &mut buffer, &mut self.descriptors) {
            Ok(0) => self.gone = true,
            Ok(count) => self.inbox.add(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.gone = true,
        }
    }

    /// Returns the next order that has fully arrived. Handles hellos, and answers orders that this version does not
    /// understand.
    pub(crate) fn next_order(&mut self) -> Option<Order> {
        loop {
            match self.next_message()? {
                EngineMessage::Order(order) => return Some(order),
                EngineMessage::Hello(hello) => {
                    self.engine = hello;
                    self.owes_hello = true;
                }
                EngineMessage::Foreign => {
                    // The next order must not get the descriptors of this one.
                    self.descriptors.clear();
                    self.send(&Report::NotUnderstood);
                }
            }
        }
    }

    fn next_message(&mut self) -> Option<EngineMessage> {
        let shares_version = self.shares_version();
        let Self { inbox, descriptors, .. } = self;
        let decode = |body: &[u8]| match Hello::decode(body) {
            Some(hello) => hello.map(EngineMessage::Hello),
            None if shares_version => Order::decode(body, descriptors).map(EngineMessage::Order),
            None => Ok(Order::decode_core(body).map_or(EngineMessage::Foreign, EngineMessage::Order)),
        };
        inbox.next(decode).unwrap_or_else(|_| {
            self.gone = true;
            None
        })
    }

    fn shares_version(&self) -> bool {
        Hello::OURS.common(self.engine).is_some()
    }

    /// True if the engine has sent a hello. Bashful 0.1 sends none, and knows no report that came later.
    pub(crate) fn has_greeted(&self) -> bool {
        self.engine != Hello::UNSAID
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Sends a report. If the engine is gone, the report is dropped, and the loop sees end of file.
    pub(crate) fn send(&mut self, report: &Report) {
        self.send_all([report]);
    }

    /// Hands descriptors to the engine, with this report.
    pub(crate) fn hand(&mut self, report: &Report, descriptors: &[BorrowedFd<'_>]) {
        self.send_with([report], descriptors);
    }

    /// Sends several reports at once, so that the engine wakes up once. An engine without a common version gets only
    /// reports of the core.
    pub(crate) fn send_all<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>) {
        self.send_with(reports, &[]);
    }

    fn send_with<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>, descriptors: &[BorrowedFd<'_>]) {
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
