//! Waits until something happens to a command, and turns signals, orders and the time into events.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bashful_sys::news;
use bashful_sys::signal::Signal;

use super::Watch;
use crate::link::EngineLink;
use crate::output::Growing;
use crate::protocol::{Order, Report};
use crate::pump::Pumped;
use crate::record::Record;
use crate::session::Driver;
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::tree::{LOOK_AGAIN, LOOK_AT_LEFTOVERS};
use crate::{Event, Phase, StopReason};

/// Clients that a job's socket has at once. More would use up the keeper's descriptors.
const MOST_CLIENTS: usize = 256;

/// Hands the outside end of a terminal to a client.
fn hand_out(terminal: Option<&TerminalEnds>, client: &mut EngineLink) {
    match terminal {
        Some(terminal) => client.hand(&Report::Terminal { answers: client.answers }, terminal.outside()),
        None => client.tell(&Report::NoTerminal),
    }
}

impl Watch {
    /// Waits until something happens, and returns the events.
    pub(super) fn wait(&mut self) -> Vec<Event> {
        let now = Instant::now();
        let alarm = self.stopping.alarm().into_iter().chain(self.look_again(now)).min();
        self.tree.awake.at(alarm, now);
        let wake_up = alarm.into_iter().chain(self.growing.as_ref().and_then(Growing::alarm)).min();
        // The handle of a shell that has ended would always have news. With signals it is watched all the same: in a host
        // that has started threads before it became a keeper, a signal may go to one of those.
        let watch_shell = !self.tree.shell_has_ended();

        let link = (!self.link.is_gone()).then_some(self.link.as_fd());
        let signals = self.signals.as_ref().map(AsFd::as_fd);
        let shell = watch_shell.then_some(self.shell.as_fd());
        let control = self.job.as_ref().and_then(Record::control);
        let growing = self.growing.as_ref().and_then(Growing::word);
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
        // Cheap where there is nothing to carry: then reading says so.
        self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
        let now = Instant::now();
        self.growing.iter_mut().for_each(|growing| growing.look(now));
        if alarm.is_some_and(|alarm| alarm <= now) {
            events.push(Event::Tick);
        }
        events
    }

    /// A thread of a host has to look for itself: nobody tells it of the end of what is not its child.
    fn look_again(&self, now: Instant) -> Option<Instant> {
        let pause = match self.stopping.phase() {
            Phase::Stopping { .. } | Phase::Killed { .. } => LOOK_AGAIN,
            Phase::Running { .. } if self.shell_end.is_some() => LOOK_AT_LEFTOVERS,
            Phase::Running { .. } | Phase::Ended(_) => return None,
        };
        self.signals.is_none().then(|| now + pause)
    }

    pub(super) fn signal_events(&self) -> Vec<Event> {
        let arrived = self.signals.as_ref().and_then(|signals| signals.arrived().ok()).unwrap_or_default();
        // Several at once are one request: the end of a login session sends more than one.
        let asked = arrived.iter().any(|number| *number != Signal::CHILD.as_raw());
        asked.then_some(Event::StopAsked(StopReason::KeeperSignaled)).into_iter().collect()
    }

    /// Follows the orders of clients that have connected to the job's socket. They may stop the job, and come and go as they like.
    fn follow_clients(&mut self) -> Vec<Event> {
        while let Some(socket) = self.job.as_ref().and_then(Record::accept) {
            if self.clients.len() == MOST_CLIENTS {
                // The oldest one: it will connect again, and a client that wants to stop the job gets through.
                self.clients.remove(0);
            }
            self.clients.push(EngineLink::new(socket));
        }
        let mut orders = Vec::new();
        let mut is_answered = self.clients.iter().any(|client| client.answers);
        for client in &mut self.clients {
            client.fill();
            while let Some(order) = client.take() {
                if let Order::AskTerminal { answers } = order {
                    client.answers |= answers && !is_answered;
                    is_answered |= client.answers;
                    hand_out(self.terminal.as_ref(), client);
                    continue;
                }
                orders.push(order);
                client.tell(&Report::Heard);
            }
        }
        self.clients.retain(|client| !client.is_gone());
        let mut events = Vec::new();
        for order in orders {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Signal(number) => self.tree.signal(number),
                Order::CloseInput => self.job.iter_mut().for_each(Record::close_input),
                Order::Resize { columns, rows } => self.resize(columns, rows),
                _ => {}
            }
        }
        events
    }

    /// Follows the orders of the engine.
    pub(super) fn follow_engine(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.link.fill();
        while let Some(order) = self.link.take() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Release(pipes) => {
                    self.released = true;
                    self.take_over(pipes);
                }
                Order::Record(mut order) => {
                    let pipes = std::mem::take(&mut order.pipes);
                    let errno = match Record::open(order, self.began) {
                        Ok(record) => {
                            self.take_over(pipes);
                            self.become_job(record);
                            0
                        }
                        Err(error) => error.raw_os_error().unwrap_or(-1),
                    };
                    self.link.tell(&Report::Recorded { errno });
                }
                Order::Signal(number) => self.tree.signal(number),
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
