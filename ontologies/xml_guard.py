"""XML without surprises: nothing is fetched, and no entity grows beyond reason.

Files of ontologies do use entities, as short names of long addresses, so these are allowed; entities that stand outside
the file, and those that would blow it up, are refused before any other parser sees the file.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin
from xml.parsers import expat

from ..errors import ParseError

__all__ = ["check_xml"]

# Since this release expat itself refuses a file that grows a hundredfold, wherever its entities stand.
_EXPAT = (2, 4, 1)
_LONGEST = 4096  # characters that one entity may stand for; addresses are far below that
_GROWTH = 32  # how many times the size of the file all its text may come to
_ALWAYS = 1 << 20  # characters that any file may come to
_REFERENCE = re.compile(r"&([^#;&][^;&]*);")


def check_xml(content: bytes, path: str) -> dict[str, int]:
    """Returns the line on which each thing with an ``about`` or ``ID`` is described, once the content is checked.

    It must be well-formed XML whose entities are few, short and its own.

    Cost: linear in the content; memory grows with the number of things that it describes alone.

    Raises:
        ParseError: it is not well-formed, names an entity outside the file, or its entities grow beyond reason.
    """
    parser = expat.ParserCreate()
    guard = _Guard(path, parser, _ALWAYS + _GROWTH * len(content))
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.EntityDeclHandler = guard.entity
    parser.StartElementHandler = guard.start
    parser.EndElementHandler = guard.end
    parser.CharacterDataHandler = guard.text
    try:
        parser.Parse(content, True)  # noqa: FBT003 - the arguments are those of expat
    except expat.ExpatError as fault:
        raise ParseError(
            f"read {path} as XML",
            f"{expat.ErrorString(fault.code)} (line {fault.lineno}, column {fault.offset + 1})",
            "Get the file again; it may have been cut off or altered.",
            path=path,
            line=fault.lineno,
        ) from fault
    except ParseError:
        raise  # what the guard refuses; it is a ValueError, too
    except (ValueError, LookupError) as fault:  # an encoding that expat or Python does not know
        raise ParseError(f"read {path} as XML", str(fault), "Save the file as UTF-8.", path=path) from fault
    return {**guard.mentions, **guard.lines}


class _Guard:
    """Looks at declarations of entities as they come, before anything can use them."""

    def __init__(self, path: str, parser: expat.XMLParserType, most: int) -> None:
        self.path = path
        self.parser = parser
        self.left = most
        self.lengths: dict[str, int] = {}
        self.lines: dict[str, int] = {}
        self.mentions: dict[str, int] = {}  # of what is described inside something else alone
        self._depth = 0
        self._base = ""

    def entity(
        self,
        name: str,
        is_parameter: bool,  # noqa: FBT001 - the arguments are those of expat
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        if value is None or is_parameter:
            what = "a parameter entity" if is_parameter else "an entity outside the file"
            self.refuse(f"it declares {what}, {name!r}" + (f" ({system})" if system else ""))
        if expat.version_info < _EXPAT:
            self.refuse("it declares entities, and the XML parser of this Python is too old to take them safely")
        inner = [self.lengths.get(reference, 1) for reference in _REFERENCE.findall(value or "")]
        length = len(value or "") + sum(inner)
        self.lengths.setdefault(name, length)
        if length > _LONGEST:
            self.refuse(f"the entity {name!r} stands for {length:,} characters; {_LONGEST:,} are allowed")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        length = len(name)
        for key, value in attributes.items():
            length += len(value)
            if key.endswith((":about", ":ID")):
                address = value if "://" in value else urljoin(self._base, value if key[-1] == "t" else f"#{value}")
                (self.lines if self._depth == 2 else self.mentions).setdefault(address, self.parser.CurrentLineNumber)
            elif key == "xml:base" and self._depth == 1:
                self._base = value
        self.count(length)

    def end(self, name: str) -> None:
        self._depth -= 1

    def text(self, data: str) -> None:
        self.count(len(data))

    def count(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            self.refuse("its entities blow it up to many times its size")

    def refuse(self, found: str) -> None:
        raise ParseError(
            f"read {self.path} as XML",
            found,
            "Such files can stall a machine or reach out of the file; write the text in place of the entity.",
            path=self.path,
            line=self.parser.CurrentLineNumber,
        )
