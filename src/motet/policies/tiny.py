"""The tiny models: Qwen3 architecture through transformers, and the word-level tokenizer they share.

One word is one token. The words stand in `vocabulary()`; their order is part of every shipped base, so new words take
the place of a `spare` word and never move another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from motet.errors import EngineError

VOCAB_SIZE = 512
PAD, EOS, UNK, BOS = "<pad>", "<eos>", "<unk>", "<bos>"
MAX_POSITIONS = 256
NUM_CELLS = 100
MAX_NUMBER = 63
_WORDS = """
planner executor none ok bump _ empty
solver coder tester voter aggregator orchestrator worker judge critic tool scout
goal at budget did plan grid map walls said task answer turn
U D L R up down left right + - * / = ( ) [ ] , . : ; < > ? !
row column box given # @ $ % & ^
yes no true false pass fail accept reject agree disagree keep change done stop
"""
_LATER_WORDS = """
generator evaluator synthesizer debater reasoner way ones tens carry
for in if else sum max min len sorted abs
"""
"""Words that took the place of spare ones: new ones go to the end."""


@dataclass(frozen=True, slots=True)
class TinySize:
    """Width, layers, heads and width of the MLP of one tiny model.

    >>> round(TINY_SIZES["tiny-m"].num_parameters / 1e6, 2)
    0.82
    """

    hidden: int
    layers: int
    heads: int
    mlp: int

    @property
    def num_parameters(self) -> int:
        """Weights in all, the tied embedding counted once."""
        head = self.hidden // self.heads
        layer = 4 * self.hidden**2 + 3 * self.hidden * self.mlp + 2 * self.hidden + 2 * head
        return VOCAB_SIZE * self.hidden + self.layers * layer + self.hidden


TINY_SIZES = {
    "tiny-s": TinySize(hidden=64, layers=4, heads=4, mlp=160),
    "tiny-m": TinySize(hidden=128, layers=4, heads=4, mlp=320),
    "tiny-l": TinySize(hidden=256, layers=4, heads=8, mlp=640),
}


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """The 512 words, in the order of their ids.

    >>> words = vocabulary()
    >>> len(words), len(set(words)), words[4], words[104], words[204], words[304], words[368]
    (512, 512, 'c00', 'x00', 'g00', 'n0', 'planner')
    """
    words = [PAD, EOS, UNK, BOS]
    for kind in "cxg":  # a cell to enter or stand on, a wall cell, the goal cell
        words += [f"{kind}{cell:02d}" for cell in range(NUM_CELLS)]
    words += [f"n{number}" for number in range(MAX_NUMBER + 1)]
    words += _WORDS.split()
    words += [str(digit) for digit in range(10)]
    words += [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
    words += _LATER_WORDS.split()
    return (*words, *(f"spare{index:02d}" for index in range(VOCAB_SIZE - len(words))))


def tokenizer() -> Any:
    """The tokenizer of all tiny models: splits at white space, one id per word, `<unk>` for any other word.

    It adds no token of its own; `decode` joins words by one space.

    >>> tok = tokenizer()
    >>> tok("g07 x12 planner c34")["input_ids"], tok.decode([4, 5]), tok.unk_token_id == tok("zebra")["input_ids"][0]
    ([211, 116, 368, 38], 'c00 c01', True)
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    ids = {word: index for index, word in enumerate(vocabulary())}
    raw = Tokenizer(models.WordLevel(ids, unk_token=UNK))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNK,
        bos_token=BOS,
        model_max_length=MAX_POSITIONS,
        clean_up_tokenization_spaces=False,
    )


def size_of(name: str) -> TinySize:
    """The size called `name`. Raises `EngineError` for any other name."""
    if name not in TINY_SIZES:
        raise EngineError(f"no tiny model {name!r}", fix=f"use one of {', '.join(TINY_SIZES)}")
    return TINY_SIZES[name]


def config(name: str) -> Any:
    """The Qwen3 config of one tiny size: tied embeddings, as many key heads as query heads, rotary base 10,000."""
    from transformers import Qwen3Config

    size, words = size_of(name), vocabulary()
    return Qwen3Config(
        vocab_size=VOCAB_SIZE,
        hidden_size=size.hidden,
        intermediate_size=size.mlp,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.hidden // size.heads,
        max_position_embeddings=MAX_POSITIONS,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        use_sliding_window=False,
        pad_token_id=words.index(PAD),
        eos_token_id=words.index(EOS),
        bos_token_id=words.index(BOS),
    )
