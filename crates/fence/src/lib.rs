//! The reach of a fenced command.
//!
//! A [`FencePolicy`] is what a person sets. [`resolve()`] looks at the file system once, through [`Look`], and makes a [`Fence`] of
//! it: a list of [`Layer`]s, each a mount. The keeper carries them out; nothing here touches anything.
//!
//! Invariant: a `Fence` names only paths without symbolic links.

mod denial;
mod filter;
mod policy;
mod resolve;

pub use denial::{Denial, denials};
pub use filter::{Instruction, filter};
pub use policy::{Caches, FencePolicy, Mode, Network};
pub use resolve::{Fence, FenceError, Kind, Layer, Look, Place, resolve};
