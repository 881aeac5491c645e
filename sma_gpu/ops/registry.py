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
        devices: where it can work, the preferred one first: ``cpu``, ``cuda``.
        missing: returns what it lacks here, or an empty string when it can serve.
        load: returns its ops; called only when ``missing()`` is empty.
        install: the line that brings what is missing, or what to do instead.
    """

    name: str
    devices: tuple[str, ...]
    missing: Callable[[], str]
    load: Callable[[], Ops]
    install: str = ""


# Best first: an automatic choice takes the first that can serve.
_BACKENDS = (Backend("reference", ("cpu",), missing=lambda: "", load=ReferenceOps),)


def backends() -> tuple[Backend, ...]:
    """Returns all backends, the one that an automatic choice prefers first."""
    return _BACKENDS


def choose(name: str = AUTO, device: str = AUTO) -> tuple[str, Ops]:
    """Returns the name and the ops of a backend.

    Args:
        name: a backend, which then must serve, or ``auto``.
        device: a device that it must work on, or ``auto``.

    Raises:
        BackendUnavailable: ``name`` is unknown, lacks something here, or does not work on ``device``.
    """
    asked = f"backend {name} on device {device}"
    named = [b for b in _BACKENDS if name in (AUTO, b.name)]
    if not named:
        known = ", ".join(b.name for b in _BACKENDS)
        raise BackendUnavailable(asked, f"this release has {known}", f"Use one of them, or {AUTO}.")
    fitting = [b for b in named if device in (AUTO, *b.devices)]
    if not fitting:
        served = "; ".join(f"{b.name} works on {', '.join(b.devices)}" for b in named)
        raise BackendUnavailable(asked, served, f"Use one of these devices, or {AUTO}.")
    for backend in fitting:
        if not backend.missing():
            return backend.name, backend.load()
    raise BackendUnavailable(asked, "; ".join(f"{b.name}: {b.missing()}" for b in fitting), fitting[0].install)
