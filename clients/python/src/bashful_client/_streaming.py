"""Live output and news on their way from the service to one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import AsyncIterator, Callable, Deque, List, Optional

from .errors import BashfulError
from .messages import Chunk, Dropped, StreamItem, Update

#: Output that waits for a slow reader, in bytes. The service keeps as much for itself, and some is on its way between both.
MOST_WAITING = 1 << 20


class ChunkQueue:
    """Pieces that the reader has not taken yet.

    A queue that drops leaves out the oldest pieces beyond the limit, and says so in their place. A queue that waits takes
    everything. At the limit it pauses the stream by `on_pause`, and resumes it when the reader has taken the pieces.
    """

    def __init__(self, drops: bool) -> None:
        self._drops = drops
        #: Set by the connection.
        self.on_pause: Callable[[bool], None] = lambda is_paused: None
        self._paused = False
        self._items: Deque[StreamItem] = deque()
        self._bytes = 0
        self._over = False
        self._discards = False
        self._wake = asyncio.Event()

    def put(self, item: StreamItem) -> None:
        if self._discards:
            return
        missing = 0
        if isinstance(item, Chunk):
            self._bytes += len(item.data)
            while self._drops and self._bytes > MOST_WAITING and self._items:
                missing += self._drop_oldest()
        if missing:
            self._items.appendleft(Dropped(missing))
        self._items.append(item)
        self._wake.set()
        if not self._drops and self._bytes >= MOST_WAITING:
            self._pause(True)

    def _pause(self, is_paused: bool) -> None:
        if self._paused != is_paused:
            self._paused = is_paused
            self.on_pause(is_paused)

    def _drop_oldest(self) -> int:
        oldest = self._items.popleft()
        if isinstance(oldest, Dropped):
            return oldest.bytes
        self._bytes -= len(oldest.data)
        return len(oldest.data)

    def drop_from_now_on(self) -> None:
        """The service has begun to end, and pauses no more."""
        self._drops = True

    def finish(self) -> None:
        """No piece follows."""
        self._over = True
        self._wake.set()

    def discard(self) -> None:
        """Nobody reads any more."""
        self._discards = True
        self._items.clear()
        self._bytes = 0
        self.finish()
        self._pause(False)

    async def take(self) -> Optional[List[StreamItem]]:
        """All pieces that are here, at least one; None after the last."""
        while not self._items:
            if self._over:
                return None
            self._wake.clear()
            await self._wake.wait()
        items = list(self._items)
        self._items.clear()
        self._bytes = 0
        self._pause(False)
        return items


class UpdateBoard:
    """The newest update of a job. A reader that is behind misses older ones, never the last."""

    def __init__(self, listener: Optional[Callable[[Update], None]] = None) -> None:
        self._listener = listener
        self._latest: Optional[Update] = None
        self._error: Optional[BashfulError] = None
        # Replaced at every change, so that each reader sees each change once.
        self._changed = asyncio.Event()

    def put(self, update: Update) -> None:
        self._latest = update
        self._tell()
        if self._listener is not None:
            # An error of the listener is its own, and not one of the connection.
            asyncio.get_running_loop().call_soon(self._listener, update)

    def fail(self, error: BashfulError) -> None:
        """The service has ended. The job goes on."""
        self._error = error
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self) -> AsyncIterator[Update]:
        seen: Optional[Update] = None
        while True:
            changed = self._changed
            if self._latest is not None and self._latest is not seen:
                seen = self._latest
                yield seen
                if seen.is_last:
                    return
            elif self._error is not None:
                raise self._error
            else:
                await changed.wait()
