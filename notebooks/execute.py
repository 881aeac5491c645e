"""Executes notebooks and stores them with what they show.

    python notebooks/execute.py [NAME.ipynb ...]

Without a name all of ``STORED`` are executed. They run where no data folder of the user is seen, so that what they show
rests on installed packages and bundled samples alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
STORED = ("mount_and_look.ipynb", "retrieve_explain_abstain.ipynb", "your_own.ipynb")
"""Notebooks that are stored with their outputs; what the others show is times."""

_HIDDEN = ("SMA_GPU_DATA",)  # folders of the user that data would be found in
_LANGUAGE = {"name": "python"}  # the release of Python is of the machine
_SECONDS = 900


def executed(path: Path, folder: Path) -> Any:
    """Returns the notebook ``path`` with new outputs, run with ``folder`` as its working folder.

    Raises:
        CellExecutionError: a cell fails.
        RuntimeError: a cell writes to standard error, which nothing but a warning would.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**environment, "XDG_DATA_HOME": str(folder / "no-data")})
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{path.name}, {cell.id} writes to standard error: {output.text}")
    notebook.metadata["language_info"] = _LANGUAGE
    return notebook


def shown(notebook: Any) -> list[tuple[str, str]]:
    """Returns what the cells show, each as the id of its cell and the text that a reader sees.

    Pages and drawings count by their words: how they are set may change without a notebook being wrong.
    """
    return [(cell.id, text) for cell in notebook.cells for text in map(_words, cell.get("outputs", []))]


def _words(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    html = output.data.get("text/html")
    return str(output.data["text/plain"]) if html is None else "\n".join(_visible(html))


def _visible(html: str) -> Iterator[str]:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    for framed in reader.framed:
        yield from _visible(framed)
    yield from reader.texts


class _Reader(HTMLParser):
    """Collects the visible text of a page, and the pages in its frames."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.framed: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.framed += [value for name, value in attrs if name == "srcdoc" and value]
        self._unseen += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._unseen and data.strip():
            self.texts.append(" ".join(data.split()))


def main(names: Sequence[str]) -> None:
    """Executes the notebooks of these names, all of ``STORED`` without one, and stores them."""
    import nbformat

    for name in names or STORED:
        if name not in STORED:
            sys.exit(f"{name}: not stored with outputs. Give {', '.join(STORED)}, or none for all.")
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(FOLDER / name, Path(folder))
        nbformat.write(notebook, FOLDER / name)
        print(f"{name}: {len(shown(notebook))} outputs")


if __name__ == "__main__":
    main(sys.argv[1:])
