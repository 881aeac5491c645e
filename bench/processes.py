"""Arms in processes of their own, asked in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["ArmFault", "Process", "environment_of_arms"]

_ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


class ArmFault(Exception):
    """An arm could not do what was asked; the text says why."""


def environment_of_arms(threads: int = 1, before: str | None = None) -> dict[str, str]:
    """Returns the environment of an arm: so many threads for whoever asks, and a folder in front of the import path."""
    found = {**os.environ, **dict.fromkeys(_ONE_THREAD, str(threads))}
    if before:
        found["PYTHONPATH"] = os.pathsep.join([before, *filter(None, [os.environ.get("PYTHONPATH")])])
    return found


@dataclass
class Process:
    """A process that holds one arm; use it in a ``with`` block, which ends it.

    Args:
        folder: where the workload was stored.
        before: a folder in front of its import path.
        threads: how many it may use.
    """

    folder: Path
    before: str | None = None
    threads: int = 1
    _process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sma_gpu.bench.arm_process", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment_of_arms(self.threads, self.before),
        )

    def ask(self, do: str, **more: Any) -> Any:
        """Returns the answer.

        Raises:
            ArmFault: the arm failed, or its process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ArmFault(f"its process ended with status {self._process.wait()}")
        found = json.loads(line)
        if "fault" in found:
            raise ArmFault(found["fault"])
        return found["answer"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
