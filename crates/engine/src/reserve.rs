//! Idle keepers that have run a command and may run another.
//!
//! Starting a keeper costs about half as much as starting bash. A keeper whose command ended by itself and left nothing
//! is as good as new: its shell is gone, and everything that it knew of the command.

use std::sync::{Mutex, PoisonError};

use bashful_sys::limits::{self, Limit};
use bashful_sys::{proc, socket};

use crate::connection::Connection;
use crate::keeper_link::{Keeper, KeeperProcess};
use crate::local::IdleKeeper;

/// Settings that a keeper passes on to its shell. Those of the host may have changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    umask: u32,
    limits: Vec<Limit>,
}

impl Standing {
    /// Settings of this program; none if they cannot be read.
    pub(crate) fn now() -> Option<Self> {
        Some(Self { umask: proc::umask().ok()?, limits: limits::all() })
    }

    /// Replaces the limit on the same resource.
    pub(crate) fn with(mut self, limit: Limit) -> Self {
        for known in self.limits.iter_mut().filter(|known| known.resource() == limit.resource()) {
            *known = limit;
        }
        self
    }
}

/// Keepers that wait for a command.
#[derive(Debug)]
pub(crate) struct Reserve {
    at_most: usize,
    keepers: Mutex<Vec<IdleKeeper>>,
}

impl Reserve {
    /// Keeps at most `at_most` keepers, and begins with `first`, which counts even if that is zero.
    pub(crate) fn new(at_most: usize, first: Option<IdleKeeper>) -> Self {
        Self { at_most, keepers: Mutex::new(first.into_iter().collect()) }
    }

    /// True if keepers are kept at all.
    pub(crate) fn is_used(&self) -> bool {
        self.at_most > 0
    }

    /// Returns a keeper that lives, if it is wanted.
    pub(crate) fn take_if(&self, is_wanted: bool) -> Option<IdleKeeper> {
        if is_wanted { self.take() } else { None }
    }

    /// Returns a keeper that lives, and that was started under the present settings.
    pub(crate) fn take(&self) -> Option<IdleKeeper> {
        let mut keepers = self.keepers();
        if keepers.is_empty() {
            return None;
        }
        let now = Standing::now()?;
        while let Some(connected) = keepers.pop() {
            let fits = matches!(&connected.keeper, Keeper::Process(KeeperProcess { standing: Some(then), .. }) if **then == now);
            if fits && !socket::has_news(&connected.socket) {
                return Some(connected);
            }
        }
        None
    }

    /// Keeps a keeper, if there is room. Otherwise it ends with its connection.
    pub(crate) fn put(&self, link: Connection, keeper: Keeper) {
        let mut keepers = self.keepers();
        if keepers.len() < self.at_most
            && let Some(socket) = link.into_socket()
        {
            keepers.push(IdleKeeper { socket, keeper });
        }
    }

    fn keepers(&self) -> std::sync::MutexGuard<'_, Vec<IdleKeeper>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
