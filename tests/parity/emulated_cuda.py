"""The cuda backend over the CPU shim and Triton's interpreter: all of its host code, and no device."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from parity.cuda_on_cpu import Library

from sma_gpu.kernels.cuda import launch as cuda_launch
from sma_gpu.kernels.triton import launch as triton_launch
from sma_gpu.ops import cuda
from sma_gpu.ops.cuda import CudaOps
from sma_gpu.ops.device_arrays import Resident

__all__ = ["emulate", "emulated", "interpreted", "on_device"]

_LACKS = ", ".join(
    [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
    + (["g++"] if shutil.which("g++") is None else [])
)
emulated = pytest.mark.skipif(bool(_LACKS), reason=f"not installed: {_LACKS}")

on_device: list[str] = []  # names of the kernels at work, innermost last


@contextmanager
def interpreted() -> Iterator[Any]:
    """Yields a copy of the Triton kernels for the interpreter: Triton decides where one runs when it decorates it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        spec = importlib.util.spec_from_file_location(
            "interpreted", Path(triton_launch.__file__).with_name("select.py")
        )
        assert spec is not None and spec.loader is not None
        kernels = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(kernels)
        yield kernels


def emulate(library: Library, kernels: Any, patch: pytest.MonkeyPatch) -> CudaOps:
    """Returns the backend over the shim and the interpreter."""
    import torch

    select = triton_launch.select

    def start(name: str, grid: Any, threads: int, *arguments: Any) -> None:
        library.start(name, 11, grid, [a.numpy() if isinstance(a, torch.Tensor) else a for a in arguments])

    def marked(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            on_device.append(name)
            try:
                return call(*given, **named)
            finally:
                on_device.pop()

        return run

    patch.setattr(cuda_launch, "_start", marked("cuda", start))
    patch.setattr(cuda_launch, "assign_room", lambda: (3, 1 << 20))
    patch.setattr(triton_launch, "select", marked("triton", lambda *a, **more: select(*a, **more, kernels=kernels)))
    patch.setattr(cuda, "_device", lambda asked: nullcontext())
    patch.setattr(cuda, "Resident", lambda _: Resident("cpu"))
    return CudaOps()
