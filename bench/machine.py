"""What a measurement ran on, and the clocks that it is taken with."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..version import __version__

__all__ = ["Clock", "environment", "package_version", "peak_mb"]

_PACKAGES = ("numpy", "scipy", "numba", "torch", "triton", "cupy-cuda13x", "cupy-cuda12x")


class Clock:
    """CPU seconds of this process, all its threads, and seconds that went by, since it was made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> dict[str, float]:
        """Returns ``{"cpu_s", "wall_s"}``."""
        return {"cpu_s": time.process_time() - self._cpu, "wall_s": time.perf_counter() - self._wall}


def peak_mb() -> float:
    """Returns the most memory that this process has held since its programme started, in MB, its imports included."""
    # Not getrusage: what that tells, a process takes over from the one that started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def environment(*, on_device: bool = False) -> dict[str, Any]:
    """Returns versions and, for measurements on a GPU, what it is and which driver it has."""
    found: dict[str, Any] = {
        "sma_gpu": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        **{name: held for name in _PACKAGES if (held := package_version(name))},
    }
    if on_device:
        import torch

        found["device"] = torch.cuda.get_device_name()
        found["capability"] = "sm_{}{}".format(*torch.cuda.get_device_capability())
        found["torch_cuda"] = str(torch.version.cuda)
        if "cupy-cuda13x" in found or "cupy-cuda12x" in found:
            import cupy

            found["driver_cuda"] = str(cupy.cuda.runtime.driverGetVersion())
    return found


def _processor() -> str:
    named = [line for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if "model name" in line]
    return named[0].partition(":")[2].strip() if named else ""


def package_version(distribution: str) -> str | None:
    """Returns the version of an installed package, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
