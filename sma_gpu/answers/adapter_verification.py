"""Whether an adapter is still what was frozen: every field of its lock beside what is there now."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArtifactError, DataMissing
from ..ontologies.companions import companion
from ..ontologies.differences import differences
from ..ontologies.fetching import file_sha256
from ..ontologies.records.model import Records
from ..ops.registry import AUTO
from ..scoring import Dials
from ..trust.calibration import Calibration
from .adapter_lock import CARD, adapter_of, canonical_json, lock_path, read_lock
from .engine import Engine
from .model_card import model_card
from .opening import open_engine
from .own_index import is_own_index, own_calibration, own_language, own_sources

__all__ = ["VERIFICATION_SCHEMA", "adapter_verification", "adapter_verification_text"]

VERIFICATION_SCHEMA = "sma-gpu/adapter-verification/1"

EQUAL, DIFFERENT, NOT_THERE, NOT_COMPARED = "equal", "different", "not there", "not compared"

_INFORMATION = ("made_with", "evaluation")
"""Parts of a lock that decide no answer, or cannot be made again."""

_SHOWN = 12  # characters of a fingerprint in words
_COUNTED = {
    "terms": "terms", "retired": "retired terms", "count": "records", "annotations": "annotations",
    "mapped": "mapped records", "groups": "groups",
}  # fmt: skip


def adapter_verification(
    place: Path,
    domain: str | None = None,
    *,
    release: str | None = None,
    mappings: str = AUTO,
    backend: str = AUTO,
) -> dict[str, Any]:
    """Returns what of a frozen adapter is there as it was: schema ``sma-gpu/adapter-verification/1``.

    Args:
        place: the folder of the adapter, or its lock.
        domain: a domain, a folder with the files of one, or an index of one's own to compare with: would the same
            adapter come of it? Where it is None the index beside the lock is compared.
        release: release of the ontology of that domain instead of the newest found.
        mappings: which records of that domain stand for the same, as for a query, where the lock has any mappings.
        backend: which ops answer the fixed queries.

    Raises:
        DataMissing: there is no lock, no index beside it, or no file of the domain.
        ArtifactError: the lock or the index is damaged, foreign or newer.
    """
    path = lock_path(place)
    lock = read_lock(path)
    folder = path.parent.resolve()
    bundle = _bundle(str(folder), backend)
    if domain is None:
        if bundle is None:
            do = f"Name what to compare it with, such as: sma-gpu adapter verify {path} {lock['domain'] or 'DIR'}"
            raise DataMissing(f"verify {path}", "no index lies beside it", do)
        language, calibration = own_language(str(folder)), _calibration(str(folder))
        found = adapter_of(str(folder), bundle, language=language, calibration=calibration)
        checks = [*_checks(lock, found, _INFORMATION), _card_check(folder, lock), *_source_checks(str(folder))]
        changes = [*_changes(lock, found, _INFORMATION)]
    else:
        engine = _opened(domain, lock, release, mappings, backend)
        language, calibration, apart = str(lock["language"]), None, [*_INFORMATION, "calibration"]
        if is_own_index(domain):
            language, calibration, apart = own_language(domain), _calibration(domain), [*_INFORMATION]
        found = adapter_of(domain, engine, language=language, calibration=calibration)
        checks = [*_checks(lock, found, apart)]
        changes = [*_changes(lock, found, apart), *([] if bundle is None else _content_changes(bundle, engine))]
    return {
        "schema": VERIFICATION_SCHEMA,
        "lock": lock["sha256"],
        "made_with": lock["made_with"],
        "with": domain or "the index beside the lock",
        "agrees": all(check["state"] in (EQUAL, NOT_COMPARED) for check in checks),
        "checks": checks,
        "changes": changes,
        "notes": [*_notes(lock, domain)],
    }


def adapter_verification_text(found: Mapping[str, Any]) -> str:
    """Returns it as text."""
    made_with = found["made_with"]["sma_gpu"]
    lines = [f"lock {found['lock']}, made with sma_gpu {made_with}", f"compared with {found['with']}", ""]
    for check in found["checks"]:
        state, frozen, now = check["state"], check["frozen"], check["found"]
        shown = state if state in (EQUAL, NOT_COMPARED) else state.upper()
        told = f"  {shown:<12} {check['field']}"
        if state == DIFFERENT:
            told += f": {_shown(now)}, frozen {_shown(frozen)}"
        elif state == NOT_THERE:
            told += f": frozen {_shown(frozen)}"
        elif not isinstance(now, (dict, list)) and now not in (None, ""):
            told += f": {_shown(now)}"
        lines.append(told)
    if found["changes"]:
        lines += ["", "what changed", *(f"  {change}" for change in found["changes"])]
    lines += [""] + [f"Note: {note}" for note in found["notes"]]
    lines.append("the adapter is the one that was frozen" if found["agrees"] else "the adapter is NOT the one frozen")
    return "\n".join(lines) + "\n"


def _bundle(folder: str, backend: str) -> Engine | None:
    """Returns the engine of the index in ``folder``, None where there is none.

    Raises:
        DataMissing: a file of the index is gone.
        ArtifactError: it is damaged.
    """
    if not is_own_index(folder):
        return None
    try:
        return open_engine(folder, backend=backend)
    except ArtifactError as fault:
        if isinstance(fault.__cause__, FileNotFoundError):
            raise DataMissing(
                fault.asked, fault.found, "Freeze the adapter again, or copy its folder whole."
            ) from fault
        raise


def _calibration(folder: str) -> Calibration | None:
    found = own_calibration(folder)
    return None if found is None else Calibration.from_dict(found)


def _opened(domain: str, lock: Mapping[str, Any], release: str | None, mappings: str, backend: str) -> Engine:
    """Returns the engine of a domain under the options of the lock; of an index of one's own as it was made."""
    mappings = mappings if lock["mappings"] is not None else "none"
    if is_own_index(domain):
        return open_engine(domain, release=release, mappings=mappings, backend=backend)
    dials, kind = Dials.from_mapping(lock["dials"]), lock["records"]["kind"]
    return open_engine(
        domain,
        dials,
        release=release,
        kind=kind,
        language=lock["language"],
        mappings=mappings,
        backend=backend,
    )


def _checks(frozen: Mapping[str, Any], found: Mapping[str, Any], apart: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields each field with what was frozen and what is there; those ``apart`` are for information."""
    for part, now in found.items():
        was = frozen[part]
        if part == "schema":  # a lock of another is not read
            continue
        if part == "probes":
            yield _probe_check(was, now)
        elif part not in apart:
            yield from _compared(part, was, now)
        elif was is not None:
            yield {"field": part, "frozen": was, "found": now, "state": NOT_COMPARED}


def _compared(field: str, frozen: Any, found: Any) -> Iterator[dict[str, Any]]:
    """Yields each value inside a field with what was frozen and what is there."""
    if isinstance(frozen, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*found, *frozen]):
            yield from _compared(f"{field}.{name}", frozen.get(name), found.get(name))
    else:
        yield _check(field, frozen, found)


def _check(field: str, frozen: Any, found: Any) -> dict[str, Any]:
    state = EQUAL if frozen == found else NOT_THERE if found is None else DIFFERENT
    return {"field": field, "frozen": frozen, "found": found, "state": state}


def _probe_check(frozen: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns how many of the fixed queries are answered as they were."""
    was, now = frozen["answers"], found["answers"]
    same = sum(one == other for one, other in zip(was, now, strict=False))
    state = EQUAL if frozen == found else DIFFERENT
    return {"field": "probes answered as frozen", "frozen": len(was), "found": same, "state": state}


def _card_check(folder: Path, lock: Mapping[str, Any]) -> dict[str, Any]:
    """Returns whether the model card in ``folder`` is that of the lock."""
    wanted, now = model_card(lock).encode("utf-8", "backslashreplace"), None
    with contextlib.suppress(OSError):
        now = (folder / CARD).read_bytes()
    sums = [None if text is None else hashlib.sha256(text).hexdigest() for text in (wanted, now)]
    return _check(CARD, *sums)


def _source_checks(folder: str) -> Iterator[dict[str, Any]]:
    """Yields whether each source is what the index was made of; one that is gone is not needed any more."""
    files: dict[tuple[Path, str], list[str]] = {}
    for part, source in own_sources(folder).items():
        files.setdefault(source, []).append(part)
    for (path, was), parts in files.items():
        field = f"source of {' and '.join(parts)}: {path.name}"
        if path.is_file():
            yield _check(field, was, file_sha256(path))
        else:
            yield {"field": field, "frozen": was, "found": None, "state": NOT_COMPARED}


def _changes(frozen: Mapping[str, Any], found: Mapping[str, Any], apart: Sequence[str]) -> Iterator[str]:
    """Yields in words what of an adapter is another; nothing of those parts that are ``apart``."""
    for part in ("ontology", "records", "mappings", "genes"):
        yield from _file_changes(
            part, frozen[part], found[part], other_ontology=frozen["ontology"] != found["ontology"]
        )
    for dial, was in frozen["dials"].items():
        if found["dials"].get(dial) != was:
            yield f"dial {dial} {was} -> {found['dials'].get(dial)}"
    for name, words in (("encoder_version", "query encoder version"), ("language", "language")):
        if frozen[name] != found[name]:
            yield f"{words} {frozen[name]} -> {found[name]}"
    was, now = frozen["calibration"], found["calibration"]
    if was != now and "calibration" not in apart:
        if was is None or now is None:
            yield _come_or_gone("calibration", was)
        else:
            yield f"calibration {was['fingerprint'][:_SHOWN]} -> {now['fingerprint'][:_SHOWN]}"
    if frozen["scorer"]["version"] != found["scorer"]["version"]:
        versions = f"{frozen['scorer']['version']} -> {found['scorer']['version'] or 'not installed'}"
        yield f"package {frozen['scorer']['package']} of the scorer {versions}"
    rests_on = ("ontology", "records", "dials", "encoder_version", "scorer")
    same = all(frozen[part] == found[part] for part in rests_on)
    if frozen["index"] != found["index"] and same:
        yield "the index is another, though ontology, records and dials are the same: the code that builds it changed"
    was, now = frozen["probes"], found["probes"]
    if was != now:
        others = [one["case"] for one, other in zip(was["answers"], now["answers"], strict=False) if one != other]
        told = f"{len(others)} of {len(was['answers'])} fixed queries are answered otherwise"
        yield (
            f"{told}, though the index is the same: the code that ranks changed"
            if frozen["index"] == found["index"]
            else told
        )


def _file_changes(
    part: str, was: Mapping[str, Any] | None, now: Mapping[str, Any] | None, *, other_ontology: bool
) -> Iterator[str]:
    """Yields in words how one of the files differs from the one frozen."""
    if was == now:
        return
    if was is None or now is None:
        yield _come_or_gone(part, was)
        return
    name = was.get("name") or part
    if was.get("name") != now.get("name"):
        yield f"{part} {was.get('name')} -> {now.get('name')}"
    if was.get("version") != now.get("version"):
        yield f"{part} {name}, release {was['version'] or 'not stated'} -> {now['version'] or 'not stated'}"
    elif was["sha256"] != now["sha256"]:
        yield f"{part} {name}: another file, of the same stated release {was.get('version') or '(none)'}"
    elif was.get("content_sha256") != now.get("content_sha256"):
        why = "read with another ontology" if part == "records" and other_ontology else "otherwise selected or read"
        yield f"{part} {name}: the same file, {why}"
    for field in ("terms", "retired", "count", "annotations", "mapped", "groups"):
        if field in was and was[field] != now[field]:
            yield f"{part} {name}: {_COUNTED[field]} {was[field]} -> {now[field]}"


def _come_or_gone(part: str, was: Mapping[str, Any] | None) -> str:
    return f"{part}: none frozen, some there" if was is None else f"{part}: some frozen, none there"


def _content_changes(old: Engine, new: Engine) -> Iterator[str]:
    """Yields how many terms and records came, went and changed from one adapter to the other."""
    before, after = old.domain.mounted.ontology, new.domain.mounted.ontology
    if before.sha256 != after.sha256:
        found = differences(before, after)
        told = {
            "added": len(found.added) + len(found.restored),
            "gone": len(found.replaced) + len(found.obsoleted) + len(found.removed),
            "renamed": len(found.renamed),
            "with other parents": len(found.moved),
        }
        yield f"terms of {after.name or 'the ontology'}: {_counted(told)}"
    if old.domain.records.sha256 != new.domain.records.sha256 or before.sha256 != after.sha256:
        was, now = (_terms_by_key(engine.domain.records) for engine in (old, new))
        told = {
            "added": len(now.keys() - was.keys()),
            "gone": len(was.keys() - now.keys()),
            "with other terms": sum(was[key] != now[key] for key in was.keys() & now.keys()),
        }
        yield f"records: {_counted(told)}"


def _terms_by_key(records: Records) -> dict[str, tuple[tuple[str, bool], ...]]:
    """Returns the terms of every record, each with whether it is excluded."""
    found: dict[str, list[tuple[str, bool]]] = {key: [] for key in records.keys}
    for excluded in (False, True):
        ptr, terms = records.phenotypes(excluded=excluded)
        ids = [records.term_ids[term] for term in terms.tolist()]
        for number, key in enumerate(records.keys):
            found[key] += ((term, excluded) for term in ids[int(ptr[number]) : int(ptr[number + 1])])
    return {key: tuple(terms) for key, terms in found.items()}


def _counted(told: Mapping[str, int]) -> str:
    parts = [f"{number} {words}" for words, number in told.items() if number]
    return ", ".join(parts) or "none added, gone or changed"


def _notes(lock: Mapping[str, Any], domain: str | None) -> Iterator[str]:
    """Yields what has to be known to read the outcome."""
    if lock["evaluation"] is not None:
        yield "the figures of the evaluation are not measured again; sma-gpu evaluate does that"
    if domain is None:
        return
    if lock["calibration"] is not None and not is_own_index(domain):
        yield f"the calibration is part of the frozen index; {domain} has none to compare it with"
    if lock["mappings"] is None and companion(domain, lock["domain"] or "", "mappings") is not None:
        yield "no mappings were frozen, so those that are there now are not compared; a query would use them"


def _shown(value: object) -> str:
    """Returns a value as it stands; a part of a lock by what it is known by."""
    if isinstance(value, dict):
        value = value.get("fingerprint") or value.get("sha256") or value
    return value if isinstance(value, str) else canonical_json(value)
