"""Plans in accelerate, Lightning and loops by hand: where they step, and where they go on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import trainer_runs  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PackCollator, PlanDataset, PlanLoader, PlanSampler  # noqa: E402


def plan_of_one() -> packsim.Plan:
    """For one process: iterations of two micro-batches, the last one of an epoch of one."""
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    planning = {"micro_batches_per_rank": 2, "loss_tokens": trainer_runs.loss_tokens(), "epochs": 2}
    return packsim.make_plan(packing, last_iteration="shorten", **planning)


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("world_size", [1, 2])
def test_batches_of_any_loader_know_the_last_of_a_step(n_workers: int, world_size: int) -> None:
    plan = trainer_runs.made_plan(4)
    for rank in range(world_size):
        dataset = PlanDataset(trainer_runs.samples(), plan)
        sampler = PlanSampler(plan, rank, world_size)
        loader = DataLoader(
            dataset, batch_sampler=sampler, collate_fn=PackCollator(plan), num_workers=n_workers
        )
        steps = PlanLoader(plan, trainer_runs.samples(), None, rank, world_size).steps()
        expected = [index + 1 == len(step) for step in map(list, steps) for index in range(len(step))]
        assert [batch.is_last for batch in loader] == expected
        assert sum(expected) == plan.iterations_per_epoch


def test_batches_that_accelerate_deals_out_know_it_too() -> None:
    accelerate = pytest.importorskip("accelerate")
    plan = plan_of_one()
    accelerator = accelerate.Accelerator(cpu=True)
    sampler = PlanSampler.for_all_ranks(plan, 1)
    dataset = PlanDataset(trainer_runs.samples(), plan)
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=PackCollator(plan))
    found = [batch.is_last for batch in accelerator.prepare(loader)]
    assert found == [False, True] * (len(found) // 2) + [True]


def accelerated(folder: Path, n_steps: int, is_resumed: bool) -> Any:
    from accelerate import Accelerator

    from packsim.trainers import packed_loader

    accelerator = Accelerator(cpu=True)
    loader = packed_loader(accelerator, plan_of_one(), trainer_runs.samples())
    model, optimizer = accelerator.prepare(
        module := trainer_runs.small_llama(), trainer_runs.gradient_descent(module)
    )
    accelerator.register_for_checkpointing(loader)
    if is_resumed:
        accelerator.load_state(str(folder))
    while loader.steps_done < n_steps:
        for batch in loader:
            with loader.accumulate(model):
                loader.backward(loader.loss(model, batch))
                optimizer.step()
                optimizer.zero_grad()
            if loader.steps_done == n_steps:
                break
    accelerator.save_state(str(folder))
    return trainer_runs.flat(module)


def test_accelerate_goes_on_where_its_state_was_saved(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    n_steps = plan_of_one().iterations_per_epoch + 2
    whole = accelerated(tmp_path / "whole", n_steps, False)
    accelerated(tmp_path / "parts", n_steps - 3, False)
    assert (accelerated(tmp_path / "parts", n_steps, True) == whole).all()


def test_accelerate_refuses_batches_that_were_fetched_ahead() -> None:
    """All of them would be the last of a step."""
    accelerate = pytest.importorskip("accelerate")
    from packsim.trainers import packed_loader

    loader = packed_loader(accelerate.Accelerator(cpu=True), plan_of_one(), trainer_runs.samples())
    model = trainer_runs.small_llama()
    first, *_, last = list(loader)
    with pytest.raises(RuntimeError, match="batch: expected the newest of the loader, which accumulate"):
        loader.loss(model, first)
    loader.loss(model, last)


def lightning_fit(folder: Path, n_steps: int, resume_from: Path | None = None, **options: Any) -> Any:
    import lightning

    from packsim.trainers import PackedModule, PlanDataModule

    class Module(PackedModule):
        clip_norm = 0.3

        def __init__(self) -> None:
            super().__init__()
            self.model = trainer_runs.small_llama()

        def configure_optimizers(self) -> Any:
            optimizer = trainer_runs.gradient_descent(self)
            return [optimizer], [
                {"scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9), "interval": "step"}
            ]

    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=n_steps,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )
    module = Module()
    trainer.fit(
        module, datamodule=PlanDataModule(plan_of_one(), trainer_runs.samples()), ckpt_path=resume_from
    )
    trainer.save_checkpoint(folder / f"{n_steps}.ckpt")
    return module


def test_lightning_clips_schedules_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    n_steps = plan_of_one().iterations_per_epoch + 2
    whole = lightning_fit(tmp_path, n_steps)
    lightning_fit(tmp_path, n_steps - 3)
    parts = lightning_fit(tmp_path, n_steps, tmp_path / f"{n_steps - 3}.ckpt")
    assert (trainer_runs.flat(parts) == trainer_runs.flat(whole)).all()
    # By hand: gradients of a norm of at most .3, and a rate that falls step by step.
    model = trainer_runs.small_llama()
    optimizer = trainer_runs.gradient_descent(model)
    loader = PlanLoader(plan_of_one(), trainer_runs.samples(), rank=0, world_size=1)
    n_done = 0
    while n_done < n_steps:
        for step in loader.steps():
            for batch in step:
                logits = model(
                    input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False
                ).logits
                packsim_loss = torch.nn.functional.cross_entropy(
                    logits[0, :-1], batch["labels"][0, 1:], reduction="none", ignore_index=-100
                )
                (packsim_loss * batch["loss_weights"][0, 1:]).sum().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
            optimizer.step()
            optimizer.zero_grad()
            optimizer.param_groups[0]["lr"] *= 0.9
            n_done += 1
            if n_done == n_steps:
                break
    expected = trainer_runs.flat(model)
    assert float((trainer_runs.flat(whole) - expected).norm() / expected.norm()) < 1e-6


def test_lightning_clips_scaled_gradients_to_the_same_norm(tmp_path: Path) -> None:
    """In 16 bits gradients are scaled by 65 536 when they are clipped."""
    pytest.importorskip("lightning")
    from lightning.pytorch.plugins import MixedPrecision

    scaled = MixedPrecision("16-mixed", device="cpu", scaler=torch.amp.GradScaler("cpu"))
    begin = trainer_runs.flat(trainer_runs.small_llama())
    steps = [
        trainer_runs.flat(lightning_fit(tmp_path, 2, **options)) - begin
        for options in ({}, {"plugins": [scaled]})
    ]
    assert scaled.scaler.get_scale() == 65536
    assert float((steps[1] - steps[0]).norm() / steps[0].norm()) < 0.01


def test_lightning_strategies_that_share_samples_or_count_steps_are_refused() -> None:
    pytest.importorskip("lightning")
    from packsim.trainers.lightning import _check_strategy

    class Mesh(dict[str, Any]):
        mesh_dim_names = ("data_parallel", "tensor_parallel")

    def mesh(size: int) -> Any:
        return SimpleNamespace(device_mesh=Mesh(tensor_parallel=SimpleNamespace(size=lambda: size)))

    _check_strategy(SimpleNamespace())
    _check_strategy(mesh(1))
    with pytest.raises(
        ValueError, match="strategy: expected tensor_parallel_size 1, got 2: each process has"
    ):
        _check_strategy(mesh(2))
    with pytest.raises(
        ValueError, match="expected DistributedDataParallel, FSDP or .*; engine_loader\\(\\) trains"
    ):
        _check_strategy(SimpleNamespace(deepspeed_engine=None))


def test_a_framework_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from packsim.trainers._framework import framework

    with pytest.raises(ImportError, match="nothing: expected to be installed, .*; pip install nothing"):
        framework("no_such_framework.part", "nothing")


def test_names_that_are_not_there_are_refused() -> None:
    import packsim.trainers

    with pytest.raises(AttributeError, match="has no attribute 'PackedThing'"):
        packsim.trainers.PackedThing  # noqa: B018


def test_the_auxiliary_loss_of_experts_is_a_mean_over_the_micro_batches_of_a_step() -> None:
    from accelerate import Accelerator
    from transformers import MixtralConfig, MixtralForCausalLM

    from packsim.trainers import packed_loader

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    experts = {"num_local_experts": 4, "output_router_logits": True, "router_aux_loss_coef": 0.5}
    model = MixtralForCausalLM(MixtralConfig(vocab_size=128, num_key_value_heads=2, **sizes, **experts))
    loader = packed_loader(Accelerator(cpu=True), plan_of_one(), trainer_runs.samples())
    batch = next(iter(loader))
    with torch.no_grad():
        with_auxiliary = float(loader.loss(model, batch))
        auxiliary = float(
            model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).aux_loss
        )
        model.config.router_aux_loss_coef = 0.0
        without = float(loader.loss(model, batch))
    # Two micro-batches a step.
    assert with_auxiliary - without == pytest.approx(0.5 * auxiliary / 2, rel=1e-4)


def test_the_coefficient_of_an_auxiliary_loss_is_found_or_missed() -> None:
    from transformers import DbrxConfig, DbrxForCausalLM, JetMoeConfig, JetMoeForCausalLM

    from packsim.trainers._packed_loss import auxiliary_loss

    torch.manual_seed(0)
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "kv_channels": 8}
    jetmoe = JetMoeForCausalLM(JetMoeConfig(vocab_size=61, aux_loss_coef=0.5, **sizes, **experts))
    dbrx = DbrxForCausalLM(
        DbrxConfig(
            d_model=16,
            n_heads=2,
            n_layers=1,
            max_seq_len=32,
            vocab_size=61,
            output_router_logits=True,
            attn_config={"kv_n_heads": 1, "clip_qkv": 8.0, "rope_theta": 1e4},
            ffn_config={"ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2, "moe_loss_weight": 0.25},
        )
    )
    for model, coefficient in ((jetmoe, 0.5), (dbrx, 0.25)):
        outputs = model(input_ids=torch.arange(1, 9)[None], use_cache=False)
        assert float(outputs.aux_loss) > 0.5
        assert float(auxiliary_loss(model, outputs)) == pytest.approx(coefficient * float(outputs.aux_loss))
        # As the model has it in its own loss.
        whole = model(input_ids=torch.arange(1, 9)[None], labels=torch.arange(1, 9)[None], use_cache=False)
        logits, labels = whole.logits[0, :-1], torch.arange(2, 9)
        plain = torch.nn.functional.cross_entropy(logits.float(), labels)
        assert float(whole.loss - plain) == pytest.approx(float(auxiliary_loss(model, outputs)), rel=1e-3)
    with pytest.raises(ValueError, match="model: expected router_aux_loss_coef or aux_loss_coef of its con"):
        auxiliary_loss(trainer_runs.small_llama(), outputs)
