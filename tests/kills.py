"""A process that is killed while it saves, at a chosen point."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

CALLS = ("open", "ftruncate", "write", "fsync", "replace", "unlink", "close")


def killed(
    save: Callable[[], object],
    *,
    step: int | None = None,
    before: str | None = None,
    after: str | None = None,
    written: int | None = None,
) -> bool:
    """Runs ``save`` in a child process that kills itself, and returns whether it was killed before it was done.

    Args:
        save: what to do.
        step: kill before so many calls of the system were made.
        before: kill before the first call of this name.
        after: kill after the first call of this name.
        written: kill once so many bytes are written.
    """
    child = os.fork()
    if not child:
        try:
            _arm(step, before, after, written)
            save()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the save failed before it could be killed"
    return os.WIFSIGNALED(status)


def _arm(step: int | None, before: str | None, after: str | None, written: int | None) -> None:
    count = total = 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal count, total
            if count == step or name == before:
                die()
            count += 1
            if name == "write" and written is not None and total + len(args[1]) >= written:
                if written > total:
                    real(args[0], args[1][: written - total])
                die()
            result = real(*args)
            total += result if name == "write" else 0
            if name == after:
                die()
            return result

        return call

    for name in CALLS:
        setattr(os, name, watched(name, getattr(os, name)))
