"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import toy

from sma_gpu.cli import main

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy.write(tmp_path / "data")))
    return "medicine"


def test_query_prints_the_ranking_and_why(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "HP:9910100", "HP:9920100", "HP:9999999", "--exclude", "HP:9930100", "-k", "3"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "OMIM:990001" in out.splitlines()[5]
    for part in (
        "HP:9910100 Long fingers", "HP:9910110 Spider fingers", "left out: HP:9999999 is not in hp 2026-01-01",
        "unexplained: nothing", "the disease has HP:9930100 Wide aorta, which the query excludes",
        "1 other disease", "This is not a medical device",
    ):  # fmt: skip
        assert part in out


def test_query_json_is_the_answer_alone(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, *LONG, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "sma-gpu/answer/1"
    assert answer["hits"][0]["key"] == "OMIM:990001"


def test_output_goes_to_a_file_when_asked(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "answer.json"
    assert main(["query", domain, *LONG, "-f", "json", "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text())["hits"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["query", "medicine"], 2, "no term was given"),
        (["query", "medicine", *LONG, "-k", "0"], 2, "not a whole number above 0"),
        (["query", "medicine", *LONG, "-k", "many"], 2, "not a whole number above 0"),
        (["query", "nowhere", *LONG], 3, "ready domains are medicine"),
        (["query", "medicine", *LONG, "--backend", "tpu"], 3, "this release has cpu, reference"),
        (["query", "medicine", *LONG, "--device", "tpu"], 3, "reference works on cpu"),
        (["query", "medicine", *LONG, "-o", "/nonexistent/folder/x"], 2, "there is no folder /nonexistent/folder"),
        (["query", "medicine", *LONG, "-o", "/"], 2, "/: Is a directory"),
        (["batch", "medicine", "-", "-o", "/nonexistent/folder/x"], 2, "there is no folder /nonexistent/folder"),
        (["batch", "medicine", "-", "-o", "/", "--overwrite"], 2, "that is no regular file"),
        (["query", "medicine", *LONG, "--dials", '{"gamma": 1e15}'], 2, "Lower the dial gamma"),
        (["query", "medicine", *LONG, "--dials", '{"gamma": 1e300}'], 2, "Lower the dial gamma"),
        (["query", "medicine", *LONG, "--dials", "nonsense"], 2, "adapter-v1"),
        (["query", "medicine", *LONG, "--dials", '{"rho": 2}'], 2, "at most 1"),
        (["query", "medicine", *LONG, "--dials", '{"speed": 2}'], 2, "no such dial"),
        (["explain", "medicine", "OMIM:1", *LONG], 2, "Did you mean"),
        (["compare", "medicine", "OMIM:990001", "OMIM:5"], 2, "none of its"),
        (["query", "medicine", "Long fingers", "--names", "Lens out of place"], 2, "HP:9930100"),
        (["query", "medicine", "--names", "fingers"], 2, "no term of hp 2026-01-01 has this name"),
        (["batch", "medicine", "no-such-file.jsonl"], 3, "no such file"),
        (["frobnicate"], 2, "invalid choice"),
        ([], 2, "required"),
    ],
)
def test_wrong_usage_and_missing_things(
    domain: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    try:
        found = main(arguments)
    except SystemExit as exit_:
        found = exit_.code
    out, err = capsys.readouterr()
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_abstaining_is_no_failure_unless_asked(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "HP:0000001"]) == 0
    assert "No answer: no information" in capsys.readouterr().out
    assert main(["query", domain, "HP:0000001", "--fail-on-abstain"]) == 1
    assert main(["query", domain, "--exclude", "HP:9910100"]) == 0
    assert "only exclusions" in capsys.readouterr().out


def test_names_are_taken_exactly_and_in_any_case(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "--names", "spider fingers", "Arachno fingers", "Loose lens", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [u["term"] for u in answer["query"]["used"]] == ["HP:9910110", "HP:9920100"]


def test_explain_and_compare_in_words(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", domain, "OMIM:990004", *LONG, "--dials", "ic"]) == 0
    out = capsys.readouterr().out
    assert "OMIM:990004 Eye disease: rank 3" in out
    assert "the query has HP:9910110 Spider fingers, which the disease excludes as HP:9910000" in out
    assert main(["compare", domain, "OMIM:990001", "OMIM:990004"]) == 0
    out = capsys.readouterr().out
    assert "only in A (2)" in out
    assert "only in B (1)" in out


def test_terms_searches_names_and_synonyms(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["terms", domain, "arachno"]) == 0
    assert "HP:9910110  Spider fingers  Arachno fingers (exact)" in capsys.readouterr().out
    assert main(["terms", domain, "finger", "-k", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["total"], len(found["matches"])) == (3, 1)
    assert main(["terms", domain, "zzz"]) == 0
    assert "No name or synonym" in capsys.readouterr().out


def test_doctor_says_what_was_found_where(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["auto_backend"] == "reference"
    medicine = report["domains"][0]
    assert medicine["ontology"][0]["path"] == str(tmp_path / "data" / "hp.obo")
    assert medicine["records"][0]["version"] == "2026-01-01"
    assert main(["doctor"]) == 0
    assert str(tmp_path / "data" / "phenotype.hpoa") in capsys.readouterr().out


def test_strict_input_refuses_what_the_default_reads_with_warnings(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", domain, *LONG, "--strict-input"]) == 0
    assert main(["query", domain, *LONG, "HP:9999999", "--strict-input"]) == 2
    assert "strict input: term HP:9999999" in capsys.readouterr().err
    with (tmp_path / "data" / "phenotype.hpoa").open("a", encoding="utf-8") as file:
        file.write(toy.row("OMIM:990001", "Long disease", "", "HP:9910200", "9/7", "P") + "\n")
    assert main(["query", domain, *LONG]) == 0
    assert main(["query", domain, *LONG, "--strict-input"]) == 2
    assert "strict reading of" in capsys.readouterr().err


def test_a_broken_file_is_refused_in_plain_words(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data" / "hp.obo").write_text("<html>not found</html>", encoding="utf-8")
    (tmp_path / "data" / "phenotype.hpoa").write_bytes(b"\x1f\x8b\x08broken")
    assert main(["query", str(tmp_path / "data"), *LONG]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "none of the 2 files there can serve" in err


def batch_file(tmp_path: Path) -> Path:
    lines = [
        {"id": "one", "observed": LONG, "excluded": []},
        {"id": "two", "observed": ["HP:9910200"], "excluded": ["HP:9920200"]},
        {"id": "bad", "observed": "HP:9910200"},
        {"id": "none", "observed": []},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{not json\n", encoding="utf-8")
    return path


def test_batch_goes_on_past_bad_records(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", domain, str(batch_file(tmp_path)), "-k", "2"]) == 4
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == ["one", "two", "bad", "none", None]
    assert rows[0]["hits"][0]["key"] == "OMIM:990001"
    assert len(rows[0]["hits"]) == 2
    assert rows[2].keys() == {"id", "error"}
    assert rows[2]["error"].keys() == {"asked", "found", "do"}
    assert rows[3]["abstained"]
    assert "5 records: 1 abstained, 2 failed" in err


def test_batch_from_standard_input_equals_batch_from_a_file(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = batch_file(tmp_path)
    assert main(["batch", domain, str(path)]) == 4
    from_file = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    assert main(["batch", domain, "-"]) == 4
    from_stdin = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["id"] for r in from_stdin] == [r["id"] for r in from_file]
    assert from_stdin[:2] == from_file[:2]
    assert [r["error"]["found"] for r in from_stdin[2::2]] == [r["error"]["found"] for r in from_file[2::2]]


def test_batch_of_phenopackets_never_reads_the_diagnosis(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "packets"
    folder.mkdir()
    for name, diagnosis in (("a", "OMIM:990002"), ("b", "OMIM:990005")):
        packet = {
            "id": f"patient-{name}",
            "phenotypicFeatures": [
                *({"type": {"id": term}} for term in LONG[:2]),
                {"type": {"id": LONG[2]}, "excluded": True},
            ],
            "diseases": [{"term": {"id": diagnosis}}],
            "metaData": {"phenopacketSchemaVersion": "2.0"},
        }
        (folder / f"{name}.json").write_text(json.dumps(packet), encoding="utf-8")
    assert main(["batch", domain, str(folder)]) == 0
    out = capsys.readouterr().out
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == ["patient-a", "patient-b"]
    assert rows[0]["hits"] == rows[1]["hits"] != []


def test_one_process_after_another_gives_the_same_bytes_under_any_hash_seed(domain: str) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-m", "sma_gpu", "query", domain, *LONG, "HP:9999999", "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "PYTHONUTF8": "0"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    ]
    assert len(set(runs)) == 1
    assert json.loads(runs[0])["hits"]


def test_query_batch_and_explain_work_with_sockets_forbidden(
    domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    assert main(["query", domain, *LONG]) == 0
    assert main(["explain", domain, "OMIM:990001", *LONG]) == 0
    assert main(["batch", domain, str(batch_file(tmp_path))]) == 4


def test_query_terms_are_in_no_cache(domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("SMA_GPU_CACHE", str(cache))
    marker = "HP:7777777"
    assert main(["query", domain, *LONG, marker]) == 0
    files = [p for p in cache.rglob("*") if p.is_file()]
    assert files
    assert not any(marker.encode() in p.read_bytes() for p in files)


def test_a_closed_pipe_is_no_error(domain: str) -> None:
    command = f"{sys.executable} -m sma_gpu query {domain} {' '.join(LONG)} --json | head -c 10"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


def test_options_may_stand_anywhere_among_the_ids(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = set()
    for words in (
        ["query", domain, *LONG, "-k", "2", "--json"],
        ["query", "-k", "2", domain, "--json", *LONG],
        ["query", domain, LONG[0], "-k", "2", LONG[1], "--json", LONG[2]],
    ):
        assert main(words) == 0
        answers.add(capsys.readouterr().out)
    assert len(answers) == 1


def test_a_batch_never_overwrites_its_own_input(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = batch_file(tmp_path)
    before = path.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    for out in (path, link):
        assert main(["batch", domain, str(path), "-o", str(out), "--overwrite"]) == 2
        assert "that is the input itself" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_half_a_surrogate_pair_costs_its_record_not_the_batch(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"id":"a\\ud800","observed":["HP:9910110"]}\n{"id":"b","observed":["HP:9910110"]}\n')
    out = tmp_path / "out.jsonl"
    for words in (["-o", str(out)], []):
        assert main(["batch", domain, str(path), *words]) in (0, 4)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[1]["id"] == "b"
    assert rows[1]["hits"]
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()][1] == "b"


def test_an_odd_id_from_python_can_be_written(domain: str) -> None:
    from sma_gpu import open_engine
    from sma_gpu.answers.batch import line_text

    answer = open_engine(domain).query(["HP:\ud800", "HP:9910110"], query_id="\udfff")
    assert json.loads(line_text(answer).encode("utf-8")) == answer


def test_utf8_comes_out_under_any_locale(domain: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "S\u00f6dergren \u75c7\u72b6", "observed": ["HP:9910110"]}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sma_gpu", "batch", domain, str(path)],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout.decode("utf-8"))["id"] == "S\u00f6dergren \u75c7\u72b6"


def test_a_full_disk_and_a_closed_output_are_said_in_words(domain: str) -> None:
    words = f"{sys.executable} -m sma_gpu query {domain} {' '.join(LONG)}"
    full = subprocess.run(["bash", "-c", f"{words} > /dev/full"], capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert full.stderr.startswith("sma-gpu: the answer: No space left")
    closed = subprocess.run(["bash", "-c", f"{words} >&-"], capture_output=True, text=True, check=False)
    no_input = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m sma_gpu batch {domain} - <&-"], capture_output=True, text=True, check=False
    )
    for done in (full, closed, no_input):
        assert "Traceback" not in done.stderr


def test_what_a_reader_repaired_is_said_in_the_answer_and_by_doctor(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "data" / "phenotype.hpoa").open("a", encoding="utf-8") as file:
        file.write(toy.row("OMIM:990001", "Long disease", "", "HP:9910200", "9/7", "P") + "\n")
    assert main(["query", domain, *LONG]) == 0
    assert "phenotype.hpoa was read with 1 warning, the first: " in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "9/7" in capsys.readouterr().out


def test_excluded_terms_are_shown_and_the_root_alone_abstains_under_any_dials(
    domain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", domain, "HP:9910110", "--exclude", "HP:9920200"]) == 0
    assert "excluded: HP:9920200 Cloudy lens" in capsys.readouterr().out
    for dials in ("default", "adapter-v1", '{"scorer": "unit"}'):
        assert main(["query", domain, "HP:0000001", "--dials", dials]) == 0
        assert "No answer: no information" in capsys.readouterr().out


def test_no_place_of_a_batch_is_its_input(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = batch_file(tmp_path)
    run_file = tmp_path / "x.jsonl.run.json"
    run_file.write_bytes(path.read_bytes())
    folder = tmp_path / "packets"
    folder.mkdir()
    for given, out, words in (
        (run_file, tmp_path / "x.jsonl", "that is the input itself"),
        (folder, folder / "out.jsonl", "whose files are the input"),
        (folder, folder / "below" / "out.jsonl", "whose files are the input"),
    ):
        assert main(["batch", domain, str(given), "-o", str(out)]) == 2
        assert words in capsys.readouterr().err
    assert run_file.read_bytes() == path.read_bytes()
    command = f"{sys.executable} -m sma_gpu batch {domain} - -o {path} --overwrite < {path}"
    before = path.read_bytes()
    assert subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode == 2
    assert path.read_bytes() == before


def test_paths_that_are_not_ascii_work_under_any_locale(tmp_path: Path) -> None:
    folder = toy.write(tmp_path / "d\u03b2")
    given = batch_file(tmp_path).rename(tmp_path / "\u03b2.jsonl")
    out = tmp_path / "a\u03b2.jsonl"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-m", "sma_gpu", "batch", str(folder), str(given), "-o", str(out)]
    done = subprocess.run(words, env=env, capture_output=True, check=False)
    assert done.returncode == 4, done.stderr
    assert len(out.read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self/mem").exists(), reason="root reads every file")
def test_a_file_that_cannot_be_read_is_no_write_fault(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", domain, "/proc/self/mem"]) == 3
    assert "it cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["batch", "medicine", ""], ["query", "", *LONG], ["query", "medicine", *LONG, "-o", ""]]
)
def test_an_empty_word_is_no_path(domain: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert "empty word" in capsys.readouterr().err


def test_compare_shows_contradictions(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", domain, "OMIM:990004", "OMIM:990001"]) == 0
    expected = "B has HP:9910110 Spider fingers, which A excludes as HP:9910000 Abnormal limb"
    assert expected in capsys.readouterr().out
    assert main(["compare", domain, "OMIM:990001", "OMIM:990004"]) == 0
    assert expected.translate(str.maketrans("AB", "BA")).replace("Bbnormal", "Abnormal") in capsys.readouterr().out


def test_doctor_looks_into_a_named_folder(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = toy.write(tmp_path / "other")
    with (other / "phenotype.hpoa").open("a", encoding="utf-8") as file:
        file.write(toy.row("OMIM:990001", "Long disease", "", "HP:9910200", "9/7", "P") + "\n")
    assert main(["doctor", str(other)]) == 0
    out = capsys.readouterr().out
    assert str(other / "hp.obo") in out
    assert "9/7" in out


def test_padded_and_empty_ids_are_described_truly(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, " HP:9910110", "", "HP:9930100"]) == 0
    out = capsys.readouterr().out
    assert "belong to another ontology" not in out
    assert "Did you mean HP:9910110?" in out
    assert "left out: '' is not in hp" in out


def test_some_records_and_a_record_as_query(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, *LONG, "--json"]) == 0
    whole = [h["key"] for h in json.loads(capsys.readouterr().out)["hits"]]
    keys = tmp_path / "keys.txt"
    keys.write_text(f"# a choice\n{whole[-1]}\n\n{whole[0]} # the best\n{whole[0]}\n", encoding="utf-8")
    assert main(["query", domain, *LONG, "--among", str(keys), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [h["key"] for h in found["hits"]] == [k for k in whole if k in (whole[0], whole[-1])]
    assert any(n.startswith("hits are sought among 2 of ") for n in found["notes"])
    assert [h["rank"] for h in found["hits"]] == [1, 2]

    assert main(["query", domain, "--like", "OMIM:990001", "-k", "9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    hits = [h["key"] for h in found["hits"]]
    assert hits[0] == "ORPHA:990003"  # its twin
    assert "OMIM:990001" not in hits
    assert sorted(u["term"] for u in found["query"]["used"]) == ["HP:9910110", "HP:9920100", "HP:9930100"]

    keys.write_text("OMIM:1\n", encoding="utf-8")
    for words, code, says in (
        ([*LONG, "--among", str(keys)], 2, "OMIM:1"),
        ([*LONG, "--among", str(tmp_path / "none.txt")], 3, "none.txt"),
        ([*LONG, "--like", "OMIM:990001"], 2, "not both"),
        (["--like", "OMIM:5"], 2, "OMIM:5"),
    ):
        assert main(["query", domain, *words]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert says in err
    keys.write_text("# nothing\n", encoding="utf-8")
    assert main(["query", domain, *LONG, "--among", str(keys)]) == 2
    assert "names no record" in capsys.readouterr().err
