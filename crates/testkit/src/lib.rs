//! Plays the bad child in tests.
