"""Items and queries from records and from ids: today's ids, and texts of names for arms that read text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache

import numpy as np

from ...memory import IndexItem, Query
from ...ontologies.domains import Domain, term_name

__all__ = ["Wording", "counted"]


class Wording:
    """How a domain's records and ids become items and queries.

    Names alone make the texts, since ids say nothing to an arm that reads.

    Args:
        domain: ontology and records.
        is_asked: whether a query may use a term, by its number; others are left out and counted.

    Attributes:
        counts: what was left out, by words.
    """

    def __init__(self, domain: Domain, is_asked: Callable[[int], bool] = lambda term: True) -> None:
        self._domain = domain
        self._is_asked = is_asked
        self.counts: Counter[str] = Counter()
        ontology = domain.mounted.ontology
        self._resolve = cache(lambda asked: ontology.resolve(asked).index)
        self._name = cache(lambda term: term_name(domain.manifest, ontology, term) or ontology.ids[term])

    def text(self, terms: Iterable[int]) -> str:
        """Returns the names of terms, which are given by number."""
        return ", ".join(self._name(term) for term in terms)

    def items(
        self, wanted: Iterable[int] | None = None, *, least: int = 1, unsaid: Collection[str] = ()
    ) -> list[IndexItem]:
        """Returns the records with phenotypes (or what takes their place in the domain) as items, by key.

        Args:
            wanted: numbers of records; all where None.
            least: how many terms a record must have; those with fewer are left out and counted.
            unsaid: terms that are left out of every record.
        """
        records = self._domain.records
        ptr, terms = (array.tolist() for array in records.phenotypes(excluded=False))
        no_ptr, no_terms = (array.tolist() for array in records.phenotypes(excluded=True))
        told = records.phenotype_frequencies()
        share = np.zeros(len(terms)) if told is None else np.nan_to_num(told)
        left_out = {self._resolve(term) for term in unsaid}
        ids = self._domain.mounted.ontology.ids
        found = []
        for at in sorted(range(len(records)) if wanted is None else wanted, key=records.keys.__getitem__):
            here = slice(ptr[at], ptr[at + 1])
            present = [term for term in terms[here] if term not in left_out]
            if len(present) < least:
                self.counts[f"records with fewer than {least} terms" if least > 1 else "records without terms"] += 1
                continue
            known = {
                ids[t]: s for t, s in zip(terms[here], share[here].tolist(), strict=True) if s > 0 and t not in left_out
            }
            found.append(
                IndexItem(
                    key=records.keys[at],
                    term_ids=tuple(ids[t] for t in present),
                    text=": ".join(filter(None, (records.names[at], self.text(present)))),
                    meta={"name": records.names[at]},
                    excluded=tuple(ids[t] for t in no_terms[no_ptr[at] : no_ptr[at + 1]]),
                    frequencies=known,
                )
            )
        return found

    def query(self, observed: Iterable[str], excluded: Iterable[str] = ()) -> Query | None:
        """Returns a query of today's ids, by id; None where no observed term is left."""
        present = self._terms(observed, "observed")
        if not present:
            return None
        absent = self._terms(excluded, "excluded")
        if both := present & absent:
            self.counts["terms both observed and excluded, kept as observed"] += len(both)
        ids = self._domain.mounted.ontology.ids
        asked = sorted(present)
        return Query(tuple(ids[t] for t in asked), self.text(asked), tuple(ids[t] for t in sorted(absent - present)))

    def functors(self, asked: Iterable[str]) -> list[str]:
        """Returns today's id of each id that has one, in their order."""
        ids = self._domain.mounted.ontology.ids
        return [ids[term] for term in map(self._resolve, asked) if term >= 0]

    def _terms(self, asked: Iterable[str], what: str) -> set[int]:
        found = set()
        for one in asked:
            term = self._resolve(one)
            if term < 0:
                self.counts[f"{what} ids without a term in the ontology"] += 1
            elif not self._is_asked(term):
                self.counts[f"{what} terms of a kind that no record has"] += 1
            else:
                found.add(term)
        return found


def counted(*tallies: Mapping[str, int]) -> dict[str, int]:
    """Returns tallies as one, by words."""
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update(tally)
    return {words: total[words] for words in sorted(total) if total[words]}
