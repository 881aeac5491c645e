"""What a STIX bundle says about itself. Only the whole file tells, so the answer is kept between runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ParseError
from .compiled import load_compiled, store_compiled
from .readers.stix_bundle import can_read, read_bundle
from .readers.stix_object import TACTIC
from .report import LoadReport
from .source import peek, read_source

__all__ = ["BundleLook", "look_at_bundle"]

_KIND = "look-1"  # another number whenever a look at the same file comes out otherwise


class BundleLook(NamedTuple):
    """What is known of a bundle without its terms.

    Attributes:
        is_attack: it has tactics, so that it is a release of ATT&CK and not a report that cites some of it. True also
            for a file that cannot be read, whose reading will say why.
        domain: ATT&CK domain of most of its techniques, or empty.
        version: the release that it states, else the day of its newest change.
        changed: that day, or empty.
    """

    is_attack: bool
    domain: str
    version: str
    changed: str


def look_at_bundle(path: Path) -> BundleLook | None:
    """Returns what the file says about itself, or None for a file that is no STIX bundle."""
    if not can_read(peek(path)):
        return None
    source = read_source(path)
    kept = load_compiled(_KIND, source.raw_sha256)
    try:
        if kept is not None:
            return BundleLook(**json.loads(np.asarray(kept["look"], np.uint8).tobytes()))
    except (KeyError, TypeError, ValueError):
        pass  # written by another release; the file is at hand
    try:
        bundle = read_bundle([source], LoadReport(source.path))
    except ParseError:
        return BundleLook(is_attack=True, domain="", version="", changed="")
    look = BundleLook(bool(bundle.of_type(TACTIC)), bundle.domain, bundle.version, bundle.changed)
    text: Mapping[str, Any] = look._asdict()
    store_compiled(_KIND, source.raw_sha256, {"look": np.frombuffer(json.dumps(text).encode("ascii"), np.uint8)})
    return look
