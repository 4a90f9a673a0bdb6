"""Plans under the loaders of accelerate and Lightning: nobody deals batches out anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import training  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from training_cases import drawn_lengths, token_ids  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PackCollator, PackedBatch, PlanDataset, PlanLoader, PlanSampler  # noqa: E402

LENGTHS = drawn_lengths(50, seed=9, longest_tokens=64).tolist()


def made_plan(n_gpus: int) -> packsim.Plan:
    packing = packsim.pack(LENGTHS, strategy="bfd", capacity_tokens=64)
    # The last iteration of each epoch leaves processes idle.
    return packsim.make_plan(packing, n_gpus=n_gpus, epochs=2, last_iteration="shorten")


Trained = list[tuple[int, list[int]]]  # iteration and samples


def trained(batches: Any) -> Trained:
    return [(batch.micro_batch.iteration, list(batch.micro_batch)) for batch in batches]


def expected(plan: packsim.Plan, rank: int, world_size: int) -> Trained:
    loader = PlanLoader(plan, token_ids(LENGTHS), rank=rank, world_size=world_size)
    return [one for _ in range(plan.n_epochs) for one in trained(loader)]


def data_loader(plan: packsim.Plan, sampler: PlanSampler) -> DataLoader[Any]:
    dataset = PlanDataset(token_ids(LENGTHS), plan)
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=PackCollator(plan))


def dealt_by_accelerate(plan_bytes: bytes) -> tuple[Trained, list[Any]]:
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    plan = packsim.Plan.from_bytes(plan_bytes)
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    # As torchrun sets them.
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(even_batches=False))
    assert accelerator.num_processes == size
    model = training.model()
    parallel, loader = accelerator.prepare(model, data_loader(plan, PlanSampler.for_all_ranks(plan, size)))
    seen: Trained = []
    gradients = []
    for epoch in range(plan.n_epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            assert isinstance(batch, PackedBatch)
            seen += trained([batch])
            if epoch == 0:
                # One micro-batch a step here.
                parallel.zero_grad()
                accelerator.backward(training.alone_loss(parallel, batch, None))
                gradients.append(training.flat_gradient(parallel).numpy())
    return seen, gradients


def test_accelerate_gives_each_process_its_own(two_processes: ProcessPool) -> None:
    pytest.importorskip("accelerate")
    plan = made_plan(2)
    results = two_processes.run(dealt_by_accelerate, plan.to_bytes())
    for rank, (seen, gradients) in enumerate(results):
        assert seen == expected(plan, rank, 2)
        for iteration, gradient in enumerate(gradients):
            weights = training.defined_weights(plan, iteration, "stable")
            alone = training.unpacked_gradient(plan, LENGTHS, iteration, weights)
            assert np.linalg.norm(gradient - alone) < 1e-5 * np.linalg.norm(alone)
    assert [] in [samples for seen, _ in results for _, samples in seen]


def test_lightning_takes_the_batches_as_they_are(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    plan = made_plan(1)
    seen: Trained = []

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = training.model()
            self.automatic_optimization = False

        def training_step(self, batch: PackedBatch, _: int) -> None:
            assert isinstance(batch, PackedBatch)
            seen.extend(trained([batch]))
            self.optimizers().zero_grad()
            loss = training.weighted_loss(
                training.logits_of(self.model, batch), batch["labels"], batch["loss_weights"]
            )
            self.manual_backward(loss)
            self.optimizers().step()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    for loader in (data_loader(plan, PlanSampler(plan)), PlanLoader(plan, token_ids(LENGTHS))):
        seen.clear()
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=1,
            max_epochs=2,
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(Module(), loader)
        assert seen == expected(plan, 0, 1)
