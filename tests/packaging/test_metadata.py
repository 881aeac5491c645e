"""The project files agree with each other: version, extras, command, licence, environment, ignored and linked files."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
EXTRAS = {"cpu", "torch", "cuda", "hpo", "cyber", "owl", "frames", "pheval", "bench", "peers", "notebooks", "dev"}
# What the design names; each needs a role or the reason why another package took its place.
NAMED_PACKAGES = (
    "torch", "torch-scatter", "cupy", "numpy", "pronto", "rdflib", "stix2", "faiss-gpu", "sentence-transformers",
    "scipy", "pytest",
)  # fmt: skip


def text_of(name: str) -> str:
    """Returns a file of the repository as text."""
    return (REPOSITORY / name).read_text(encoding="utf-8")


def package_version() -> str:
    """Returns the version as sma_gpu/version.py states it."""
    return str(ast.literal_eval(text_of("sma_gpu/version.py").rpartition("__version__ = ")[2].strip()))


def setup_constant(name: str) -> object:
    """Returns a literal of setup.py with the constants inside it filled in, without running the file."""
    constants: dict[str, object] = {}
    for node in ast.parse(text_of("setup.py")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):

            class Fill(ast.NodeTransformer):
                def visit_Name(self, found: ast.Name) -> ast.AST:
                    return ast.Constant(constants[found.id]) if found.id in constants else found

            try:
                constants[node.targets[0].id] = ast.literal_eval(Fill().visit(node.value))
            except ValueError:
                continue
    return constants[name]


def test_version_is_one() -> None:
    assert importlib.metadata.version("sma_gpu") == package_version()
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == package_version()
    versions = re.findall(r"^## \[([^\]]+)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert versions[:2] == ["Unreleased", package_version()]


def test_extras_and_command_are_declared() -> None:
    metadata = importlib.metadata.metadata("sma_gpu")
    assert set(metadata.get_all("Provides-Extra") or ()) == EXTRAS
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    (script,) = (
        point
        for point in importlib.metadata.distribution("sma_gpu").entry_points
        if point.group == "console_scripts" and point.name == "sma-gpu"
    )
    assert script.value == "sma_gpu.cli:main"


def test_installation_alone_brings_four_packages() -> None:
    required = [line for line in importlib.metadata.requires("sma_gpu") or () if "extra ==" not in line]
    assert sorted(re.split(r"[<>=!~ ;\[]", line)[0] for line in required) == ["PyYAML", "numpy", "scipy", "tqdm"]


def test_extras_that_make_installs_bring_no_torch() -> None:
    extras = setup_constant("EXTRAS")
    assert isinstance(extras, dict)
    assert set(extras) == EXTRAS
    for extra in ("hpo", "bench", "dev", "cyber", "cpu", "frames", "owl", "notebooks"):
        assert not [line for line in extras[extra] if re.match(r"torch|triton|cupy|sentence", line)], extra


def test_pyproject_holds_no_metadata() -> None:
    settings = tomllib.loads(text_of("pyproject.toml"))
    assert set(settings) == {"build-system", "tool"}
    assert set(settings["tool"]) <= {"ruff", "mypy", "pytest"}


def test_environment_names_the_extras() -> None:
    environment = yaml.safe_load(text_of("environment.yml"))
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert {re.split("[<>=]", line)[0] for line in pip} >= {"torch", "triton", "cupy-cuda13x"}
    (editable,) = (line for line in pip if line.startswith("-e "))
    named = set(re.fullmatch(r"-e \.\[(.+)\]", editable).group(1).split(","))  # type: ignore[union-attr]
    assert named <= EXTRAS
    assert named >= {"cuda", "hpo", "dev", "notebooks"}


def test_environment_and_extras_ask_for_the_same_versions() -> None:
    extras = setup_constant("EXTRAS")
    assert isinstance(extras, dict)
    environment = yaml.safe_load(text_of("environment.yml"))
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert {line for line in pip if not line.startswith("-e ")} <= set(extras["cuda"])


def test_every_dependency_has_its_reason() -> None:
    reasons = text_of("docs/DEPENDENCIES.md")
    extras = setup_constant("EXTRAS")
    assert isinstance(extras, dict)
    lines = [line for extra in extras.values() for line in extra] + ["numpy", "scipy", "PyYAML", "tqdm"]
    names = {re.split(r"[<>=!~ ;\[]", line)[0] for line in lines} | set(NAMED_PACKAGES)
    missing = [name for name in sorted(names) if name not in reasons and not name.startswith("types-")]
    assert missing == []


def test_licence_is_the_whole_text() -> None:
    licence = text_of("LICENSE")
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    for section in range(1, 10):
        assert re.search(rf"^ +{section}\. [A-Z]", licence, flags=re.MULTILINE), section
    assert "END OF TERMS AND CONDITIONS" in licence
    assert len(licence.split()) > 1500


def test_ci_runs_make_test_and_nothing_else() -> None:
    run = REPOSITORY / ".ci" / "run"
    assert os.access(run, os.X_OK)
    commands = [line for line in run.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "make test"]


@pytest.mark.parametrize("target", ["demo", "test", "test-fast", "lint", "bench", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    shown = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip()


def test_an_old_python_is_told_so_in_plain_words() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 8, 10); sys.argv = ['venv.py', 'hpo']; "
        f"runpy.run_path({str(REPOSITORY / '.ci' / 'venv.py')!r}, run_name='__main__')"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "needs Python 3.11 or newer" in told.stderr
    assert "is Python 3.8.10" in told.stderr
    assert "make PYTHON=" in told.stderr
    assert "Traceback" not in told.stderr


def test_environment_builder_parses_on_old_pythons() -> None:
    ast.parse(text_of(".ci/venv.py"), feature_version=(3, 6))


def test_pre_commit_fetches_nothing() -> None:
    hooks = yaml.safe_load(text_of(".pre-commit-config.yaml"))
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]


LIGHT = """
import sys

class Closed(RuntimeError):
    pass

def watch(event, arguments):
    if event.startswith("socket."):
        raise Closed(f"{event} {arguments!r}")

sys.addaudithook(watch)
before = set(sys.modules)
import sma_gpu
loaded = set()
for name in sorted(set(sys.modules) - before):
    file = getattr(sys.modules[name], "__file__", None) or ""
    if "-packages/" in file:
        loaded.add(file.rpartition("-packages/")[2].partition("/")[0])
print(*sorted(loaded))
"""


def test_import_is_light_and_opens_no_socket() -> None:
    shown = subprocess.run([sys.executable, "-I", "-c", LIGHT], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert set(shown.stdout.split()) <= {"numpy", "scipy", "sma_gpu"}


LATE = """
import sys
import sma_gpu
assert "urllib.request" not in sys.modules and "sma_gpu.answers.adapter_bundle" not in sys.modules
for name in sma_gpu.__all__:
    assert name in dir(sma_gpu), name
    assert name.startswith("__") or callable(getattr(sma_gpu, name)), name
assert "urllib.request" in sys.modules
from sma_gpu import *
freeze_adapter, verify_adapter, write_index
try:
    sma_gpu.no_such_name
except AttributeError as fault:
    print(fault)
"""


def test_names_that_are_imported_late_are_there() -> None:
    shown = subprocess.run([sys.executable, "-I", "-c", LATE], capture_output=True, text=True, check=False)
    assert (shown.stdout, shown.stderr) == ("module 'sma_gpu' has no attribute 'no_such_name'\n", "")
