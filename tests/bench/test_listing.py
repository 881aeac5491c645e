"""What the bench has, and what of it is here."""

from __future__ import annotations

from sma_gpu.bench.arms.registry import all_arms
from sma_gpu.bench.listing import listing, listing_text
from sma_gpu.bench.suites import Suite, suite_names
from sma_gpu.bench.tasks.registry import ENTRIES


def test_everything_is_listed_with_words_and_with_what_is_missing() -> None:
    found = listing()
    assert [arm["name"] for arm in found["arms"]] == [arm.name for arm in all_arms()]
    assert [task["name"] for task in found["tasks"]] == list(ENTRIES)
    assert [one["name"] for one in found["suites"]] == list(suite_names())
    for part in ("arms", "tasks", "suites"):
        assert all(one["words"] for one in found[part])
    text = listing_text(found)
    for part in ("arms", "tasks", "suites"):
        for one in found[part]:
            assert f"  {one['name']} " in text, one["name"]


def test_an_arm_that_is_not_here_says_what_to_do(toy_suite: Suite) -> None:
    lacking = next(arm for arm in listing()["arms"] if arm["name"] == "no-such-weights")
    assert lacking["missing"] == "no-such-package not installed: pip install weights"
    assert "lacks  [not here: no-such-package not installed: pip install weights]" in listing_text(listing())
