"""Waiting for a server to come back: exponential back-off with jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .errors import ApiError, HeadwaterError


@dataclass(frozen=True)
class Retry:
    """How a stream that broke is opened again."""

    #: The upper bound of the first delay, in seconds.
    first_delay: float = 0.2
    #: The upper bound of all delays.
    max_delay: float = 5.0
    #: How often in a row, without progress, a connection is attempted again; None: without limit.
    max_retries: int | None = None


class Delays:
    """The delays of one period in which the server is not available."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._attempt = 0

    def reset(self) -> None:
        """To be called after progress: the next failure begins a new period."""
        self._attempt = 0

    def next(self, error: HeadwaterError) -> float:
        """The delay before the next attempt. Raises the error if there were too many.

        It is between half of a bound, which doubles each time, and all of it.
        """
        retry = self._retry
        if retry.max_retries is not None and self._attempt >= retry.max_retries:
            raise error
        bound = min(retry.max_delay, retry.first_delay * 2.0 ** min(self._attempt, 30))
        self._attempt += 1
        delay = bound * random.uniform(0.5, 1)
        asked = error.retry_after if isinstance(error, ApiError) else None
        return delay if asked is None else max(asked, delay)
