"""The drawings of the bench page: what stands where, by which shape."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sma_gpu.bench.report_panels import Panel, Scale, bound, curve_panels, reliability_panels
from sma_gpu.bench.report_plots import (
    Difference,
    Timed,
    differences_plot,
    fastest_so_far,
    novelty_plot,
    speed_plot,
    time_words,
)


def test_the_line_joins_the_arms_that_no_other_beats() -> None:
    generator = np.random.default_rng(11)
    for _ in range(50):
        arms = [Timed(f"a{n}", s, a) for n, (s, a) in enumerate(generator.integers(1, 6, (8, 2)).tolist())]
        expected = {
            (one.seconds, one.accuracy)
            for one in arms
            if not any(
                other.seconds <= one.seconds
                and other.accuracy >= one.accuracy
                and (other.seconds, other.accuracy) != (one.seconds, one.accuracy)
                for other in arms
            )
        }
        found = fastest_so_far(arms)
        assert {(arms[n].seconds, arms[n].accuracy) for n in found} == expected
        assert len(found) == len(expected)
        assert [arms[n].seconds for n in found] == sorted(arms[n].seconds for n in found)


def test_above_below_and_not_told_apart_have_shapes_of_their_own() -> None:
    rows = [
        Difference("better", 0.2, 0.1, 0.3, told=True), Difference("worse", -0.2, -0.3, -0.1, told=True),
        Difference("perhaps better", 0.01, -0.1, 0.1, told=False),
        Difference("perhaps worse", -0.01, -0.1, 0.1, told=False),
    ]  # fmt: skip
    drawn = differences_plot("apart", rows)
    shapes = re.findall(r'<(circle|rect) [^>]*class="([a-z0-9 ]+)"', drawn)
    assert shapes == [("circle", "dot f1"), ("rect", "dot f4"), ("circle", "hollow s1"), ("rect", "hollow s4")]
    middle = float(re.findall(r'<line x1="([0-9.]+)"[^>]*class="axis"', drawn)[0])
    ends = [
        tuple(map(float, pair)) for pair in re.findall(r'x1="([0-9.]+)" y1="[0-9.]+" x2="([0-9.]+)"[^>]*series', drawn)
    ]
    assert ends[0][0] > middle and ends[1][1] < middle and ends[2][0] < middle < ends[2][1]
    assert "worse -0.200 (-0.300 to -0.100)" in drawn
    named = differences_plot("apart", [Difference("a name " * 9, 0.2, 0.1, 0.3, told=True)], over=True)
    assert "\u2026" in named


def test_a_curve_goes_through_its_points() -> None:
    across, up = Scale(1.0, 50.0, ((1.0, "1"),), logarithmic=True), bound([0.31])
    panels = [Panel("ours", ((1.0, 0.0), (50.0, 0.5)), "", ""), Panel("other", ((1.0, 0.25), (50.0, 0.25)), "", "")]
    drawn = curve_panels("x", across, up, panels, "ours")
    paths = re.findall(r'<path d="M([0-9. ]+)L([0-9. ]+)" id="x-(\d)"', drawn)
    assert [number for *_, number in paths] == ["0", "1"]
    first, last = ([float(text) for text in point.split()] for point in paths[0][:2])
    assert first[0] < last[0] and first[1] > last[1]
    middle = [float(text) for text in paths[1][0].split()]
    assert middle[1] == pytest.approx((first[1] + last[1]) / 2, abs=0.06)
    used = re.findall(r'<use href="#(x-\d)" class="([a-z0-9 ]+)"', drawn)
    assert used == [("x-0", "series bold s1"), ("x-0", "series s1 dashed"), ("x-1", "series bold s2")]


@pytest.mark.parametrize(("value", "high"), [(0.0, 0.1), (0.1, 0.1), (0.11, 0.2), (0.5, 0.5), (0.51, 1.0), (1.0, 1.0)])
def test_a_scale_ends_at_a_round_share_that_nothing_exceeds(value: float, high: float) -> None:
    assert bound([0.0, value]).high == high


def test_a_bin_of_more_questions_is_a_larger_dot() -> None:
    panel = Panel("a", ((0.2, 0.5), (0.8, 0.8)), "", "")
    small, large = map(float, re.findall(r' r="([0-9.]+)"', reliability_panels("x", [panel], [[1, 30]], "a")))
    assert small < large


def test_numbers_of_arms_are_all_there_each_in_a_place_of_its_own() -> None:
    arms = [Timed(f"arm {n}", 0.001 * (1 + n % 3), 0.5 + 0.001 * n) for n in range(18)]
    drawn = speed_plot("speed", arms, "arm 0")
    numbers = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)" class="number[^>]*>(\d+)<', drawn)
    assert [int(text) for *_, text in numbers] == list(range(1, 19))
    assert len({(x, y) for x, y, _ in numbers}) == 18
    assert "arm 17 0.517 at 3 ms" in drawn


def test_the_line_of_calling_everything_novel_is_drawn_for_each_arm() -> None:
    told = {"a": {"f1": 0.9, "f1_everything_novel": 0.3}, "b": {"f1": 0.1, "f1_everything_novel": 0.3}}
    drawn = novelty_plot("novelty", told, "a")
    lines = re.findall(r'<line x1="([0-9.]+)"[^>]*class="series s4 dashed"', drawn)
    assert len(lines) == 2 and len(set(lines)) == 1
    (ours,) = re.findall(r'<circle cx="([0-9.]+)"', drawn)
    (other,) = re.findall(r'<rect x="([0-9.]+)"', drawn)
    assert float(other) < float(lines[0]) < float(ours)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.9996, "1 s"), (0.9994, "999 ms"), (1e-6, "1 \u00b5s"), (123.4, "123 s"), (2e-8, "20 ns")]
)
def test_times_have_a_unit_of_their_own_size(seconds: float, words: str) -> None:
    assert time_words(seconds) == words
