"""Devices that the torch parity tests run on; a device or torch itself that is not there is skipped by name.

Tensors of tests are small: more than one thread would only wait for the others, which a busy machine makes slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

no_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (make test installs it)")
DEVICES = [pytest.param("cpu", id="cpu"), pytest.param("cuda", id="cuda", marks=pytest.mark.gpu)]


def require(device: str) -> str:
    """Returns the device, or skips where torch does not find it."""
    torch = pytest.importorskip("torch", reason="torch is not installed (make test installs it)")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    return device


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Keeps torch to one thread."""
    torch = pytest.importorskip("torch", reason="torch is not installed (make test installs it)")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
