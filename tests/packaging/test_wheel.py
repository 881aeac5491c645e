"""The wheel, built from the sdist, holds everything once and answers where no checkout is in sight."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", "*.pyc", ".*_cache", ".hypothesis"
)

pytestmark = pytest.mark.slow

# Closes the network before anything of ours is imported, answers a query and reports which packages were loaded.
ANSWER = """
import json, sys

def watch(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"network touched: {event} {arguments!r}")

sys.addaudithook(watch)
before = set(sys.modules)
import sma_gpu

onto = sma_gpu.ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2"]})
mounted = sma_gpu.mount(onto)
memory = sma_gpu.SmaMemory(mounted)
memory.index([sma_gpu.IndexItem("a", ["EX:4"], ""), sma_gpu.IndexItem("b", ["EX:3"], "")])
hits = memory.retrieve(sma_gpu.Query(["EX:4"], ""), k=2)

foreign = set()
for name in sorted(set(sys.modules) - before):
    file = getattr(sys.modules[name], "__file__", None) or ""
    if "-packages/" in file:
        foreign.add(file.rpartition("-packages/")[2].partition("/")[0])
print(json.dumps({
    "hits": [[hit.key, hit.rank] for hit in hits],
    "from": sma_gpu.__file__,
    "version": sma_gpu.__version__,
    "packages": sorted(foreign),
    "path": sys.path,
}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command in ``cwd`` without the test run's own Python settings; returns its standard output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SMA_GPU", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def is_shipped(path: Path) -> bool:
    """Whether a file below sma_gpu/ belongs in the wheel: no caches, no hidden files."""
    return path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository as a fresh clone would hold it, links kept as links."""
    copy = tmp_path_factory.mktemp("clone") / "sma_gpu"
    shutil.copytree(REPOSITORY, copy, symlinks=True, ignore=LEFT_BEHIND)
    return copy


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of the copy, built with the setuptools of this environment."""
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, cwd=tree)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist alone."""
    source = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    (inside,) = source.iterdir()
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, cwd=inside)
    (made,) = out.iterdir()
    return made


def empty_environment(folder: Path, *requirements: str | Path) -> Path:
    """Creates an environment with ``requirements`` and returns its python; versions are those of this environment."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pins = folder / "pins.txt"
    names = ("numpy", "scipy", "PyYAML", "tqdm")
    pins.write_text("".join(f"{name}=={importlib.metadata.version(name)}\n" for name in names), encoding="utf-8")
    for requirement in requirements:
        alone = ["--no-deps"] if str(requirement).startswith("--no-deps ") else []
        wanted = str(requirement).removeprefix("--no-deps ").split()
        run(
            python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "-c", pins, *alone, *wanted, cwd=folder
        )
    return python


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of an environment that holds the wheel and what it requires."""
    return empty_environment(tmp_path_factory.mktemp("full") / "env", wheel)


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of an environment that holds the wheel, NumPy and SciPy, and nothing else."""
    return empty_environment(tmp_path_factory.mktemp("bare") / "env", f"--no-deps {wheel}", "numpy scipy")


def test_sdist_holds_no_links_and_no_second_copy(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    top = {member.name.split("/")[1] for member in members if member.name.count("/") == 1}
    assert top >= {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "setup.py", "pyproject.toml"}
    folders = {member.name.split("/")[1] for member in members if member.name.count("/") > 1}
    assert folders <= {"sma_gpu", "sma_gpu.egg-info"}


def test_wheel_holds_every_file_once_and_no_tests(wheel: Path, tree: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [name for name, times in Counter(names).items() if times > 1] == []
    files = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    expected = set()
    for folder, _, inside in os.walk(tree / "sma_gpu", followlinks=True):
        paths = (Path(folder, name) for name in inside)
        expected |= {path.relative_to(tree).as_posix() for path in paths if is_shipped(path)}
    assert files == expected
    assert {name.split("/")[0] for name in files} == {"sma_gpu"}
    assert not [name for name in files if "tests" in name.split("/")]
    for part in ("kernels", "ontologies", "bench"):
        assert f"sma_gpu/{part}/__init__.py" in files
    assert "sma_gpu/py.typed" in files
    assert [name for name in files if name.startswith("sma_gpu/ontologies/manifests/") and name.endswith(".toml")]
    assert [name for name in files if name.endswith(".json") and "schema" in name]


def test_wheel_metadata(wheel: Path) -> None:
    assert wheel.name.startswith("sma_gpu-")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
        assert "sma-gpu = sma_gpu.cli:main" in archive.read(entry_points).decode()
        assert [name for name in names if ".dist-info/" in name and name.endswith("LICENSE")]


def answer_of(python: Path, folder: Path) -> dict[str, object]:
    """Returns what the small program reports when ``python`` runs it in ``folder``."""
    report = json.loads(run(python, "-I", "-c", ANSWER, cwd=folder))
    assert str(REPOSITORY) not in json.dumps(report)
    assert isinstance(report, dict)
    return report


def test_installed_wheel_answers_a_query(full: Path, tmp_path: Path) -> None:
    report = answer_of(full, tmp_path)
    assert report["hits"][0] == ["a", 1]  # type: ignore[index]
    # Also where the parsers' packages are installed, an in-memory answer does not load them. SciPy is loaded only where
    # an alignment needs its solver.
    assert {"numpy", "sma_gpu"} <= set(report["packages"]) <= {"numpy", "scipy", "sma_gpu"}  # type: ignore[arg-type]


def test_numpy_and_scipy_are_enough(bare: Path, tmp_path: Path) -> None:
    listed = json.loads(run(bare, "-I", "-m", "pip", "list", "--format", "json", cwd=tmp_path))
    assert {package["name"].lower().replace("-", "_") for package in listed} - {"pip", "setuptools"} == {
        "numpy", "scipy", "sma_gpu",
    }  # fmt: skip
    report = answer_of(bare, tmp_path)
    assert report["hits"][0] == ["a", 1]  # type: ignore[index]
    assert {"numpy", "sma_gpu"} <= set(report["packages"]) <= {"numpy", "scipy", "sma_gpu"}  # type: ignore[arg-type]


def test_both_environments_give_the_same_answer(full: Path, bare: Path, tmp_path: Path) -> None:
    assert answer_of(full, tmp_path)["hits"] == answer_of(bare, tmp_path)["hits"]


def test_installed_command_reports_on_itself(full: Path, tmp_path: Path) -> None:
    report = json.loads(run(full.parent / "sma-gpu", "doctor", "--json", cwd=tmp_path))
    assert isinstance(report, dict)
    assert str(REPOSITORY) not in json.dumps(report)


def test_modules_of_the_linked_folders_import_once(full: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sma_gpu.kernels, sma_gpu.ontologies, sma_gpu.bench; "
        "print(*(u.find_spec(n) is None for n in ('kernels', 'ontologies', 'bench')))"
    )
    assert run(full, "-I", "-c", code, cwd=tmp_path).split() == ["True"] * 3
