"""Settings of services that cannot be used: the variable is named, in one line."""

import pytest

from services.cli.up import EXPECTED
from services.curate.settings import CurateSettings
from services.retrieve.settings import RetrieveSettings
from services.shared.bus.permissions import users
from services.shared.settings import ServiceSettings, UnusableSetting, misspelt


@pytest.mark.parametrize(
    ("kind", "variable", "value"),
    [(CurateSettings, "MEMORYBUS_CURATE_SOFT_CAP", "-1"), (RetrieveSettings, "MEMORYBUS_RETRIEVE_ALPHA", "nan")],
)
def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: type[ServiceSettings], variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UnusableSetting) as refused:
        kind()
    assert str(refused.value).startswith(f"{variable}: ")
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, EXPECTED)


def test_what_is_given_overrules_the_environment_which_may_be_in_small_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("memorybus_curate_soft_cap", "7")
    monkeypatch.setenv("MEMORYBUS_CURATE_TAU_DAYS", "3")
    settings = CurateSettings(tau_days=5)
    assert (settings.soft_cap, settings.tau_days) == (7, 5)


def test_a_misspelt_setting_is_told_from_others_with_the_one_that_is_meant() -> None:
    known = ("MEMORYBUS_NATS_URL", "memorybus_sync", "MEMORYBUS_CURATE_SOFT_CAP", "MEMORYBUS_RETRIEVE_ALPHA")
    others = ("MEMORYBUS_PORT_8400_TCP", "MEMORYBUS_SERVICE_HOST", "MEMORYBUS_TEST_HISTORIES", "NATS_URI", "PATH")
    passwords = (user.password_variable for user in users())
    assert misspelt((*known, *others, *passwords)) == {}
    assert misspelt(("MEMORYBUS_NATS_URI", "MEMORYBUS_CURATE_SOFTCAP", "MEMORYBUS_TXT_STORE")) == {
        "MEMORYBUS_NATS_URI": "MEMORYBUS_NATS_URL",
        "MEMORYBUS_CURATE_SOFTCAP": "MEMORYBUS_CURATE_SOFT_CAP",
        "MEMORYBUS_TXT_STORE": "MEMORYBUS_TEXT_STORE",
    }
