"""Opening: from the name of a domain or a folder to its engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..errors import QueryError
from ..ontologies.records.without import without_sources as leave_out
from ..ops import choose
from ..ops.registry import AUTO
from ..scoring import Dials
from ..trust.calibration import Calibration
from .by_gene import find_genes
from .calibrated import NEVER
from .choosing_calibration import find_calibrated
from .engine import Engine
from .indexed import index_of
from .own_index import is_own_index, open_any
from .twins import faults_note, find_twins, missing_mappings

__all__ = ["open_engine"]


def open_engine(
    domain: str,
    dials: Dials | None = None,
    *,
    backend: str = AUTO,
    device: str = AUTO,
    release: str | None = None,
    kind: str = "",
    strict: bool = False,
    language: str = "",
    mappings: str | Path = AUTO,
    least_confidence: float = 0.0,
    merge: bool = False,
    by: str = "",
    inheritance: Iterable[str] = (),
    without_sources: Iterable[str] = (),
    calibration: str | Path | Calibration = AUTO,
    abstain: str = NEVER,
) -> Engine:
    """Returns the engine of a ready domain, of a folder with the files of one, or of an index of one's own.

    Args:
        domain: a ready domain, or a folder.
        dials: what scores depend on; where it is None the default, or what an index of one's own was built under.
        backend: which ops to use; ``auto`` takes the best that can serve.
        device: where that backend works: ``cpu``, ``cuda`` or ``auto``.
        release: release of the ontology to use instead of the newest found.
        kind: which kind of records, such as ``campaign``, where the domain has several; the usual one where empty.
        strict: refuse files that otherwise load with warnings, and queries with ids that cannot be used.
        language: of the names of terms, where the ontology has them in several; where it is empty English, or the one
            in which an index of one's own was made.
        mappings: an SSSOM file that says which records stand for the same; ``auto`` takes the one found with the
            records or in an installed package, if any; ``none`` takes none.
        least_confidence: rows of that file that state a confidence below it are not used.
        merge: rank groups of records that stand for the same by their best one, instead of records.
        by: ``gene`` ranks genes by the best record that each carries; empty ranks records.
        inheritance: modes of inheritance, by id or name; only records with one of them, or a narrower one, are hits.
        without_sources: publications, such as ``PMID:20301510``, whose rows are left out when the index is built.
        calibration: by which to say how sure answers are: the file that ``sma-gpu calibrate`` wrote, ``auto`` for the
            one saved with an index of one's own, if it fits, or ``none``.
        abstain: ``youden``, ``risk=LEVEL`` or ``conformal=LEVEL``: withhold answers whose best hit is less sure than
            the threshold of that rule; ``none`` withholds none.

    Raises:
        QueryError: ``merge`` together with ``by``, or there is no such ``by``, mode of inheritance or publication id.
        DataMissing: a file is nowhere to be found, such as the mappings for ``merge``.
        ParseError: a file cannot be read.
        FingerprintMismatch: the calibration was made for another index, or under other dials.
        CalibrationError: there is no calibration to abstain by, or records are not what is ranked.

    Example:
        >>> engine = open_engine("medicine")                                       # doctest: +SKIP
        >>> engine.query(["HP:0001166", "HP:0001083"], k=1)["hits"][0]["key"]      # doctest: +SKIP
        'OMIM:121050'
    """
    choose(backend, device)  # what cannot serve is refused before any file is read
    if by not in ("", "gene"):
        raise QueryError(f"rank by {by!r}", "records can be ranked by gene, or as they are", "Give gene, or nothing.")
    opened = open_any(domain, dials, release=release, kind=kind, strict=strict, language=language)
    references, left_out = tuple(without_sources), None
    if references:
        records, left_out = leave_out(opened.domain.records, opened.domain.mounted.ontology, references)
        opened = replace(opened, domain=replace(opened.domain, records=records), index=None)
    known = find_twins(domain, opened.domain, mappings, least=least_confidence, strict=strict)
    if merge and known is None:
        raise missing_mappings(opened.domain.manifest.domain)
    genes = find_genes(domain, opened.domain, strict=strict) if by else None
    notes = [*([left_out.note] if left_out else []), *opened.domain.notes]
    notes += [note for part in (known, genes) if part is not None for note in faults_note(part.report)]
    domain_read = replace(opened.domain, notes=tuple(notes))
    index = opened.index or index_of(domain_read, opened.dials)
    ranked = "genes" if by else "groups of records" if merge else ""
    folder = Path(domain) if is_own_index(domain) else None
    calibrated, remarks = find_calibrated(calibration, abstain, index, folder, ranked=ranked)
    return Engine(
        replace(domain_read, notes=(*remarks, *domain_read.notes)),
        opened.dials,
        backend=backend,
        device=device,
        strict=strict,
        index=index,
        calibrated=calibrated,
        equivalents=known,
        merge=merge,
        genes=genes,
        inheritance=inheritance,
        left_out=left_out,
    )
