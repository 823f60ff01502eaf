//! Waits for the next events of a command: signals, orders, and the time.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bashful_sys::news;
use bashful_sys::signal::Signal;

use super::CommandWatch;
use crate::link::{Answering, EngineLink};
use crate::output::GrowingOutput;
use crate::protocol::{Order, Report};
use crate::pump::Pumped;
use crate::record::Record;
use crate::session::Driver;
use crate::start::deadline_after;
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::{Event, StopReason};

/// Most clients connected to a job's socket at once. More would use up the keeper's descriptors.
const MOST_CLIENTS: usize = 256;

/// Hands the outside end of a terminal to a client.
fn hand_out(terminal: Option<&TerminalEnds>, client: &mut EngineLink) {
    match terminal {
        Some(terminal) => {
            client.hand(&Report::Terminal { answers: client.answering == Answering::Now }, &[terminal.outside()]);
        }
        None => client.send(&Report::NoTerminal),
    }
}

impl CommandWatch {
    /// Waits until something happens or an alarm is due, and returns the events.
    pub(super) fn wait(&mut self) -> Vec<Event> {
        let now = Instant::now();
        let alarm = self.stopping.alarm();
        self.tree.alarms.wake_at(alarm, now);
        let wake_up = alarm.into_iter().chain(self.growing.as_ref().and_then(GrowingOutput::alarm)).min();
        // The handle of an ended shell would always be readable. It is watched even with signals: in a host that
        // started threads before it became a keeper, a signal may go to one of those threads.
        let watch_shell = !self.tree.shell_has_ended();

        let link = (!self.link.is_gone()).then_some(self.link.as_fd());
        let signals = Some(self.signals.as_fd());
        let shell = watch_shell.then_some(self.shell.as_fd());
        let control = self.record.as_ref().and_then(Record::control);
        let growing = self.growing.as_ref().and_then(GrowingOutput::growth_queue);
        let driver = self.driver.as_ref().map(AsFd::as_fd);
        let shell_output = self.driver.as_ref().map(Driver::shell_output);
        let clients = self.clients.iter().map(AsFd::as_fd);
        let pumps = self.pumps.iter().map(AsFd::as_fd);
        let watched: Vec<BorrowedFd<'_>> = [link, signals, shell, control, growing, driver, shell_output]
            .into_iter()
            .flatten()
            .chain(clients)
            .chain(pumps)
            .collect();
        let has_news = news::wait(&watched, wake_up.map(|wake_up| wake_up.saturating_duration_since(now)));
        let link_ready = link.is_some() && has_news[0];

        let mut events = self.signal_events();
        if link_ready {
            events.extend(self.follow_engine());
        }
        events.extend(self.follow_clients());
        // A pump with an empty pipe costs one failed read.
        self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
        let now = Instant::now();
        self.growing.iter_mut().for_each(|growing| growing.check_if_due(now));
        if alarm.is_some_and(|alarm| alarm <= now) {
            events.push(Event::Tick);
        }
        events
    }

    pub(super) fn signal_events(&self) -> Vec<Event> {
        let arrived = self.signals.read_pending().unwrap_or_default();
        // Several signals at once are one request: the end of a login session sends more than one.
        let asked = arrived.iter().any(|number| *number != Signal::CHILD.as_raw());
        asked.then_some(Event::StopAsked(StopReason::KeeperSignaled)).into_iter().collect()
    }

    /// Accepts the clients that have connected to the job's socket.
    pub(super) fn accept_clients(&mut self) {
        while let Some(socket) = self.record.as_ref().and_then(Record::accept) {
            if self.clients.len() == MOST_CLIENTS {
                // The oldest client is dropped. It can connect again, and a client that wants to stop the job gets
                // through. An owner cannot: the job would end.
                let oldest = self.clients.iter().position(|client| !client.owns_job).unwrap_or(0);
                self.clients.remove(oldest);
            }
            self.clients.push(EngineLink::new(socket));
        }
    }

    /// Follows the orders of clients connected to the job's socket. They may stop or signal the job and close its
    /// standard input.
    fn follow_clients(&mut self) -> Vec<Event> {
        self.accept_clients();
        let mut orders = Vec::new();
        let mut is_answered = self.is_answered();
        for client in &mut self.clients {
            client.receive();
            while let Some(order) = client.next_order() {
                if let Order::AskTerminal { answers } = order {
                    if answers && client.answering == Answering::No {
                        client.answering = if is_answered { Answering::Later } else { Answering::Now };
                        is_answered = true;
                    }
                    hand_out(self.terminal.as_ref(), client);
                    continue;
                }
                client.owns_job |= matches!(order, Order::EndWithClient);
                orders.push(order);
                client.send(&Report::Heard);
            }
        }
        let mut events = Vec::new();
        if self.clients.iter().any(|client| client.owns_job && client.is_gone()) {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        self.clients.retain(|client| !client.is_gone());
        self.pass_on_answering();
        for order in orders {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Signal(number) => self.tree.signal(number),
                Order::CloseInput => self.record.iter_mut().for_each(Record::close_input),
                Order::Resize { columns, rows } => self.resize(columns, rows),
                _ => {}
            }
        }
        events
    }

    fn is_answered(&self) -> bool {
        self.clients.iter().any(|client| client.answering == Answering::Now)
    }

    /// Lets the next client that has offered it answer for the terminal, if the one that did is gone.
    fn pass_on_answering(&mut self) {
        if !self.is_answered()
            && let Some(heir) = self.clients.iter_mut().find(|client| client.answering == Answering::Later)
        {
            heir.answering = Answering::Now;
            hand_out(self.terminal.as_ref(), heir);
        }
    }

    /// Follows the orders of the engine.
    pub(super) fn follow_engine(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.link.receive();
        while let Some(order) = self.link.next_order() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Release(pipes) => {
                    self.released = true;
                    self.add_pumps(pipes);
                }
                Order::Record(mut order) => {
                    let pipes = std::mem::take(&mut order.pipes);
                    let errno = match Record::open(order, self.began) {
                        Ok(record) => {
                            self.add_pumps(pipes);
                            self.become_job(record);
                            0
                        }
                        Err(error) => error.raw_os_error().unwrap_or(-1),
                    };
                    self.link.send(&Report::Recorded { errno });
                }
                Order::Signal(number) => self.tree.signal(number),
                Order::Lifetime(lifetime) => self.stopping.set_lifetime(deadline_after(lifetime)),
                Order::Resize { columns, rows } => self.resize(columns, rows),
                Order::HostTerminalRestored => {
                    self.host_terminal.iter_mut().for_each(HostTerminal::leave_alone);
                }
                _ => {}
            }
        }
        if self.link.is_gone() {
            // First of all: a person sits before it.
            self.host_terminal = None;
        }
        if self.link.is_gone() && !self.released {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        events
    }
}
