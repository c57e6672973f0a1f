"""TRL's GRPOTrainer on the work of `motet bench`: one line in, one iteration, one line out (peer_protocol.py).

Generation by `transformers` inside the trainer (no server), one optimiser step for all completions of an iteration.
The clock runs from the start of the step (generation) to the end of the optimiser step; loading the next batch of
texts and logging are outside it.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import torch
from datasets import Dataset
from peer_protocol import Protocol
from transformers import AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

# more than any benchmark asks for; the end of standard input ends the run
MAX_STEPS, KEPT_ITERATIONS = 1_000_000, 64
# the fastest of those tried on 2 cores without a graphics card (docs/benchmarks.md)
FASTEST: dict[str, Any] = {
    "per_device_train_batch_size": 64,
    "gradient_checkpointing": False,
    "use_transformers_continuous_batching": False,
    "cache_implementation": "static",
    "torch_compile": shutil.which("g++") is not None,  # takes most of a minute, in the iteration that is not counted
}


def main() -> None:
    protocol = Protocol()
    torch.set_num_threads(protocol.threads)
    work, lengths = protocol.work, list[int]()
    rows = work["num_prompts"] * work["num_candidates"]

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        lengths[:] = [len(ids) for ids in completion_ids]
        return [float(place % 2) for place in range(len(completion_ids))]

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            protocol.wait()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            protocol.done(lengths)

    settings = FASTEST | protocol.tried
    with tempfile.TemporaryDirectory() as scratch:
        args = GRPOConfig(
            output_dir=scratch,
            use_cpu=True,
            bf16=False,
            gradient_accumulation_steps=rows // settings["per_device_train_batch_size"],
            num_generations=work["num_candidates"],
            max_completion_length=work["new_tokens"],
            temperature=1.0,
            beta=0.0,
            learning_rate=1e-5,
            lr_scheduler_type="constant",
            max_steps=MAX_STEPS,
            shuffle_dataset=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=protocol.seed,
            model_init_kwargs={"dtype": "float32"},
            **settings,
        )
        texts = [text for step in range(KEPT_ITERATIONS) for text in protocol.prompts(step, work["num_prompts"])]
        trainer = GRPOTrainer(
            model=protocol.model,
            reward_funcs=reward,
            args=args,
            train_dataset=Dataset.from_dict({"prompt": texts}),
            processing_class=AutoTokenizer.from_pretrained(protocol.model),
            callbacks=[Clock()],
        )
        shown = ("gradient_accumulation_steps", "num_iterations", "beta", "loss_type", "max_grad_norm", "bf16")
        chosen = settings | {name: getattr(args, name) for name in shown} | {"optim": str(args.optim)}
        protocol.ready("trl", chosen | {"attention": trainer.model.config._attn_implementation})
        trainer.train()


if __name__ == "__main__":
    main()
