//! Tools that run shell commands for a model: a [`Toolbox`] takes the arguments that the model sends, and answers with the
//! text that the model reads.
//!
//! [`Toolbox::call`] is the one call:
//!
//! ```standalone_crate
//! use bashful_dialect::{ToolCaller, Dialect, Limits, Toolbox};
//! use bashful_engine::{Engine, Options};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # bashful_engine::keeper_main();
//! let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()))?;
//! let toolbox = Toolbox::new(engine, Dialect::NATIVE, Limits::default(), "/".as_ref());
//! let arguments = serde_json::json!({ "command": "echo hello; exit 3" });
//! let answer = toolbox.call("bash", arguments, ToolCaller::default()).await?;
//! assert_eq!(answer.text, "[command failed: exit code 3]\nhello\n");
//! assert_eq!(answer.facts["exit_code"], 3);
//! assert!(answer.is_error);
//! # Ok(()) }
//! ```
//!
//! [`Toolbox::tools`] has the definitions for the model, in the [`Format`] of its provider. [`ToolCaller`] says how long a
//! call waits, who approves, where live updates go, how to cancel, and in whose terminal commands run. [`Toolbox::bang`]
//! runs what a person types. The directory `examples` has a whole tool loop in 60 lines, and more.
//!
//! A dialect is one shape of tool that models know. Each is a module of three parts: definitions (texts and schemas in files
//! of their own), arguments that become a request to the engine, and replies.
//!
//! Rules for every dialect: unknown arguments are refused by name. Schemas allow no null and use no key that some client
//! refuses. The text of a reply stands alone, and its facts repeat nothing of it.

#![warn(clippy::disallowed_methods)]

mod answer;
mod approval;
mod arguments;
mod bang;
mod bash_call;
mod compose;
mod dialect;
mod envelope;
pub mod facts;
pub mod job;
mod job_calls;
mod message_lines;
mod native;
mod owner;
mod pi;
mod plain;
mod resource;
mod shell_settings;
mod subscriptions;
pub mod table;
mod terminal;
pub mod terminal_calls;
mod terminal_sessions;
pub mod text;
mod tool;
mod tool_caller;
mod toolbox;
mod updates;

pub use answer::{Answer, Conclusion, ResourceLink};
pub use approval::{allow_line, how_to_allow, question, shell_quoted};
pub use arguments::{ClampedTimeout, Limits, MOST_IN_BACKGROUND, MOST_SECONDS, clamp_timeout, unique};
pub use bang::{BangCaller, BangError, BashResult};
pub use bash_call::{BashArgument, BashCall, BashMode, BashTerminal, MissingArgument};
pub use bashful_render::{visible, visible_lines};
pub use dialect::{Dialect, UnknownDialect};
pub use envelope::{Envelope, json_problem};
pub use job_calls::JobOutput;
pub use message_lines::{MessageLine, MessageLines, longest_message};
pub use resource::{ResourceError, ResourcePage, ResourceText, TEMPLATES};
pub use shell_settings::ShellSettings;
pub use subscriptions::ResourceChanges;
pub use terminal::{NO_TERMINAL, TerminalView};
pub use tool::{Abilities, FACTS, Format, ReplyForm, Tool, UnknownFormat, facts_schemas, tool_meta};
pub use tool_caller::ToolCaller;
pub use toolbox::{Toolbox, UnknownTool};
pub use updates::{Update, UpdateState};

/// Compiles the examples of the page about the library.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
