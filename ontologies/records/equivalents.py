"""Which records stand for one and the same thing, as a mapping file says: connected components over exact matches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..compiled import load_compiled, store_compiled
from ..report import LoadReport
from ..source import SourceLike, read_source
from ..strings import StringColumn
from .columns import Arrays, strings_of, typed
from .sssom import MappingSet, read_sssom

__all__ = ["Equivalents", "find_equivalents", "folded", "read_equivalents"]

Int32 = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

# One source under several prefixes: ORDO, the ontology of Orphanet, calls itself Orphanet where annotations say ORPHA.
_SAME_PREFIX = {"orphanet": "orpha", "ordo": "orpha", "mim": "omim"}
_KIND = "equivalents"
_LAYOUT = 1  # raise it whenever the same file gives other groups


@dataclass(frozen=True, eq=False)
class Equivalents:
    """Groups of records, each of which describes one thing.

    Attributes:
        path: name of the mapping file.
        version: what it says of its version; may be empty.
        sha256: SHA-256 of the uncompressed file, hex.
        least: least confidence of a row that was used; rows that state none are always used.
        group: int32 ``[R]``, number of the group of every record; a record without twins is a group of its own. Groups
            are numbered by their first record.
        shared: for each group the id through which its records are joined, ``""`` for a record without twins.
        mapped: number of records that the file maps to anything.
        report: what was noticed while reading and joining.
    """

    path: str
    version: str
    sha256: str
    least: float
    group: Int32
    shared: tuple[str, ...]
    mapped: int
    report: LoadReport = field(repr=False)

    def __post_init__(self) -> None:
        self.group.setflags(write=False)

    @property
    def joined(self) -> int:
        """Number of groups of two or more records."""
        return int((np.diff(self._members[0]) > 1).sum())

    def twins(self, record: int) -> list[int]:
        """Returns the numbers of the other records of the group of record number ``record``, ascending."""
        ptr, members = self._members
        group = int(self.group[record])
        return [other for other in members[ptr[group] : ptr[group + 1]].tolist() if other != record]

    @cached_property
    def _members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Pointers int64 ``[groups + 1]`` and, by them, the records of each group."""
        order = np.argsort(self.group, kind="stable")
        return np.searchsorted(self.group[order], np.arange(len(self.shared) + 1)), order


def folded(term: str) -> str:
    """Returns an id as it is compared: the case of its prefix, and under which of its names, play no part.

    >>> folded("Orphanet:558"), folded("ORPHA:558"), folded("G0001")
    ('orpha:558', 'orpha:558', 'G0001')
    """
    prefix, colon, local = term.partition(":")
    if not colon or local.startswith("//"):
        return term
    prefix = prefix.casefold()
    return f"{_SAME_PREFIX.get(prefix, prefix)}:{local}"


def read_equivalents(
    source: SourceLike, keys: Sequence[str], *, least: float = 0.0, strict: bool = False
) -> Equivalents:
    """Returns the groups that an SSSOM file makes of the records with these keys, from a compiled file where one is.

    Raises:
        ParseError: see ``read_sssom``; under ``strict`` also where rows contradict one another.
        DataMissing: there is no such file.
    """
    opened = read_source(source)
    told = "\n".join((f"{_KIND} {_LAYOUT}", opened.raw_sha256, repr(least), *keys))
    key = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    kept = load_compiled(_KIND, key)
    found = None if kept is None else _from_arrays(kept, opened.path)
    if found is not None and not (strict and found.report.faults):
        return found
    found = find_equivalents(read_sssom(opened, strict=strict), keys, least=least)
    store_compiled(_KIND, key, _to_arrays(found))
    return found


def _to_arrays(found: Equivalents) -> dict[str, npt.NDArray[np.generic]]:
    meta = {
        "version": found.version,
        "sha256": found.sha256,
        "least": found.least,
        "mapped": found.mapped,
        "report": found.report.to_json(),
    }
    shared = StringColumn.from_strings(found.shared)
    return {
        "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
        "group": found.group,
        "shared": shared.blob_array,
        "shared_ends": shared.ends,
    }


def _from_arrays(arrays: Arrays, path: str) -> Equivalents | None:
    """Returns the groups that ``_to_arrays`` wrote, None where another release wrote them."""
    try:
        meta = json.loads(np.asarray(arrays["meta"], np.uint8).tobytes())
        return Equivalents(
            path=path,
            version=str(meta["version"]),
            sha256=str(meta["sha256"]),
            least=float(meta["least"]),
            group=typed(arrays["group"], np.int32),
            shared=tuple(strings_of(arrays, "shared", "shared_ends")),
            mapped=int(meta["mapped"]),
            report=LoadReport.from_json(str(meta["report"]), path),
        )
    except (KeyError, TypeError, ValueError):
        return None


def find_equivalents(mappings: MappingSet, keys: Sequence[str], *, least: float = 0.0) -> Equivalents:
    """Returns the groups that mappings make of the records with these keys.

    Only rows about identity join (``sssom.EXACT``). A row with Not takes back the same pair stated elsewhere; that
    other rows join the two all the same is warned of, since nothing tells which of them is wrong. The order of rows
    plays no part.

    Args:
        mappings: what corresponds to what.
        keys: keys of the records, ascending.
        least: rows that state a confidence below it are not used.

    Raises:
        ParseError: rows contradict one another, and the mappings were read strictly.
    """
    from scipy.sparse import coo_array  # here, since every command would otherwise wait for them
    from scipy.sparse.csgraph import connected_components

    nodes: dict[str, int] = {}
    of_id = np.array([nodes.setdefault(folded(term), len(nodes)) for term in mappings.ids], np.int64)
    in_file = len(nodes)
    of_key = np.array([nodes.setdefault(folded(key), len(nodes)) for key in keys], np.int64)
    report = mappings.report
    exact = mappings.exact
    _note_others(mappings, ~exact)
    weak = exact & (mappings.confidence < least)
    if weak.any():
        lines = mappings.line[weak].tolist()
        report.note("confidence", f"{len(lines)} rows have a confidence below {least:g}; not used", lines)
    exact &= ~weak
    ends = np.sort(np.column_stack([of_id[mappings.subject], of_id[mappings.object]]), axis=1)
    denied = exact & mappings.negated
    joining = exact & ~mappings.negated & ~_denied_elsewhere(mappings, ends, exact, denied)

    graph = coo_array((np.ones(int(joining.sum()), np.int8), ends[joining].T), shape=(len(nodes), len(nodes)))
    component = connected_components(graph, directed=False)[1] if len(nodes) else np.zeros(0, np.int32)
    for row in np.flatnonzero(denied & (component[ends[:, 0]] == component[ends[:, 1]])).tolist():
        pair = mappings.ids[mappings.subject[row]], mappings.ids[mappings.object[row]]
        report.warn(
            "negated-join",
            f"{pair[0]} and {pair[1]} are not the same here, but other rows join them",
            [int(mappings.line[row])],
            pair,
        )
    first, number = np.unique(component[of_key], return_index=True)[1], component[of_key]
    order = {int(number[at]): place for place, at in enumerate(np.sort(first).tolist())}
    group = np.array([order[c] for c in number.tolist()], np.int32)
    touched = np.zeros(len(nodes), np.bool_)
    touched[ends[joining].ravel()] = True
    return Equivalents(
        path=mappings.path,
        version=mappings.version,
        sha256=mappings.sha256,
        least=least,
        group=group,
        shared=_shared_ids(mappings, joining, component, of_id, of_key, order, group),
        mapped=int((touched[of_key] & (of_key < in_file)).sum()),
        report=report,
    )


def _note_others(mappings: MappingSet, others: BoolArray) -> None:
    for number in np.unique(mappings.predicate[others]).tolist():
        lines = mappings.line[mappings.predicate == number].tolist()
        message = f"{len(lines)} rows say {mappings.predicates[number]}, which is no exact match; not used"
        mappings.report.note("predicate", message, lines)


def _denied_elsewhere(
    mappings: MappingSet, ends: npt.NDArray[np.int64], exact: BoolArray, denied: BoolArray
) -> BoolArray:
    """Returns which rows state a pair, in either direction, that another row takes back; each is warned of."""
    found = np.zeros(len(mappings), np.bool_)
    negated: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(denied).tolist():
        negated.setdefault((int(ends[row, 0]), int(ends[row, 1])), []).append(row)
    if not negated:
        return found
    for row in np.flatnonzero(exact & ~mappings.negated).tolist():
        against = negated.get((int(ends[row, 0]), int(ends[row, 1])))
        if against:
            found[row] = True
            pair = mappings.ids[mappings.subject[row]], mappings.ids[mappings.object[row]]
            lines = sorted(int(mappings.line[r]) for r in (row, *against))
            mappings.report.warn(
                "conflict", f"{pair[0]} and {pair[1]} are said both to be the same and not; not joined", lines, pair
            )
    return found


def _shared_ids(
    mappings: MappingSet,
    joining: BoolArray,
    component: Int32,
    of_id: npt.NDArray[np.int64],
    of_key: npt.NDArray[np.int64],
    order: dict[int, int],
    group: Int32,
) -> tuple[str, ...]:
    """Returns for each group of several records the id that joins them: the first subject, by code point."""
    sizes = np.bincount(group, minlength=len(order))
    own = set(of_key.tolist())
    shared = [""] * len(order)
    for number in np.unique(mappings.subject[joining]).tolist():
        node = int(of_id[number])
        place = order.get(int(component[node]))
        if place is None or sizes[place] < 2 or node in own:
            continue
        term = mappings.ids[number]
        if not shared[place] or term < shared[place]:
            shared[place] = term
    return tuple(shared)
