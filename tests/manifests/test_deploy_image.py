"""What the images run, run here: models made at build time and opened read-only, the health check, the secrets."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from services.shared.bus.server import free_port
from services.shared.embedders.minilm import MiniLmEmbedder
from tests.manifests import deploy


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    """A service whose /readyz says this; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def check(port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMORYBUS_HTTP_PORT": str(port), "http_proxy": "http://127.0.0.1:1"}
    command = [sys.executable, str(deploy.DEPLOY / "healthcheck.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_container_is_healthy_once_it_is_ready_and_says_till_then_for_what_it_waits() -> None:
    with answering(200, b'{"ok": true}') as port:
        assert check(port).returncode == 0
    with answering(503, b'{"problems": ["embed: waits for qdrant"]}') as port:
        waits = check(port)
    silent = check(free_port())
    assert (waits.returncode, silent.returncode) == (1, 1)
    assert "embed: waits for qdrant" in waits.stderr
    assert "no answer" in silent.stderr
    assert "Traceback" not in silent.stderr


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of models as the image has it."""
    folder = tmp_path_factory.mktemp("models")
    command = [sys.executable, str(deploy.DEPLOY / "models.py"), str(folder)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(deploy.ROOT)}, check=True, capture_output=True)
    return folder


def files_in(folder: Path) -> list[tuple[str, bool, int]]:
    """Kind, whether everybody may read it, and when it was written, of each file."""
    kept = [(path.suffix, path.stat()) for path in folder.iterdir()]
    return [(suffix, bool(about.st_mode & stat.S_IROTH), about.st_mtime_ns) for suffix, about in kept]


async def test_the_embedder_opens_the_one_file_of_the_image_that_everybody_may_read_without_writing(
    models: Path,
) -> None:
    before = files_in(models)
    embedder = await MiniLmEmbedder.open(models)
    vectors = await embedder.embed(["which package manager?"])
    await embedder.close()
    assert vectors.shape == (1, 384)
    assert [(suffix, is_for_all) for suffix, is_for_all, _ in before] == [(".onnx", True)]
    assert files_in(models) == before


def init_env(target: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([deploy.DEPLOY / "init-env", target], capture_output=True, text=True, check=False)


def test_secrets_are_made_once_are_different_and_are_nobody_elses(tmp_path: Path) -> None:
    target = tmp_path / ".env"
    assert init_env(target).returncode == 0
    made = dict(line.split("=", 1) for line in target.read_text().splitlines() if line and line[0] != "#")
    assert set(made) == set(deploy.example())
    secrets = [value for name, value in made.items() if re.search("PASSWORD|KEY", name)]
    assert all(re.fullmatch(r"[a-z][0-9a-f]{48}", secret) for secret in secrets)
    assert len(set(secrets)) == len(secrets)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


def test_secrets_that_are_in_use_are_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / ".env"
    target.write_text("kept")
    run = init_env(target)
    assert run.returncode == 1
    assert "Delete it first" in run.stderr
    assert target.read_text() == "kept"
