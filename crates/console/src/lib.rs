//! `bashful console`: runs commands, and watches those of agents, on one screen.
mod model;
mod view;
