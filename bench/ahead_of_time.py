"""What the device compilers make of our kernels, without a device: ``python -m sma_gpu.bench.ahead_of_time``.

Prints registers, stack frame and spills of every kernel, for sm_80 and sm_90. A stack frame or a spill is a fault (exit
status 1). CUDA C++ goes through NVRTC (of the package nvidia-cuda-nvrtc), which is what CuPy compiles with, and through
nvcc where it is installed; Triton compiles with what it brings.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..kernels.triton import launch

__all__ = [
    "ARCHITECTURES",
    "Resources",
    "compilers",
    "cuda_resources",
    "main",
    "table",
    "triton_lacks",
    "triton_resources",
]

ARCHITECTURES = (80, 90)
CUDA_SOURCES = Path(__file__).resolve().parent.parent / "kernels" / "cuda"

_FUNCTION = re.compile(
    r"Function properties for (\w+)\s*\n?.*?(\d+) bytes stack frame.*?(\d+) bytes spill stores", re.S
)
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Resources:
    """What one kernel takes.

    Attributes:
        kernel: its name; for Triton with the variant.
        architecture: 80 for sm_80.
        compiler: what compiled it, with version.
        registers: per thread.
        stack: bytes per thread.
        spills: CUDA C++: bytes of spill stores; Triton: loads and stores of local memory in the code.
        shared: bytes of shared memory per block.
    """

    kernel: str
    architecture: int
    compiler: str
    registers: int
    stack: int
    spills: int
    shared: int


def compilers() -> list[str]:
    """Returns which compilers of CUDA C++ are here: ``nvrtc``, which CuPy uses, and ``nvcc``."""
    return [*(["nvrtc"] if _nvrtc_library() else []), *(["nvcc"] if shutil.which("nvcc") else [])]


def cuda_resources(architecture: int, compiler: str) -> Iterator[Resources]:
    """Yields what each CUDA C++ kernel takes on one architecture."""
    for source in sorted(CUDA_SOURCES.glob("*.cu")):
        name, log = (_nvcc if compiler == "nvcc" else _nvrtc)(source, architecture)
        found = _FUNCTION.search(log)
        used, shared = _USED.search(log), _SHARED.search(log)
        if not found or not used:
            raise RuntimeError(f"{name} said nothing of the registers of {source.name}:\n{log}")
        stack, spills = int(found[2]), int(found[3])
        yield Resources(found[1], architecture, name, int(used[1]), stack, spills, int(shared[1]) if shared else 0)


def triton_lacks() -> str:
    """Returns what the compilation of the Triton kernels lacks here, or an empty string."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "TRITON_INTERPRET is set, which replaces the compiler"
    return "" if importlib.util.find_spec("triton") else "triton is not installed"


def triton_resources(architecture: int) -> Iterator[Resources]:
    """Yields what each Triton kernel takes on one architecture, in every variant that is launched."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from ..kernels.triton import select

    words = {"factor_shift": 22, "quotient_shift": 24}
    variants: list[tuple[str, str, dict[str, Any]]] = [
        ("rank_keys_kernel", f" ({name})", {"BY_FACTOR": factor, "GREATER": greater, **_upper(words)})
        for name, factor, greater in (("power", True, False), ("max", False, True), ("min", False, False))
    ]
    variants += [(name, "", {}) for name in launch.CONFIGURATIONS if name != "rank_keys_kernel"]
    for name, label, more in variants:
        kernel = getattr(select, name)
        how = launch.CONFIGURATIONS[name]
        constants = {**how.constants, **more}
        types = _types_of(kernel.fn)
        signature = {p.name: "constexpr" if p.name in constants else types[p.name] for p in kernel.params}
        aligned = {
            (at,): [["tt.divisibility", 16]] for at, p in enumerate(kernel.params) if signature[p.name][0] == "*"
        }
        built = triton.compile(
            ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned),
            target=GPUTarget("cuda", architecture, 32),
            options={"num_warps": how.warps},
        )
        use = _cubin_tool("cuobjdump", built.asm["cubin"], "-res-usage")
        registers, stack = (int(re.search(rf"{word}:(\d+)", use)[1]) for word in ("REG", "STACK"))  # type: ignore[index]
        code = _cubin_tool("nvdisasm", built.asm["cubin"], "-c")
        local = len(re.findall(r"\b(?:LDL|STL)\b", code))
        yield Resources(
            name + label, architecture, f"triton {triton.__version__}", registers, stack, local, built.metadata.shared
        )


def _upper(words: dict[str, int]) -> dict[str, int]:
    return {name.upper(): value for name, value in words.items()}


def _types_of(function: Any) -> dict[str, str]:
    """Returns the device type of each parameter, read from the comment beside it (``int32 [B, N]``); sizes are i32."""
    found = {}
    for line in inspect.getsource(function).splitlines():
        parameter = re.match(r"\s+(\w+),\s+# (?:int(32|64) \[)?", line)
        if parameter:
            found[parameter[1]] = f"*i{parameter[2]}" if parameter[2] else "i32"
    return found


def _cubin_tool(name: str, cubin: bytes, option: str) -> str:
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([tool, option, file.name], capture_output=True, text=True, check=True).stdout


def _nvcc(source: Path, architecture: int) -> tuple[str, str]:
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"V([\d.]+)", version)
    with tempfile.TemporaryDirectory() as folder:
        command = ["nvcc", f"-arch=sm_{architecture}", "-std=c++17", "-cubin", "-Xptxas", "-v"]
        done = subprocess.run(
            [*command, "-o", os.path.join(folder, "out.cubin"), str(source)], capture_output=True, text=True
        )
    if done.returncode:
        raise RuntimeError(f"nvcc refuses {source.name}:\n{done.stderr}")
    return f"nvcc {release[1] if release else '?'}", done.stdout + done.stderr


def _nvrtc_library() -> str:
    """Returns the path of the NVRTC of the package nvidia-cuda-nvrtc, or an empty string."""
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        for library in sorted(Path(place).glob("**/libnvrtc.so.*")):
            if "builtins" not in library.name and "alt" not in library.name:
                return str(library)
    return ""


def _nvrtc(source: Path, architecture: int) -> tuple[str, str]:
    path = Path(_nvrtc_library())
    for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):  # NVRTC looks for it by name alone
        ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(path))
    major, minor, program, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    text = source.read_bytes()
    library.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
    options = [f"--gpu-architecture=sm_{architecture}".encode(), b"-std=c++17", b"--ptxas-options=-v"]
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    said = log.value.decode(errors="replace")
    if status:
        raise RuntimeError(f"NVRTC refuses {source.name}:\n{said}")
    return f"nvrtc {major.value}.{minor.value}", said


def main() -> None:
    """Compiles, prints a table, and exits with 1 where a kernel has a stack frame or spills."""
    parser = argparse.ArgumentParser(prog="python -m sma_gpu.bench.ahead_of_time", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args()
    rows: list[Resources] = []
    for architecture in ARCHITECTURES:
        for compiler in compilers():
            rows += cuda_resources(architecture, compiler)
        if not triton_lacks():
            rows += triton_resources(architecture)
    rows.sort(key=lambda r: (r.kernel, r.architecture, r.compiler))
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print(table(rows))
    no_cuda = "" if compilers() else "neither nvcc nor the package nvidia-cuda-nvrtc is here"
    for lacks in filter(None, (no_cuda, triton_lacks())):
        print(f"not compiled: {lacks}", file=sys.stderr)
    if not rows:
        sys.exit(3)
    sys.exit(1 if any(row.stack or row.spills for row in rows) else 0)


def table(rows: list[Resources]) -> str:
    """Returns the rows as a table in Markdown."""
    lines = [
        "| kernel | architecture | registers | stack | spills | shared bytes | compiler |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.kernel} | sm_{row.architecture} | {row.registers} | {row.stack} | {row.spills} | {row.shared} "
        f"| {row.compiler} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
