"""A filing's income statement to the same company a year later, and to other companies of its industry."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from ...errors import DataMissing
from ...ontologies.domains import Domain
from ..arms.arm import Setting
from .domain_at import domain_of_records
from .entry import Entry, Request
from .evaluations import Row, Shape
from .task import Question, Task
from .wording import Wording, counted

__all__ = ["ENTRIES"]

_LATER = Shape("income statements with a later filing", "finance", ("query", "gold"), ("terms",))


def _make(request: Request, *, by_industry: bool) -> Task:
    rows = request.rows()
    domain = domain_of_records("finance", [row["gold"] for row in rows])
    wording = Wording(domain)
    companies, industries = _of(domain, "cik"), _of(domain, "sic")
    items = wording.items(_one_a_company(domain, rows, companies, wording))
    by_company: dict[str, list[str]] = defaultdict(list)
    by_code: dict[str, list[str]] = defaultdict(list)
    for item in items:
        by_company[companies[item.key]].append(item.key)
        by_code[industries[item.key]].append(item.key)
    known = {item.key for item in items}
    questions = []
    for row in rows:
        query = wording.query(row["terms"])
        if query is None:
            wording.counts["queries without a known concept"] += 1
            continue
        if row["gold"] not in known:
            wording.counts["queries whose right answer is not stored"] += 1
            continue
        company, industry = companies[row["gold"]], industries[row["gold"]]
        same = tuple(by_company[company])
        alike = tuple(key for key in by_code[industry] if key not in same) if industry else ()
        if by_industry and not alike:
            wording.counts["queries of whose industry no other company is stored"] += 1
        elif by_industry:
            questions.append(Question(row["query"], query, alike, cluster=industry, group=company, without=same))
        else:
            questions.append(Question(row["query"], query, same, cluster=company))
    if not questions:
        raise DataMissing(
            f"queries of task {request.name}", "none has an answer among the filings", "Give both of one kind."
        )
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(domain.mounted, "finance", request.seed),
        items=tuple(items),
        questions=tuple(questions),
        counts=counted(wording.counts),
    )


def _one_a_company(domain: Domain, rows: list[Row], companies: dict[str, str], wording: Wording) -> list[int]:
    """Returns the filings of the quarters and forms of the right answers, one a company: a right one, else the last."""
    quarters, forms = _of(domain, "quarter"), _of(domain, "form")
    right = {row["gold"] for row in rows}
    wanted = {(quarters[key], forms[key]) for key in right if key in domain.records}
    first: dict[str, str] = {}
    found = [key for key in domain.records.keys if (quarters[key], forms[key]) in wanted]
    for key in sorted(found, key=lambda key: (key in right, key)):
        first[companies[key]] = key
    if len(found) > len(first):
        wording.counts["further filings of a company in the same quarter"] += len(found) - len(first)
    return [domain.records.index(key) for key in sorted(first.values())]


def _of(domain: Domain, name: str) -> dict[str, str]:
    """Returns the first text of an attribute of every record, empty where it has none."""
    column = domain.records.attributes[name]
    return {key: next(iter(column.of(at)), "") for at, key in enumerate(domain.records.keys)}


_STORED = "Stored are the filings of the later quarter, one a company. An income statement alone is asked, since whole "
_STORED += "filings are found again by every method."

ENTRIES = (
    Entry(
        "filings/a-year-later",
        f"Income statements of quarterly reports; right is the same company's report a year later. {_STORED}",
        ("finance",),
        partial(_make, by_industry=False),
        _LATER,
    ),
    Entry(
        "filings/industry",
        "Income statements of quarterly reports; right is every other company of the same industry (SIC, four digits), "
        f"and the company's own report takes no place. {_STORED}",
        ("finance",),
        partial(_make, by_industry=True),
        _LATER,
    ),
)
