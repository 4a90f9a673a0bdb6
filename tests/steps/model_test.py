"""What one process computes: documents are apart, checkpointing and loss forms change nothing."""

from __future__ import annotations

import unittest

import reference_run as reference
import torch

from calibration.steps.documents import Documents
from calibration.steps.kernel_case import KERNEL_KINDS, KernelCase
from calibration.steps.kernel_cases import KERNELS
from calibration.steps.measuring import Unavailable
from calibration.steps.packs import label_count, make_part
from calibration.steps.training.attention import IMPLEMENTATIONS, DocumentLayout, choose_attention
from calibration.steps.training.model import PackPart
from calibration.steps.training.optimizer import AdamW, WeightShard
from calibration.steps.training.pointwise import IGNORED_LABEL, rope
from calibration.steps.training.trainer import Parallelism, Trainer

_CPU = reference.CPU
_PACK = Documents.parse("2x8+1x24+1x1")


def _trainer(gc_layers: int = 0, attention: str = "sdpa_documents", loss_form: str = "chunked") -> Trainer:
    tools = reference.toolbox(attention, loss_form)
    trainer = Trainer(reference.architecture("tiny"), 3, Parallelism(1, 1, 0), tools, reference.OneRank())
    trainer.model.checkpoint_first(gc_layers)
    return trainer


def _gradients(trainer: Trainer) -> dict[str, torch.Tensor]:
    trainer.model(make_part(_PACK, 96, 1, 0, seed=5, device=_CPU)).backward()
    return {name: parameter.grad for name, parameter in trainer.model.named_parameters()}


class ModelTest(unittest.TestCase):
    def test_every_attention_that_runs_here_equals_the_reference(self) -> None:
        layout = DocumentLayout.of(_PACK, _CPU)
        torch.manual_seed(0)
        inputs = [torch.randn(_PACK.tokens, heads, 8, requires_grad=True) for heads in (4, 2, 2)]
        wanted = reference.IMPLEMENTATIONS["reference"](*inputs, layout)
        out = IMPLEMENTATIONS["sdpa_documents"](*inputs, layout)
        torch.testing.assert_close(out, wanted, rtol=0, atol=1e-5)
        name, _ = choose_attention("auto", _CPU, torch.float32)
        self.assertEqual(name, "sdpa_documents")

    def test_an_attention_that_is_not_there_says_why(self) -> None:
        name, reasons = choose_attention("flash_attn_3", _CPU, torch.float32)
        self.assertEqual(name, "")
        self.assertIn("flash_attn_interface", reasons["flash_attn_3"])

    def test_no_document_sees_another(self) -> None:
        # Other tokens in the second document: only its own row losses may change.
        trainer = _trainer()
        part = make_part(_PACK, 96, 1, 0, seed=5, device=_CPU)
        other_tokens = part.tokens.clone()
        other_tokens[8:16] = (other_tokens[8:16] + 1) % 96
        other = PackPart(other_tokens, part.labels, part.positions, part.layout)

        def losses_by_document(of: PackPart) -> list[float]:
            losses = []
            for start, end in ((0, 8), (8, 16), (16, 40), (40, 41)):
                labels = torch.full_like(of.labels, IGNORED_LABEL)
                labels[start:end] = of.labels[start:end]
                losses.append(trainer.model(PackPart(of.tokens, labels, of.positions, of.layout)).item())
            return losses

        before, after = losses_by_document(part), losses_by_document(other)
        self.assertEqual([a == b for a, b in zip(before, after)], [True, False, True, True])
        # A document of one token has no next one to predict.
        self.assertEqual(before[3], 0.0)

    def test_a_document_costs_the_same_wherever_it_lies(self) -> None:
        # Positions restart: swapped documents have swapped losses.
        trainer = _trainer()
        first = make_part(Documents.parse("1x8+1x24"), 96, 1, 0, seed=5, device=_CPU)
        order = [*range(8, 32), *range(8)]
        swapped_layout = DocumentLayout.of(Documents.parse("1x24+1x8"), _CPU)
        swapped = PackPart(first.tokens[order], first.labels[order], first.positions[order], swapped_layout)
        self.assertAlmostEqual(trainer.model(first).item(), trainer.model(swapped).item(), places=3)
        self.assertEqual(first.positions.tolist(), [*range(8), *range(24)])

    def test_labels_are_the_next_tokens_of_the_same_document(self) -> None:
        # 2 x 8 + 24 + 1 tokens in 4 documents: 41 - 4 labels; one token of padding for sp = 2 adds none.
        self.assertEqual(label_count(_PACK), 37)
        halves = [make_part(_PACK, 96, 2, rank, seed=5, device=_CPU) for rank in range(2)]
        labels = torch.cat([half.labels for half in halves])
        tokens = torch.cat([half.tokens for half in halves])
        self.assertEqual(labels.numel(), 42)
        is_counted = labels != IGNORED_LABEL
        self.assertEqual(int(is_counted.sum()), 37)
        self.assertTrue(torch.equal(labels[is_counted], tokens.roll(-1)[is_counted]))
        self.assertEqual(labels[[7, 15, 39, 40, 41]].unique().tolist(), [IGNORED_LABEL])

    def test_checkpointing_changes_no_gradient(self) -> None:
        wanted = _gradients(_trainer(0))
        for gc_layers in (1, 3):
            difference = reference.largest_difference(_gradients(_trainer(gc_layers)), wanted)
            self.assertLess(difference, 1e-6, gc_layers)

    def test_both_forms_of_the_loss_have_the_same_gradients(self) -> None:
        wanted = _gradients(_trainer(loss_form="fp32", attention="reference"))
        self.assertLess(reference.largest_difference(_gradients(_trainer()), wanted), 1e-5)

    def test_bf16_weights_follow_their_master_copy(self) -> None:
        torch.manual_seed(0)
        adamw = AdamW(False, _CPU, reference.SETTINGS)
        weight = torch.randn(100).to(torch.bfloat16)
        shard = WeightShard(weight)
        plain = weight.float().clone().requires_grad_()
        settings = reference.SETTINGS
        wanted = torch.optim.AdamW(
            [plain],
            lr=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
        )
        for _ in range(3):
            gradient = torch.randn(100).to(torch.bfloat16)
            adamw.update(shard, gradient)
            plain.grad = gradient.float()
            wanted.step()
        torch.testing.assert_close(shard.master, plain.detach(), rtol=1e-5, atol=1e-6)
        self.assertTrue(torch.equal(weight, shard.master.to(torch.bfloat16)))

    def test_rope_turns_by_the_distance(self) -> None:
        # A product of two turned vectors depends on how far apart they stand alone, and their lengths stay.
        torch.manual_seed(0)
        frequencies = torch.tensor([1.0, 0.1])
        q, k = torch.randn(4), torch.randn(4)

        def turned(x: torch.Tensor, position: int) -> torch.Tensor:
            angles = position * frequencies
            return rope(x.view(1, 1, 4), angles.cos().view(1, 2), angles.sin().view(1, 2)).flatten()

        self.assertAlmostEqual(
            float(turned(q, 7) @ turned(k, 4)), float(turned(q, 13) @ turned(k, 10)), places=4
        )
        self.assertNotAlmostEqual(
            float(turned(q, 7) @ turned(k, 4)), float(turned(q, 7) @ turned(k, 5)), places=2
        )
        self.assertAlmostEqual(float(turned(q, 7).norm()), float(q.norm()), places=4)


class KernelTest(unittest.TestCase):
    def test_every_kernel_of_one_device_runs(self) -> None:
        texts = ["launch_gap", "adamw parameters=64", "copy kind=device bytes=64 cache=cold"]
        texts += [f"gemm m=8 n=16 k=4 layout={layout} cache=hot" for layout in ("tn", "nn", "nt")]
        texts += [f"attention pass={p} docs=2x8+1x4 heads=4 kv_heads=2 head_dim=8" for p in ("fwd", "bwd")]
        operations = KERNEL_KINDS["elementwise"]["op"]
        texts += [
            f"elementwise op={operation} pass={p} rows=8 cols=16 cache=hot"
            for operation in operations
            for p in ("fwd", "bwd")
        ]
        for text in texts:
            for dtype in (torch.float32, torch.bfloat16):
                with self.subTest(case=text, dtype=dtype):
                    case = KernelCase.parse(text)
                    prepared = KERNELS[case.kernel](case, reference.toolbox(dtype=dtype))
                    for _ in range(3):
                        next(prepared.calls)()

    def test_a_gemm_is_the_product_it_names(self) -> None:
        # m x k by k x n in every layout.
        for layout in ("tn", "nn", "nt"):
            case = KernelCase.parse(f"gemm m=8 n=16 k=4 layout={layout} cache=hot")
            out = next(KERNELS["gemm"](case, reference.toolbox()).calls)()
            self.assertEqual(tuple(out.shape), (8, 16))

    def test_a_product_in_fp8_multiplies_values_of_one_byte(self) -> None:
        prepared = KERNELS["gemm"](
            KernelCase.parse("gemm m=8 n=32 k=64 layout=tn cache=hot dtype=fp8"), reference.toolbox()
        )
        out = next(prepared.calls)()
        self.assertEqual((tuple(out.shape), out.dtype), ((8, 32), torch.bfloat16))
        # Normal operands with scales of 0.5 to 1.5 each: a standard deviation of 2 to 18 over k = 64.
        self.assertTrue(2 <= float(out.float().std()) <= 18, out.float().std())

    def test_products_in_fp8_that_no_kernel_takes_say_why(self) -> None:
        for text, reason in {
            "m=8 n=32 k=64 layout=nt cache=hot dtype=fp8": "only layout=tn",
            "m=8 n=32 k=40 layout=tn cache=hot dtype=fp8": "multiples of k=16 and n=16, got k=40 and n=32",
            "m=8 n=64 k=512 layout=tn cache=hot dtype=fp8_block": "k=512 and n=128, got k=512 and n=64",
            "m=8 n=32 k=64 layout=nt cache=hot dtype=bf16_into_fp32": "bf16_into_fp32 are not measured",
        }.items():
            with self.subTest(case=text), self.assertRaises(Unavailable) as caught:
                KERNELS["gemm"](KernelCase.parse(f"gemm {text}"), reference.toolbox())
            self.assertIn(reason, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
