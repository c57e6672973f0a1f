"""Named LoRA adapters on one base, each with its own rank. The base stays as it is.

Outside `activate` the model is the base. Names are compared whole, so one may begin another.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from motet.errors import CheckpointError, ConfigError

_PREFIX = "motet_"  # a module dict refuses names of its own methods, such as `update` or `keys`


def _key(adapter: str) -> str:
    """The adapter's name in peft's dictionaries, which take no dot."""
    return _PREFIX + quote(adapter, safe="@/[]").replace(".", "%2E")


def _name(key: str) -> str:
    return unquote(key.removeprefix(_PREFIX))


def _layers(model: nn.Module) -> list[tuple[str, LoraLayer]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, LoraLayer)]


def adapters(model: nn.Module) -> tuple[str, ...]:
    """The names of the adapters on `model`, in order of creation."""
    layers = _layers(model)
    return tuple(_name(key) for key in layers[0][1].lora_A) if layers else ()


def _require(model: nn.Module, adapter: str) -> None:
    if adapter not in adapters(model):
        known = ", ".join(adapters(model)) or "none"
        raise ConfigError(f"there is no adapter {adapter!r}", where={"known": known}, fix="create it with add_adapter")


def _seed(seed: int, adapter: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}/{adapter}".encode(), digest_size=7).digest(), "big")


def add_adapter(
    model: nn.Module,
    adapter: str,
    rank: int,
    *,
    alpha: float | None = None,
    seed: int = 0,
    targets: str | tuple[str, ...] = "all-linear",
    dtype: torch.dtype | None = torch.float32,
) -> None:
    """Add adapter `adapter` of rank `rank` to every targeted linear layer of `model`, in place; the output layer is
    left out.

        y = W x + (alpha / rank) B A x,   A [rank, in] seeded by (seed, adapter), B [out, rank] = 0, no dropout

    A new adapter therefore changes nothing. `alpha` defaults to 2 x rank. `dtype` of A and B (None: that of the base);
    float64 bases get float64. The base's parameters stop requiring gradients. The global generator is left untouched.
    """
    if rank < 1:
        raise ConfigError(
            "a LoRA rank is below 1", where={"adapter": adapter, "rank": rank}, fix="use a rank from 1 on"
        )
    if adapter in adapters(model):
        raise ConfigError(
            f"adapter {adapter!r} exists already", where={"adapter": adapter}, fix="give every policy its own name"
        )
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank if alpha is None else alpha,  # type: ignore[arg-type]
        lora_dropout=0.0,
        bias="none",
        target_modules=targets if isinstance(targets, str) else list(targets),
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Already found a `peft_config`")  # several adapters are the point
        torch.manual_seed(_seed(seed, adapter))
        inject_adapter_in_model(config, model, adapter_name=_key(adapter))
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for parameter in parameters(model, adapter).values():
        if dtype is not None and parameter.dtype != torch.float64:
            parameter.data = parameter.data.to(dtype)
    _select(_layers(model), None)


def parameters(model: nn.Module, adapter: str) -> dict[str, nn.Parameter]:
    """The adapter's own parameters: "<layer>.lora_A" and "<layer>.lora_B", in the model's order."""
    _require(model, adapter)
    out: dict[str, nn.Parameter] = {}
    for name, layer in _layers(model):
        for side in ("lora_A", "lora_B"):
            out[f"{name}.{side}"] = getattr(layer, side)[_key(adapter)].weight
    return out


def _select(layers: list[tuple[str, LoraLayer]], adapter: str | None) -> None:
    for _, layer in layers:
        if adapter is None:
            layer.enable_adapters(False)
        else:
            layer.set_adapter(_key(adapter))
            layer._disable_adapters = False  # enable_adapters(True) would first re-select the previous one


def active(model: nn.Module) -> str | None:
    """The adapter that takes part in a forward pass now; None: the base alone."""
    return _active(_layers(model))


def _active(layers: list[tuple[str, LoraLayer]]) -> str | None:
    if not layers or layers[0][1].disable_adapters:
        return None
    return _name(layers[0][1].active_adapters[0])


@contextmanager
def activate(model: nn.Module, adapter: str | None) -> Iterator[nn.Module]:
    """Run `model` with exactly this adapter (None: the base alone); what was active before comes back afterwards.

    Inside, the adapter's parameters are the only ones that require gradients. A model without adapters takes only None.
    """
    layers = _layers(model)
    if adapter is not None and not (layers and _key(adapter) in layers[0][1].lora_A):
        _require(model, adapter)
    before = _active(layers)
    if before != adapter:
        _select(layers, adapter)
    try:
        yield model
    finally:
        if before != adapter:
            _select(layers, before)


def settings(model: nn.Module, adapter: str) -> dict[str, object]:
    """Rank, alpha and the adapted layers of one adapter."""
    _require(model, adapter)
    layers = _layers(model)
    key = _key(adapter)
    return {"rank": layers[0][1].r[key], "alpha": layers[0][1].lora_alpha[key], "layers": [name for name, _ in layers]}


def _file_key(name: str) -> str:
    layer, side = name.rsplit(".", 1)
    return f"base_model.model.{layer}.{side}.weight"


def save_adapter(model: nn.Module, adapter: str, folder: Path, base: str = "") -> None:
    """Write `adapter_model.safetensors` and `adapter_config.json`, the layout that peft and servers read."""
    about = settings(model, adapter)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {_file_key(name): p.detach().cpu().contiguous() for name, p in parameters(model, adapter).items()}
    save_file(tensors, folder / "adapter_model.safetensors")
    layers = [str(name) for name in about["layers"]]  # type: ignore[attr-defined]
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": about["rank"],
        "lora_alpha": about["alpha"],
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": sorted({name.rsplit(".", 1)[-1] for name in layers}),
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def read_adapter(model: nn.Module, adapter: str, folder: Path) -> dict[str, Tensor]:
    """The tensors that `save_adapter` wrote, named as `parameters` names them; another rank or alpha is refused."""
    path = folder / "adapter_model.safetensors"
    if not path.is_file() or not (folder / "adapter_config.json").is_file():
        raise CheckpointError(
            "there is no adapter here", where={"path": folder}, fix="point to a folder that save_adapter wrote"
        )
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    about = settings(model, adapter)
    stored, own = (config["r"], config["lora_alpha"]), (about["rank"], about["alpha"])
    if stored != own:
        raise CheckpointError(
            "the stored adapter has another rank or alpha",
            where={"adapter": adapter, "stored": stored, "model": own},
            fix="create the adapter with the stored rank and alpha",
        )
    return {k.removesuffix(".weight").removeprefix("base_model.model."): v for k, v in load_file(path).items()}


def load_adapter(model: nn.Module, adapter: str, folder: Path) -> None:
    """Read what `save_adapter` wrote into the existing adapter `adapter`, whatever name it was saved under."""
    load_state(model, adapter, read_adapter(model, adapter, folder))


def load_state(model: nn.Module, adapter: str, state: dict[str, Tensor]) -> None:
    """Copy tensors named as `parameters` names them; missing, surplus or misshapen ones are refused before any is
    copied."""
    own = parameters(model, adapter)
    wrong = sorted(set(own) ^ set(state)) + [k for k in own.keys() & state.keys() if own[k].shape != state[k].shape]
    if wrong:
        raise CheckpointError(
            "the stored adapter does not fit this model",
            where={"adapter": adapter, "first": wrong[0]},
            fix="use its own base",
        )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(state[name])
