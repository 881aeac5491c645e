"""Every device kernel compiles for sm_80 and sm_90 without a device, with no stack frame and no spill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.bench import ahead_of_time
from sma_gpu.bench.ahead_of_time import ARCHITECTURES, compilers, cuda_resources, triton_lacks

ROOT = Path(__file__).resolve().parents[2]
NO_CUDA = "neither nvcc nor the package nvidia-cuda-nvrtc is here"
needs_triton = pytest.mark.skipif(bool(triton_lacks()), reason=triton_lacks())


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cuda_sources_keep_to_registers(architecture: int, compiler: str) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not here")
    rows = list(cuda_resources(architecture, compiler))
    assert {row.kernel for row in rows} == {"accumulate_kernel", "assign_kernel"}
    for row in rows:
        assert (row.stack, row.spills) == (0, 0), row
        assert row.shared <= 48 << 10, row


@pytest.fixture(scope="module")
def in_a_process(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[dict[str, Any]]]:
    """Compiles in a process of its own: the interpreter of other tests leaves Triton's language changed in this one."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))

    def resources(before: str) -> list[dict[str, Any]]:
        code = (
            "import dataclasses, json\n"
            "from sma_gpu.bench.ahead_of_time import ARCHITECTURES, launch, triton_resources\n"
            f"{before}\n"
            "print(json.dumps([dataclasses.asdict(r) for a in ARCHITECTURES for r in triton_resources(a)]))\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    return resources


@needs_triton
def test_triton_kernels_keep_to_registers(in_a_process: Callable[[str], list[dict[str, Any]]]) -> None:
    rows = in_a_process("")
    assert len(rows) == 6 * len(ARCHITECTURES)
    for row in rows:
        assert (row["stack"], row["spills"]) == (0, 0), row
        assert row["shared"] <= 48 << 10, row


def test_the_gate_sees_a_stack_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compilers():
        pytest.skip(NO_CUDA)
    (tmp_path / "bad.cu").write_text(
        'extern "C" __global__ void bad_kernel(int* out, int at) {\n'
        "  int held[400];\n"
        "  for (int i = 0; i < 400; i++) held[out[i] & 255] = i;\n"
        "  out[threadIdx.x] = held[at];\n"
        "}\n"
    )
    monkeypatch.setattr(ahead_of_time, "CUDA_SOURCES", tmp_path)
    for compiler in compilers():
        assert all(row.stack > 0 for row in cuda_resources(90, compiler))


@needs_triton
def test_the_gate_sees_spills_of_triton(in_a_process: Callable[[str], list[dict[str, Any]]]) -> None:
    rows = in_a_process("launch.CONFIGURATIONS['sort_kernel'].constants.update(ROWS=256, CHUNK=128)")
    assert any(row["spills"] > 0 and row["stack"] > 0 for row in rows)


def test_a_source_that_does_not_compile_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compilers():
        pytest.skip(NO_CUDA)
    (tmp_path / "bad.cu").write_text('extern "C" __global__ void bad_kernel() { nonsense; }\n')
    monkeypatch.setattr(ahead_of_time, "CUDA_SOURCES", tmp_path)
    for compiler in compilers():
        with pytest.raises(RuntimeError, match="nonsense"):
            list(cuda_resources(90, compiler))
