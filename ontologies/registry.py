"""Ontologies by name: registered with a path, loaded and mounted on first use, kept after that."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath

from ..errors import OntologyError
from .loading import load_ontology
from .mount import Mounted, mount

__all__ = ["OntologyEntry", "OntologyRegistry"]


@dataclass(frozen=True)
class OntologyEntry:
    """A registered ontology: its name and where its file lies."""

    name: str
    path: str


class OntologyRegistry:
    """Names for ontology files.

    Example:
        >>> registry = OntologyRegistry()
        >>> registry.register("hpo", "hp.obo")
        OntologyEntry(name='hpo', path='hp.obo')
        >>> "hpo" in registry
        True
    """

    def __init__(self) -> None:
        self._entries: dict[str, OntologyEntry] = {}
        self._mounted: dict[str, Mounted] = {}

    def register(self, name: str, path: str | PathLike[str]) -> OntologyEntry:
        """Registers a file under a name; the format is recognised by content when it is loaded.

        Registering a name again replaces it.
        """
        entry = OntologyEntry(name, fspath(path))
        self._entries[name] = entry
        self._mounted.pop(name, None)
        return entry

    def get(self, name: str) -> Mounted:
        """Returns the mounted ontology, loading it on first use.

        Raises:
            OntologyError: nothing is registered under this name.
            DataMissing: the registered file is not there.
            ParseError: the file cannot be read as an ontology.
        """
        if name not in self._entries:
            registered = ", ".join(self.names) or "none"
            raise OntologyError(f"ontology {name}", f"registered are: {registered}", "Register it with a path first.")
        if name not in self._mounted:
            self._mounted[name] = mount(load_ontology(self._entries[name].path))
        return self._mounted[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Registered names, code-point order."""
        return tuple(sorted(self._entries))

    @property
    def entries(self) -> tuple[OntologyEntry, ...]:
        """The registered ontologies in the order of their names."""
        return tuple(self._entries[name] for name in self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._entries
