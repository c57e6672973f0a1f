"""One HTTP POST with an end to it: in a thread that nothing waits for, bounded in time and in bytes.

Redirects are not followed: they would carry the key to another host.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

MAX_BYTES = 16 * 2**20
"""An answer longer than this is no answer of a model."""


class Unreachable(Exception):
    """No whole answer came; the text says why, without any header that was sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: status, body, and the seconds after which the server wants to be asked again, if it said so."""

    status: int
    body: bytes
    retry_after_s: float | None = None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: Any) -> None:
        return None


def post(url: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout_s: float) -> Reply:
    """POST `body` as JSON. Any status is a `Reply`; `Unreachable` where the connection or the answer broke off."""
    end = time.monotonic() + timeout_s
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Accept": "application/json", **headers},
        method="POST",
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        try:
            response = opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return Reply(
                response.status, _read(response, end, timeout_s), _seconds(response.headers.get("Retry-After"))
            )
    except TimeoutError as error:
        raise Unreachable(f"no answer within {timeout_s:g} s") from error
    except urllib.error.URLError as error:
        reason = error.reason
        late = isinstance(reason, TimeoutError)
        raise Unreachable(f"no answer within {timeout_s:g} s" if late else f"no connection: {reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"the connection broke: {type(error).__name__}") from error


def _read(response: Any, end: float, timeout_s: float) -> bytes:
    """The body, as long as it comes in time and is no flood."""
    data = bytearray()
    while piece := response.read1(1 << 16):
        data += piece
        if time.monotonic() > end:
            raise Unreachable(f"no whole answer within {timeout_s:g} s")
        if len(data) > MAX_BYTES:
            raise Unreachable(f"an answer of more than {MAX_BYTES:,} bytes")
    return bytes(data)


def _seconds(text: str | None) -> float | None:
    """Seconds of a Retry-After header; a date or nonsense is None.

    >>> _seconds("2"), _seconds("0.5"), _seconds("Wed, 21 Oct 2026 07:28:00 GMT"), _seconds("nan"), _seconds(None)
    (2.0, 0.5, None, None, None)
    """
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0.0 <= value < 1e9 else None


async def in_thread(function: Callable[[], T], limit_s: float) -> T:
    """`function()` in a daemon thread. After `limit_s` it is left behind and `Unreachable` is raised, so that a server
    which sends a byte now and then holds nobody up."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def hand_over(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value, failure = None, None
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            failure = error
        try:
            loop.call_soon_threadsafe(hand_over, value, failure)
        except RuntimeError:
            if not loop.is_closed():
                raise

    threading.Thread(target=work, name="motet-http", daemon=True).start()
    try:
        return await asyncio.wait_for(future, limit_s)
    except TimeoutError as error:
        raise Unreachable(f"no answer within {limit_s:g} s") from error
