//! Waits for the next events of a session, and follows the orders of its host and its clients.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bashful_sys::news;
use bashful_sys::signal::Signal;

use super::Session;
use crate::protocol::{Order, Report, SessionCommand};
use crate::start::deadline_after;
use crate::{Event, StopReason};

/// Pause between two checks for a removed socket without an inotify watch.
const CHECK_SOCKET_EVERY: Duration = Duration::from_secs(10);

/// Descriptors that are readable now. Each client has a flag of its own.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one descriptor that was looked at")]
pub(super) struct Readable {
    pub(super) signals: bool,
    pub(super) driver: bool,
    pub(super) shell_output: bool,
    socket: bool,
    directory: bool,
    host: bool,
    /// Connection of the running command.
    caller: bool,
}

impl Session {
    /// Waits until a descriptor is readable or an alarm is due.
    pub(super) fn wait(&mut self) {
        let now = Instant::now();
        let (due, deadline) = match &self.running {
            Some(running) => (running.alarm(), running.stopping.alarm()),
            None => (self.idle_until(), self.idle_until()),
        };
        self.tree.alarms.wake_at(deadline, now);
        // The system limits the number of watches of a user.
        let check_at = self.listener.watch().is_none().then(|| now + CHECK_SOCKET_EVERY);
        let due = due.into_iter().chain(check_at).min();
        let always = [self.signals.as_fd(), self.driver.as_fd(), self.driver.shell_output()];
        let (socket, directory) = (self.listener.socket(), self.listener.watch());
        // A closed connection would always be readable.
        let host = (!self.host.is_gone()).then_some(self.host.as_fd());
        let caller = self.running.as_ref().map(|running| &running.link).filter(|link| !link.is_gone());
        let clients = self.listener.clients.iter().map(|client| client.link.as_fd());
        let pumps = self.pumps.iter().map(AsFd::as_fd);
        let optional = [socket, directory, host, caller.map(AsFd::as_fd)];
        let watched: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(optional.into_iter().flatten()).chain(clients).chain(pumps).collect();
        let mut has_news = news::wait(&watched, due.map(|due| due.saturating_duration_since(now))).into_iter();
        let mut next = |is_watched: bool| is_watched && has_news.next().unwrap_or_default();
        self.readable = Readable {
            signals: next(true),
            driver: next(true),
            shell_output: next(true),
            socket: next(socket.is_some()),
            directory: next(directory.is_some()),
            host: next(host.is_some()),
            caller: next(caller.is_some()),
        };
        for client in &mut self.listener.clients {
            client.has_news = has_news.next().unwrap_or_default();
        }
    }

    /// Reads and follows every order that has arrived.
    pub(super) fn follow_orders(&mut self) {
        let arrived = if self.readable.signals { self.signals.read_pending().unwrap_or_default() } else { Vec::new() };
        if arrived.iter().any(|number| *number != Signal::CHILD.as_raw()) {
            self.request_end(StopReason::KeeperSignaled);
        }
        if self.readable.host {
            self.follow_host();
        }
        if self.readable.caller {
            self.follow_caller();
        }
        if self.readable.socket {
            self.listener.accept();
        }
        if self.readable.directory || self.listener.watch().is_none() {
            // A running command continues; only new clients cannot connect any more.
            self.listener.check_socket();
        }
        self.follow_clients();
    }

    fn follow_host(&mut self) {
        self.host.receive();
        while let Some(order) = self.host.next_order() {
            if matches!(order, Order::EndSession { .. }) {
                self.request_end(StopReason::Cancelled);
            }
        }
        if self.host.is_gone() && !self.outlives {
            self.request_end(StopReason::EngineGone);
        }
    }

    /// Follows orders of the client whose command runs.
    fn follow_caller(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        running.link.receive();
        let mut events = Vec::new();
        while let Some(order) = running.link.next_order() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Signal(number) => self.tree.signal(number),
                Order::Lifetime(lifetime) => running.stopping.set_lifetime(deadline_after(lifetime)),
                Order::Record(order) => self.job_order = Some(order),
                _ => {}
            }
        }
        if running.link.is_gone() && !running.stopping.is_stopping() {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        self.running = Some(running);
        for event in events {
            self.handle(event);
        }
    }

    fn follow_clients(&mut self) {
        let mut is_busy =
            self.running.is_some() || self.listener.clients.iter().any(|client| client.waiting_command.is_some());
        let mut released = Vec::new();
        let mut ends = false;
        for index in 0..self.listener.clients.len() {
            if !self.listener.clients[index].has_news {
                continue;
            }
            self.listener.clients[index].link.receive();
            while let Some(order) = self.listener.clients[index].link.next_order() {
                let client = &mut self.listener.clients[index];
                match order {
                    Order::Command(command) if is_busy && !command.waits => client.link.send(&Report::Busy),
                    Order::Variables(variables) => client.variables = variables,
                    Order::Command(command) => {
                        if is_busy && client.link.has_greeted() {
                            client.link.send(&Report::Waiting);
                        }
                        let variables = std::mem::take(&mut client.variables);
                        client.waiting_command = Some(SessionCommand { variables, ..command });
                        is_busy = true;
                    }
                    // A withdrawal may cross with the end of its command.
                    Order::Withdraw => client.withdraws = client.waiting_command.is_some(),
                    Order::Release(pipes) => released.extend(pipes),
                    Order::QueryState => {
                        let state = self.state();
                        self.listener.clients[index].link.send(&Report::Session(state));
                    }
                    Order::EndSession { makes_room } => {
                        client.link.send(&Report::Heard);
                        client.waits_for_end = true;
                        self.makes_room |= makes_room && self.ends_because.is_none();
                        ends = true;
                    }
                    _ => {}
                }
            }
        }
        self.listener.clients.retain(|client| !client.link.is_gone());
        self.add_pumps(released);
        if ends {
            self.request_end(StopReason::Cancelled);
        }
    }
}
