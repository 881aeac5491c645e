"""XML read event by event, from a stream: no tree is built, nothing is fetched, no entity is replaced.

The parser is expat of the standard library. The files read here name a DTD that stands elsewhere, and old ones declare
pictures as unparsed entities: both are passed over. A declared entity that has a text, or that stands elsewhere, is
refused, since such a file can grow without bound or reach out of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.parsers import expat

from ..errors import ParseError

__all__ = ["XmlReader"]

_DEEPEST = 512  # elements inside one another: real files stay below 60, and expat keeps something for each


class XmlReader:
    """One document on its way through the parser; a kind of document overrides what happens at its events.

    Args:
        path: file named in errors.
        first_line: number, in the file, of the line on which the document begins.
        namespaces: names come as ``address name`` with the address of their namespace, where they have one.
    """

    def __init__(self, path: str, first_line: int = 1, *, namespaces: bool = False) -> None:
        self.path = path
        self._first_line = first_line
        self._depth = 0
        parser = self._parser = expat.ParserCreate(namespace_separator=" " if namespaces else None)
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, data: str) -> None:
        """Text, perhaps a part of one."""

    def skipped(self, entity: str) -> None:
        """A reference to an entity that the file does not declare; no text stands in its place."""

    def declares_prefixes(self, take: Callable[[str | None, str | None], None]) -> None:
        """Has ``take`` called with each prefix (None for the default one) and the namespace that it is declared for."""
        self._parser.StartNamespaceDeclHandler = take

    @property
    def line(self) -> int:
        """Line of the current event in the file, from 1."""
        return self._first_line + self._parser.CurrentLineNumber - 1

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Takes the next part of the document.

        Raises:
            ParseError: it is not well-formed, declares entities, or is nested too deeply.
        """
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as fault:
            line = self._first_line + fault.lineno - 1
            raise ParseError(
                f"read {self.path} as XML",
                f"{expat.ErrorString(fault.code)} (line {line}, column {fault.offset + 1})",
                "Get the file again; it may have been cut off or altered.",
                path=self.path,
                line=line,
            ) from fault
        except ParseError:
            raise  # what is refused at an event; it is a ValueError, too
        except (ValueError, LookupError) as fault:  # an encoding that neither expat nor Python knows
            raise ParseError(
                f"read {self.path} as XML", str(fault), "Save the file as UTF-8.", path=self.path
            ) from fault

    def ignore_rest(self) -> None:
        """Reports no further event; that the document is well-formed is still checked."""
        self._parser.StartElementHandler = None
        self._parser.EndElementHandler = None
        self._parser.CharacterDataHandler = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"elements stand more than {_DEEPEST} deep inside one another", "Give a file as published.")
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.end(name)

    def _entity(
        self,
        name: str,
        is_parameter: bool,  # noqa: FBT001 - the arguments are those of expat
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        if notation is None:
            what = "has a text of its own" if value is not None else "stands outside the file"
            self._refuse(
                f"it declares the entity {name!r}, which {what}",
                "Such files can stall a machine or reach out of the file; write the text in place of the entity.",
            )

    def _skipped(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - the arguments are those of expat
        if not is_parameter:
            self.skipped(name)

    def _refuse(self, found: str, do: str) -> None:
        raise ParseError(f"read {self.path} as XML", f"{found} (line {self.line})", do, path=self.path, line=self.line)
