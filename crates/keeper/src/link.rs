//! The keeper's end of the socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::socket;

use crate::protocol::{Inbox, Order, Report};

/// The connection to the engine.
pub(crate) struct Link {
    socket: OwnedFd,
    inbox: Inbox,
    descriptors: Vec<OwnedFd>,
    /// The engine is gone, or talks nonsense, which is the same.
    gone: bool,
}

impl Link {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, inbox: Inbox::default(), descriptors: Vec::new(), gone: false }
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

    /// The next order that has arrived whole.
    pub(crate) fn take(&mut self) -> Option<Order> {
        let Self { inbox, descriptors, .. } = self;
        inbox.next(|body| Order::decode(body, descriptors)).unwrap_or_else(|_| {
            self.gone = true;
            None
        })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Tells the engine. If it is gone there is nobody to tell, and the loop will see the end of file.
    pub(crate) fn tell(&mut self, report: &Report) {
        self.tell_all([report]);
    }

    /// Tells the engine several things at once, so that it is woken once.
    pub(crate) fn tell_all<'a>(&mut self, reports: impl IntoIterator<Item = &'a Report>) {
        let mut bytes = Vec::new();
        for report in reports {
            report.encode(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match socket::send(&self.socket, rest, &[]) {
                Ok(count) => rest = &rest[count..],
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
