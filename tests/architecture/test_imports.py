"""The house rules that a parser can check: import direction, circles, length, printing, pickle, module names.

``violations`` returns them for any tree of the same layout; the first tests run it on this repository, the others on
small trees that offend on purpose, so that each rule is known to be able to fail.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = "sma_gpu"
LINKED = ("kernels", "ontologies", "bench")

# Lowest first; a package imports itself and those before it. "" is the package's own __init__, which re-exports.
ORDER = (
    "version", "errors", "kernels", "lattice", "ontologies", "cases", "scoring", "ops", "retrieval", "trust", "memory",
    "answers", "", "cli", "__main__",
)  # fmt: skip
RANK = {name: position for position, name in enumerate(ORDER)}

# The commands that run the bench. They alone of all modules outside it import it, and only while they run, so that
# no other command waits for it.
BENCH_COMMANDS = ("sma_gpu.cli.bench", "sma_gpu.cli.bench_speed", "sma_gpu.cli.bench_trust", "sma_gpu.cli.ops")

MAY_PRINT = ("cli", "bench")
MAX_LINES = 450
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
PICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}


class Module:
    """One parsed module of the tree under its dotted name."""

    def __init__(self, path: Path, name: str, *, is_package: bool) -> None:
        self.path = path
        self.name = name
        self.is_package = is_package
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text, filename=str(path))

    @property
    def parents(self) -> list[str]:
        """The packages this module stands in, innermost first; a package's __init__ does not stand in itself."""
        parts = self.name.split(".")
        return [".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]

    @property
    def house(self) -> str:
        """The direct child of the package that this module belongs to; "" for the package's __init__."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""


def modules_of(root: Path) -> dict[str, Module]:
    """Returns the modules of the package in ``root``, links followed, by dotted name."""
    found = {}
    for folder, _, files in sorted(os.walk(root / PACKAGE, followlinks=True)):
        for file in sorted(files):
            if file.endswith(".py"):
                path = Path(folder, file)
                parts = list(path.relative_to(root).with_suffix("").parts)
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                found[name] = Module(path, name, is_package=is_package)
    return found


def named_imports(module: Module) -> Iterator[tuple[int, str, list[str]]]:
    """Yields (line, absolute base, names taken from it) of each import statement, wherever it stands in the module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
                kept = here[: len(here) - node.level + 1]
                base = ".".join([*kept, *([base] if base else [])])
            yield node.lineno, base, [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in {"importlib.import_module", "import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value), []


def our_imports(module: Module, modules: dict[str, Module]) -> Iterator[tuple[int, str]]:
    """Yields (line, dotted name) of each module of ours that ``module`` asks for."""
    for line, base, names in named_imports(module):
        if base != PACKAGE and not base.startswith(PACKAGE + "."):
            continue
        as_modules = [f"{base}.{name}" for name in names if f"{base}.{name}" in modules]
        yield from ((line, target) for target in as_modules)
        # A plain `import a.b` and a name that is no module both ask for the base itself.
        if len(as_modules) < len(names) or not names:
            yield line, base


def lazy_lines(module: Module) -> set[int]:
    """Returns the lines of all that runs when a function is called, and not when ``module`` is imported."""
    functions = [n for n in ast.walk(module.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for function in functions for statement in function.body for node in ast.walk(statement)]
    return {node.lineno for node in inside if isinstance(node, ast.stmt | ast.expr)}


def edges(module: Module, modules: dict[str, Module]) -> Iterator[tuple[int, str]]:
    """Yields (line, dotted name) of what runs when ``module`` is imported: the targets and the packages above them."""
    for line, target in our_imports(module, modules):
        yield line, target
        parts = target.split(".")
        for n in range(2, len(parts)):
            above = ".".join(parts[:n])
            if above in modules and above != module.name and above not in module.parents:
                yield line, above


def direction_faults(modules: dict[str, Module]) -> Iterator[str]:
    """Yields imports that go upward, into bench, out of kernels, or into a package the importer stands in.

    Bench stands on top of everything but the command line, of which ``BENCH_COMMANDS`` alone reach it, and lazily.
    """
    for module in modules.values():
        if module.house not in RANK and module.house != "bench":
            yield f"{module.name}: sma_gpu.{module.house} has no place in the import order; give it one"
            continue
        on_top = module.house in {"bench", "cli", "__main__"}
        lazy = lazy_lines(module)
        for line, target in our_imports(module, modules):
            where = f"{module.name}:{line} imports {target}"
            parts = target.split(".")
            house = parts[1] if len(parts) > 1 else ""
            if target not in modules:
                yield f"{where}, which is not there"
            elif target == module.name or (target in module.parents and not (target == PACKAGE and on_top)):
                yield f"{where}, the __init__ of a package it stands in"
            elif module.house == "kernels" and house != "kernels":
                yield f"{where}; kernels import nothing of ours"
            elif house == "bench" and module.house != "bench":
                if module.name not in BENCH_COMMANDS:
                    yield f"{where}; nothing imports bench but {' and '.join(BENCH_COMMANDS)}"
                elif line not in lazy:
                    yield f"{where}; bench is imported when a command runs, not before"
            elif module.house == "bench" and house in {"cli", "__main__"}:
                yield f"{where}; bench does not import the command line"
            elif module.house != "bench" and house not in RANK:
                yield f"{where}, which has no place in the import order"
            elif module.house != "bench" and RANK[house] > RANK[module.house]:
                yield f"{where}, which is above it"


def circle_faults(modules: dict[str, Module]) -> Iterator[str]:
    """Yields one closed chain of imports for each group of modules that reach each other."""
    graph = {name: sorted({target for _, target in edges(module, modules)}) for name, module in modules.items()}
    # The package's __init__ re-exports everything and runs first whatever is imported, so nothing below may name it
    # (direction_faults sees to that) and it closes no circle.
    done: set[str] = set()
    reported: set[str] = set()

    def walk(name: str, trail: list[str]) -> Iterator[str]:
        if name in trail:
            chain = trail[trail.index(name) :]
            if not reported & set(chain):
                reported.update(chain)
                yield "circle: " + " -> ".join([*chain, name])
            return
        if name in done or name not in graph:
            return
        for target in graph[name]:
            yield from walk(target, [*trail, name])
        done.add(name)

    for name in sorted(graph):
        yield from walk(name, [])


def content_faults(modules: dict[str, Module]) -> Iterator[str]:
    """Yields printing outside cli and bench, pickle, vague module names and modules that are too long."""
    for module in modules.values():
        if module.name.rpartition(".")[2] in VAGUE_NAMES:
            yield f"{module.name}: the name says nothing about what is inside"
        lines = module.text.count("\n")
        if lines > MAX_LINES:
            yield f"{module.name}: {lines} lines, more than {MAX_LINES}"
        for line, base, names in named_imports(module):
            if base.split(".")[0] in PICKLERS:
                yield f"{module.name}:{line} imports {base}; no pickle"
            if module.house not in MAY_PRINT and (base == "pprint" or (base == "sys" and "stdout" in names)):
                yield f"{module.name}:{line} imports {base} to print"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
                yield f"{module.name}:{node.value.lineno} allows pickle"
            if module.house in MAY_PRINT:
                continue
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                yield f"{module.name}:{node.lineno} prints"
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.stdout", "sys.__stdout__"}:
                yield f"{module.name}:{node.lineno} uses standard output"


def bare_import_faults(root: Path) -> Iterator[str]:
    """Yields imports of the top-level folders by their bare name, in modules, tests, documents and notebooks."""
    in_text = re.compile(rf"^[\s>\"]*(?:from|import)\s+({'|'.join(LINKED)})\b(?!\s+[a-z]+ing\b)", re.MULTILINE)
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in {".git", ".venv", "build", "dist", "node_modules", "__pycache__"}
            and not name.endswith(".egg-info")
            and not name.startswith(".venv")
        )
        for file in sorted(files):
            path = Path(folder, file)
            shown = path.relative_to(root).as_posix()
            if file.endswith(".py"):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
                    bases: list[str] = []
                    if isinstance(node, ast.Import):
                        bases = [alias.name for alias in node.names]
                    elif isinstance(node, ast.ImportFrom) and not node.level:
                        bases = [node.module or ""]
                    for base in bases:
                        if base.split(".")[0] in LINKED:
                            yield f"{shown}:{node.lineno} imports {base}; write {PACKAGE}.{base}"
            elif file.endswith((".md", ".ipynb", ".toml", ".yml", ".yaml")) or file == "Makefile":
                text = path.read_text(encoding="utf-8")
                for match in in_text.finditer(text):
                    line = text.count("\n", 0, match.start(1)) + 1
                    yield f"{shown}:{line} imports {match.group(1)}; write {PACKAGE}.{match.group(1)}"


def violations(root: Path) -> list[str]:
    """Returns every broken house rule of the tree at ``root``, as lines to read."""
    modules = modules_of(root)
    return [
        *direction_faults(modules),
        *circle_faults(modules),
        *content_faults(modules),
        *bare_import_faults(root),
    ]


def test_imports_go_downward() -> None:
    faults = list(direction_faults(modules_of(REPOSITORY)))
    assert not faults, "\n" + "\n".join(faults)


def test_no_import_circles() -> None:
    faults = list(circle_faults(modules_of(REPOSITORY)))
    assert not faults, "\n" + "\n".join(faults)


def test_modules_are_short_silent_and_well_named() -> None:
    faults = list(content_faults(modules_of(REPOSITORY)))
    assert not faults, "\n" + "\n".join(faults)


def test_top_level_folders_are_imported_through_the_package() -> None:
    faults = list(bare_import_faults(REPOSITORY))
    assert not faults, "\n" + "\n".join(faults)


def test_links_are_relative_and_lead_to_the_top_level_folders() -> None:
    for name in LINKED:
        link = REPOSITORY / PACKAGE / name
        assert link.is_symlink(), f"{PACKAGE}/{name} must be a link, so that there is one copy of each module"
        assert os.readlink(link) == f"../{name}"
        assert (link / "__init__.py").is_file()


def test_all_parts_of_the_house_are_seen() -> None:
    houses = {module.house for module in modules_of(REPOSITORY).values()}
    assert houses >= {"kernels", "ontologies", "bench", "lattice", "cases", "scoring", "ops", "retrieval", "cli"}


CLEAN = {
    "sma_gpu/__init__.py": "from .errors import SmaError\nfrom .retrieval import retrieve\n",
    "sma_gpu/errors.py": "class SmaError(Exception): ...\n",
    "sma_gpu/lattice/__init__.py": "from .hops import hops\nfrom ..errors import SmaError\n",
    "sma_gpu/lattice/hops.py": "import numpy\nfrom ..errors import SmaError\nfrom .. import errors\n",
    "sma_gpu/retrieval/__init__.py": "from .mac import retrieve\n",
    "sma_gpu/retrieval/mac.py": "from ..lattice import hops\nfrom ..kernels import fast\nfrom . import bound\n",
    "sma_gpu/retrieval/bound.py": "from sma_gpu.lattice.hops import hops\n",
    "sma_gpu/cli/__init__.py": "from .. import retrieve\nprint(1)\n",
    "sma_gpu/cli/ops.py": "def ops():\n    from ..bench.speed import retrieve\n    print(retrieve)\n",
    "sma_gpu/cli/bench.py": "def bench():\n    if 1:\n        from ..bench import speed\n        print(speed)\n",
    "kernels/__init__.py": "",
    "kernels/fast.py": "import numpy\n",
    "ontologies/__init__.py": "from .reader import read\n",
    "ontologies/reader.py": "from ..lattice.hops import hops\nread = hops\n",
    "bench/__init__.py": "",
    "bench/speed.py": "from sma_gpu import retrieve\nfrom ..retrieval.mac import retrieve\nprint(2)\n",
    "README.md": "Import kernels through the package: `import sma_gpu.kernels`.\n",
}

OFFENCES = [
    ("sma_gpu/lattice/hops.py", "from ..retrieval.mac import retrieve\n", "above it"),
    ("sma_gpu/lattice/hops.py", "def f():\n    from sma_gpu import retrieval\n", "above it"),
    ("sma_gpu/lattice/hops.py", "from ..ontologies import reader\n", "above it"),
    ("sma_gpu/lattice/hops.py", "import importlib\nimportlib.import_module('sma_gpu.cli')\n", "above it"),
    ("sma_gpu/lattice/hops.py", "import sma_gpu\n", "the __init__ of a package it stands in"),
    ("sma_gpu/retrieval/mac.py", "from . import retrieve\n", "the __init__ of a package it stands in"),
    ("sma_gpu/retrieval/mac.py", "from ..retrieval import retrieve\n", "the __init__ of a package it stands in"),
    ("bench/speed.py", "from . import nothing\n", "the __init__ of a package it stands in"),
    ("sma_gpu/retrieval/mac.py", "from ..missing import x\n", "not there"),
    ("sma_gpu/retrieval/mac.py", "from ..bench import speed\n", "nothing imports bench"),
    ("sma_gpu/cli/__init__.py", "from ..bench.speed import retrieve\n", "nothing imports bench"),
    ("sma_gpu/cli/__init__.py", "def f():\n    from ..bench import speed\n", "nothing imports bench"),
    ("sma_gpu/cli/ops.py", "from ..bench.speed import retrieve\n", "when a command runs"),
    ("sma_gpu/cli/ops.py", "if 1:\n    from ..bench import speed\n", "when a command runs"),
    ("sma_gpu/cli/bench.py", "class A:\n    import sma_gpu.bench\n", "when a command runs"),
    (
        "sma_gpu/cli/bench.py",
        "import importlib\ndef f(a=importlib.import_module('sma_gpu.bench.speed')):\n    ...\n",
        "when a command runs",
    ),
    ("bench/speed.py", "def f():\n    from ..cli import bench\n", "bench does not import the command line"),
    ("bench/speed.py", "from ..cli import main\n", "bench does not import the command line"),
    ("kernels/fast.py", "from ..errors import SmaError\n", "kernels import nothing of ours"),
    ("kernels/fast.py", "import sma_gpu.lattice\n", "kernels import nothing of ours"),
    ("sma_gpu/stray/__init__.py", "", "no place in the import order"),
    ("sma_gpu/retrieval/bound.py", "from .mac import retrieve\n", "circle: "),
    ("sma_gpu/retrieval/bound.py", "def f():\n    from . import mac\n", "circle: "),
    ("sma_gpu/lattice/hops.py", "print('x')\n", "prints"),
    ("sma_gpu/lattice/hops.py", "import sys\nsys.stdout.write('x')\n", "uses standard output"),
    ("sma_gpu/lattice/hops.py", "from sys import stdout\n", "to print"),
    ("sma_gpu/lattice/hops.py", "import pickle\n", "no pickle"),
    ("bench/speed.py", "from pickle import loads\n", "no pickle"),
    ("sma_gpu/lattice/hops.py", "import numpy as np\nnp.load('x', allow_pickle=True)\n", "allows pickle"),
    ("sma_gpu/lattice/utils.py", "", "says nothing"),
    ("ontologies/common/__init__.py", "", "says nothing"),
    ("sma_gpu/lattice/hops.py", "x = 1\n" * (MAX_LINES + 1), "lines, more than"),
    ("tests/test_x.py", "import kernels.fast\n", "write sma_gpu.kernels"),
    ("bench/speed.py", "from ontologies import reader\n", "write sma_gpu.ontologies"),
    ("setup.py", "def f():\n    import bench\n", "write sma_gpu.bench"),
    ("docs/guide.md", "Then:\n\n    from bench import speed\n", "write sma_gpu.bench"),
    ("notebooks/a.ipynb", '{"source": [\n   "import ontologies\\n"]}\n', "write sma_gpu.ontologies"),
]


def lay(root: Path, files: dict[str, str]) -> Path:
    """Writes a small tree with the links of this repository and returns its root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in LINKED:
        (root / PACKAGE / name).symlink_to(Path("..", name))
    return root


def test_a_clean_tree_has_no_fault(tmp_path: Path) -> None:
    assert violations(lay(tmp_path, CLEAN)) == []


@pytest.mark.parametrize(("file", "text", "expected"), OFFENCES, ids=range(len(OFFENCES)))
def test_each_rule_can_fail(tmp_path: Path, file: str, text: str, expected: str) -> None:
    found = violations(lay(tmp_path, {**CLEAN, file: text}))
    assert any(expected in line for line in found), found
