"""Redaction of addresses: what is shown, logged, answered or written down names servers and ports, and nothing else.

An address may hold a password, a token in its path, a key in its query. What is shown is therefore not the address
without what is known to be secret, but only what is known to be none: scheme, host and port.
"""

from __future__ import annotations

import re

HIDDEN = "…"

_ADDRESS = re.compile(r"\s*((?:nats|tls|wss?|https?|grpcs?)://)?([^/?#\\]*)(.*)", re.IGNORECASE | re.DOTALL)
_SERVER = re.compile(r"(?:\[[0-9a-f:.]+(?:%[\w.-]+)?\]|[a-z0-9_][a-z0-9_.-]*)(?::\d{1,5})?", re.IGNORECASE)
_IN_TEXT = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'`<>|\\]+", re.IGNORECASE)
_BEFORE_HOST = re.compile(r"(?<![^\s\"'`<>@])[^\s\"'`<>@]++@(?=[\w\[])")
_LOGIN = re.compile(r"(?<![^/:])[^/:]++:[^@].*")
_CREDENTIAL = re.compile(
    r"((?:authorization|api[-_]?key|password|passwd|pass|secret|auth_token)"
    r"(?:[\"']?\s*[:=]\s*(?:b?[\"'])?|[\"']\s*,\s*b?[\"']))(?:(?:basic|bearer)\s+)?[^\s\"',;&}]+",
    re.IGNORECASE,
)


def redact_address(address: str) -> str:
    """The servers of an address, or of several separated by commas: scheme, host and port of each.

    Whatever may be part of a password, as when the password itself holds `@`, `/` or a comma, is replaced by `…`.
    """
    shown: list[str] = []
    parts = [part for each in address.split(",") if (part := _ADDRESS.fullmatch(each))]
    in_tail = False
    for index, part in enumerate(parts):
        scheme, authority, tail = part[1] or "", part[2].strip(), part[3]
        server = authority.rpartition("@")[2]
        later = [each for each in parts[index + 1 :] if "@" in each[0]]
        may_be_password = any(not each[1] or "@" not in authority for each in later)
        is_server = not server or _SERVER.fullmatch(server) is not None
        if may_be_password or "@" in tail or not is_server or (in_tail and not scheme):
            server = HIDDEN
        shown.append(scheme + server)
        in_tail = (in_tail and not scheme) or bool(tail)
    return ",".join(shown)


def redact_text(text: str) -> str:
    """A text, each address in it reduced to its server, and each credential that is named as one replaced by `…`."""
    text = _IN_TEXT.sub(_shortened, text)
    text = _BEFORE_HOST.sub(lambda found: _LOGIN.sub(f"{HIDDEN}@", found[0]), text)
    return _CREDENTIAL.sub(rf"\1{HIDDEN}", text)


def _shortened(found: re.Match[str]) -> str:
    address = found[0].rstrip(".,:;!?)]}")
    return redact_address(address) + found[0][len(address) :]
