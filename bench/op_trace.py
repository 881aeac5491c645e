"""Where the time of a backend on a device goes, kernel by kernel, by torch's profiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..ops.device_loop import TensorOps
from .op_problems import Problem
from .op_stages import device_stages

__all__ = ["device_trace"]

_ROWS = 15


def device_trace(ops: TensorOps, problem: Problem, path: str | Path) -> str:
    """Returns a table of the kernels that take longest; the whole trace goes into ``path``, for any trace viewer.

    Args:
        ops: a backend that keeps its arrays on a device.
        problem: what it works on, each stage once, after a first time that is not recorded.
        path: a file that is written, JSON in the format of Chrome's traces.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    on_gpu = ops.resident.device == "cuda"
    stages = device_stages(ops, problem)
    for stage in stages:
        stage.call()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as recorded:
        for stage in stages:
            with record_function(stage.name):
                stage.call()
                if on_gpu:
                    torch.cuda.synchronize()
    recorded.export_chrome_trace(str(path))
    averages: Any = recorded.key_averages()
    return str(averages.table(sort_by="device_time_total" if on_gpu else "cpu_time_total", row_limit=_ROWS))
