"""Twenty steps of a small Llama in each training framework, and of every sample on its own.

The model is of float64 and the optimizer plain gradient descent: Adam divides by the root of a gradient's
square, which turns rounding of gradients near zero into whole steps, so that after twenty of them nothing is
left to compare.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from training_cases import VOCABULARY, drawn_lengths, token_ids

import packsim

# Threads that wait for each other in operations this small take longer than the operations.
torch.set_num_threads(1)

N_STEPS = 20
LEARNING_RATE = 0.5
CAPACITY_TOKENS = 64
LENGTHS = drawn_lengths(61, seed=9, longest_tokens=CAPACITY_TOKENS).tolist()


def samples() -> list[dict[str, list[int]]]:
    """Every third one has a prompt without loss."""
    data = []
    for index, ids in enumerate(token_ids(LENGTHS)):
        labels = ids.tolist()
        if index % 3 == 0:
            labels[: len(labels) // 2] = [-100] * (len(labels) // 2)
        data.append({"input_ids": ids.tolist(), "labels": labels})
    return data


def loss_tokens() -> list[int]:
    return [sum(label != -100 for label in sample["labels"][1:]) for sample in samples()]


def made_plan(accumulation: int, last_iteration: Any = "shorten", **more: Any) -> packsim.Plan:
    """For two processes. The last iteration of an epoch is shorter, and leaves a process idle."""
    packing = packsim.pack(LENGTHS, strategy="bfd", capacity_tokens=CAPACITY_TOKENS)
    planning = {"n_gpus": 2, "micro_batches_per_rank": accumulation, "loss_tokens": loss_tokens(), **more}
    per_epoch = packsim.make_plan(packing, last_iteration=last_iteration, **planning).iterations_per_epoch
    n_epochs = -(-N_STEPS // per_epoch)
    return packsim.make_plan(packing, last_iteration=last_iteration, epochs=n_epochs, **planning)


def small_llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=VOCABULARY, pad_token_id=0, **sizes, **heads)
    return LlamaForCausalLM(config).to(torch.float64)


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def gradient_descent(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)


def trained_unpacked(plan_bytes: bytes, n_steps: int = N_STEPS) -> Tensor:
    """Each sample is a batch; the loss of a step is the mean over its loss tokens."""
    plan = packsim.Plan.from_bytes(plan_bytes)
    data, model = samples(), small_llama()
    optimizer = gradient_descent(model)
    for iteration in range(n_steps):
        micro_batches = plan.micro_batches(iteration % plan.n_iterations)
        n_loss_tokens = sum(int(pack.loss_tokens.sum()) for pack in micro_batches)
        for sample in (index for pack in micro_batches for index in pack):
            ids = torch.tensor(data[sample]["input_ids"])
            labels = torch.tensor(data[sample]["labels"])
            logits = model(input_ids=ids[None], use_cache=False).logits[0, :-1]
            loss = nn.functional.cross_entropy(logits, labels[1:], reduction="sum", ignore_index=-100)
            (loss / n_loss_tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
    return flat(model)


def as_torchrun_sets() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"LOCAL_WORLD_SIZE": str(size), "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "none"}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "0"}


def trainer_arguments(of: type[Any], folder: str, **more: Any) -> Any:
    named: dict[str, Any] = {
        "output_dir": folder,
        "max_steps": N_STEPS,
        "learning_rate": LEARNING_RATE,
        "lr_scheduler_type": "constant",
        "optim": "sgd",
        "max_grad_norm": 0.0,
        "use_cpu": True,
        "report_to": [],
        "disable_tqdm": True,
        "save_strategy": "no",
        "logging_steps": 1,
        "seed": 1,
        **more,
    }
    return of(**named)


def in_trainer(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    from transformers import TrainingArguments

    from packsim.trainers import PackedTrainer

    del accumulation
    as_torchrun_sets()
    plan = packsim.Plan.from_bytes(plan_bytes)
    model = small_llama()
    args = trainer_arguments(TrainingArguments, folder)
    trainer = PackedTrainer(model, args, plan=plan, train_dataset=samples())
    trainer.train()
    assert trainer.state.global_step == N_STEPS
    assert trainer.state.epoch == N_STEPS / plan.iterations_per_epoch
    return flat(model)


def in_sft_trainer(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    from datasets import Dataset
    from trl import SFTConfig

    from packsim.trainers import PackedSFTTrainer

    del accumulation
    as_torchrun_sets()
    plan = packsim.Plan.from_bytes(plan_bytes)
    model = small_llama()
    trainer = PackedSFTTrainer(
        model,
        trainer_arguments(SFTConfig, folder, bf16=False, gradient_checkpointing=False),
        plan=plan,
        train_dataset=Dataset.from_list(samples()),
        processing_class=tokenizer(),
    )
    trainer.train()
    return flat(model)


WORDS = ["<pad>", "<end>", *map(str, range(2, VOCABULARY))]


def tokenizer() -> Any:
    """Of WORDS."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: index for index, word in enumerate(WORDS)}
    of_words = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    of_words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "<end>", "unk_token": "<pad>"}
    return PreTrainedTokenizerFast(tokenizer_object=of_words, **special)


def in_axolotl(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    """As axolotl's builder makes its trainer."""
    import fake_axolotl
    from datasets import Dataset

    del accumulation
    fake_axolotl.install()
    from axolotl.core.training_args import AxolotlTrainingArguments

    from packsim.trainers import PacksimPlugin

    as_torchrun_sets()
    path = f"{folder}/plan{dist.get_rank()}.packsim"
    packsim.Plan.from_bytes(plan_bytes).save(path)
    cfg = {"packsim_plan": path, "sequence_len": CAPACITY_TOKENS}
    plugin = PacksimPlugin()
    plugin.register(cfg)
    model = small_llama()
    trainer = plugin.get_trainer_cls(cfg)(
        model=model,
        train_dataset=Dataset.from_list(samples()),
        eval_dataset=None,
        args=trainer_arguments(AxolotlTrainingArguments, folder),
        data_collator=None,
        callbacks=[],
        processing_class=tokenizer(),
        dataset_tags=["data"],
    )
    trainer.train()
    return flat(model)


def in_accelerate(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    from accelerate import Accelerator

    from packsim.trainers import packed_loader

    del folder
    as_torchrun_sets()
    plan = packsim.Plan.from_bytes(plan_bytes)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    loader = packed_loader(accelerator, plan, samples())
    model = small_llama()
    parallel, optimizer = accelerator.prepare(model, gradient_descent(model))
    while loader.steps_done < N_STEPS:
        for batch in loader:
            with loader.accumulate(parallel):
                loader.backward(loader.loss(parallel, batch))
                optimizer.step()
                optimizer.zero_grad()
            if loader.steps_done >= N_STEPS:
                break
    return flat(model)


def in_lightning(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    import lightning
    from lightning.pytorch.plugins.environments import TorchElasticEnvironment
    from lightning.pytorch.strategies import DDPStrategy

    from packsim.trainers import PackedModule, PlanDataModule

    del accumulation
    as_torchrun_sets()
    plan = packsim.Plan.from_bytes(plan_bytes)

    class Module(PackedModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = small_llama()

        def configure_optimizers(self) -> Any:
            return gradient_descent(self)

    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=dist.get_world_size(),
        strategy=DDPStrategy(cluster_environment=TorchElasticEnvironment(), process_group_backend="gloo"),
        max_steps=N_STEPS,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    module = Module()
    trainer.fit(module, datamodule=PlanDataModule(plan, samples()))
    assert trainer.global_step == N_STEPS
    return flat(module)


def in_ddp(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    from torch.nn.parallel import DistributedDataParallel

    del accumulation, folder
    model = small_llama()
    parallel = DistributedDataParallel(model)

    def synchronised(is_last: bool) -> Any:
        return nullcontext() if is_last else parallel.no_sync()

    train_by_hand(packsim.Plan.from_bytes(plan_bytes), parallel, synchronised)
    return flat(model)


def in_fsdp2(plan_bytes: bytes, accumulation: int, folder: str) -> Tensor:
    from torch.distributed.fsdp import fully_shard

    del accumulation, folder
    model = small_llama()
    for layer in model.model.layers:
        fully_shard(layer)
    sharded = fully_shard(model)

    def synchronised(is_last: bool) -> Any:
        sharded.set_requires_gradient_sync(is_last)
        return nullcontext()

    train_by_hand(packsim.Plan.from_bytes(plan_bytes), sharded, synchronised)
    return torch.cat([parameter.full_tensor().detach().flatten() for parameter in model.parameters()])


def train_by_hand(plan: packsim.Plan, parallel: nn.Module, synchronised: Any) -> None:
    from torch.utils.data import DataLoader

    from packsim.torch import PackCollator, PlanDataset, PlanSampler, weighted_loss

    optimizer = gradient_descent(parallel)
    sampler = PlanSampler(plan)
    batches = DataLoader(PlanDataset(samples(), plan), batch_sampler=sampler, collate_fn=PackCollator(plan))
    n_steps = 0
    for epoch in range(N_STEPS):
        sampler.set_epoch(epoch)
        for batch in batches:
            with synchronised(batch.is_last):
                inputs = {"input_ids": batch["input_ids"], "position_ids": batch["position_ids"]}
                logits = parallel(**inputs, use_cache=False).logits
                n_averaged = dist.get_world_size()
                weighted_loss(
                    logits, batch["labels"], batch["loss_weights"], averaged_over=n_averaged
                ).backward()
            if batch.is_last:
                optimizer.step()
                optimizer.zero_grad()
                n_steps += 1
                if n_steps == N_STEPS:
                    return
