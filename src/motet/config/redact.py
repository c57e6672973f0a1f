"""No secret reaches a file or a screen: known by its key, by its shape, or by the environment it came from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "<redacted>"
_KEY = re.compile(r"(^|_)(api_?key|token|secret|password|passwd|credential|authorization)s?$", re.IGNORECASE)
_VALUE = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16})\b")
_IN_URL = re.compile(r"(?<=://)[^/@\s]+:[^/@\s]+(?=@)")


def redact(value: Any, environ: Mapping[str, str] = os.environ) -> Any:
    """`value` with every string that is or holds a secret replaced.

    >>> redact({"api_key": "abc", "max_tokens": 8, "url": "http://me:pw@host/"}, environ={})
    {'api_key': '<redacted>', 'max_tokens': 8, 'url': 'http://<redacted>@host/'}
    """
    secrets = [text for name, text in environ.items() if _KEY.search(name) and len(text) >= 8]
    return _redact(value, secrets)


def _redact(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if isinstance(item, str) and item and _KEY.search(str(key)) else _redact(item, secrets)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact(item, secrets) for item in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return _IN_URL.sub(HIDDEN, _VALUE.sub(HIDDEN, value))
    return value
