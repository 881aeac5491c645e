"""One domain, indexed and ready to be asked. Follow ``query`` to follow a query from ids to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch, EncodedQuery, encode_query
from ..cases.encoder import Changed, LeftOut, id_list
from ..errors import QueryError, UnknownTerm
from ..ontologies.spelling import Respelled, respell
from ..retrieval import OpenQuery, check_k, explain, open_blocks
from ..retrieval.block import QueryBlock
from ..retrieval.mappings import map_block
from ..retrieval.ties import count_ties
from ..trust import NOTHING_FITS, Abstention, novelty, why_abstain
from ..trust.stability import check_runs
from . import answer as shape
from .calibrated import Judgement
from .indexed import IndexedDomain
from .ranked import merged_rank, take
from .restriction import Restriction
from .steadiness import look, of_answer, of_hit
from .text import comparison_text, query_text

if TYPE_CHECKING:
    from .pages.style import Page

__all__ = ["Engine"]


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

    def batch(self, queries: Iterable[Iterable[str]], keys: Iterable[str] | None = None) -> CaseBatch:
        """Returns queries as arrays, for ``Index.retrieve``: for thousands of them, without an account of each.

        An id that cannot be used is left out, as ``encode`` tells it; a strict engine refuses it.

        Args:
            queries: ids of the terms that are present in each.
            keys: the caller's name for each; its place from 0 where it is None.

        Raises:
            QueryError: there are not as many keys as queries, or ids are not given as a collection of strings.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        present = [self.encode(observed).present for observed in queries]
        named = list(map(str, range(len(present)))) if keys is None else list(keys)
        if len(named) != len(present):
            raise QueryError(f"a batch of {len(present)} queries", f"{len(named)} keys", "Give a key for each query.")
        return CaseBatch.from_functors(named, present)

    def text(self, answer: dict[str, Any]) -> str:
        """Returns an answer of this engine, or a comparison, as the text that the command line shows."""
        manifest = self.domain.manifest
        if answer["schema"] == shape.COMPARISON_SCHEMA:
            return comparison_text(answer, manifest.entity)
        return query_text(answer, manifest.entity, manifest.facet_name)

    def page(self, answer: Mapping[str, Any]) -> Page:
        """Returns an answer of this engine, or a comparison, as an HTML page that stands alone.

        It is a text, to be written into a file; at the end of a notebook's cell it is shown, in a frame of its own.
        """
        from .pages.case import case_page  # here, since no other form needs what makes pages
        from .pages.compared import comparison_page
        from .words import Speech

        manifest = self.domain.manifest
        if answer["schema"] == shape.COMPARISON_SCHEMA:
            return comparison_page(answer, manifest.entity, notice=manifest.notice)
        speech = Speech(answer["names"], manifest.entity, manifest.facet_name)
        return case_page(answer, speech, title=manifest.title, notice=manifest.notice)

    def query(
        self,
        observed: Iterable[str],
        excluded: Iterable[str] = (),
        *,
        k: int = 10,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
        where: str | Iterable[str] = (),
        stability: int = 0,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Returns the answer object for one query: schema ``sma-gpu/answer/1``.

        Args:
            observed: ids of terms that are present.
            excluded: ids of terms that were looked for and are absent; they never score, they are held against hits.
            k: most hits wanted, 1 or more.
            query_id: the caller's name for the query.
            among: keys of the only cases that can be hits; all where it is None. What a term is worth stays the same.
            where: conditions that hits fulfil, all of them, such as ``source=OMIM``; see ``where``.
            stability: distinct reruns with one term changed, by which to say how steady hits are; none where it is 0.
            seed: what these are drawn from.

        Raises:
            QueryError: ``k`` is not a whole number above 0, the ids are not given as a collection of strings, or a
                condition cannot be put on these records.
            UnknownTerm: the engine is strict, and an id cannot be used.
            UnknownKey: no indexed case has one of the keys in ``among``.
        """
        asked = [(query_id, self.encode(observed, excluded))]
        return next(self.answers(asked, k, self.restrict(among, where), stability=stability, seed=seed))

    def like(
        self,
        key: str,
        *,
        k: int = 10,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
        where: str | Iterable[str] = (),
        stability: int = 0,
        seed: int = 0,
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
        return next(self.answers([(query_id, encoded)], k, restriction, stability=stability, seed=seed))

    def answers(
        self,
        queries: Sequence[tuple[str | None, EncodedQuery]],
        k: int,
        restriction: Restriction | None = None,
        *,
        stability: int = 0,
        seed: int = 0,
    ) -> Iterator[dict[str, Any]]:
        """Yields the answer object to each of ``queries``, in their order; they are ranked together, in blocks.

        Args:
            queries: the caller's name for each query, and the query, made by ``encode``.
            k: most hits wanted for each, 1 or more.
            restriction: the only cases that can be hits, made by ``restrict``; all where it is None.
            stability: see ``query``.
            seed: likewise.

        Raises:
            QueryError: ``k`` is not a whole number above 0, or ``stability`` or ``seed`` none of 0 or more.
            CapacityError: a bound would reach 2^31 units, or there are too many hits to hold against each other.
        """
        places, runs = check_k(k), check_runs(stability, seed)
        why = [self.why_abstain(query, restriction) for _, query in queries]
        asked = [query for (_, query), abstention in zip(queries, why, strict=True) if abstention is None]
        ranked = self._ranked(asked, places, restriction, runs, seed)
        for (query_id, query), abstention in zip(queries, why, strict=True):
            if abstention is not None:
                yield self._without_hits(query, query_id, abstention, restriction) | of_answer(None, 0, runs, seed)
                continue
            found = next(ranked)
            if not found.hits:
                yield self._without_hits(query, query_id, self._nothing_fits(restriction), restriction) | found.reruns
                continue
            withheld = self._why_withheld(found.judgement)
            yield shape.answer(
                self,
                query,
                query_id,
                None if withheld is None else withheld.words,
                hits=found.hits if withheld is None else [],
                certified=found.certified,
                aligned=found.aligned,
                novelty=novelty(found.hits[0]["explained"], None),
                restriction=restriction,
                genes=found.genes,
                more=found.reruns | self._by_calibration(found.judgement, None),
            )

    def _ranked(
        self, queries: Sequence[EncodedQuery], places: int, restriction: Restriction | None, runs: int, seed: int
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
            asked = [queries[number] for number in block.numbers.tolist()]
            steady = look(self, asked, block, cases, runs, seed, restriction)
            judgements = self._judgements(block, asked)
            for row, number in enumerate(block.numbers.tolist()):
                query = queries[number]
                hits = []
                for place in range(int((cases[row] >= 0).sum())):
                    case, pairs = int(cases[row, place]), mappings.pairs(row, place)
                    account = explain(self.index, query.present, query.excluded, case, mapping=pairs)
                    rank, merged = int(taken.rank[row, place]), int(taken.merged[row, place])
                    shown = shape.hit(self, query, account, case, rank, merged, int(ties[row, place]))
                    hits.append(shown | of_hit(self, steady, row, place) | _sure(judgements[row], case))
                genes = None if self.genes is None else self.genes.listed(taken.things[row], hits)
                reruns = of_answer(steady, row, runs, seed)
                certified, aligned = bool(tops.certified[row]), int(tops.aligned[row])
                yield _Ranked(hits, certified, aligned, genes, reruns, judgements[row])

    def _blocks(self, queries: Sequence[EncodedQuery], restriction: Restriction | None) -> Iterator[QueryBlock]:
        if not queries:
            return
        batch = CaseBatch.from_functors([""] * len(queries), [query.present for query in queries])
        among = None if restriction is None else restriction.wanted
        yield from open_blocks(self.index, batch, self.ops, among=among)

    def _judgements(self, block: QueryBlock, queries: Sequence[EncodedQuery]) -> Sequence[Judgement | None]:
        """Returns what the calibration says of each query of an opened block; None each without one."""
        if self.calibrated is None:
            return [None] * len(queries)
        return self.calibrated.judgements(block, queries, self.backend, (self.backend_asked, self.device))

    def _why_withheld(self, found: Judgement | None) -> Abstention | None:
        if self.calibrated is None or found is None:
            return None
        return self.calibrated.why_withheld(found, self.index.keys[int(found.cases[0])])

    def _by_calibration(self, found: Judgement | None, abstention: Abstention | None) -> dict[str, Any]:
        """Returns the fields of an answer that the calibration fills; none without one."""
        return {} if self.calibrated is None else self.calibrated.of_answer(found, abstention)

    def why_abstain(self, query: EncodedQuery, restriction: Restriction | None) -> Abstention | None:
        """Returns why this query cannot be asked, or None if it can; see ``trust.why_abstain``."""
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
        stability: int = 0,
        seed: int = 0,
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
            stability: likewise.
            seed: likewise.

        Raises:
            UnknownKey: no indexed case has this key, or one of the keys in ``among``.
            QueryError: the ids are not given as a collection of strings, or a condition cannot be put on these records.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        runs = check_runs(stability, seed)
        number = self.number_of(key)
        encoded = self.encode(observed, excluded)
        restriction = self.restrict(among, where)
        abstention = self.why_abstain(encoded, restriction)
        if abstention is not None:
            return self._without_hits(encoded, query_id, abstention, restriction) | of_answer(None, 0, runs, seed)
        opened = OpenQuery(next(self._blocks([encoded], restriction)))
        best = opened.top(1)
        if not len(best.cases):
            answer = self._without_hits(encoded, query_id, self._nothing_fits(restriction), restriction)
            return answer | of_answer(None, 0, runs, seed)
        best_explained = explain(
            self.index, encoded.present, encoded.excluded, int(best.cases[0]), opened.table
        ).explained
        place = opened.standing(number)
        judgement = self._judgements(opened.block, [encoded])[0]
        reason, hits, steady = None, [], None
        if restriction is not None and not restriction.wanted[number]:
            reason = f"{key} is none of those that hits are sought among, so it is no hit and has no rank"
        elif place.rank is None:
            reason = f"{key} shares nothing informative with the query, so it is no hit and has no rank"
        else:
            account = explain(self.index, encoded.present, encoded.excluded, number, opened.table)
            groups = None if self.twins is None else self.twins.groups
            before = opened.top(place.rank).cases if groups is not None else np.arange(place.rank)
            steady = look(self, [encoded], opened.block, np.array([[number]], np.int32), runs, seed, restriction)
            shown = shape.hit(self, encoded, account, number, place.rank, merged_rank(before, groups), place.ties)
            hits = [shown | of_hit(self, steady, 0, 0) | _sure(judgement, number)]
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
            more=of_answer(steady, 0, runs, seed) | self._by_calibration(judgement, None),
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
            more=self._by_calibration(None, abstention),
        )


class _Ranked(NamedTuple):
    """The hits of one query, best first, and how they are proved."""

    hits: list[dict[str, Any]]
    certified: bool
    aligned: int
    genes: list[dict[str, Any]] | None
    reruns: dict[str, Any]
    judgement: Judgement | None


def _sure(found: Judgement | None, case: int) -> dict[str, Any]:
    """Returns the field of a hit that a calibration fills; none without one."""
    return {} if found is None else {"confidence": found.of(case)}
