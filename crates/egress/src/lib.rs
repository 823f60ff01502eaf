//! The way out of a network fence.
//!
//! A fenced command runs in a network namespace with nothing but loopback. A socket that listens in there is handed out,
//! and [`serve()`] answers on it from outside: a proxy for HTTP and SOCKS5 that reaches the hosts of a list. [`forward`]
//! lets a single port of this machine in.
//!
//! ```
//! use bashful_egress::{Host, Rules, Verdict};
//!
//! let rules = Rules::parse(["*.example.org", "localhost:5432", "@registries"])?;
//! assert_eq!(rules.decide(&Host::parse(b"www.example.org")?, 443), Verdict::Allowed);
//! assert_eq!(rules.decide(&Host::parse(b"example.org")?, 443), Verdict::NotListed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: nothing is resolved or dialed before [`Rules::decide`] or [`Observer::ask`] allowed it. The address that
//! is dialed is the one that was judged. A connection holds some 40 KiB, and 200 KiB at most. Nothing waits without a bound
//! but an open tunnel and the observer.

#![warn(clippy::disallowed_methods)]

mod dial;
mod host;
mod http;
mod observer;
mod presets;
mod request;
mod rules;
mod serve;
mod socks;

pub use host::{Host, HostError};
pub use observer::{BoxFuture, Connection, Observer, Outcome};
pub use rules::{RuleError, Rules, Verdict};
pub use serve::{forward, serve};
