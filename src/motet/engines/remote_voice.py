"""How a conversation becomes ids for a model whose tokenizer is somewhere else, and back, without loss.

An endpoint takes messages and gives text; the records of a run hold ids. An id here is a piece of at most four bytes
of UTF-8, which is about a token of English, or a mark that a message begins. So the number of ids is an estimate of the
number of tokens; what the server itself counted stands in `OpenAIEngine.counters`.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.types import Message

END = 0
"""The id that ends an answer."""
ROLES = ("system", "user", "assistant")
"""The id of a role, its place here plus 1, begins a message; a piece of text is at least 256."""
PIECE_BYTES = 4
MAX_PROMPT_TOKENS = 1_000_000
"""What fits is the server's to say; this only keeps a prompt from growing without end."""


class RemoteVoice:
    """Dialect chat, text only: a message that holds an earlier call gives its text, whoever said it.

    Pieces never split a character, so any part of the ids is text again; halves of a character (lone surrogates) stay.

    >>> voice = RemoteVoice()
    >>> ids = voice.encode_chat([Message("system", "Judge."), Message("user", "2 + 2 = 5")])
    >>> len(ids), voice.messages(ids)
    (7, [{'role': 'system', 'content': 'Judge.'}, {'role': 'user', 'content': '2 + 2 = 5'}])
    >>> voice.decode(voice.encode("né é")), voice.decode(())
    ('né é', '')
    """

    dialect = "chat"
    tokenizer_id = "utf8-pieces"

    def __init__(self, max_prompt_tokens: int = MAX_PROMPT_TOKENS) -> None:
        self.max_prompt_tokens = max_prompt_tokens

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of plain text: 0x01 and the bytes of a piece, as one number."""
        ids: list[int] = []
        piece = b""
        for character in text:
            more = character.encode("utf-8", "surrogatepass")
            if len(piece) + len(more) > PIECE_BYTES:
                ids.append(int.from_bytes(b"\x01" + piece))
                piece = b""
            piece += more
        return (*ids, int.from_bytes(b"\x01" + piece)) if piece else tuple(ids)

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of a conversation: for each message the id of its role and those of its text."""
        ids: list[int] = []
        for message in messages:
            content = message.content if isinstance(message.content, str) else message.content.text
            ids += [ROLES.index(message.role) + 1, *self.encode(content)]
        return tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; ends and the beginnings of messages are left out."""
        return "".join(_piece(token) for token in ids if token > len(ROLES))

    def messages(self, ids: Sequence[int]) -> list[dict[str, str]]:
        """The conversation behind `encode_chat`. What stands before the first role is one message of the user.

        >>> RemoteVoice().messages(RemoteVoice().encode("Say a number."))
        [{'role': 'user', 'content': 'Say a number.'}]
        """
        parts: list[tuple[str, list[int]]] = []
        for token in ids:
            if 1 <= token <= len(ROLES):
                parts.append((ROLES[token - 1], []))
            elif not parts:
                parts.append(("user", [token]))
            else:
                parts[-1][1].append(token)
        return [{"role": role, "content": self.decode(own)} for role, own in parts]


def _piece(token: int) -> str:
    data = token.to_bytes((token.bit_length() + 7) // 8)
    return data[1:].decode("utf-8", "surrogatepass")
