"""Where the description of each subject begins in a Turtle or N-Triples file, which its parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["turtle_lines"]

_SUBJECT = re.compile(rb"(?:<([^<>\s]+)>|([A-Za-z][\w.-]*)?:([\w.-]*[\w-]))(?=\s|$)")


def turtle_lines(content: bytes, prefixes: Mapping[str, str]) -> dict[str, int]:
    r"""Returns the line, from 1, on which each subject with an address is first described.

    A subject counts where it begins a line behind a finished statement, as every program writes it; others have no
    line.

    >>> turtle_lines(b"e:a\n  e:b e:c .\n<http://e.org/d> e:b e:a .", {"e": "http://e.org/"})
    {'http://e.org/a': 1, 'http://e.org/d': 3}
    """
    found: dict[str, int] = {}
    is_open = is_text = False
    for number, line in enumerate(content.splitlines(), 1):
        bare = line.strip()
        was_text, is_text = is_text, is_text != bool((line.count(b'"""') + line.count(b"'''")) % 2)
        if not was_text and (not bare or bare[:1] == b"#"):
            continue
        subject = None if is_open or was_text else _SUBJECT.match(line)
        if subject is not None:
            address, prefix, local = ((part or b"").decode("utf-8", "replace") for part in subject.groups())
            if not address and prefix in prefixes:
                address = prefixes[prefix] + local
            if address:
                found.setdefault(address, number)
        is_closed = bare.endswith(b".") or bare.partition(b" #")[0].rstrip().endswith(b".")
        is_open = is_text or (not is_closed and bare[:6].upper() not in (b"PREFIX", b"BASE <"))
    return found
