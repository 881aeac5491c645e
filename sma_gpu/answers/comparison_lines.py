"""Lines of a batch, as far as one batch is compared with another."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DataMissing, ParseError

__all__ = ["Earlier", "Line", "Listed", "line_of", "listed", "read_earlier"]

_ANSWERS = "sma-gpu/answer/"


@dataclass(frozen=True)
class Listed:
    """A hit, or a gene where genes are ranked, as far as it is compared."""

    key: str
    name: str
    rank: int
    bits: float


@dataclass(frozen=True)
class Line:
    """An answer, as far as it is compared.

    Attributes:
        hits: best first; none of an abstention or a failed record.
        status: ``hits``, ``abstained`` or ``error``.
        asked: ids that were surely asked for.
        perhaps: these and ids that were asked for, or came of others.
        used: what became of them: terms used, ids that changed, ids that were left out.
        made_of: fingerprint of each thing that an answer states it was made of.
        shown: the same for people, but for the dials.
        dials: dials; empty of a failed record.
    """

    hits: tuple[Listed, ...]
    status: str
    asked: frozenset[str] = frozenset()
    perhaps: frozenset[str] = frozenset()
    used: tuple[Any, ...] = ()
    made_of: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    dials: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Earlier:
    """The answers of an earlier batch.

    Attributes:
        name: name of the file.
        lines: by the id of the query.
        nameless: lines that failed before their id was known.
        release: which release made them; None where nothing says so.
        k: most hits of a query, as far as is known.
        input: SHA-256 of the input; None where nothing says so.
    """

    name: str
    lines: Mapping[str, Line]
    nameless: int
    release: str | None
    k: int
    input: str | None = None


def read_earlier(path: Path) -> Earlier:
    """Returns the answers in ``path``, lines of JSON that a batch wrote; of what stands beside it, the release.

    Raises:
        DataMissing: there is no such file.
        ParseError: a line is no answer, or two have one id.
        OSError: the file cannot be read.
    """
    if not path.is_file():
        found = "that is no file" if path.exists() else "there is no such file"
        raise DataMissing(f"compare with {path}", found, "Name lines of JSON that a batch wrote.")
    lines: dict[str, Line] = {}
    nameless = 0
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                found = json.loads(text)
                line = line_of(found)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
                raise _refused(path, number, f"line {number} is no answer ({fault!r})") from fault
            if found["id"] is None:
                nameless += 1
            elif found["id"] in lines:
                raise _refused(path, number, f"line {number} has the id {found['id']} of an earlier line")
            else:
                lines[found["id"]] = line
    run: Any = None
    with contextlib.suppress(OSError, ValueError):  # without it the release is not known
        run = json.loads(path.with_name(f"{path.name}.run.json").read_text(encoding="utf-8"))
    run = run if isinstance(run, dict) else {}
    most = max((len(line.hits) for line in lines.values()), default=0)
    k = run["k"] if isinstance(run.get("k"), int) else most
    release = run["release"] if isinstance(run.get("release"), str) else None
    given = run["input"] if isinstance(run.get("input"), str) else None
    return Earlier(path.name, lines, nameless, release, k, given)


def _refused(path: Path, number: int, what: str) -> ParseError:
    return ParseError(
        f"compare with {path}", what, "Name lines of JSON that a batch wrote.", path=str(path), line=number
    )


def line_of(answer: Mapping[str, Any]) -> Line:
    """Returns of an answer, or of a failed record, what is compared.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    if "error" in answer:
        return Line((), "error")
    if not answer["schema"].startswith(_ANSWERS):
        raise ValueError(f"of the kind {answer['schema']}")
    query, ontology, records = answer["query"], answer["ontology"], answer["records"]
    used = {(u["term"], bool(u["excluded"])) for u in query["used"]}
    became = {c["used"] for c in query["changed"]}
    told = {entry["asked"] for part in ("changed", "left_out") for entry in query[part]}
    asked = frozenset(told | ({term for term, _ in used} - became))
    without, groups, genes = (records.get("without_sources"), answer.get("equivalents"), answer.get("by_gene"))
    restriction = answer.get("restriction") or {}
    options = [
        *(restriction.get(name) for name in ("among", "among_sha256", "where", "inheritance", "without")), without,
        groups and [groups.get(name) for name in ("sha256", "least_confidence", "merged")],
        genes and genes.get("sha256"),
    ]  # fmt: skip
    return Line(
        hits=tuple(listed(answer)),
        status="abstained" if answer["abstained"] else "hits",
        asked=asked,
        perhaps=asked | {term for term, _ in used},
        used=(
            sorted(used),
            [[c["asked"], c["used"]] for c in query["changed"]],
            [o["asked"] for o in query["left_out"]],
        ),
        made_of={
            "ontology": ontology["sha256"],
            "records": f"{records['entity']} {records.get('selection', '')} {records['sha256']}",
            "dials": answer["dials_fingerprint"],
            "options": json.dumps(options, sort_keys=True),
        },
        shown={
            "ontology": f"{ontology['name']} {ontology['version']} ({ontology['sha256'][:12]})",
            "records": " ".join(
                filter(None, [str(records["cases"]), records.get("selection"), f"{records['entity']}s of"])
            )
            + f" {records['version']} ({records['sha256'][:12]})",
            "options": _options_text(restriction, without, groups, genes),
        },
        dials=answer["dials"],
    )


def _options_text(restriction: Any, without: Any, groups: Any, genes: Any) -> str:
    """Returns restrictions, equivalents and what is ranked, in words."""
    among, where, named = (restriction.get(name) for name in ("among", "where", "without"))
    told = [
        f"among {among} records ({restriction.get('among_sha256', '')[:12]})" if among is not None else "",
        " and ".join(f"where {condition}" for condition in where or ()),
        f"inheritance {' or '.join(restriction['inheritance'])}" if restriction.get("inheritance") else "",
        f"without {named}" if named else "",
        f"without sources {', '.join(without['references'])}" if without else "",
        f"mappings {groups['sha256'][:12]}" if groups else "",
        f"of confidence {groups['least_confidence']} or more" if groups and groups.get("least_confidence") else "",
        "equivalents merged" if groups and groups.get("merged") else "",
        f"by genes of {genes['sha256'][:12]}" if genes else "",
    ]
    return ", ".join(filter(None, told)) or "none"


def listed(answer: Mapping[str, Any]) -> list[Listed]:
    """Returns the hits of an answer, or its genes where genes are ranked."""
    hits = {hit["key"]: hit for hit in answer["hits"]}
    if "genes" not in answer:
        return [Listed(h["key"], h["name"], h["rank"], h["score_bits"]) for h in hits.values()]
    return [Listed(g["key"], g["symbol"], g["rank"], hits[g["case"]]["score_bits"]) for g in answer["genes"]]
