"""The page of one small query, frozen but for its style; a change of it is a change that readers see."""

from __future__ import annotations

import re
from pathlib import Path

import toy

from sma_gpu import open_engine
from sma_gpu.answers.pages.case import case_page
from sma_gpu.answers.words import Speech
from sma_gpu.scoring import Dials

GOLDEN = Path(__file__).parent / "case.html"


def page(folder: Path) -> str:
    """Returns the page of a query with everything in it: an exact and a related pair, a loose end, a contradiction."""
    engine = open_engine(str(toy.write(folder)), Dials())
    observed = ["HP:9910100", "HP:9920100", "HP:9930100", "HP:9910901"]
    found = engine.query(observed, ["HP:9920200"], query_id="patient 7", k=4)
    found |= {"backend": "reference", "notes": ["a remark"]}  # which one serves, and where files lie, is not frozen
    shown = str(case_page(found, Speech(found["names"], "disease"), title="Toy ontology", notice="For tests alone."))
    shown = re.sub(r"<style>.*?</style>", "<style></style>", shown, flags=re.DOTALL)
    return re.sub(r'content="sma_gpu [^"]*"', 'content="sma_gpu"', shown).replace("><", ">\n<")


def test_the_page_of_a_small_query_is_the_frozen_one(tmp_path: Path) -> None:
    assert page(tmp_path) == GOLDEN.read_text(encoding="utf-8")
