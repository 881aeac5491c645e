"""Which backends there are, which can serve here, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from ..errors import BackendUnavailable
from . import cuda, torch_backend
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
        load_on: returns its ops on a device, or on the best one for ``auto``; for a backend that has several. It raises
            BackendUnavailable where the device is not there.
        install: the line that brings what is missing, or what to do instead.
        pays_from: bounds to be computed, from which on it answers sooner than the next one in spite of its start; an
            automatic choice leaves it alone below.
    """

    name: str
    devices: tuple[str, ...]
    missing: Callable[[], str]
    load: Callable[[], Ops]
    install: str = ""
    load_on: Callable[[str], Ops] | None = None
    pays_from: int = 0


def _cpu_missing() -> str:
    return "" if find_spec("numba") else "the package numba is not installed"


@cache
def _cpu_ops() -> Ops:
    from .cpu import CpuOps  # imports numba, which takes longer than a query does by the reference

    return CpuOps()


# Best first: an automatic choice takes the first that can serve.
_BACKENDS = (
    Backend(
        "cpu",
        ("cpu",),
        missing=_cpu_missing,
        load=_cpu_ops,
        install="Run: pip install 'sma_gpu[cpu]'",
        pays_from=1 << 23,  # 660 queries of 12,679 cases: half a second by the reference, as long as the start takes
    ),
    Backend("reference", ("cpu",), missing=lambda: "", load=ReferenceOps),
    # Behind the reference, so that it serves only who names it or asks for its other device: on a CPU it is no faster.
    Backend(
        "torch",
        ("cpu", "cuda"),
        missing=torch_backend.missing,
        load=lambda: torch_backend.torch_ops(AUTO),
        install="Run: pip install 'sma_gpu[torch]'",
        load_on=torch_backend.torch_ops,
    ),
    # Last, so that it serves only who names it, until its parity was seen on a real device.
    Backend("cuda", ("cuda",), missing=cuda.missing, load=cuda.cuda_ops, install=cuda.INSTALL),
)


def backends() -> tuple[Backend, ...]:
    """Returns all backends, the one that an automatic choice prefers first."""
    return _BACKENDS


def choose(name: str = AUTO, device: str = AUTO, *, cells: int = 0) -> tuple[str, Ops]:
    """Returns the name and the ops of a backend.

    Args:
        name: a backend, which then must serve, or ``auto``.
        device: a device that it must work on, or ``auto``.
        cells: how many bounds will be asked, queries times cases. An automatic choice takes this into account, and
            nothing else that may differ between two runs; unless told, it expects few.

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
    lacking = {b.name: b.missing() for b in fitting}
    able = [b for b in fitting if not lacking[b.name]]
    if name == AUTO:
        able = [b for b in able if b.pays_from <= cells] or able
    for backend in able:
        try:
            return backend.name, backend.load_on(device) if backend.load_on else backend.load()
        except ImportError as fault:  # it is installed, and does not fit what is beside it
            lacking[backend.name] = str(fault)
    raise BackendUnavailable(asked, "; ".join(f"{n}: {why}" for n, why in lacking.items() if why), fitting[0].install)
