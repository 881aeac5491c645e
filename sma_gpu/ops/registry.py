"""Which backends there are, which can serve here, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import BackendUnavailable
from .contract import Ops
from .reference import ReferenceOps

__all__ = ["AUTO", "Backend", "backends", "choose"]

AUTO = "auto"


@dataclass(frozen=True)
class Backend:
    """One implementation of the ops.

    Attributes:
        name: what ``--backend`` takes.
        missing: returns what it lacks here, or an empty string when it can serve.
        load: returns its ops; called only when ``missing()`` is empty.
        install: the line that brings what is missing, or what to do instead.
    """

    name: str
    missing: Callable[[], str]
    load: Callable[[], Ops]
    install: str = ""


# Best first: an automatic choice takes the first that can serve.
_BACKENDS = (Backend("reference", missing=lambda: "", load=ReferenceOps),)


def backends() -> tuple[Backend, ...]:
    """Returns all backends, the one that an automatic choice prefers first."""
    return _BACKENDS


def choose(name: str = AUTO) -> tuple[str, Ops]:
    """Returns the name and the ops of a backend.

    Args:
        name: a backend, which then must serve, or ``auto``.

    Raises:
        BackendUnavailable: ``name`` is unknown, or lacks something here.
    """
    for backend in _BACKENDS:
        missing = backend.missing()
        if name == AUTO and not missing:
            return backend.name, backend.load()
        if name == backend.name:
            if missing:
                raise BackendUnavailable(f"backend {name}", missing, backend.install)
            return name, backend.load()
    known = ", ".join(b.name for b in _BACKENDS)
    raise BackendUnavailable(f"backend {name}", f"this release has {known}", f"Use one of them, or {AUTO}.")
