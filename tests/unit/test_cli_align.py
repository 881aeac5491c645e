"""``sma-gpu align``: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.resources import as_file, files
from pathlib import Path

import jsonschema
import pytest

from sma_gpu.cli import main

SCHEMA = json.loads((files("sma_gpu.answers") / "analogy-1.schema.json").read_text())
SAMPLES = ("water.case", "heat.case", "flow.lattice", "solar.case", "atom.case", "README.md")


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped samples, made the current one."""
    with as_file(files("sma_gpu.ontologies") / "samples" / "analogy") as folder:
        assert {p.name for p in folder.iterdir()} == set(SAMPLES)
        for name in SAMPLES:
            (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    return tmp_path


FLOW = ["align", "water.case", "heat.case", "--lattice", "flow.lattice"]
ORBIT = ["align", "solar.case", "atom.case"]


def answer_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = json.loads(out)
    jsonschema.validate(answer, SCHEMA)
    assert isinstance(answer, dict)
    return answer


def test_water_and_heat_in_words(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(FLOW) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("base   water-flow (Water flow): 11 statements\ntarget heat-flow (Heat flow): 6 statements\n")
    for part in (
        "proved best", "  water  -> heat\n", "  beaker -> coffee\n", "  vial   -> ice-cube\n", "  pipe   -> bar\n",
        "pressure(beaker)", "-> temperature(coffee)  through quantity, 2 steps",
        "  cause(greater(temperature(coffee), temperature(ice-cube)), flow(coffee, ice-cube, heat, bar))  (",
        "only in the target (2)\n  liquid(coffee)\n  flat-top(coffee)\n",
    ):  # fmt: skip
        assert part in out
    assert "Note:" not in out


def test_the_sun_and_the_atom_without_a_lattice(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = answer_of(ORBIT, capsys)
    entities = {c["base"]: c["target"] for c in answer["mapping"] if c["kind"] == "entity"}  # type: ignore[attr-defined]
    assert entities == {"sun": "nucleus", "planet": "electron"}
    inferred = {i["statement"]: i["skolems"] for i in answer["inferences"]}  # type: ignore[attr-defined]
    assert inferred["cause(revolves(electron, nucleus), brings(electron, ?seasons))"] == ["?seasons"]
    assert answer["vocabulary"] is None
    assert answer["notes"] == ["No lattice was given: every predicate matches itself alone."]


def test_json_has_the_dials_of_an_alignment_and_those_asked_for(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = answer_of(FLOW, capsys)
    assert plain["dials"] == {
        "scorer": "unit", "credit": "ancestor", "normalisation": "power(0)", "gamma": 0.25, "rho": 0.95, "delta": 2,
    }  # fmt: skip
    assert plain["optimal"]
    far = answer_of([*FLOW, "--dials", '{"delta": 0, "gamma": 0}'], capsys)
    assert (far["dials"]["scorer"], far["dials"]["delta"]) == ("unit", 0)  # type: ignore[index]
    assert far["score_bits"] < plain["score_bits"]  # type: ignore[operator]
    assert far["dials_fingerprint"] != plain["dials_fingerprint"]


def test_the_drawing_goes_to_its_file_and_the_answer_to_standard_output(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FLOW, "--svg", "flow.svg", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    drawn = (samples / "flow.svg").read_text(encoding="utf-8")
    root = ET.fromstring(drawn)
    lines = [p for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("data-link") in ("entity", "statement")]
    assert len(lines) == len(answer["mapping"])
    assert main([*FLOW, "-f", "svg"]) == 0
    assert capsys.readouterr().out == drawn
    assert main([*FLOW, "-f", "svg", "-o", "again.svg"]) == 0
    assert capsys.readouterr().out == ""
    assert (samples / "again.svg").read_text(encoding="utf-8") == drawn


def test_nothing_in_common_is_said_and_is_no_failure(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (samples / "other.case").write_text("(sings (entity lark))\n", encoding="utf-8")
    assert main(["align", "water.case", "other.case", "--svg", "none.svg"]) == 0
    out = capsys.readouterr().out
    assert "0.00 bits: nothing corresponds, proved" in out
    assert "target other: 1 statement" in out
    ET.parse(samples / "none.svg")
    answer = answer_of(["align", "water.case", "other.case"], capsys)
    assert (answer["score_bits"], answer["mapping"], answer["optimal"]) == (0, [], True)


def test_predicates_that_the_lattice_lacks_are_named_or_refused(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("water.case", "heat.case"):
        with (samples / name).open("a", encoding="utf-8") as file:
            file.write("(wet (entity spoon))\n(odd (entity spoon))\n")
    assert main(FLOW) == 0
    out = capsys.readouterr().out
    assert "Note: The lattice lacks 2 predicates, each of which matches itself alone: odd, wet.\n" in out
    assert "  spoon  -> spoon\n" in out
    assert main([*FLOW, "--strict-input"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "flow.lattice lacks odd, wet" in err
    assert main([*ORBIT, "--strict-input"]) == 0


def test_an_exclusion_that_nothing_uses_is_no_obstacle(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (samples / "x.case").write_text("(flow (entity a) (entity b) (entity c) (entity d))\n(excluded charged)\n")
    (samples / "y.case").write_text("(flow (entity e) (entity f) (entity g) (entity h))\n")
    bare = ["align", "x.case", "y.case"]
    assert main(bare) == 0
    out, err = capsys.readouterr()
    assert (out.count("flow("), err) == (2, "")
    words = [*bare, "--lattice", "flow.lattice"]
    assert main(words) == 0
    assert "Note: The lattice lacks 1 predicate, which matches itself alone: charged.\n" in capsys.readouterr().out
    assert main([*words, "--strict-input"]) == 2
    assert "flow.lattice lacks charged" in capsys.readouterr().err


def test_what_a_case_excludes_and_the_other_states_is_told(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (samples / "x.case").write_text("(hot (entity s))\n(big (entity s))\n")
    (samples / "y.case").write_text("(big (entity t))\n(excluded hot)\n")
    assert main(["align", "x.case", "y.case"]) == 0
    out = capsys.readouterr().out
    assert "contradicted (1)\n  the base has hot(s), the target excludes hot\n" in out
    assert "not hot" not in out


@pytest.mark.parametrize("dials", ["adapter-v1", '{"scorer": "ic"}'])
def test_dials_under_which_nothing_counts_are_named(
    samples: Path, capsys: pytest.CaptureFixture[str], dials: str
) -> None:
    (samples / "x.case").write_text("(hot (entity s))\n")
    (samples / "y.case").write_text("(hot (entity t))\n")
    words = ["align", "x.case", "y.case", "--dials", dials]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "what the two share (hot) is worth 0 bits; one case is no corpus to count in" in out
    assert "nothing corresponds" not in out.lower()
    assert any("one case is no corpus" in note for note in answer_of(words, capsys)["notes"])  # type: ignore[attr-defined]


def test_an_ontology_serves_as_lattice(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (samples / "toy.obo").write_text(
        "format-version: 1.2\nontology: toy\n\n[Term]\nid: EX:0\nname: Illness\n\n"
        "[Term]\nid: EX:1\nname: Flu\nis_a: EX:0\n\n[Term]\nid: EX:2\nname: Cold\nis_a: EX:0\n",
        encoding="utf-8",
    )
    for name, term in (("ann", "EX:1"), ("bob", "EX:2")):
        (samples / f"{name}.case").write_text(f"({term} (entity {name}))\n", encoding="utf-8")
    words = ["align", "ann.case", "bob.case", "--lattice", "toy.obo"]
    answer = answer_of(words, capsys)
    assert answer["names"] == {"EX:0": "Illness", "EX:1": "Flu", "EX:2": "Cold"}
    assert answer["vocabulary"]["name"] == "toy"  # type: ignore[index]
    assert answer["mapping"][0]["via"] == "EX:0"  # type: ignore[index]
    assert main(words) == 0
    assert "names\n  EX:0  Illness\n" in capsys.readouterr().out


def test_a_json_case_aligns_like_its_twin(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = {
        "schema": "sma-gpu/case/1",
        "key": "heat-flow",
        "name": "Heat flow",
        "statements": [
            {
                "functor": "greater",
                "args": [
                    {"functor": "temperature", "args": [{"entity": "coffee"}]},
                    {"functor": "temperature", "args": [{"entity": "ice-cube"}]},
                ],
            },
            {"functor": "flow", "args": [{"entity": e} for e in ("coffee", "ice-cube", "heat", "bar")]},
            {"functor": "liquid", "args": [{"entity": "coffee"}]},
            {"functor": "flat-top", "args": [{"entity": "coffee"}]},
        ],
    }
    (samples / "heat.json").write_text(json.dumps(twin), encoding="utf-8")
    from_json = answer_of(["align", "water.case", "heat.json", "--lattice", "flow.lattice"], capsys)
    assert from_json == answer_of(FLOW, capsys)


def test_a_search_that_ends_early_says_so(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"e{i}" for i in range(14)]
    for case, step in (("left", 3), ("right", 5)):
        pairs = [(names[i], names[(i * step + j) % 14]) for i in range(14) for j in range(1, 4)]
        lines = [f"(near (entity {case}-{a}) (entity {case}-{b}))" for a, b in pairs]
        (samples / f"{case}.case").write_text("\n".join(dict.fromkeys(lines)), encoding="utf-8")
    words = ["align", "left.case", "right.case", "--nodes", "1"]
    answer = answer_of(words, capsys)
    assert not answer["optimal"]
    assert answer["gap_bits"] > 0  # type: ignore[operator]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "not proved best: at most " in out
    assert "--nodes raises this budget" in out


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["align", "water.case"], 2, "TARGET"),
        (["align", "water.case", "nowhere.case"], 3, "nowhere.case"),
        (["align", "water.case", "heat.case", "--lattice", "nowhere.lattice"], 3, "nowhere.lattice"),
        (["align", "water.case", "broken.case"], 2, "line 2"),
        (["align", "water.case", "README.md"], 2, "README.md"),
        (["align", "water.case", "heat.case", "--lattice", "water.case"], 2, "water.case"),
        ([*FLOW, "--nodes", "0"], 2, "not a whole number above 0"),
        ([*FLOW, "--dials", "nonsense"], 2, 'like {"rho": 0.9}'),
        ([*FLOW, "--dials", "[1]"], 2, "nor a JSON object"),
        ([*FLOW, "--dials", "[" * 100_000], 2, "nor a JSON object"),
        ([*FLOW, "--dials", '{"rho": 2}'], 2, "at most 1"),
        ([*FLOW, "--dials", '{"speed": 2}'], 2, "no such dial"),
        ([*FLOW, "--svg", "/nonexistent/x.svg"], 2, "/nonexistent/x.svg: there is no folder /nonexistent"),
        ([*FLOW, "-o", "/"], 2, "-o /: that is a folder"),
        ([*FLOW, "--svg", "new.svg", "-o", "nowhere/x"], 2, "there is no folder nowhere"),
        ([*FLOW, "--svg", "new.svg", "-o", "."], 2, "-o .: that is a folder"),
        (["align", "-", "heat.case"], 2, "- means standard input, and align reads files alone"),
        (["align", "water.case", "heat.case", "--lattice", "-"], 2, "align reads files alone"),
        ([*FLOW, "--svg", "heat.case"], 2, "Name a file of its own"),
        ([*FLOW, "-o", "./flow.lattice"], 2, "Name a file of its own"),
        ([*FLOW, "-o", "x", "--svg", "x"], 2, "Name a file of its own"),
        ([*FLOW, "--svg", ""], 2, "empty word"),
        ([*FLOW, "-f", "png"], 2, "invalid choice"),
    ],
)
def test_refused_files_and_wrong_usage(
    samples: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, part: str
) -> None:
    (samples / "broken.case").write_text("(hot (entity sun))\n(hot (entity\n", encoding="utf-8")
    before = {name: (samples / name).read_bytes() for name in SAMPLES}
    try:
        found = main(words)
    except SystemExit as exit_:
        found = exit_.code  # type: ignore[assignment]
    out, err = capsys.readouterr()
    assert (found, out) == (code, "")
    assert part in err
    assert "Traceback" not in err
    assert before == {name: (samples / name).read_bytes() for name in SAMPLES}
    assert {p.name for p in samples.iterdir()} <= {*SAMPLES, "broken.case", "cache"}


def test_help_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["align", "--help"])
    assert done.value.code == 0
    words = " ".join(capsys.readouterr().out.split())
    for part in ("BASE TARGET", "--lattice FILE", "--svg OUT", "--nodes N", "--strict-input", "{text,json,svg,html}"):
        assert part in words
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "align two cases" in capsys.readouterr().out


def test_the_same_bytes_under_any_hash_seed_and_with_sockets_forbidden(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-m", "sma_gpu", *FLOW, "-f", form],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "PYTHONUTF8": "0"},
            capture_output=True,
            check=True,
        ).stdout
        for form in ("json", "text", "svg")
        for seed in ("0", "4242")
    ]
    assert runs[0] == runs[1]
    assert runs[2] == runs[3]
    assert runs[4] == runs[5]

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    assert main([*FLOW, "--json"]) == 0
    assert capsys.readouterr().out.encode() == runs[0]


def test_files_and_names_in_any_script(samples: Path) -> None:
    base, target = samples / "\u6c34.case", samples / "\u71b1.case"
    base.write_text("(\u6d41\u308c (entity \u6c34))\n", encoding="utf-8")
    target.write_text("(\u6d41\u308c (entity \u71b1))\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sma_gpu", "align", str(base), str(target), "--svg", str(samples / "\u7d75.svg")],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert "\u6c34 -> \u71b1" in done.stdout.decode("utf-8")
    assert "\u6d41\u308c" in (samples / "\u7d75.svg").read_text(encoding="utf-8")
