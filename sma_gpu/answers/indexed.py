"""A domain with its index: what an answer is made from."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import QueryError, UnknownKey
from ..ontologies.domains import Domain, term_name
from ..ontologies.records.aliases import Aliases
from ..ontologies.records.attributes import Attributes
from ..ontologies.records.equivalents import Equivalents
from ..ontologies.records.genes import GeneLinks
from ..ontologies.records.without import LeftOut
from ..ontologies.report import LoadReport
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import Index
from ..scoring import Dials
from ..trust.calibration import Calibration
from .by_gene import Genes
from .calibrated import NEVER, Calibrated
from .choosing_calibration import NONE, find_calibrated
from .facets import Facets
from .inheritance import inherited, modes_of
from .restriction import Restriction
from .twins import Twins
from .where import attributes_of, parse_condition

__all__ = ["IndexedDomain", "index_of"]


class IndexedDomain:
    """A domain's records, indexed under one set of dials.

    Args:
        domain: ontology and records.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve.
        device: where they work: ``cpu``, ``cuda`` or ``auto``.
        strict: refuse queries with ids that cannot be used, instead of leaving these out and saying so.
        equivalents: which records stand for one and the same thing, where that is known.
        merge: rank groups of records by their best one, instead of records; without ``equivalents`` it changes nothing.
        genes: rank these genes by the best record that each carries.
        inheritance: only records with one of these modes of inheritance, by id or name, can be hits; all where empty.
        left_out: what the records were built without, for the answer.
        index: the index of these records under these dials, where it was saved; built where it is None.
        calibrated: the calibration of that index, where answers are to be under one.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
        QueryError: groups and genes are to be ranked at once, or there is no such mode of inheritance.
    """

    def __init__(
        self,
        domain: Domain,
        dials: Dials | None = None,
        *,
        backend: str = AUTO,
        device: str = AUTO,
        strict: bool = False,
        equivalents: Equivalents | None = None,
        merge: bool = False,
        genes: GeneLinks | None = None,
        inheritance: Iterable[str] = (),
        left_out: LeftOut | None = None,
        index: Index | None = None,
        calibrated: Calibrated | None = None,
    ) -> None:
        if merge and genes is not None:
            raise QueryError("rank groups and genes", "an answer ranks one of them", "Choose one of the two.")
        self.domain = domain
        self.strict = strict
        self._asked = backend, device
        self.backend, self.ops = choose(backend, device)
        self._term_names: dict[str, str] = {}
        self._holders: dict[int, tuple[str, ...]] = {}
        records = domain.records
        self.index = index_of(domain, dials) if index is None else index
        self.calibrated = calibrated
        self.merge = merge
        self.left_out = left_out
        self.modes = modes_of(domain, inheritance)
        self.twins = None if equivalents is None else Twins(equivalents, records, self.index.keys)
        self.genes = None if genes is None else Genes(genes, records, self.index.keys)

    @property
    def backend_asked(self) -> str:
        """The backend that was asked for; ``auto`` where the choice goes by the amount of work, and changes no bit."""
        return self._asked[0]

    @property
    def device(self) -> str:
        """Where the backend was asked to work: ``cpu``, ``cuda`` or ``auto``."""
        return self._asked[1]

    @property
    def beside(self) -> list[LoadReport]:
        """What was noticed in the files that go with the records: mappings and genes, where they are used."""
        found = [self.twins.equivalents.report] if self.twins else []
        return [*found, *([self.genes.links.report] if self.genes else [])]

    @property
    def made_with(self) -> dict[str, Any]:
        """What answers depend on beside ontology, records, dials and query, for the fingerprints of a batch."""
        groups = self.twins.as_dict(merged=self.merge) if self.twins else None
        return {
            "equivalents": groups and [groups[name] for name in ("sha256", "least_confidence", "merged")],
            "genes": self.genes and self.genes.links.sha256,
            "without_sources": self.left_out and list(self.left_out.references),
            "calibration": self.calibrated and self.calibrated.fingerprint,
        }

    def number_of(self, key: str) -> int:
        """Returns the number of the case with this key, or with this symbol or accession where its records have such.

        Raises:
            UnknownKey: there is none, or there are several; near keys are named.
        """
        try:
            return self.index.number_of(key)
        except UnknownKey:
            named = self.aliases.key_of(key)
            if named is not None:
                return self.index.number_of(named)
            today = self.domain.mounted.ontology.resolve(key).used  # actors, too, are revoked for one another
            if today is not None and today != key and today in self.index.keys:
                asked = f"{self.domain.manifest.entity} {key}"
                raise UnknownKey(asked, f"it is retired; today it is {today}", f"Ask for {today}.") from None
            self.domain.records.index(key)  # a key that no record has is refused with the nearest ones
            raise

    def is_record(self, asked: str) -> bool:
        """Returns whether an indexed case has this key, or this symbol or accession."""
        try:
            self.index.number_of(self.aliases.key_of(asked) or asked)
        except UnknownKey:
            return False
        return True

    def for_batch(self, queries: int) -> Self:
        """Returns this domain with the backend for so many queries, where the choice was left open; the same bits."""
        found = copy(self)
        found.backend, found.ops = choose(*self._asked, cells=queries * len(self.index))
        return found

    def with_dials(self, dials: Dials) -> Self:
        """Returns this domain indexed under other dials, all else as it is."""
        found = copy(self)
        found.index = index_of(self.domain, dials)
        found.calibrated = None  # it was made for the index as it was
        return found

    def under(self, calibration: Calibration | str | Path | None, *, abstain: str = NEVER) -> Self:
        """Returns this domain under a calibration, all else as it is; both share the index.

        Args:
            calibration: by which to say how sure answers are, or the file that ``sma-gpu calibrate`` wrote; None for
                none.
            abstain: ``youden``, ``risk=LEVEL`` or ``conformal=LEVEL``: withhold answers whose best hit is less sure
                than the threshold of that rule; ``none`` withholds none.

        Raises:
            FingerprintMismatch: the calibration was made for another index, or under other dials.
            CalibrationError: there is no calibration to abstain by, or records are not what is ranked.
            DataMissing: there is no such file.
            ArtifactError: the file is no calibration, or damaged.
            QueryError: there is no such rule to abstain by.
        """
        named = Path(calibration) if isinstance(calibration, str) else calibration
        ranked = "genes" if self.genes else "groups of records" if self.merge else ""
        found = copy(self)
        found.calibrated, _ = find_calibrated(NONE if named is None else named, abstain, self.index, ranked=ranked)
        return found

    @cached_property
    def aliases(self) -> Aliases:
        """Other names of the records."""
        return Aliases(self.domain.records)

    @cached_property
    def attributes(self) -> Attributes:
        """What conditions can be put on: attributes of the records, and terms that take no part in matching."""
        return attributes_of(self.domain.records)

    @cached_property
    def facets(self) -> Facets | None:
        """The facets by which the terms of a hit are grouped; None where the domain has none."""
        relation = self.domain.manifest.facet
        return Facets(self.domain.mounted.ontology, relation) if relation else None

    def holders_of(self, functor: int) -> list[str]:
        """Returns the keys of the cases that state ``functor`` or a narrower one, code-point order."""
        found = self._holders.get(functor)
        if found is None:
            closure, cases = self.domain.mounted.lattice.closure, self.index.cases
            below = np.searchsorted(closure.ptr, np.flatnonzero(closure.ancestors == functor), side="right") - 1
            at = np.flatnonzero(np.isin(cases.functors, below))
            holding = np.unique(np.searchsorted(cases.ptr, at, side="right") - 1)
            found = self._holders[functor] = tuple(self.index.keys[case] for case in holding.tolist())
        return list(found)

    def where(self, *conditions: str) -> npt.NDArray[np.bool_]:
        """Returns which cases fulfil all ``conditions``, such as ``source=OMIM`` or ``date<2015-01-01``, bool ``[N]``.

        It fits ``among`` of ``Index.retrieve``. The module ``answers/where.py`` says what a condition means.

        Raises:
            QueryError: one is no condition, names no attribute of these records, or compares what cannot be compared.
        """
        records = self.domain.records
        found = np.ones(len(records), np.bool_)
        for condition in conditions:
            found &= parse_condition(condition).holds(self.attributes, len(records))
        return self._of_cases(found)

    def restrict(self, among: Iterable[str] | None = None, where: str | Iterable[str] = ()) -> Restriction | None:
        """Returns the restriction to the cases that have one of the keys ``among`` and fulfil all conditions ``where``.

        Returns:
            The restriction, or None for all cases.

        Raises:
            UnknownKey: no indexed case has one of the keys.
            QueryError: see ``where``.
        """
        conditions = tuple(parse_condition(c) for c in ([where] if isinstance(where, str) else where))
        if among is None and not conditions and not self.modes:
            return None
        wanted = self.where(*(str(condition) for condition in conditions))
        told = tuple(f"{mode} {self.name_of(mode)}".strip() for mode in self.modes)
        if self.modes:
            wanted &= self._of_cases(inherited(self.domain, self.modes))
        if among is None:
            return Restriction(wanted, where=conditions, inheritance=told)
        numbers = {self.number_of(key) for key in among}
        named = np.zeros(len(self.index), np.bool_)
        named[list(numbers)] = True
        keys = tuple(sorted(self.index.keys[number] for number in numbers))
        return Restriction(wanted & named, keys, conditions, inheritance=told)

    def _of_cases(self, of_records: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Returns for each indexed case what is known of its record."""
        return of_records[[self.domain.records.index(key) for key in self.index.keys]]

    def name_of(self, term: str) -> str:
        """Returns the name of a term of the ontology, as it is shown."""
        found = self._term_names.get(term)
        if found is None:
            ontology = self.domain.mounted.ontology
            found = self._term_names[term] = term_name(self.domain.manifest, ontology, ontology.number[term])
        return found

    def annotations_of(self, case: int) -> dict[int, int]:
        """Returns, for each functor that ``case`` states, the number of the record annotation that says so."""
        records = self.domain.records
        span = records.span(records.index(self.index.keys[case]), "phenotype")
        return dict(zip(records.term[span.start : span.stop].tolist(), span, strict=True))

    def ids(self, functors: Iterable[int] | npt.NDArray[np.integer]) -> list[str]:
        """Returns the ids of functors."""
        return [self.domain.mounted.ontology.ids[int(f)] for f in functors]


def index_of(domain: Domain, dials: Dials | None) -> Index:
    """Returns the index of a domain's records under ``dials``, or its own where that is None."""
    records = domain.records
    present, absent = (records.phenotypes(excluded=excluded) for excluded in (False, True))
    cases = CaseBatch.from_csr(records.keys, present, absent, records.phenotype_frequencies())
    return Index.build(cases, domain.mounted, dials or Dials.from_mapping(domain.manifest.dials))
