"""Which arms there are, what each needs, and how one is built from its name.

Besides those here: what installed packages offer under the entry points ``sma_gpu.arms``, each a class or function that
is called with a ``Setting``, and any ``package.module:Class``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from ...errors import DataMissing, QueryError
from ...memory import Memory
from ..machine import package_version
from ..text_vectors import PACKAGED, missing_model
from .arm import Arm, OneByOne, Setting

__all__ = ["ARMS", "GROUP", "Entry", "all_arms", "find"]

GROUP = "sma_gpu.arms"
_PEERS = "pip install 'sma_gpu[peers]'"
_BENCH = "pip install 'sma_gpu[bench]'"
_BELOW = f"{__name__.rpartition('.')[0]}."


@dataclass(frozen=True)
class Entry:
    """An arm that can be asked for.

    Attributes:
        name: what ``--arm`` takes.
        target: ``module:attribute`` of what is called with a ``Setting``.
        words: what it is, in a sentence.
        packages: distributions that must be installed.
        install: the line that installs them.
        models: by what it does, the model that is used where the setting names no other.
        deviates: checks of the contract that it is known to fail, each with the reason.
        kind: ``ours``, ``ladder``, ``published``, ``text``, ``ontology``, ``floor`` or ``other``.
    """

    name: str
    target: str
    words: str
    packages: tuple[str, ...] = ()
    install: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    deviates: Mapping[str, str] = field(default_factory=dict)
    kind: str = "other"

    def missing(self, models: Mapping[str, str] | None = None) -> str:
        """Returns why the arm is not available here and what to do, or an empty string.

        Args:
            models: names of models as in ``Setting.models``.
        """
        lacking = [name for name in self.packages if package_version(name) is None]
        if lacking:
            return f"{', '.join(lacking)} not installed: {self.install}"
        for use, usual in sorted(self.models.items()):
            if why := missing_model((models or {}).get(use, usual)):
                return why
        return ""

    def build(self, setting: Setting) -> Arm:
        """Returns the arm, with nothing in it; one with the Memory protocol alone is asked query by query.

        Raises:
            DataMissing: a package or a model is not here.
            QueryError: the target cannot be imported, or gives no memory.
        """
        if why := self.missing(setting.models):
            raise DataMissing(f"arm {self.name}", why, "Or leave this arm out.")
        memory = _load(self.target)(setting)
        if not all(callable(getattr(memory, call, None)) for call in ("index", "retrieve", "novelty")):
            raise QueryError(
                f"arm {self.name}",
                f"{self.target} gives {type(memory).__name__}, which is no memory",
                "A memory has index, retrieve and novelty.",
            )
        named: Memory = memory
        return named if isinstance(named, Arm) else OneByOne(named)


_ONE_OF_EQUALS = {
    "tie-order": "equal scores stand in the order of content hashes, as published",
    "equal-content": "two items of equal content are one case, under the key of the later one, as published",
    "item-order": "which of two items of equal content is left hangs on the order of the items, as published",
}
_TEXT = ("bm25s",)
_DENSE = ("sentence-transformers",)
_MODEL = {"embedding": PACKAGED}

ARMS = (
    Entry(
        "structural", f"{_BELOW}structural:Structural", "this engine, default dials, every case certified", kind="ours",
    ),
    Entry(
        "evidence", f"{_BELOW}structural:Evidence",
        "this engine by frequencies, sizes of cases and background rates, the domain's own dials, every case certified",
        kind="ours",
    ),
    Entry(
        "evidence-drawn", f"{_BELOW}structural:EvidenceDrawn",
        "the same, scale and power tuned on queries drawn from stored cases (other seeds of the published protocol)",
        kind="ours",
    ),
    Entry(
        "structural-sized", f"{_BELOW}structural:Sized",
        "this engine, default dials, over the fourth root of the case's self-score", kind="ours",
    ),
    Entry(
        "structural-cases", f"{_BELOW}structured:StructuralCases",
        "this engine over whole cases, statements about statements included, default dials", kind="ours",
    ),
    Entry("mac-only", f"{_BELOW}structural:MacOnly", "this engine's bound alone, nothing aligned", kind="ours"),
    Entry(
        "adapter-v1-all-cases", f"{_BELOW}structural:AdapterV1AllCases",
        "the published scores and normalisation, every case scored by its best mapping", kind="published",
    ),
    Entry(
        "adapter-v1-peer-exact", f"{_BELOW}adapter_v1:AdapterV1",
        "the published ranking as it is: shortlist of 80, budget of 40, its own defects", ("blake3",), _BENCH,
        deviates=_ONE_OF_EQUALS, kind="published",
    ),
    Entry(
        "published", f"{_BELOW}published:Published", "the published package itself, without its pool for novelty",
        ("structuremappingmemory",), _BENCH, deviates=_ONE_OF_EQUALS, kind="published",
    ),
    Entry("bm25-names", f"{_BELOW}bm25:Bm25Names", "BM25 over texts or term names (bm25s)", _TEXT, _PEERS, kind="text"),
    Entry(
        "bm25-closure", f"{_BELOW}bm25:Bm25Closure", "BM25 over term ids with all their ancestors (bm25s)",
        _TEXT, _PEERS, kind="ontology",
    ),
    Entry(
        "dense-text", f"{_BELOW}dense:DenseText", "cosine of sentence vectors, one text a case", _DENSE, _PEERS,
        _MODEL, kind="text",
    ),
    Entry(
        "dense-terms", f"{_BELOW}dense:DenseTerms", "cosine of the means of the vectors of term names", _DENSE, _PEERS,
        _MODEL, kind="text",
    ),
    Entry(
        "hybrid-rrf", f"{_BELOW}hybrid:Hybrid", "BM25 and dense over texts, reciprocal rank fusion (k = 60)",
        (*_TEXT, *_DENSE), _PEERS, _MODEL, kind="text",
    ),
    Entry(
        "hybrid-reranked", f"{_BELOW}hybrid:HybridReranked", "the first 50 of that, reordered by a cross-encoder",
        (*_TEXT, *_DENSE), _PEERS, {**_MODEL, "reranker": "cross-encoder/ms-marco-MiniLM-L6-v2"}, kind="text",
    ),
    Entry(
        "phrase-graph", f"{_BELOW}phrase_graph:PhraseGraph",
        "HippoRAG-style graph of phrases and items, personalised PageRank, phrases joined by is-a", kind="text",
    ),
    Entry(
        "phrase-graph-synonyms", f"{_BELOW}phrase_graph:PhraseGraphSynonyms",
        "the same, phrases joined by likeness of their vectors too", _DENSE, _PEERS, _MODEL, kind="text",
    ),
    Entry(
        "resnik-one-sided", f"{_BELOW}best_match:ResnikOneSided",
        "mean over the query's terms of the best match by shared information content", kind="ontology",
    ),
    Entry(
        "phenomizer", f"{_BELOW}best_match:Phenomizer", "the same from both sides (Phenomizer without p-values)",
        kind="ontology",
    ),
    Entry("lin", f"{_BELOW}best_match:LinBestMatch", "best matches by Lin's measure, both sides", kind="ontology"),
    Entry(
        "simgic", f"{_BELOW}similarity:SimGic", "information content shared over that of either, with ancestors",
        kind="ontology",
    ),
    Entry(
        "jaccard", f"{_BELOW}similarity:Jaccard", "terms shared over terms of either, with ancestors", kind="ontology",
    ),
    Entry(
        "likelihood-ratio", f"{_BELOW}likelihood:LikelihoodRatio",
        "LIRICAL-like: likelihood ratios with frequencies and excluded terms", kind="ontology",
    ),
    Entry(
        "likelihood-ratio-seen", f"{_BELOW}likelihood:LikelihoodRatioSeen",
        "the same by the terms that were seen alone, absences left out", kind="ontology",
    ),
    Entry("ladder-exact", f"{_BELOW}ladder:Exact", "equal ids, all worth the same", kind="ladder"),
    Entry("ladder-isa-1", f"{_BELOW}ladder:IsA1", "the same, and one is-a hop", kind="ladder"),
    Entry("ladder-isa-2", f"{_BELOW}ladder:IsA2", "the same, and two is-a hops", kind="ladder"),
    Entry("ladder-ic-0", f"{_BELOW}ladder:Ic0", "equal ids, worth their information content", kind="ladder"),
    Entry("ladder-ic-1", f"{_BELOW}ladder:Ic1", "the same, and one is-a hop", kind="ladder"),
    Entry("ladder-ic-2", f"{_BELOW}ladder:Ic2", "the same, and two is-a hops", kind="ladder"),
    Entry(
        "ladder-relations", f"{_BELOW}ladder:Relations",
        "the same, and typed relations between terms of one case as statements about them", kind="ladder",
    ),
    Entry("random", f"{_BELOW}floor:Chance", "a random order, seeded by the query's terms", kind="floor"),
    Entry("popularity", f"{_BELOW}floor:Popularity", "items with the most terms first", kind="floor"),
)  # fmt: skip
"""The arms of this package, in the order of tables."""


def all_arms() -> tuple[Entry, ...]:
    """Returns the arms of this package, then those of installed ones by name."""
    others = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return (
        *ARMS,
        *(Entry(p.name, p.value, f"of the package {p.dist.name if p.dist else p.module}") for p in others),
    )


def find(name: str) -> Entry:
    """Returns the arm that ``name`` stands for: one of ``all_arms``, or ``package.module:Class``.

    Raises:
        QueryError: there is none, or two packages offer it.
    """
    found = [entry for entry in all_arms() if entry.name == name]
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise QueryError(
            f"arm {name}",
            f"{len(found)} packages offer it: {', '.join(entry.target for entry in found)}",
            "Name one of these instead.",
        )
    if ":" in name:
        return Entry(name, name, "named by its module")
    known = ", ".join(entry.name for entry in all_arms())
    raise QueryError(f"arm {name}", "there is no such arm", f"There are {known}; or give package.module:Class.")


def _load(target: str) -> Callable[[Setting], Any]:
    module, _, attribute = target.partition(":")
    try:
        found = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as fault:
        raise QueryError(
            f"arm {target}", f"it cannot be imported ({fault})", "Give package.module:Class of an installed package."
        ) from fault
    loaded: Any = found
    return loaded  # type: ignore[no-any-return]
