"""Everything a stopped run needs to go on bit for bit, in one folder that appears whole or not at all.

    <path>/manifest.json                    schema, settings hash, state, policies, every file with its size
           policies/<policy>/               weights: model.safetensors and config.json, or a peft adapter
           optimizer/<policy>.safetensors   AdamW's moments and step counts

No random state is stored: randomness comes from counters, and the counters are in `state` and in the manifest.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from motet.errors import CheckpointError
from motet.policies import lora
from motet.policies.update import LearnedPolicy, Learner
from motet.types import SCHEMA

MANIFEST = "manifest.json"
FORMAT = "motet-checkpoint"


def save(path: Path, learner: Learner, state: Mapping[str, Any], *, settings_hash: str = "") -> None:
    """Write weights, optimisers, clocks and versions of every policy, with `state` (JSON) beside them, to `path`.

    Built in a hidden folder beside `path` and renamed, so that a crash leaves no half checkpoint under that name. An
    older checkpoint of the same name is replaced. Tensors keep their dtype and their bits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    building = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    try:
        building.mkdir()
        policies = {name: _save_policy(building, learner.policy(name)) for name in learner.policies}
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "schema": SCHEMA,
            "settings_hash": settings_hash,
            "state": dict(state),
            "policies": policies,
            "files": {
                str(f.relative_to(building)): f.stat().st_size for f in sorted(building.rglob("*")) if f.is_file()
            },
        }
        manifest["crc32"] = {name: _crc32(building / name) for name in manifest["files"]}
        with (building / MANIFEST).open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            before = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
            path.rename(before)
            building.rename(path)
            shutil.rmtree(before)
        else:
            building.rename(path)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def load(path: Path, learner: Learner, *, settings_hash: str | None = None) -> dict[str, Any]:
    """Restore `learner` bit for bit and return the saved `state`.

    The learner must have the checkpoint's policies, of the same kinds and shapes. Everything is read and compared
    before
    anything is copied: an incomplete checkpoint, or one of another run (`settings_hash`, where given), changes nothing.
    Raises `CheckpointError`.
    """
    manifest = read_manifest(path)
    if settings_hash is not None and manifest["settings_hash"] != settings_hash:
        raise CheckpointError(
            "the checkpoint is of a run with other settings",
            where={"path": path, "stored": manifest["settings_hash"], "run": settings_hash},
            fix="resume with the settings the run was started with",
        )
    if set(manifest["policies"]) != set(learner.policies):
        raise CheckpointError(
            "the checkpoint holds other policies",
            where={"path": path, "stored": sorted(manifest["policies"]), "run": sorted(learner.policies)},
            fix="use the cast the run was started with",
        )
    read = {}
    for name in learner.policies:
        policy, about = learner.policy(name), manifest["policies"][name]
        weights = _read_weights(path, name, about, policy.model, policy.adapter)
        moments = load_file(_optimizer_file(path, name))
        _check_moments(path, policy, moments)
        read[name] = weights, moments
    for name, (weights, moments) in read.items():
        policy, about = learner.policy(name), manifest["policies"][name]
        _copy(weights, _own_tensors(policy.model, policy.adapter))
        _restore_optimizer(policy, moments)
        policy.version, policy.ticks = about["version"], about["ticks"]
    state: dict[str, Any] = manifest["state"]
    return state


def load_policy(path: Path, policy: str, served: nn.Module | tuple[nn.Module, str | None]) -> None:
    """Copy only the weights of `policy` into `served`: a model, or (model, adapter). For evaluation, swaps and
    mixes."""
    manifest = read_manifest(path)
    if policy not in manifest["policies"]:
        raise CheckpointError(
            f"the checkpoint holds no policy {policy!r}",
            where={"path": path, "stored": sorted(manifest["policies"])},
            fix="name one of the stored policies",
        )
    model, adapter = served if isinstance(served, tuple) else (served, None)
    weights = _read_weights(path, policy, manifest["policies"][policy], model, adapter)
    _copy(weights, _own_tensors(model, adapter))


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of the checkpoint at `path`, after checking that every file is there with the bytes written."""
    file = path / MANIFEST
    if not file.is_file():
        raise CheckpointError(
            "there is no complete checkpoint here", where={"path": path}, fix="point to a folder with a manifest.json"
        )
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(
            f"the manifest cannot be read: {error}", where={"path": file}, fix="use an earlier checkpoint"
        ) from error
    if not isinstance(manifest, dict):
        manifest = {}
    if manifest.get("format") != FORMAT or manifest.get("schema") != SCHEMA:
        raise CheckpointError(
            "this is no checkpoint of this version",
            where={"path": path, "format": manifest.get("format"), "schema": manifest.get("schema")},
            fix=f"use one of format {FORMAT}, schema {SCHEMA}",
        )
    missing = [key for key in ("settings_hash", "state", "policies", "files") if key not in manifest]
    if missing:
        raise CheckpointError(
            f"the manifest has no '{missing[0]}'", where={"path": file}, fix="use an earlier checkpoint"
        )
    for name, size in manifest["files"].items():
        found = (path / name).stat().st_size if (path / name).is_file() else None
        if found != size:
            what = "is missing" if found is None else f"has {found} of {size} bytes"
            raise CheckpointError(
                f"the checkpoint is incomplete: {name} {what}", where={"path": path}, fix="use an earlier checkpoint"
            )
        if _crc32(path / name) != manifest.get("crc32", {}).get(name, _crc32(path / name)):
            raise CheckpointError(
                f"the checkpoint is damaged: {name} has other bytes than were written",
                where={"path": path},
                fix="use an earlier checkpoint",
            )
    return manifest


def _crc32(file: Path) -> int:
    found = 0
    with file.open("rb") as stream:
        while piece := stream.read(1 << 24):
            found = zlib.crc32(piece, found)
    return found


def prune(folder: Path, keep: int, *, prefix: str = "iteration-") -> list[Path]:
    """Delete all but the `keep` newest checkpoints `<prefix><number>` in `folder` and return the deleted; others
    stay."""
    numbered = sorted(
        (p for p in folder.glob(f"{prefix}*") if p.name.removeprefix(prefix).isdigit()),
        key=lambda p: int(p.name.removeprefix(prefix)),
    )
    gone = numbered[: max(len(numbered) - keep, 0)]
    for path in gone:
        shutil.rmtree(path)
    return gone


def _optimizer_file(path: Path, policy: str) -> Path:
    return path / "optimizer" / f"{policy}.safetensors"


def _save_policy(path: Path, policy: LearnedPolicy) -> dict[str, Any]:
    folder = path / "policies" / policy.name
    if policy.adapter is not None:
        lora.save_adapter(policy.model, policy.adapter, folder)
    else:
        folder.mkdir(parents=True)
        tensors = {k: v.cpu().contiguous() for k, v in _own_tensors(policy.model, None).items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        config = getattr(policy.model, "config", None)
        if config is not None:
            config.save_pretrained(folder)
    moments = {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in policy.named_parameters.items()
        for key, value in policy.optimizer.state.get(parameter, {}).items()
    }
    file = _optimizer_file(path, policy.name)
    file.parent.mkdir(exist_ok=True)
    save_file(moments, file)
    return {"kind": policy.kind, "version": policy.version, "ticks": policy.ticks}


def _own_tensors(model: nn.Module, adapter: str | None) -> dict[str, Tensor]:
    """The tensors a policy consists of, by name, each storage once (tied weights)."""
    if adapter is not None:
        return {name: p.data for name, p in lora.parameters(model, adapter).items()}
    seen: set[tuple[int, torch.Size]] = set()
    out = {}
    for name, tensor in model.state_dict().items():
        key = (tensor.data_ptr(), tensor.shape)
        if tensor.numel() == 0 or key not in seen:
            seen.add(key)
            out[name] = tensor
    return out


def _read_weights(
    path: Path, policy: str, about: Mapping[str, Any], model: nn.Module, adapter: str | None
) -> dict[str, Tensor]:
    kind = "full" if adapter is None else "lora"
    if about["kind"] != kind:
        raise CheckpointError(
            f"the stored policy is {about['kind']}, this one is {kind}",
            where={"path": path, "policy": policy},
            fix="load it into a policy of its own kind",
        )
    folder = path / "policies" / policy
    stored = lora.read_adapter(model, str(adapter), folder) if adapter else load_file(folder / "model.safetensors")
    own = _own_tensors(model, adapter)
    wrong = sorted(set(own) ^ set(stored)) + sorted(
        k for k in own.keys() & stored.keys() if (own[k].shape, own[k].dtype) != (stored[k].shape, stored[k].dtype)
    )
    if wrong:
        raise CheckpointError(
            "the stored weights do not fit this model",
            where={"path": path, "policy": policy, "first": wrong[0]},
            fix="use the base and dtype the run was started with",
        )
    return stored


def _copy(stored: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(stored[name])


def _check_moments(path: Path, policy: LearnedPolicy, moments: Mapping[str, Tensor]) -> None:
    for key, value in moments.items():
        name, _, kind = key.rpartition("/")
        parameter = policy.named_parameters.get(name)
        if parameter is None or (kind != "step" and value.shape != parameter.shape):
            raise CheckpointError(
                "the stored optimiser does not fit this policy",
                where={"path": path, "policy": policy.name, "first": key},
                fix="use the base the run was started with",
            )


def _restore_optimizer(policy: LearnedPolicy, moments: Mapping[str, Tensor]) -> None:
    policy.optimizer.state.clear()
    for key, value in moments.items():
        name, _, kind = key.rpartition("/")
        parameter = policy.named_parameters[name]
        policy.optimizer.state[parameter][kind] = value.to(parameter.device)
