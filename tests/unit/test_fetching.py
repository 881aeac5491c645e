"""Fetching: what a server of our own, on this machine alone, can do to a file on its way."""

from __future__ import annotations

import fcntl
import hashlib
import resource
import socket
from pathlib import Path
from typing import Any

import pytest
from serving import Server, serving

from sma_gpu.errors import ChecksumMismatch, DataMissing, QueryError
from sma_gpu.ontologies.fetching import download

CONTENT = bytes(range(256)) * 2000  # 512,000 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("no_proxy", "*")
    found = Server(**{"a.bin": CONTENT})
    found.tags["/a.bin"] = '"one"'
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "a.bin"


def left(place: Path) -> list[str]:
    return sorted(path.name for path in place.parent.iterdir())


def test_a_file_arrives_whole_and_alone(server: Server, place: Path) -> None:
    told: list[tuple[int, int | None]] = []
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, progress=lambda have, of: told.append((have, of)))
    assert found is not None
    assert (found.bytes, found.sha256, found.validator, found.is_new) == (len(CONTENT), SHA, '"one"', True)
    assert place.read_bytes() == CONTENT
    assert left(place) == ["a.bin"]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [have for have, _ in told] == sorted(have for have, _ in told)


def test_a_cut_connection_is_gone_on_with(server: Server, place: Path) -> None:
    server.cut_after = [100_000, 0, 50_000]
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, pause_s=0.01)
    assert found is not None and found.sha256 == SHA
    assert place.read_bytes() == CONTENT
    assert [headers.get("range") for _, headers in server.asked] == [
        None, "bytes=100000-", "bytes=100000-", "bytes=150000-",
    ]  # fmt: skip
    assert left(place) == ["a.bin"]


def test_the_next_call_goes_on_where_the_last_one_gave_up(server: Server, place: Path) -> None:
    server.cut_after = [100_000, 0, 0, 0, 0]
    with serving(server) as root:
        with pytest.raises(DataMissing, match=r"100000 bytes are here"):
            download(f"{root}/a.bin", place, pause_s=0.001)
        assert left(place) == [".unfinished-a.bin", ".unfinished-a.bin.json"]
        server.asked.clear()
        found = download(f"{root}/a.bin", place)
    assert found is not None and found.sha256 == SHA
    assert server.asked[0][1]["range"] == "bytes=100000-"
    assert server.asked[0][1]["if-range"] == '"one"'


def test_another_state_of_the_source_is_never_mixed_in(server: Server, place: Path) -> None:
    server.cut_after = [100_000, 0, 0, 0, 0]
    with serving(server) as root:
        with pytest.raises(DataMissing):
            download(f"{root}/a.bin", place, pause_s=0.001)
        server.tags["/a.bin"], server.files["/a.bin"] = '"two"', b"new" * 100_000
        found = download(f"{root}/a.bin", place)
    assert found is not None and found.validator == '"two"'
    assert place.read_bytes() == b"new" * 100_000


def test_a_beginning_without_a_validator_is_thrown_away(server: Server, place: Path) -> None:
    server.tags["/a.bin"] = ""
    server.cut_after = [100_000]
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, pause_s=0.001)
    assert found is not None and found.sha256 == SHA
    assert [headers.get("range") for _, headers in server.asked] == [None, None]


def test_without_a_validator_the_stated_sum_allows_to_go_on(server: Server, place: Path) -> None:
    server.tags["/a.bin"] = ""
    server.cut_after = [100_000]
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, sha256=SHA, pause_s=0.001)
    assert found is not None and place.read_bytes() == CONTENT
    assert server.asked[1][1]["range"] == "bytes=100000-"


def test_a_server_without_ranges_sends_the_whole_again(server: Server, place: Path) -> None:
    server.ranges = False
    server.cut_after = [100_000]
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, pause_s=0.001)
    assert found is not None and place.read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_all_that_was_missing_is_the_check(server: Server, place: Path) -> None:
    """The last call got all bytes and ended before it looked at them."""
    with serving(server) as root:
        place.parent.mkdir()
        place.with_name(".unfinished-a.bin").write_bytes(CONTENT)
        place.with_name(".unfinished-a.bin.json").write_text(
            f'{{"address": "{root}/a.bin", "validator": "\\"one\\"", "total": {len(CONTENT)}}}'
        )
        found = download(f"{root}/a.bin", place)
    assert found is not None and found.sha256 == SHA
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("size", "sha256", "words"),
    [(0, "0" * 64, "its sha256 is"), (len(CONTENT) + 1, "", "fewer bytes"), (1000, "", "more bytes")],
)
def test_what_is_not_what_was_stated_is_thrown_away(
    server: Server, place: Path, size: int, sha256: str, words: str
) -> None:
    with serving(server) as root, pytest.raises(ChecksumMismatch, match=words):
        download(f"{root}/a.bin", place, size=size, sha256=sha256)
    assert left(place) == []


def test_a_file_that_is_there_is_never_written_over(server: Server, place: Path) -> None:
    place.parent.mkdir()
    place.write_bytes(CONTENT)
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, sha256=SHA, size=len(CONTENT))
        assert found is not None and not found.is_new
        with pytest.raises(ChecksumMismatch, match="left as it is"):
            download(f"{root}/a.bin", place, sha256="0" * 64)
    assert place.read_bytes() == CONTENT
    assert server.asked == []


def test_a_known_state_is_not_fetched_again(server: Server, place: Path) -> None:
    with serving(server) as root:
        assert download(f"{root}/a.bin", place, known_as='"one"') is None
        assert download(f"{root}/a.bin", place, known_as='"old"') is not None
    assert left(place) == ["a.bin"]


def test_a_redirection_is_followed_and_told(server: Server, place: Path) -> None:
    server.redirects["/a.bin"] = "/elsewhere/b.bin"
    server.files["/elsewhere/b.bin"] = CONTENT
    server.cut_after = [100_000]
    with serving(server) as root:
        found = download(f"{root}/a.bin", place, pause_s=0.001)
    assert found is not None
    assert (found.address, found.final_address) == (f"{root}/a.bin", f"{root}/elsewhere/b.bin")
    assert server.asked[-1][1]["range"] == "bytes=100000-"


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_said_at_once(server: Server, place: Path, status: int) -> None:
    server.status = status
    with serving(server) as root, pytest.raises(DataMissing, match=f"the server refuses .{status}"):
        download(f"{root}/a.bin", place)
    assert len(server.asked) == 1


def test_a_server_that_cannot_serve_now_is_asked_again(server: Server, place: Path) -> None:
    server.status = 503
    with serving(server) as root, pytest.raises(DataMissing, match=r"cannot serve now .503"):
        download(f"{root}/a.bin", place, pause_s=0.001)
    assert len(server.asked) == 4


def test_no_network_is_said_plainly(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(DataMissing, match="cannot be reached"):
        download(f"http://127.0.0.1:{port}/a.bin", place)

    def nobody(*words: Any, **more: Any) -> Any:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with pytest.raises(DataMissing, match="there is no network here, or no such server"):
        download("http://data.example.org/a.bin", place)


def test_only_the_web_is_fetched_from(tmp_path: Path, place: Path) -> None:
    (tmp_path / "secret").write_text("x")
    with pytest.raises(QueryError, match="no address of http"):
        download((tmp_path / "secret").as_uri(), place)


def test_two_processes_do_not_write_into_one_file(server: Server, place: Path) -> None:
    place.parent.mkdir()
    with place.with_name(".unfinished-a.bin").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with serving(server) as root, pytest.raises(DataMissing, match="another process is fetching it"):
            download(f"{root}/a.bin", place)
    with serving(server) as root:
        assert download(f"{root}/a.bin", place) is not None


def test_a_full_disk_is_no_fault_of_the_network(server: Server, place: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with serving(server) as root, pytest.raises(DataMissing, match=r"cannot be written .File too large"):
            download(f"{root}/a.bin", place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(server.asked) == 1
    with serving(server) as root:
        found = download(f"{root}/a.bin", place)
    assert found is not None and found.sha256 == SHA
