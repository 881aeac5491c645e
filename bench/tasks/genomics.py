"""Gene products by their function: across two species, and from what was known to what was found later."""

from __future__ import annotations

from functools import partial

from ...errors import DataMissing
from ..arms.arm import Setting
from .domain_at import domain_of_records
from .entry import Entry, Request
from .evaluations import Shape
from .task import Question, Task
from .wording import Wording, counted

__all__ = ["ENTRIES"]

_ORTHOLOGS = Shape("genes with their ortholog", "genomics", ("id", "gold"), ("terms",))
_GAINED = Shape("terms gained by genes", "genomics", ("id",), ("new_terms",))
_LEAST = 3
_UNSAID = frozenset({"GO:0005515"})  # "protein binding" says nothing; those who made the queries left it out


def _make(request: Request, *, terms: str, gold: str, kind: str, least: int) -> Task:
    rows = request.rows()
    domain = domain_of_records("genomics", [row[gold] for row in rows], kind=kind)
    wording = Wording(domain)
    items = wording.items(least=least, unsaid=_UNSAID)
    known = {item.key for item in items}
    questions = []
    for row in rows:
        query = wording.query(row[terms])
        if query is None:
            wording.counts["queries without a known term"] += 1
        elif row[gold] not in known:
            wording.counts["queries whose right answer is not stored"] += 1
        else:
            questions.append(Question(row["id"], query, (row[gold],), row[gold]))
    if not questions:
        raise DataMissing(
            f"queries of task {request.name}", "none has an answer among the records", "Give both of one release."
        )
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(domain.mounted, "genomics", request.seed),
        items=tuple(items),
        questions=tuple(questions),
        counts=counted(wording.counts),
    )


ENTRIES = (
    Entry(
        "genomics/orthologs",
        "Human proteins by their experimental terms; right is the mouse gene of the same symbol. Stored are the mouse "
        f"gene products with {_LEAST} experimental terms and more. Experimental evidence alone, so that nothing was "
        "carried over from one species to the other.",
        ("genomics",),
        partial(_make, terms="terms", gold="gold", kind="experimental", least=_LEAST),
        _ORTHOLOGS,
    ),
    Entry(
        "genomics/gained",
        "Experimental terms that a human gene gained between two releases; right is that gene, which is stored as it "
        "was known at the first, by evidence of all kinds. Hard: what was found later need not be like what was known.",
        ("genomics",),
        partial(_make, terms="new_terms", gold="id", kind="", least=1),
        _GAINED,
    ),
)
