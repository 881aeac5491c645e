"""One domain, indexed and ready to be asked. Follow ``query`` to follow a query from ids to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch, EncodedQuery, encode_query
from ..cases.encoder import Changed, LeftOut, id_list
from ..errors import QueryError, UnknownTerm
from ..ontologies.records.without import without_sources as leave_out
from ..ontologies.spelling import Respelled, respell
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import OpenQuery, check_k, explain, open_blocks
from ..retrieval.block import QueryBlock
from ..retrieval.mappings import map_block
from ..retrieval.ties import count_ties
from ..scoring import Dials
from ..trust import NOTHING_FITS, Abstention, novelty, why_abstain
from . import answer as shape
from .by_gene import find_genes
from .indexed import IndexedDomain
from .own_index import open_any
from .ranked import merged_rank, take
from .restriction import Restriction
from .twins import faults_note, find_twins, missing_mappings

__all__ = ["Engine", "open_engine"]


class Engine(IndexedDomain):
    """An indexed domain that answers."""

    def encode(self, observed: Iterable[str], excluded: Iterable[str] = ()) -> EncodedQuery:
        """Returns a query as the index sees it, with every id that was changed or left out.

        Raises:
            QueryError: the ids are not given as a collection of strings.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        manifest, ontology = self.domain.manifest, self.domain.mounted.ontology
        spelled: list[Respelled] = []
        if manifest.spelling:
            observed, spelled = respell(manifest.spelling, ontology, id_list(observed))
            excluded, more = respell(manifest.spelling, ontology, id_list(excluded))
            spelled += more
        encoded = encode_query(self.domain.mounted, observed, excluded, strict=self.strict)
        if spelled:
            changed = (Changed(s.asked, s.used, (s.asked, s.used), s.why) for s in spelled)
            encoded = replace(encoded, changed=(*changed, *encoded.changed))
        if self.domain.manifest.aside_pattern:
            encoded = self._without_aside(encoded)
        return replace(encoded, left_out=tuple(map(self._with_record, encoded.left_out)))

    def _with_record(self, entry: LeftOut) -> LeftOut:
        """Returns the id that is left out, with a word on it where it is a record instead of a term."""
        if entry.kind not in ("unknown", "outside") or not self.is_record(entry.asked):
            return entry
        hint = f"It names a {self.domain.manifest.entity}: --like {entry.asked} ranks those like it."
        return replace(entry, why=f"{entry.why.rstrip('.')}. {hint}")

    def _without_aside(self, encoded: EncodedQuery) -> EncodedQuery:
        """Returns the query without the terms that no record of the domain can have."""
        manifest, ontology = self.domain.manifest, self.domain.mounted.ontology
        left_out: list[LeftOut] = []
        kept: list[npt.NDArray[np.int32]] = []
        for functors in (encoded.present, encoded.excluded):
            aside = np.array([manifest.is_aside(term) for term in self.ids(functors)], np.bool_)
            for functor in functors[aside].tolist():
                term = ontology.ids[functor]
                shown = f"{term} {ontology.names[functor]}".strip()
                why = f"{shown} is in {ontology.label}, but no {manifest.entity} has terms of its kind; left out"
                if self.strict:
                    raise UnknownTerm(f"strict input: term {term}", why, "Leave it out of the query.")
                left_out.append(LeftOut(term, "outside", why))
            kept.append(functors[~aside])
        return replace(encoded, present=kept[0], excluded=kept[1], left_out=(*encoded.left_out, *left_out))

    def query(
        self,
        observed: Iterable[str],
        excluded: Iterable[str] = (),
        *,
        k: int = 10,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
        where: str | Iterable[str] = (),
    ) -> dict[str, Any]:
        """Returns the answer object for one query: schema ``sma-gpu/answer/1``.

        Args:
            observed: ids of terms that are present.
            excluded: ids of terms that were looked for and are absent; they never score, they are held against hits.
            k: most hits wanted, 1 or more.
            query_id: the caller's name for the query.
            among: keys of the only cases that can be hits; all where it is None. What a term is worth stays the same.
            where: conditions that hits fulfil, all of them, such as ``source=OMIM``; see ``where``.

        Raises:
            QueryError: ``k`` is not a whole number above 0, the ids are not given as a collection of strings, or a
                condition cannot be put on these records.
            UnknownTerm: the engine is strict, and an id cannot be used.
            UnknownKey: no indexed case has one of the keys in ``among``.
        """
        return next(self.answers([(query_id, self.encode(observed, excluded))], k, self.restrict(among, where)))

    def like(
        self,
        key: str,
        *,
        k: int = 10,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
        where: str | Iterable[str] = (),
    ) -> dict[str, Any]:
        """Returns the answer object for a stored case as query, as it is annotated; it is itself no hit.

        Raises:
            UnknownKey: no indexed case has this key, or one of the keys in ``among``.
            QueryError: ``k`` is not a whole number above 0, or a condition cannot be put on these records.
        """
        number = self.number_of(key)
        cases = self.index.cases
        present, absent = cases.functors_of(number), cases.excluded_of(number)
        note = f"the query is {key} as it is annotated; it is itself left out of the hits"
        encoded = EncodedQuery(present, absent, (), (), (note,), len(present))
        everywhere = Restriction(np.ones(len(self.index), np.bool_))
        restriction = (self.restrict(among, where) or everywhere).leaving_out(number, key)
        return next(self.answers([(query_id, encoded)], k, restriction))

    def answers(
        self, queries: Sequence[tuple[str | None, EncodedQuery]], k: int, restriction: Restriction | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yields the answer object to each of ``queries``, in their order; they are ranked together, in blocks.

        Args:
            queries: the caller's name for each query, and the query, made by ``encode``.
            k: most hits wanted for each, 1 or more.
            restriction: the only cases that can be hits, made by ``restrict``; all where it is None.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
            CapacityError: a bound would reach 2^31 units.
        """
        places = check_k(k)
        why = [self._why_abstain(query, restriction) for _, query in queries]
        asked = [query for (_, query), abstention in zip(queries, why, strict=True) if abstention is None]
        ranked = self._ranked(asked, places, restriction)
        for (query_id, query), abstention in zip(queries, why, strict=True):
            if abstention is not None:
                yield self._without_hits(query, query_id, abstention, restriction)
                continue
            found = next(ranked)
            if not found.hits:
                yield self._without_hits(query, query_id, self._nothing_fits(restriction), restriction)
                continue
            yield shape.answer(
                self,
                query,
                query_id,
                None,
                hits=found.hits,
                certified=found.certified,
                aligned=found.aligned,
                novelty=novelty(found.hits[0]["explained"], None),
                restriction=restriction,
                genes=found.genes,
            )

    def _ranked(
        self, queries: Sequence[EncodedQuery], places: int, restriction: Restriction | None
    ) -> Iterator[_Ranked]:
        """Yields what was found for each query; every one of them can be asked."""
        carried = self.genes.carried if self.genes else self.twins.carried if self.merge and self.twins else None
        groups = None if self.twins is None else self.twins.groups
        for block in self._blocks(queries, restriction):
            taken = take(block, places, carried=carried, groups=groups)
            tops = taken.tops
            ties = count_ties(block, tops)
            cases = tops.cases.astype(np.int32)
            mappings = map_block(block, cases, self.backend)
            for row, number in enumerate(block.numbers.tolist()):
                query = queries[number]
                hits = []
                for place in range(int((cases[row] >= 0).sum())):
                    case, pairs = int(cases[row, place]), mappings.pairs(row, place)
                    account = explain(self.index, query.present, query.excluded, case, mapping=pairs)
                    rank, merged = int(taken.rank[row, place]), int(taken.merged[row, place])
                    hits.append(shape.hit(self, query, account, case, rank, merged, int(ties[row, place])))
                genes = None if self.genes is None else self.genes.listed(taken.things[row], hits)
                yield _Ranked(hits, bool(tops.certified[row]), int(tops.aligned[row]), genes)

    def _blocks(self, queries: Sequence[EncodedQuery], restriction: Restriction | None) -> Iterator[QueryBlock]:
        if not queries:
            return
        batch = CaseBatch.from_functors([""] * len(queries), [query.present for query in queries])
        among = None if restriction is None else restriction.wanted
        yield from open_blocks(self.index, batch, self.ops, among=among)

    def _why_abstain(self, query: EncodedQuery, restriction: Restriction | None) -> Abstention | None:
        found = why_abstain(self.index, query)
        if found is None and restriction is not None and not restriction.count:
            words = f"no cases: {restriction.note(self.domain.manifest.entity)}"
            return Abstention("no-cases", words)
        return found

    def _nothing_fits(self, restriction: Restriction | None) -> Abstention:
        if restriction is None and self.genes is None:
            return NOTHING_FITS
        sought = f"{self.domain.manifest.entity}{' with a gene' if self.genes else ''}"
        sought += " that hits are sought among" if restriction else ""
        return Abstention(NOTHING_FITS.kind, f"nothing fits: no {sought} shares anything informative with the query")

    def explain(
        self,
        key: str,
        observed: Iterable[str],
        excluded: Iterable[str] = (),
        *,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
        where: str | Iterable[str] = (),
    ) -> dict[str, Any]:
        """Returns an answer object whose one hit is the case ``key``, at its exact rank among all that can be hits.

        A case that shares nothing informative with the query, or cannot be a hit, has no rank.

        Args:
            key: the case.
            observed: see ``query``, as for the others.
            excluded: likewise.
            query_id: likewise.
            among: likewise.
            where: likewise.

        Raises:
            UnknownKey: no indexed case has this key, or one of the keys in ``among``.
            QueryError: the ids are not given as a collection of strings, or a condition cannot be put on these records.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        number = self.number_of(key)
        encoded = self.encode(observed, excluded)
        restriction = self.restrict(among, where)
        abstention = self._why_abstain(encoded, restriction)
        if abstention is not None:
            return self._without_hits(encoded, query_id, abstention, restriction)
        opened = OpenQuery(next(self._blocks([encoded], restriction)))
        best = opened.top(1)
        if not len(best.cases):
            return self._without_hits(encoded, query_id, self._nothing_fits(restriction), restriction)
        best_explained = explain(
            self.index, encoded.present, encoded.excluded, int(best.cases[0]), opened.table
        ).explained
        place = opened.standing(number)
        reason, hits = None, []
        if restriction is not None and not restriction.wanted[number]:
            reason = f"{key} is none of those that hits are sought among, so it is no hit and has no rank"
        elif place.rank is None:
            reason = f"{key} shares nothing informative with the query, so it is no hit and has no rank"
        else:
            account = explain(self.index, encoded.present, encoded.excluded, number, opened.table)
            groups = None if self.twins is None else self.twins.groups
            before = opened.top(place.rank).cases if groups is not None else np.arange(place.rank)
            hits = [shape.hit(self, encoded, account, number, place.rank, merged_rank(before, groups), place.ties)]
        return shape.answer(
            self,
            encoded,
            query_id,
            reason,
            hits=hits,
            certified=True,  # every case that could stand before this one was aligned
            aligned=place.aligned,
            novelty=novelty(best_explained, None),
            restriction=restriction,
        )

    def compare(self, first: str, second: str) -> dict[str, Any]:
        """Returns what two cases share and what only one of them has, by bits: schema ``sma-gpu/comparison/1``.

        Raises:
            UnknownKey: no indexed case has one of the keys.
        """
        a, b = self.number_of(first), self.number_of(second)
        functors = self.index.cases.functors_of(a)
        account = explain(self.index, functors, self.index.cases.excluded_of(a), b)
        return shape.comparison(self, a, b, account)

    def _without_hits(
        self, encoded: EncodedQuery, query_id: str | None, abstention: Abstention, restriction: Restriction | None
    ) -> dict[str, Any]:
        return shape.answer(
            self,
            encoded,
            query_id,
            abstention.words,
            hits=[],
            certified=True,  # that nothing can be a hit needs no alignment
            aligned=0,
            novelty=novelty(None, abstention),
            restriction=restriction,
        )


class _Ranked(NamedTuple):
    """The hits of one query, best first, and how they are proved."""

    hits: list[dict[str, Any]]
    certified: bool
    aligned: int
    genes: list[dict[str, Any]] | None


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

    Raises:
        QueryError: ``merge`` together with ``by``, or there is no such ``by``, mode of inheritance or publication id.
        DataMissing: a file is nowhere to be found, such as the mappings for ``merge``.
        ParseError: a file cannot be read.

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
    return Engine(
        replace(opened.domain, notes=tuple(notes)),
        opened.dials,
        backend=backend,
        device=device,
        strict=strict,
        index=opened.index,
        equivalents=known,
        merge=merge,
        genes=genes,
        inheritance=inheritance,
        left_out=left_out,
    )
