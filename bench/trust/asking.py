"""Questions put to our own index: the signals of each as it is, and once more with what is right hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...cases import CaseBatch, EncodedQuery, encode_query
from ...errors import QueryError
from ...ops import choose
from ...retrieval import Hits, Index, open_blocks
from ...retrieval.mappings import map_block
from ...retrieval.ties import count_ties
from ...scoring.grid import GRID
from ...scoring.normalise import QUOTIENT_SHIFT
from ...trust import why_abstain
from ...trust.folds import join_alike
from ...trust.generalisations import Generalisations
from ...trust.signals import (
    GENERALISED,
    HIT_SIGNALS,
    PLACES,
    QUERY_SIGNALS,
    STABILITY_SIGNALS,
    Signals,
    signals_of,
)
from ...trust.stability import Stability, stability_of
from ..arms import registry as arms
from ..arms.structural import MANY_CELLS, Structural
from ..running import Progress
from ..tasks import registry as tasks
from ..tasks.task import Task
from .plan import Plan, TrustTask

__all__ = ["Asked", "Scores", "ask_task", "without"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Scores:
    """What the first hits of ``Q`` questions score; 0 without a hit.

    Attributes:
        explained: float64 ``[Q]``, share of the question.
        over_self: float64 ``[Q]``, score over the score of the question with itself.
        raw: float64 ``[Q]``, what the order is by: bits over the power of the case's self-score.
    """

    explained: FloatArray
    over_self: FloatArray
    raw: FloatArray


@dataclass(frozen=True)
class _Told:
    """``Q`` questions, with what our index says of each; ``Asked`` says what each field is."""

    questions: tuple[str, ...]
    clusters: tuple[str, ...]
    groups: tuple[str, ...]
    known: BoolArray
    right: BoolArray
    signals: Signals
    scores: Scores
    hidden: Signals
    hidden_scores: Scores

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True)
class Asked(_Told):
    """``Q`` questions of a task, with what our index says of each.

    Attributes:
        questions: ids, as in the rows of arms.
        clusters: right answers, by which intervals are clustered.
        groups: by which folds are cut; those of questions that state the same are joined.
        known: bool ``[Q]``, a right item is indexed.
        right: bool ``[Q, PLACES]``.
        signals: with the signals of stability, and of generalisations where ``generalised``.
        scores: of the first hits.
        hidden: signals with what is right hidden; without those of stability.
        hidden_scores: likewise.
        answers: ``groups`` with the right answers for groups.
        generalised: generalisations were made.
        items: how many items each draw stores, at most.
    """

    answers: tuple[str, ...]
    generalised: bool
    items: int


def without(signals: Signals, *names: str) -> Signals:
    """Returns ``signals`` without those of the given names."""
    of_hits = [at for at, name in enumerate(signals.hit_names) if name not in names]
    of_queries = [at for at, name in enumerate(signals.query_names) if name not in names]
    hit_names, query_names = (
        tuple(name for name in held if name not in names) for held in (signals.hit_names, signals.query_names)
    )
    return Signals(
        signals.held, signals.of_hits[:, :, of_hits], signals.of_queries[:, of_queries], hit_names, query_names
    )


def ask_task(of: Plan, task: TrustTask, *, quick: bool, progress: Progress) -> Asked:
    """Returns all questions of a task, asked of the index that the arm ``ours`` makes.

    Raises:
        QueryError: that arm is none of this engine.
        DataMissing: the data are not here.
    """
    loaded = [(name, seed, _load(of, name, seed, quick=quick)) for name in task.of for seed in task.draws(name)]
    items = max(len(one.items) for _, _, one in loaded)
    generalised = not quick or items <= of.generalisations_up_to
    parts = []
    for name, seed, one in loaded:
        progress(f"{name} seed {seed}: signals")
        parts.append(_ask(of, one, _names(task, name, seed, one), generalised=generalised))
    queries = CaseBatch.from_functors([""] * sum(map(len, parts)), [p for part in parts for p in part.present])
    clusters = tuple(name for part in parts for name in part.clusters)
    groups = [name for part in parts for name in part.groups]
    return Asked(
        questions=tuple(name for part in parts for name in part.questions),
        clusters=clusters,
        groups=join_alike(groups, queries),
        answers=join_alike(clusters, queries),
        known=np.concatenate([part.known for part in parts]),
        right=np.concatenate([part.right for part in parts]),
        signals=Signals.concatenate([part.signals for part in parts]),
        scores=_joined([part.scores for part in parts]),
        hidden=Signals.concatenate([part.hidden for part in parts]),
        hidden_scores=_joined([part.hidden_scores for part in parts]),
        generalised=generalised,
        items=items,
    )


def _load(of: Plan, name: str, seed: int, *, quick: bool) -> Task:
    whole = tasks.load(name, seed=seed)
    if not quick or len(whole.questions) <= of.most_ours:
        return whole
    return tasks.load(name, seed=seed, quick=True, most=of.most)


@dataclass(frozen=True)
class _Part(_Told):
    """One draw of one task, of which questions that state the same are not joined yet.

    Attributes:
        present: functors of each query.
    """

    present: list[IntArray]


def _names(task: TrustTask, name: str, seed: int, one: Task) -> tuple[str, ...]:
    """Returns the ids of questions as they stand in rows that are taken together."""
    of_task = f"{name} " if len(task.of) > 1 else ""
    return tuple(f"{of_task}{seed}:{question.id}" for question in one.questions)


def _ask(of: Plan, task: Task, names: tuple[str, ...], *, generalised: bool) -> _Part:
    arm = arms.find(of.ours).build(task.setting)
    if not isinstance(arm, Structural):
        raise QueryError(f"trust of {of.ours}", "it is no arm of this engine", "Name one that has an index of ours.")
    arm.index(task.items)
    index = arm.array_index
    questions = task.questions
    encoded = [encode_query(task.setting.mounted, q.query.term_ids, q.query.excluded) for q in questions]
    number = {key: at for at, key in enumerate(index.keys)}
    gold = [np.array(sorted(number[key] for key in q.gold), np.int64) for q in questions]
    among = np.ones((len(questions), len(index)), np.bool_)
    for row, question in enumerate(questions):
        among[row, [number[key] for key in question.without]] = False
    pool = Generalisations.build(index) if generalised else None
    signals, scores, cases = _signals(index, encoded, among, pool, None, of)
    hidden_among = among.copy()
    for row, right in enumerate(gold):
        hidden_among[row, right] = False
    hidden, hidden_scores, _ = _signals(index, encoded, hidden_among, pool, gold, None)
    return _Part(
        names,
        tuple(question.cluster for question in questions),
        tuple(question.group or question.cluster for question in questions),
        np.array([len(right) > 0 for right in gold], np.bool_),
        np.array([np.isin(first, right) for first, right in zip(cases, gold, strict=True)], np.bool_),
        signals,
        scores,
        hidden,
        hidden_scores,
        [one.present for one in encoded],
    )


def _signals(
    index: Index,
    encoded: Sequence[EncodedQuery],
    among: BoolArray,
    pool: Generalisations | None,
    gone: Sequence[npt.NDArray[np.int64]] | None,
    reruns: Plan | None,
) -> tuple[Signals, Scores, IntArray]:
    """Returns signals, scores and first hits of all questions; of those that cannot be asked, nothing but zeros.

    Args:
        index: the indexed cases.
        encoded: the questions.
        among: bool ``[Q, N]``, the only cases that can be hits.
        pool: generalisations, or none.
        gone: numbers of cases that do not count in these.
        reruns: says how many; None for signals without those of stability.
    """
    asked = np.flatnonzero([why_abstain(index, query) is None for query in encoded])
    present, excluded = ([getattr(encoded[at], side) for at in asked.tolist()] for side in ("present", "excluded"))
    batch = CaseBatch.from_functors([""] * len(asked), present, excluded)
    backend, ops = choose(cells=MANY_CELLS)
    width, count = min(PLACES, len(index)), len(encoded)
    parts: list[Signals] = []
    rows: list[npt.NDArray[np.int64]] = []
    cases = np.full((count, PLACES), -1, np.int32)
    score, key = np.zeros(count), np.zeros(count)
    for block in open_blocks(index, batch, ops, among=among[asked]):
        tops, at = block.top(width), asked[block.numbers]
        first = tops.cases.astype(np.int32)
        inside = batch.take(block.numbers)
        hits = Hits(
            inside.keys, index.key_column[first], first, tops.scores, tops.limits, tops.rank_keys,
            np.where(first >= 0, np.arange(1, width + 1, dtype=np.int32), np.int32(0)), tops.certified, tops.aligned,
            backend, map_block(block, first, backend),
        )  # fmt: skip
        stability: Stability | None = None
        if reruns is not None:
            stability = stability_of(
                index, inside, first, runs=reruns.stability_runs, seed=reruns.stability_seed, among=among[at],
                backend=backend,
            )  # fmt: skip
        generalised = None
        if pool is not None:
            generalised = pool.unexplained(inside, None if gone is None else [gone[one] for one in at.tolist()])
        parts.append(signals_of(index, inside, None, hits, count_ties(block, tops), stability, generalised))
        rows.append(at)
        cases[at, :width] = first
        score[at], key[at] = tops.scores[:, 0], tops.rank_keys[:, 0]
    signals = _in_place(parts, rows, count, generalised=pool is not None, stable=reruns is not None)
    own = np.zeros(count)
    own[asked] = np.bincount(
        np.repeat(np.arange(len(asked)), np.diff(batch.ptr)), index.query_values(batch.ptr, batch.functors), len(asked)
    )
    held = cases[:, 0] >= 0
    explained = np.where(held, signals.of_hits[:, 0, signals.hit_names.index("explained")], 0.0)
    over_self = np.where(held, score / np.maximum(own + GRID, 1.0), 0.0)
    return signals, Scores(explained, over_self, np.where(held, key / (1 << QUOTIENT_SHIFT), 0.0)), cases


def _in_place(
    parts: Sequence[Signals], rows: Sequence[npt.NDArray[np.int64]], count: int, *, generalised: bool, stable: bool
) -> Signals:
    """Returns the signals of all ``count`` questions, of which ``rows`` of each part were asked."""
    hit_names = (*HIT_SIGNALS, *(STABILITY_SIGNALS if stable else ()))
    query_names = (*QUERY_SIGNALS, *((GENERALISED,) if generalised else ()))
    held = np.zeros((count, PLACES), np.bool_)
    of_hits, of_queries = np.zeros((count, PLACES, len(hit_names))), np.zeros((count, len(query_names)))
    for at, part in zip(rows, parts, strict=True):
        held[at], of_hits[at], of_queries[at] = part.held, part.of_hits, part.of_queries
    return Signals(held, of_hits, of_queries, hit_names, query_names)


def _joined(parts: Sequence[Scores]) -> Scores:
    return Scores(*(np.concatenate([getattr(one, name) for one in parts]) for name in Scores.__dataclass_fields__))
