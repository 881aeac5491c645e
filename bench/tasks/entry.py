"""What stands in the list of tasks: a name, the data it needs, and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .evaluations import Row, Shape, read_evaluation
from .task import Task

__all__ = ["Entry", "Request"]


@dataclass(frozen=True)
class Request:
    """What a task is made from.

    Attributes:
        name: the name that it goes by.
        words: what it is.
        seed: what all that is drawn depends on.
        path: its file of queries, None for a task without.
        shape: shape of that file.
    """

    name: str
    words: str
    seed: int
    path: Path | None = None
    shape: Shape | None = None

    def rows(self) -> list[Row]:
        """Returns the lines of its file of queries.

        Raises:
            ParseError: the file is broken.
            DataMissing: there is no such file.
        """
        if self.path is None or self.shape is None:
            raise ValueError(f"task {self.name} has no file of queries")
        return read_evaluation(self.path, self.shape)


@dataclass(frozen=True)
class Entry:
    """One task of the list.

    Attributes:
        name: ``family/variant``.
        words: what it is, where it comes from, and its traps.
        domains: ready domains whose files it needs.
        make: returns the task.
        shape: its file of queries, None for a task without.
        seeds: the seeds that it is run under; one where nothing is drawn.
        check: raises DataMissing where something else that it needs is not there.
    """

    name: str
    words: str
    domains: tuple[str, ...]
    make: Callable[[Request], Task]
    shape: Shape | None = None
    seeds: tuple[int, ...] = (0,)
    check: Callable[[], object] | None = None
