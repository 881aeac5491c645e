"""A later patent to the earlier ones that it continues, among all patents at hand."""

from __future__ import annotations

from ...errors import DataMissing
from ..arms.arm import Setting
from .domain_at import domain_of_records
from .entry import Entry, Request
from .evaluations import Shape
from .task import Question, Task
from .wording import Wording, counted

__all__ = ["ENTRIES"]

_CONTINUATIONS = Shape("patents with those that they continue", "legal", ("id",), ("cpc", "gold"))


def _make(request: Request) -> Task:
    rows = request.rows()
    domain = domain_of_records("legal", [key for row in rows for key in row["gold"]])
    wording = Wording(domain)
    items = wording.items()
    known = {item.key for item in items}
    questions = []
    for row in rows:
        query = wording.query(row["cpc"])
        gold = tuple(sorted({key for key in row["gold"] if key in known} - {row["id"]}))
        if query is None:
            wording.counts["queries without a known symbol"] += 1
        elif not gold:
            wording.counts["queries whose right answers are not stored"] += 1
        else:
            own = (row["id"],) if row["id"] in known else ()
            # Continuations of one patent share their right answers.
            questions.append(Question(row["id"], query, gold, cluster=gold[0], without=own))
    if not questions:
        raise DataMissing(
            f"queries of task {request.name}", "none has an answer among the patents", "Give both of one kind."
        )
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(domain.mounted, "legal", request.seed),
        items=tuple(items),
        questions=tuple(questions),
        counts=counted(wording.counts),
    )


ENTRIES = (
    Entry(
        "patents/continuations",
        "Later patents by their CPC symbols; right are earlier patents of the same title. All patents are stored, and "
        "the query's own takes no place. Pairs with equal symbols were removed, since those are assigned to whole "
        "families; the query's title is not shown, because it would be the answer.",
        ("legal",),
        _make,
        _CONTINUATIONS,
    ),
)
