"""Where the files of a domain lie on this machine: a folder of the user's first, then an installed package.

In this order: the folder that ``SMA_GPU_DATA`` names, the user's own folder of fetched files, the installed package,
the bundled sample.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..errors import DataMissing
from .bundle_look import look_at_bundle
from .catalog import catalog
from .loading import READERS
from .manifest import FileManifest, Manifest
from .readers import cpc, obo, xbrl
from .records import gaf, genes, gpad, gpad_products, hpoa, patents, sssom, xbrl_filings
from .report import LoadReport
from .source import decode_lines, peek, peek_first, read_source
from .stream import heads_of

__all__ = [
    "DATA_VARIABLE", "SAMPLE", "Candidate", "Located", "candidate", "data_files", "data_folders", "find", "find_file",
    "how_to_get", "locate", "products_of", "user_folder",
]  # fmt: skip

DATA_VARIABLE = "SMA_GPU_DATA"
SAMPLE = "bundled sample"
"""Origin of a file that only shows how a domain answers."""

_DEEP_BYTES = 1 << 20
_FIRST_FILES = 20  # of an archive, looked at for what it is
_ID = re.compile(r"id:[ \t]*([^\s:]+):")
_COMMENT_OR_TAG = re.compile(r"!|[a-z-]+:")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAMED = re.compile(r"^ontology:[ \t]*(\w+)[ \t]*$|(?:xml:base|about)=\"[^\"]*/(\w+)\.owl\"", re.MULTILINE)
_STATED = re.compile(r"(?:versionI(?:RI|nfo)|\"version\")[^\n]{0,200}?(\d{4}-\d{2}-\d{2}|(?<=/)\d{8}(?=/))")


@dataclass(frozen=True)
class Candidate:
    """A file that could serve.

    Attributes:
        path: where it lies.
        origin: the folder or package that brought it.
        version: the release that it states, or empty.
        date: the day of that release, by which the newest is told; empty where it states none.
    """

    path: Path
    origin: str
    version: str
    date: str = ""


@dataclass(frozen=True)
class Located:
    """The two files of a domain, and remarks on how they were chosen; with GPAD also what names its gene products."""

    ontology: Candidate
    records: Candidate
    notes: tuple[str, ...]
    products: Candidate | None = None


def user_folder() -> Path:
    """Returns the folder of what was fetched or added, a folder for each name in it; it need not exist.

    It is ``$XDG_DATA_HOME/sma_gpu``, else ``~/.local/share/sma_gpu``.
    """
    shared = os.environ.get("XDG_DATA_HOME")
    return (Path(shared) if shared else Path(os.path.expanduser("~")) / ".local" / "share") / "sma_gpu"


def data_folders(domain: str, folder: Path | None = None) -> list[Path]:
    """Returns the folders to look in, first one first.

    They are the part for ``domain`` of ``folder``, that for what stands before a hyphen in it (``cyber`` of
    ``cyber-ics``), then the folder itself. Where none is given: the same three of
    ``SMA_GPU_DATA``, where that is set, and the part for ``domain`` of the user's own folder.

    Raises:
        DataMissing: the folder that was named is not there.
    """
    named = folder or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    own = [] if folder else [user_folder() / domain]
    if named is None:
        return [f for f in own if f.is_dir()]
    if not named.is_dir():
        asked = f"data folder {named}" + ("" if folder else f" (from {DATA_VARIABLE})")
        raise DataMissing(asked, "there is no such folder", f"Name an existing folder, or unset {DATA_VARIABLE}.")
    places = (named / domain, named / domain.partition("-")[0], named, *own)
    return [f for f in dict.fromkeys(places) if f.is_dir()]


def data_files(domain: str, folder: Path | None = None) -> list[Path]:
    """Returns the files in the folders to look in.

    Raises:
        DataMissing: a folder cannot be read.
    """
    return [path for place in data_folders(domain, folder) for path in _files(place)]


def find(manifest: Manifest, part: str, folder: Path | None = None) -> list[Candidate]:
    """Returns all files that could serve as ``part`` ("ontology" or "records") of a domain, best first.

    The first folder that holds any settles it; there, files that state a dated release come first, the newest one
    before the others, then the rest by file name.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    return find_file(manifest.domain, getattr(manifest, part), folder)


def find_file(name: str, wanted: FileManifest, folder: Path | None = None) -> list[Candidate]:
    """Returns all files that could serve as ``wanted`` under ``name``, as ``find`` does.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    return next(_by_place(name, wanted, folder), [])


def candidate(manifest: Manifest, part: str, path: Path) -> Candidate | None:
    """Returns the file ``path`` as one that could serve as ``part`` of a domain; None where it could not."""
    release = release_of(path, getattr(manifest, part))
    return None if release is None else Candidate(path, str(path.parent), *release)


def _by_place(name: str, wanted: FileManifest, folder: Path | None) -> Iterator[list[Candidate]]:
    """Yields the files that could serve, those of one place after the other."""
    for place in data_folders(name, folder):
        releases = ((path, release_of(path, wanted)) for path in _files(place) if _may_serve(path, wanted))
        found = [Candidate(path, str(place), *release) for path, release in releases if release is not None]
        if found:
            by_name = sorted(found, key=lambda c: c.path.name)
            yield sorted(by_name, key=lambda c: c.date, reverse=True)
    if folder:  # a folder named for this call stands alone
        return
    for path, origin in ((_package_file(wanted), f"package {wanted.package}"), (_sample_file(wanted), SAMPLE)):
        if path is not None:
            yield [Candidate(path, origin, *(release_of(path, wanted) or ("", "")))]


def _may_serve(path: Path, wanted: FileManifest) -> bool:
    """Returns False for what may be of any format, and lies neither under its name nor states it."""
    return wanted.reader != "any" or path.parent.name == wanted.scope or stated_name(path) == wanted.scope


def locate(manifest: Manifest, folder: Path | None = None, release: str | None = None) -> Located:
    """Returns the files to use for a domain.

    Args:
        manifest: the domain.
        folder: the user's folder; ``SMA_GPU_DATA`` when None.
        release: release of the ontology to use instead of the newest.

    Raises:
        DataMissing: a file is nowhere to be found, or not in that release.
    """
    chosen: dict[str, Candidate] = {}
    notes: list[str] = []
    for part in ("ontology",) if manifest.is_one_file else ("ontology", "records"):
        seen: list[Candidate] = []
        fitting: list[Candidate] = []
        asked = None if part == "records" else release
        for found in _by_place(manifest.domain, getattr(manifest, part), folder):
            seen += found
            fitting = [c for c in found if asked in (None, c.version)]
            if fitting:
                break
        if not seen:
            raise _missing(manifest, part, folder)
        if not fitting:
            have = ", ".join(dict.fromkeys(c.version or "unknown" for c in seen))
            raise DataMissing(f"release {release} of {manifest.name}", f"found are {have}", "Choose one of these.")
        chosen[part] = fitting[0]
        if len(fitting) > 1:
            notes.append(_choice(part, fitting))
    named = data_folders(manifest.domain, folder)
    samples = [part for part, candidate in chosen.items() if candidate.origin == SAMPLE]
    if samples:
        if len(chosen) > len(samples):  # records of a sample mean nothing beside an ontology of another extent
            missing = getattr(manifest, samples[0])
            raise DataMissing(
                f"{samples[0]} of {manifest.domain}",
                f"only its {next(part for part in chosen if part not in samples)} was found",
                f"Get {missing.address} and put it beside that.",
            )
        notes.append(_sample_note(manifest))
    is_set = bool(folder or os.environ.get(DATA_VARIABLE))
    from_named = [part for part, one in chosen.items() if one.origin in map(str, named)]
    for part, one in chosen.items():
        if named and one.origin != SAMPLE and part not in from_named and (is_set or from_named):
            theirs = f"the files of {DATA_VARIABLE}" if is_set else f"those in {named[0]}"
            notes.append(f"no {part} of {manifest.domain} among {theirs}; that of {one.origin} is used")
    records = chosen.get("records", chosen["ontology"])
    products, remarks = products_of(manifest, records, folder)
    return Located(chosen["ontology"], records, (*notes, *remarks), products)


def products_of(
    manifest: Manifest, records: Candidate, folder: Path | None = None
) -> tuple[Candidate | None, tuple[str, ...]]:
    """Returns the file that names the gene products of a GPAD file, and remarks on the choice; None for other records.

    Of several files it is the one whose name begins like that of the records, else the newest.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    wanted = manifest.companions.get("products")
    if wanted is None or not gpad.can_read(peek_first(records.path)[1]):
        return None, ()
    found = find_file(manifest.domain, wanted, folder)
    if not found:
        return None, (f"{records.path.name} names no gene product, and there is no GPI file beside it that does",)
    stem = records.path.name.partition(".")[0]
    named = [one for one in found if one.path.name.partition(".")[0] == stem]
    fitting = named or found
    return fitting[0], (_choice("products", fitting),) if len(fitting) > 1 else ()


def _sample_note(manifest: Manifest) -> str:
    return (
        f"this is an answer on a small bundled sample, not on {manifest.title}; it knows few terms, "
        f"{manifest.example} among them: {how_to_get(manifest)}"
    )


def how_to_get(manifest: Manifest) -> str:
    """Returns how the files of a domain come to this machine, as a clause that tells a person what to do."""
    install = f'pip install "sma_gpu[{manifest.extra}]", or ' if manifest.extra else ""
    if not (manifest.ontology.is_page or manifest.records.is_page):
        install += f"sma-gpu data fetch {manifest.domain}, or "
    files = dict.fromkeys((manifest.ontology.address, manifest.records.address))
    return f"{install}put {' and '.join(files)} into a folder and set {DATA_VARIABLE} to it"


def _missing(manifest: Manifest, part: str, folder: Path | None) -> DataMissing:
    asked = f"{part} of {manifest.domain}"
    if folder:
        count = len(data_files(manifest.domain, folder))
        return DataMissing(
            f"{asked} in {folder}",
            f"none of the {count} files there can serve",
            f"Files are recognised by content: put {getattr(manifest, part).address} there, unbroken.",
        )
    return DataMissing(
        asked,
        "no file in the data folder can serve and no installed package ships one",
        f"To get it: {how_to_get(manifest)}.",
    )


def _choice(part: str, fitting: list[Candidate]) -> str:
    first = fitting[0]
    told_apart = len({c.version for c in fitting}) == len(fitting)
    others = ", ".join((c.version if told_apart else "") or c.path.name for c in fitting[1:])
    if first.date and not told_apart:
        return (
            f"several {part} files in {first.origin}, some of one release: {first.path.name} of {first.version} "
            f"is used, not {others}"
        )
    if first.date:
        return f"several {part} releases in {first.origin}: the newest, {first.version}, is used, not {others}"
    return f"several {part} files in {first.origin}, none with a dated release: {first.path.name} is used, not {others}"


def release_of(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    """Returns the release that a file states and its day, each "" for none, or None if it is not the one wanted.

    Raises:
        DataMissing: the file cannot be read.
    """
    _check_readable(path)
    found = _LOOKS[wanted.reader](path, wanted)
    return _by_sum(path, wanted) or found if found == ("", "") else found


def _by_sum(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    """Returns the release of a file that states none, where it has the size and the sum of one that was checked."""
    if path.stat().st_size not in {release.bytes for release in wanted.known if release.sha256}:
        return None
    release = wanted.release_of_sum(read_source(path).content_sha256)
    return _dated(release.version) if release else None


def _dated(stated: str | None) -> tuple[str, str] | None:
    return None if stated is None else (stated, stated if _DATED.fullmatch(stated) else "")


def _look_at_stix(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    look = look_at_bundle(path)
    is_wanted = look is not None and look.is_attack and (look.domain or wanted.scope_unstated) == wanted.scope
    return (look.version, look.changed) if look is not None and is_wanted else None


def _look_at_obo(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    head = _head(path)
    if not obo.can_read(head):
        return None
    lines = decode_lines(head, LoadReport(""))
    prefixes = Counter(match[1] for match in map(_ID.match, lines) if match)
    if not prefixes or max(sorted(prefixes), key=prefixes.__getitem__) != wanted.prefix:
        return None
    return _dated(obo.release_of(lines))


def _look_at_hpoa(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    head = _head(path)
    return _dated(hpoa.release_of(decode_lines(head, LoadReport("")))) if hpoa.can_read(head) else None


def _look_at_gaf(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    head = peek_first(path)[1]
    is_wanted = gaf.can_read(head) or gpad.can_read(head)
    return _dated(gaf.release_of(decode_lines(head, LoadReport("")))) if is_wanted else None


def _look_at_products(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    head = peek_first(path)[1]
    return (
        _dated(gpad_products.release_of(decode_lines(head, LoadReport("")))) if gpad_products.can_read(head) else None
    )


def _look_at_cpc(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    name, head = peek_first(path)
    return _dated(cpc.release_of(head, name or path.name)) if cpc.can_read(head) else None


def _look_at_patents(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    return ("", "") if patents.can_read(peek_first(path)[1]) else None


def _look_at_xbrl(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    name, head = peek_first(path)
    release = xbrl.release_of(head, wanted.prefix)
    if release is None and name and head.lstrip()[:1] == b"<":  # the catalog of a package comes before its schemas
        heads = islice(heads_of(read_source(path)), _FIRST_FILES)
        release = next(filter(None, (xbrl.release_of(head, wanted.prefix) for head in heads)), None)
    return None if release is None else (release, release if _DATED.fullmatch(release) else f"{release}-01-01")


def _look_at_filings(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    return ("", "") if xbrl_filings.are_collected(peek_first(path)[1]) else None


def _look_at_any(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    name, head = peek_first(path)
    if not any(reader.can_read(head) for reader in READERS):
        return None
    if obo.can_read(head):
        return _dated(obo.release_of(decode_lines(head, LoadReport(""))))
    if look := look_at_bundle(path):
        return look.version, look.changed
    # Modules of one ontology are released together, though each states when it changed last.
    heads = heads_of(read_source(path)) if name else [head]
    stated = max((match[1] for match in map(_STATED.search, map(_text, heads)) if match), default="")
    return stated, f"{stated[:4]}-{stated[4:6]}-{stated[6:]}" if stated.isdecimal() else stated


def _text(head: bytes) -> str:
    return head.decode("utf-8", "replace")


def _look_at_mappings(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    prefixes = sssom.prefixes_in(_head(path))
    return ("", "") if prefixes is not None and prefixes & {*wanted.scope.casefold().split(), "http", "https"} else None


def stated_name(path: Path) -> str:
    """Returns the short name of the ontology in a file, by the header of OBO or RDF/XML; or an empty string."""
    head = _text(peek_first(path)[1])
    if named := _NAMED.search(head):
        return named[1] or named[2]
    return next((entry.name for entry in catalog().values() if entry.iri and f'"{entry.iri}' in head), "")


# How a file is told to be the one wanted, by the name of its reader.
_LOOKS: Mapping[str, Callable[[Path, FileManifest], tuple[str, str] | None]] = {
    "stix": _look_at_stix,
    "obo": _look_at_obo,
    "hpoa": _look_at_hpoa,
    "gaf": _look_at_gaf,
    "gpi": _look_at_products,
    "cpc": _look_at_cpc,
    "patents": _look_at_patents,
    "xbrl": _look_at_xbrl,
    "filings": _look_at_filings,
    "any": _look_at_any,
    "sssom": _look_at_mappings,
    "genes": lambda path, _: ("", "") if genes.can_read(_head(path)) else None,
}


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in sorted(folder.iterdir()) if path.is_file()]
    except OSError as fault:
        raise DataMissing(
            f"data folder {folder}", f"it cannot be read ({fault.strerror})", "Make it readable."
        ) from fault


def _head(path: Path) -> bytes:
    """Returns the start of a file, more of it where comments and a long header fill the start."""
    _check_readable(path)
    head = peek(path)
    lines = decode_lines(head, LoadReport(""))
    if _COMMENT_OR_TAG.match(lines[0]) and not any(map(_ID.match, lines)):
        return peek(path, _DEEP_BYTES)
    return head


def _check_readable(path: Path) -> None:
    if not os.access(path, os.R_OK):
        raise DataMissing(f"data file {path}", "it cannot be read (permission denied)", "Make it readable, or move it.")


def _sample_file(wanted: FileManifest) -> Path | None:
    path = Path(__file__).parent / "samples" / wanted.sample
    return path if wanted.sample and path.is_file() else None


def _package_file(wanted: FileManifest) -> Path | None:
    if not wanted.package:
        return None
    # find_spec of a top-level package locates it without running any of its code.
    spec = importlib.util.find_spec(wanted.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / wanted.package_path
        if path.is_file():
            return path
    return None
