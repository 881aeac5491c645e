"""What makes an arm's answers, as SHA-256 sums: the sources that it stands on, and its models.

Rows that were kept rest on these, so that what was changed since is asked again.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from .arms.registry import Entry
from .machine import package_version
from .text_vectors import model_mark

__all__ = ["made_by"]

_BENCH = __name__.rpartition(".")[0]
_PACKAGE = Path(__file__).parent.parent
_GROUND = ("lattice", "cases", "ontologies", "scoring")
_ENGINE = (*_GROUND, "kernels", "ops", "retrieval", "trust", "memory")
_BY_THEMSELVES = ("text", "ontology", "floor")  # kinds of arms that do not ask the engine; of others nobody knows
_SUFFIXES = (".py", ".cu", ".toml", ".tsv")


def made_by(entry: Entry, models: Mapping[str, str]) -> dict[str, str | None]:
    """Returns what an arm is made of, by words.

    Args:
        entry: the arm; its module is imported.
        models: names of models as in ``Setting.models``.
    """
    module = entry.target.partition(":")[0]
    parts = _GROUND if entry.kind in _BY_THEMSELVES else _ENGINE
    return {
        "target": entry.target,
        "source": _of_module(module),
        "engine": _of_parts(parts),
        **{name: package_version(name) for name in entry.packages},
        **{f"model, {use}": model_mark(models.get(use, usual)) for use, usual in sorted(entry.models.items())},
    }


@cache
def _of_parts(parts: tuple[str, ...]) -> str:
    """Returns the sum over the sources of parts of this package."""
    return _sum(file for part in parts for file in sorted((_PACKAGE / part).rglob("*")) if file.suffix in _SUFFIXES)


def _of_module(module: str) -> str:
    """Returns the sum over a module's source and those of the bench that it imports; of another package its own."""
    if module.startswith(f"{_BENCH}."):
        return _sum(_file(name) for name in _imported(module))
    source = getattr(sys.modules[module], "__file__", None)
    return _sum([Path(source)] if source else [])


@cache
def _imported(module: str) -> tuple[str, ...]:
    """Returns a module of the bench and all of the bench that it imports, directly or not, in order."""
    found, new = {module}, {module}
    while new:
        new = {name for one in new for name in _imports(one)} - found
        found |= new
    return tuple(sorted(found))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_file(module).read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
            names = (base, *(f"{base}.{alias.name}" for alias in node.names))
            yield from (name for name in names if name.startswith(f"{_BENCH}.") and _file(name).is_file())


def _file(module: str) -> Path:
    return _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _sum(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        text = file.read_bytes()
        digest.update(f"{file.name} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()
