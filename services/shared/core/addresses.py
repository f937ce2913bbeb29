"""Addresses in a text in one form, so that two ways to write the same address are equal and no others are."""

from __future__ import annotations

import re

# East Asian text goes on right after a URL, without a space.
_URL = re.compile(
    r"<?((?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)>?", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:(https?)|ftp)://", re.IGNORECASE)
_MAIL = re.compile(r"(?:mailto:)?([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_WITHOUT_SCHEME = re.compile(r"www\.[^/].*|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,}(?::[0-9]{1,5})?[/?#].*", re.IGNORECASE)
_PARTS = re.compile(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|yclid|mc_[ce]id|igshid|_ga|ref_src)(?:=|$)", re.IGNORECASE
)


def set_apart(text: str) -> str:
    """The text with a space before and after each URL, and without the angle brackets around it."""
    lower = text.lower()
    return _URL.sub(r" \1 ", text) if "://" in lower or "www." in lower else text


def canonical_address(word: str) -> str | None:
    """A web or mail address without scheme (http, https), case of the host, "www." and tracking parameters.

    Path, query and fragment keep their case. None if the word is no address.
    """
    if mail := _MAIL.fullmatch(word):
        return mail[1].lower()
    scheme = _SCHEME.match(word)
    if not scheme and not _WITHOUT_SCHEME.fullmatch(word):
        return None
    prefix = scheme[0].lower() if scheme and not scheme[1] else ""
    parts = _PARTS.fullmatch(word, scheme.end() if scheme else 0)
    if parts is None or not parts[1]:
        return None
    host, path, query, fragment = parts.groups(default="")
    user, at, domain = host.rpartition("@")
    kept = "&".join(part for part in query.split("&") if part and not _TRACKING.match(part))
    tail = (f"?{kept}" if kept else "") + (fragment if fragment != "#" else "")
    return f"{prefix}{user}{at}{domain.lower().removeprefix('www.')}{path if tail else path.rstrip('/')}{tail}"
