"""Log-probs of packed rows under a causal language model.

Legend: B packs, L padded width, R rows, T tokens of the longest completion, N completion tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from motet.engines.backprop import hidden_states, is_available
from motet.engines.lean import LeanNet
from motet.losses.packing import MicroBatch, Packable, packed_micro_batches, shared, shared_micro_batches

PROBE_ERRORS = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError)
_LOGIT_TRANSFORMS = (
    "final_logit_softcapping",
    "logits_soft_cap",
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
)
LEAN_TOKENS = 8192
"""Most positions of a micro-batch side by side; docs/benchmarks.md has the sizes that were tried."""
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 2e-2}


@dataclass(frozen=True, slots=True)
class ForwardPath:
    """How one model is computed: `packed` rows or one by one, logits from `hidden` states at the needed positions or
    in `full`.

    `lean` is the model as a `LeanNet`, where it is known as one; then prompts and answers are laid out side by side
    instead of under a block mask. `notes` say why the fast way was refused. The default is packed; `inspect_model`
    decides for a given model.
    """

    packed: bool = True
    head: Literal["hidden", "full"] = "hidden"
    notes: tuple[str, ...] = ()
    lean: LeanNet | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _ProbeRow:
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    temperature: float = 1.0


def decoder(model: Any) -> nn.Module:
    """The part of a causal language model that ends in hidden states."""
    found = model.get_decoder() if hasattr(model, "get_decoder") else None
    found = getattr(model, "base_model", None) if found is None or found is model else found
    if found is None or found is model:
        raise AttributeError(f"{type(model).__name__} has no decoder of its own")
    return found


def attention_mask(segments: Tensor, dtype: torch.dtype) -> Tensor:
    """The block mask as an additive float [B, 1, L, L]: 0 where a query may look, the lowest finite value elsewhere.

    A query sees what is not after it and lies in the prompt (segment 0) or in its own segment.

    >>> seen = attention_mask(torch.tensor([[0, 1, 2]]), torch.float32)[0, 0] == 0
    >>> seen.int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    width = segments.shape[1]
    keys, queries = segments[:, None, :], segments[:, :, None]
    causal = torch.ones(width, width, dtype=torch.bool, device=segments.device).tril()
    allowed = ((keys == 0) | (keys == queries)) & causal
    blocked = torch.finfo(dtype).min
    return torch.zeros(allowed.shape, dtype=dtype, device=segments.device).masked_fill_(~allowed, blocked)[:, None]


def micro_batches_of(rows: Sequence[Packable], path: ForwardPath, budget_tokens: int) -> list[MicroBatch]:
    """The micro-batches of an update of `rows`, cut as `path` computes them best."""
    if path.lean is not None:
        return shared_micro_batches(rows, min(budget_tokens, LEAN_TOKENS))
    return packed_micro_batches(rows, budget_tokens, share_prompts=path.packed)


def _inputs(model: nn.Module, batch: MicroBatch, path: ForwardPath) -> dict[str, Any]:
    parameter = next(model.parameters())
    ids = torch.from_numpy(batch.lines.input_ids).to(parameter.device)
    segments = torch.from_numpy(batch.lines.segments).to(parameter.device)
    if not path.packed:  # one row per line: an ordinary causal forward, padded on the right
        return {"input_ids": ids, "attention_mask": (segments >= 0).long(), "use_cache": False}
    positions = torch.from_numpy(batch.lines.position_ids).to(parameter.device)
    return {
        "input_ids": ids,
        "attention_mask": attention_mask(segments, parameter.dtype),
        "position_ids": positions,
        "use_cache": False,
    }


def _score(
    states: Tensor, target: Tensor, temperature: Tensor | None, head: nn.Module | None, wants_gradient: bool
) -> Tensor:
    """Log-prob and entropy [2, n] of `target` [n] from hidden states [n, H] (or from logits [n, V] where there is no
    head)."""
    logits = states if head is None else head(states)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if temperature is not None:
        logits = logits / temperature[:, None]
    logprobs = F.log_softmax(logits, dim=-1)
    chosen = logprobs.gather(1, target[:, None]).squeeze(1)
    inner = logprobs if wants_gradient else logprobs.detach()
    # a product with exp() of the same tensor; -inf logits would give NaN, so they are read as probability 0
    entropy = -(inner.exp() * inner.clamp(min=torch.finfo(inner.dtype).min)).sum(dim=-1)
    return torch.stack([chosen, entropy])


def packed_values(
    model: Any,
    batch: MicroBatch,
    path: ForwardPath = ForwardPath(),
    *,
    max_logits: int = 1 << 24,
    entropy_gradient: bool = False,
) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies (nats) of every completion token at its row's temperature: two tensors [R, T], 0
    outside the mask.

        logprob[r, t] = log softmax(logits / temperature_r)[completion_r[t]]

    Logits are made at the N needed positions only, at most `max_logits` of them (tokens x V) at once; beyond that
    each chunk is recomputed in the backward pass, so that B x T x V never exists. The entropy carries a gradient only
    if asked. float32 at least, float64 for a float64 model. `path` must be `inspect_model`'s for models other than
    plain decoders.
    """
    device = next(model.parameters()).device
    head: Any = model.get_output_embeddings() if path.head == "hidden" else None
    states = _states(model, batch, path)
    target = torch.from_numpy(batch.target).to(device)
    vocabulary = head.weight.shape[0] if head is not None else states.shape[-1]
    is_plain = bool((batch.temperatures == 1.0).all())
    heat = None if is_plain else torch.from_numpy(np.repeat(batch.temperatures, batch.lengths)).to(device)
    if heat is not None and states.dtype != torch.float64:
        heat = heat.float()
    values = _in_chunks(states, target, heat, head, max(max_logits // vocabulary, 1), entropy_gradient)
    size = batch.num_rows * batch.max_length
    place = torch.from_numpy(batch.place).to(device)
    laid = values.new_zeros(2, size).index_copy(1, place, values).view(2, batch.num_rows, batch.max_length)
    return laid[0], laid[1] if entropy_gradient else laid[1].detach()


def _states(model: Any, batch: MicroBatch, path: ForwardPath) -> Tensor:
    """What predicts each completion token: hidden states [N, H], or logits [N, V] where the head is not apart."""
    if path.lean is not None:
        laid = shared(batch.packs)
        put = torch.from_numpy
        states = hidden_states(path.lean.on(model), put(laid.prefix), put(laid.lengths), put(laid.tails))
        return states.index_select(0, put(laid.source))
    inputs = _inputs(model, batch, path)
    source = torch.from_numpy(batch.lines.source).to(inputs["input_ids"].device)
    states = decoder(model)(**inputs).last_hidden_state if path.head == "hidden" else model(**inputs).logits
    found: Tensor = states.flatten(0, 1).index_select(0, source)
    return found


def _in_chunks(
    states: Tensor, target: Tensor, heat: Tensor | None, head: nn.Module | None, size: int, entropy_gradient: bool
) -> Tensor:
    if len(target) <= size:
        return _score(states, target, heat, head, entropy_gradient)
    parts = []
    for start in range(0, len(target), size):
        cut = slice(start, start + size)
        piece = None if heat is None else heat[cut]
        part = checkpoint(_score, states[cut], target[cut], piece, head, entropy_gradient, use_reentrant=False)
        parts.append(part)
    return torch.cat(parts, dim=1)


def packed_logprobs(
    model: Any,
    batch: MicroBatch,
    path: ForwardPath = ForwardPath(),
    *,
    max_logits: int = 1 << 24,
) -> Tensor:
    """`packed_values` without the entropies: float [R, T]."""
    return packed_values(model, batch, path, max_logits=max_logits)[0]


def inspect_model(model: Any, *, pack: bool = True) -> ForwardPath:
    """Find by configuration and by a probe of a dozen tokens whether `model` takes the block mask, and whether its
    logits are exactly output embedding x hidden states.

    Packing is refused, with the reason in `notes`, for sliding-window, linear or state-space layers, for attention
    implementations other than `sdpa` and `eager`, and for any model whose packed logits differ from the unpacked ones
    or where one answer can see another. The caller says the notes aloud; the numbers stay right, only slower.
    """
    notes: list[str] = []
    name = type(model).__name__
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            head: Literal["hidden", "full"] = "hidden" if _head_is_plain(model, notes, name) else "full"
            packed = pack and _takes_mask(model, head, notes, name)
            lean = _lean_of(model, name, notes) if packed and head == "hidden" else None
    finally:
        model.train(was_training)
    return ForwardPath(packed, head, tuple(notes), lean)


def _lean_of(model: Any, name: str, notes: list[str]) -> LeanNet | None:
    """The model as a `LeanNet`, if its numbers on the probe are those under the block mask."""
    net = LeanNet.of(model) if is_available() else None
    if net is None:
        return None
    rows = _probe_rows(model)
    own = packed_logprobs(model, packed_micro_batches(rows, 64)[0], ForwardPath(True, "hidden"))
    found = packed_logprobs(model, packed_micro_batches(rows, 64)[0], ForwardPath(lean=net))
    if _close(found, own, torch.float32):  # also in float64, where the modules' norms stay float32
        return net
    notes.append(f"{name}: computed by its own forward pass, the plain functions differ from it")
    return None


def _probe_rows(model: Any, first: int = 1) -> list[_ProbeRow]:
    size = max(int(getattr(model.config.get_text_config(), "vocab_size", 16)), 2)
    token = lambda i: int(i * 7 + 3) % size
    return [
        _ProbeRow(
            (token(0), token(1), token(2)), (token(first + 3), token(first + 4), token(first + 5), token(first + 6))
        ),
        _ProbeRow((token(0), token(1), token(2)), (token(7), token(8), token(9), token(4))),
    ]


def _close(a: Tensor, b: Tensor, dtype: torch.dtype) -> bool:
    scale = max(float(b.abs().max()), 1e-6)
    return bool(torch.isfinite(a).all()) and float((a - b).abs().max()) <= _TOLERANCE.get(dtype, 1e-4) * scale


def _head_is_plain(model: Any, notes: list[str], name: str) -> bool:
    config = model.config.get_text_config()
    changed = [key for key in _LOGIT_TRANSFORMS if getattr(config, key, None) not in (None, 1.0)]
    if changed:  # a soft cap would not show in the small logits of a fresh model
        notes.append(f"{name}: logits in full, its configuration has {', '.join(changed)}")
        return False
    inputs = _inputs(
        model, packed_micro_batches(_probe_rows(model), 64, share_prompts=False)[0], ForwardPath(packed=False)
    )
    full = model(**inputs).logits
    try:
        head = model.get_output_embeddings()
        own = head(decoder(model)(**inputs).last_hidden_state)
    except PROBE_ERRORS as error:
        notes.append(f"{name}: logits in full, its decoder cannot be run alone ({type(error).__name__}: {error})")
        return False
    keep = inputs["attention_mask"].bool()
    if own.shape != full.shape or not _close(own[keep], full[keep], next(model.parameters()).dtype):
        notes.append(f"{name}: logits in full, they are not output embedding x hidden states")
        return False
    return True


def _takes_mask(model: Any, head: Literal["hidden", "full"], notes: list[str], name: str) -> bool:
    config = model.config.get_text_config()
    kinds = sorted(set(getattr(config, "layer_types", None) or ()) - {"full_attention"})
    if not getattr(config, "layer_types", None) and getattr(config, "sliding_window", None):
        kinds = ["sliding_attention"]
    attention = getattr(config, "_attn_implementation", "eager") or "eager"
    if kinds:
        notes.append(f"{name}: not packed, its layers are {', '.join(kinds)}")
        return False
    if attention not in ("sdpa", "eager"):
        notes.append(f"{name}: not packed, attention {attention!r} takes no block mask (sdpa and eager do)")
        return False
    try:
        together = packed_logprobs(model, packed_micro_batches(_probe_rows(model), 64)[0], ForwardPath(True, head))
        other = packed_logprobs(model, packed_micro_batches(_probe_rows(model, 5), 64)[0], ForwardPath(True, head))
    except PROBE_ERRORS as error:
        notes.append(f"{name}: not packed, it does not take a block mask ({type(error).__name__}: {error})")
        return False
    alone_batch = packed_micro_batches(_probe_rows(model), 64, share_prompts=False)[0]
    alone = packed_logprobs(model, alone_batch, ForwardPath(False, head))
    if not torch.equal(together[1], other[1]):
        notes.append(f"{name}: not packed, one answer sees another under the block mask")
        return False
    if not _close(together, alone, next(model.parameters()).dtype):
        notes.append(f"{name}: not packed, packed log-probs differ from those of single rows")
        return False
    return True
