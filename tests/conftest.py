"""Fixtures for all tests: folders of shared data, and a cache of compiled files that no test leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


def _folder(path: Path) -> Path:
    if not path.is_dir():
        pytest.skip(f"the shared folder {path} is not there")
    return path


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Inputs of the field cases."""
    return _folder(_SHARED / "cases" / "inputs")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Ontologies and records in their published form."""
    return _folder(_SHARED / "data")


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the compiled files and the data folder of the run apart from those of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMA_GPU_CACHE", str(tmp_path_factory.mktemp("compiled")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data-home")))
        yield
