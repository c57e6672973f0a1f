"""CoMLRL's MAGRPOTrainer with two agents on the work of `motet bench`: one line in, one iteration, one line out.

Each of the two agents has its own copy of the model. Half of the prompts go to both agents, so an iteration holds as
many (prompt, agent) pairs as motet has prompts, and as many completions; all completions of both agents count. One
optimiser step per agent and iteration. The trainer takes one prompt at a time and one completion at a time; it has
no setting for more.
"""

from __future__ import annotations

from typing import Any

import torch
from comlrl.trainers.reinforce import MAGRPOConfig, MAGRPOTrainer
from peer_protocol import Protocol
from transformers import AutoTokenizer

NUM_AGENTS = 2


def main() -> None:
    protocol = Protocol()
    torch.set_num_threads(protocol.threads)
    work = protocol.work
    items = work["num_prompts"] // NUM_AGENTS
    tokenizer = AutoTokenizer.from_pretrained(protocol.model)
    lengths: list[int] = []

    def reward(first: list[str], second: list[str]) -> list[float]:
        lengths.extend(len(text.split()) for text in (*first, *second))  # a word is a token
        return [float(len(lengths) // NUM_AGENTS % 2) for _ in first]

    settings: dict[str, Any] = {
        "num_train_epochs": 1,
        "num_agents": NUM_AGENTS,
        "num_generations": work["num_candidates"],
        "max_new_tokens": work["new_tokens"],
        "num_turns": 1,
        "joint_mode": "aligned",
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "agent_learning_rate": 1e-5,
        "eval_interval": 0,
        "rollout_buffer_size": items,
        "train_batch_size": items,
        "parallel_training": "none",
        "agent_devices": "cpu",
    } | protocol.tried
    trainer = MAGRPOTrainer(
        agent_model=protocol.model,
        num_agents=NUM_AGENTS,
        tokenizer=tokenizer,
        model_config={"dtype": "float32", "attn_implementation": "sdpa"},
        reward_func=reward,
        args=MAGRPOConfig(**settings),
    )
    trainer.verbose = False  # no progress bar
    protocol.ready("comlrl", settings | {"attention": trainer.agents[0].config._attn_implementation})
    iteration = 0
    while True:
        trainer.train_dataset = [{"prompt": text} for text in protocol.prompts(iteration, items)]
        lengths.clear()
        protocol.wait()
        trainer.train(min_new_tokens=work["new_tokens"])
        protocol.done(lengths)
        iteration += 1


if __name__ == "__main__":
    main()
