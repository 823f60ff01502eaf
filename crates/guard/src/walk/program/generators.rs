//! Generators.
//!
//! A loop over a generator runs inside of it: at every `yield`, the body of the loop runs in its own frame. The same holds for a
//! generator that is a context manager. Elsewhere a generator runs to its end, and its values are kept.

use std::rc::Rc;

use crate::walk::program::syntax::{Declares, ForLoop, Name, WithBlock};
use crate::walk::program::value::{Id, Value};
use crate::walk::program::{Frame, Hook, Run, Stop, Trial};

impl Trial<'_, '_> {
    /// True if this is a generator that has not begun, and that nobody sends anything to.
    pub(super) fn is_fresh_generator(&self, id: Id) -> bool {
        self.heap.iterator(id).is_some_and(|items| items.pending.is_some() && items.sent.is_empty())
    }

    /// Runs a generator with somebody who consumes its values as they come.
    fn run_hooked(&mut self, id: Id, hook: Hook) -> Run<()> {
        let pending = self.heap.iterator_mut(id).and_then(|items| items.pending.take());
        let Some(pending) = pending else { return Ok(()) };
        let (closure, this, given) = pending.as_ref();
        let frame = Frame { hook: Some(hook), ..Frame::default() };
        let depth = self.frames.len();
        let end = self.run_closure(*closure, this.clone(), given.clone(), frame);
        self.frames.truncate(depth);
        if let Some(stop) = self.left.take() {
            return Err(stop);
        }
        end.map(|_| ())
    }

    pub(super) fn run_for_hooked(&mut self, id: Id, inner: &Rc<ForLoop>, label: Option<&Name>) -> Run<()> {
        let consumer = self.frames.len().saturating_sub(1);
        match self.run_hooked(id, Hook::For(Rc::clone(inner), label.cloned(), consumer)) {
            Ok(()) => self.run_block(&inner.otherwise),
            // The loop was left by `break`.
            Err(Stop::Pause) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    pub(super) fn run_with_hooked(&mut self, id: Id, block: &Rc<WithBlock>, at: usize) -> Run<()> {
        let consumer = self.frames.len().saturating_sub(1);
        match self.run_hooked(id, Hook::With(Rc::clone(block), at, consumer)) {
            Err(Stop::Pause) => Ok(()),
            end => end,
        }
    }

    /// Lets the consumer of a generator have a value, in its own frame.
    pub(super) fn run_hook(&mut self, hook: &Hook, value: Value) -> Run<()> {
        let (Hook::For(_, _, consumer) | Hook::With(_, _, consumer)) = hook;
        let Some(frame) = self.frames.get(*consumer).cloned() else { return Err(Stop::Pause) };
        self.frames.push(frame);
        let depth = self.frames.len();
        let end = match hook {
            Hook::For(inner, label, _) => self.for_round(inner, value, label.as_ref()),
            Hook::With(block, at, _) => self.run_managed(block, *at, value).map(|()| true),
        };
        self.frames.truncate(depth);
        // The consumer may have yielded something itself.
        if let (Some(after), Some(frame)) = (self.frames.pop(), self.frames.get_mut(*consumer)) {
            *frame = after;
        }
        match (end, hook) {
            (Ok(true), _) => Ok(()),
            (Ok(false), _) => {
                self.left = Some(Stop::Pause);
                Err(Stop::Pause)
            }
            // A context manager sees the exceptions of its body; those of a loop are its own.
            (Err(stop @ (Stop::Raise(_) | Stop::Halt | Stop::Exit)), Hook::With(..)) => Err(stop),
            (Err(stop), _) => {
                self.left = Some(stop);
                Err(Stop::Pause)
            }
        }
    }

    fn run_managed(&mut self, block: &Rc<WithBlock>, at: usize, value: Value) -> Run<()> {
        if let Some((_, Some(target))) = block.items.get(at) {
            self.assign(target, value, Declares::No)?;
        }
        self.tries += 1;
        let end = self.run_with(block, at + 1);
        self.tries -= 1;
        end
    }

    /// The next item of an iterator.
    pub(super) fn next_item(&mut self, id: Id) -> Run<Option<Value>> {
        self.step()?;
        if self.is_coroutine(id) {
            return Ok(Some(Value::Lost));
        }
        self.begin_generator(id)?;
        let Some(items) = self.heap.iterator_mut(id) else { return Ok(None) };
        let item = items.items.get(items.at).cloned();
        items.at += usize::from(item.is_some());
        Ok(item)
    }

    /// True if a generator that has not begun waits for values.
    fn is_coroutine(&self, id: Id) -> bool {
        let pending = self.heap.iterator(id).and_then(|items| items.pending.as_ref());
        let closure = pending.and_then(|pending| self.heap.closure(pending.0));
        closure.is_some_and(|closure| closure.function.receives)
    }

    /// Keeps a value that is sent to a generator, until that runs.
    pub(super) fn send(&mut self, id: Id, value: Value) {
        if let Some(items) = self.heap.iterator_mut(id)
            && items.pending.is_some()
        {
            items.sent.push(value);
            if !self.coroutines.contains(&id) {
                self.coroutines.push(id);
            }
        }
    }

    /// Runs a generator that has not begun, to its end. Its values are kept.
    pub(super) fn begin_generator(&mut self, id: Id) -> Run<()> {
        let waits = self.is_coroutine(id);
        let Some(items) = self.heap.iterator_mut(id) else { return Ok(()) };
        let Some(pending) = items.pending.take() else { return Ok(()) };
        let sent = std::mem::take(&mut items.sent);
        let (closure, this, given) = pending.as_ref();
        let most_yields = if waits { Some(sent.len()) } else { None };
        let frame = Frame { yields: Some(Vec::new()), sent, most_yields, ..Frame::default() };
        let (_, yields) = self.run_closure(*closure, this.clone(), given.clone(), frame)?;
        if let Some(items) = self.heap.iterator_mut(id) {
            items.items.extend(yields);
        }
        Ok(())
    }
}
