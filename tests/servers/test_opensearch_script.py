"""scripts/opensearch: a real node is started, restarted and ended; and what is missing or wrong is told in words."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers.opensearch import EXIT_MISSING, OpenSearchNode, missing, opensearch_node, script

pytestmark = pytest.mark.timeout(300)
CLIENT = httpx.Client(timeout=60)

FULL_JDK = ("java.base@25.0.1", "jdk.incubator.vector@25.0.1", "jdk.localedata@25.0.1")
MAVEN = """\
#!{python}
import os, pathlib, sys, zipfile
given = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("-D"))
into = pathlib.Path(given["outputDirectory"])
with open({calls!r}, "a") as calls:
    calls.write(into.name + "\\n")
if into.name == "zip":
    with zipfile.ZipFile(into / "server.zip", "w") as server:
        server.writestr("opensearch-3.4.0/bin/opensearch", "")
        server.writestr("opensearch-3.4.0/lib/shared.jar", "")
        server.writestr("opensearch-3.4.0/modules/transport/a.jar", "")
else:
    (into / "shared.jar").touch()
    (into / "own.jar").touch()
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchNode]:
    if lacking := missing():
        pytest.skip(lacking)
    with opensearch_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users may enter: the server of root runs as one of them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def jdk(folder: Path, *modules: str) -> Path:
    """A JDK that lists these modules, and says `out of order` whatever else it is asked."""
    listed = "\n".join(modules)
    ask = f'#!/bin/sh\n[ "$1" = --list-modules ] && echo "{listed}" && exit\necho "out of order"\nexit 1\n'
    return program(folder / "bin" / "java", ask).parent.parent


def maven(folder: Path) -> tuple[str, Path]:
    """A path with a Maven that copies small files, and the file where it notes what it was asked for."""
    calls = folder / "calls"
    text = MAVEN.format(python=sys.executable, calls=str(calls))
    return f"{program(folder / 'maven' / 'mvn', text).parent}:{os.environ['PATH']}", calls


def test_it_starts_once_on_the_loopback_interface_and_a_restart_keeps_data_and_port(node: OpenSearchNode) -> None:
    running, url = node.pid, node.url
    assert json.loads(script("start", "--data", node.data, "--port", "1").stdout) == {"url": url}
    assert node.pid == running
    (only,) = CLIENT.get(f"{url}/_nodes/http,transport").raise_for_status().json()["nodes"].values()
    for kind in ("http", "transport"):
        assert [address.rsplit(":", 1)[0] for address in only[kind]["bound_address"]] == ["127.0.0.1"]
    CLIENT.put(f"{url}/texts/_doc/1?refresh=true", json={"text": "still here"}).raise_for_status()
    for _ in range(2):
        told = script("stop", "--data", node.data)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    assert not node.is_running()
    assert node.start() == url
    assert CLIENT.get(f"{url}/texts/_doc/1").json()["_source"] == {"text": "still here"}


def test_a_folder_that_names_no_java_is_explained(tmp_path: Path) -> None:
    told = script("start", "--data", tmp_path / "node", env={"OPENSEARCH_JAVA_HOME": str(tmp_path)})
    assert (told.returncode, told.stdout) == (EXIT_MISSING, "")
    assert f"{tmp_path}: no bin/java in it" in told.stderr
    assert "needs a full JDK 21 or newer" in told.stderr


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        (("java.base@17.0.9", *FULL_JDK[1:]), "version 17"),
        (FULL_JDK[:1], "version 25 without jdk.incubator.vector, jdk.localedata"),
        ((), "not a JDK"),
    ],
    ids=["too old", "trimmed", "not java"],
)
def test_a_java_that_will_not_do_is_explained(public: Path, modules: tuple[str, ...], fault: str) -> None:
    told = script("check", env={"OPENSEARCH_JAVA_HOME": str(jdk(public, *modules))})
    assert told.returncode == EXIT_MISSING
    assert f"{public}: {fault}" in told.stderr


def a_machine(public: Path, path: str) -> dict[str, str]:
    """With a JDK, an empty cache, and these folders of commands."""
    home = jdk(public / "jdk", *FULL_JDK)
    return {"OPENSEARCH_JAVA_HOME": str(home), "MEMORYBUS_CACHE": str(public / "cache"), "PATH": path}


def test_a_machine_without_maven_is_told_to_install_it(public: Path) -> None:
    (public / "dirname").symlink_to(shutil.which("dirname") or "")  # the entry needs that one command
    told = script("check", env=a_machine(public, str(public)))
    assert told.returncode == EXIT_MISSING
    assert "install Maven" in told.stderr


def test_a_fetch_that_fails_leaves_nothing_behind(public: Path) -> None:
    program(public / "maven" / "mvn", "#!/bin/sh\necho no route to host\nexit 1\n")
    env = a_machine(public, f"{public / 'maven'}:{os.environ['PATH']}")
    told = script("start", "--data", public / "node", env=env)
    assert told.returncode == EXIT_MISSING
    assert "no route to host" in told.stderr
    assert list((public / "cache").iterdir()) == []


def test_two_starts_at_once_assemble_once_and_a_server_that_ends_shows_its_log(public: Path) -> None:
    path, calls = maven(public)
    env = a_machine(public, path)
    said: list[str] = []

    def start(name: str) -> None:
        said.append(script("start", "--data", public / name, env=env).stderr)

    threads = [threading.Thread(target=start, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls.read_text().split()) == ["analysis-common", "mapper-extras", "reindex", "zip"]
    assert all("the server ended; the end of its log says:\nout of order" in text for text in said), said
    modules = public / "cache" / "opensearch-3.4.0" / "modules"
    assert {path.name for path in (modules / "reindex").iterdir()} == {"own.jar", "plugin-descriptor.properties"}


def test_a_port_that_is_taken_is_told(public: Path) -> None:
    env = a_machine(public, maven(public)[0])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        told = script("start", "--data", public / "node", "--port", str(port), env=env)
    assert told.returncode == 1
    assert f"port {port} is taken" in told.stderr


def test_a_process_that_got_the_id_of_an_ended_server_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "opensearch.pid").write_text(str(os.getpid()))
    assert json.loads(script("status", "--data", tmp_path).stdout) == {"running": False, "pid": None, "url": None}
    assert script("stop", "--data", tmp_path).returncode == 0


def test_wiping_leaves_what_it_did_not_make(tmp_path: Path) -> None:
    kept = tmp_path / "node" / "mine.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    told = script("wipe", "--data", tmp_path)
    assert told.returncode == 1
    assert "was not made by scripts/opensearch" in told.stderr
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--port", "70000"), "is no port"),
        (("--heap", "plenty"), "is no size"),
        (("--timeout", "nan"), "is no number of seconds"),
    ],
    ids=["port", "heap", "timeout"],
)
def test_a_value_that_cannot_be_is_refused(tmp_path: Path, words: tuple[str, str], fault: str) -> None:
    told = script("start", "--data", tmp_path / "node", *words)
    assert told.returncode == 2
    assert fault in told.stderr
    assert not (tmp_path / "node").exists()


def test_the_help_shows_every_verb() -> None:
    told = script("--help").stdout
    assert all(f"scripts/opensearch {verb}" in told for verb in ("start", "stop", "wipe", "status", "check"))
