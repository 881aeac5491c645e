"""Files that go with the records of a domain and are not needed to answer: what is the same thing, and which genes."""

from __future__ import annotations

from pathlib import Path

from .locate import Candidate, find_file
from .manifest import Manifest, manifests

__all__ = ["companion", "companions_of"]


def companion(name: str, domain: str, part: str) -> Candidate | None:
    """Returns the file that is ``part`` of what goes with the records of a domain, None where there is none.

    Args:
        name: what was opened: the domain, or a folder with its files, which then stands alone.
        domain: the domain.
        part: ``mappings`` or ``genes``.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    manifest = manifests().get(domain)
    wanted = manifest.companions.get(part) if manifest else None
    if wanted is None:
        return None
    found = find_file(domain, wanted, None if name in manifests() else Path(name))
    return found[0] if found else None


def companions_of(name: str, manifest: Manifest) -> dict[str, Candidate]:
    """Returns the files that are here of what goes with the records of a domain, by part.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    found = {part: companion(name, manifest.domain, part) for part in manifest.companions}
    return {part: file for part, file in found.items() if file is not None}
