"""Which documents a step timer sees in what a model is called with."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from packsim.calibrate.documents_seen import RowDocuments, documents_of  # noqa: E402
from packsim.torch.attention_masks import additive_document_mask, document_mask  # noqa: E402

ONE_ROW = torch.ones(1, 9, dtype=torch.long)
TWO_ROWS = torch.ones(2, 5, dtype=torch.long)
ENDS = torch.tensor([0, 4, 9], dtype=torch.int32)


def integers(*values: Any) -> Any:
    return torch.tensor(values)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        # Nothing says documents: each row is one.
        ({"input_ids": TWO_ROWS}, [((5,), 0), ((5,), 0)]),
        ({"input_ids": ONE_ROW[0]}, [((9,), 0)]),
        ({"inputs_embeds": torch.zeros(2, 5, 8)}, [((5,), 0), ((5,), 0)]),
        # Positions that begin anew; several zeros at the end are padding, one is a document.
        ({"input_ids": ONE_ROW, "position_ids": integers([0, 1, 2, 3, 0, 1, 2, 3, 4])}, [((4, 5), 0)]),
        ({"input_ids": ONE_ROW, "position_ids": integers([0, 1, 2, 3, 0, 1, 0, 0, 0])}, [((4, 2), 3)]),
        ({"input_ids": ONE_ROW, "position_ids": integers([0, 1, 2, 3, 0, 1, 2, 3, 0])}, [((4, 4, 1), 0)]),
        ({"input_ids": ONE_ROW, "position_ids": integers([0] * 9)}, [((), 9)]),
        ({"input_ids": TWO_ROWS, "position_ids": integers([0, 1, 2, 3, 4])}, [((5,), 0), ((5,), 0)]),
        # Three axes of positions, the first that of the text.
        ({"input_ids": TWO_ROWS, "position_ids": torch.arange(5).expand(3, 2, 5)}, [((5,), 0), ((5,), 0)]),
        # Masks: of ones; that count documents, as axolotl's; of booleans; to the left.
        (
            {"input_ids": TWO_ROWS, "attention_mask": integers([1, 1, 1, 0, 0], [1, 1, 1, 1, 1])},
            [((3,), 2), ((5,), 0)],
        ),
        (
            {"input_ids": TWO_ROWS, "attention_mask": integers([1, 1, 2, 2, 2], [1, 2, 2, 0, 0])},
            [((2, 3), 0), ((1, 2), 2)],
        ),
        (
            {"input_ids": TWO_ROWS, "attention_mask": integers([0, 0, 1, 1, 1], [0, 0, 0, 0, 0]).bool()},
            [((3,), 2), ((), 5)],
        ),
        # A mask says which positions are padding.
        (
            {
                "input_ids": TWO_ROWS,
                "position_ids": integers([0, 1, 0, 1, 1], [1, 1, 0, 1, 2]),
                "attention_mask": integers([1, 1, 1, 1, 0], [0, 0, 1, 1, 1]),
            },
            [((2, 2), 1), ((3,), 2)],
        ),
        # Squares of booleans and of numbers that are added; one for each kind of layer.
        ({"input_ids": ONE_ROW, "attention_mask": document_mask(ENDS)}, [((4, 5), 0)]),
        (
            {"input_ids": ONE_ROW, "attention_mask": additive_document_mask(ENDS, torch.float32)},
            [((4, 5), 0)],
        ),
        (
            {"input_ids": ONE_ROW, "attention_mask": {"full_attention": document_mask(ENDS)}},
            [((4, 5), 0)],
        ),
        # FlexAttention's says nothing here.
        ({"input_ids": ONE_ROW, "attention_mask": object()}, [((9,), 0)]),
        # Ends and lengths of documents, by several names; those without tokens are none.
        ({"input_ids": ONE_ROW, "cu_seq_lens_q": ENDS}, [((4, 5), 0)]),
        ({"input_ids": ONE_ROW, "cu_seqlens": integers(0, 4, 4, 7)}, [((4, 3), 2)]),
        ({"input_ids": ONE_ROW, "seq_lens": integers(4, 5)}, [((4, 5), 0)]),
        ({"input_ids": TWO_ROWS, "seq_lens": integers(4, 5)}, [((4,), 1), ((5,), 0)]),
        ({"input_ids": TWO_ROWS, "seq_lens": integers([1, 3], [5, 0])}, [((1, 3), 1), ((5,), 0)]),
        ({"input_ids": ONE_ROW, "seq_lengths": [[2, 6]]}, [((2, 6), 1)]),
        # packsim's collator has padding as the last document, with positions 0.
        (
            {"input_ids": ONE_ROW, "cu_seqlens": ENDS, "position_ids": integers([0, 1, 2, 3, 0, 0, 0, 0, 0])},
            [((4,), 5)],
        ),
    ],
)
def test_documents_are_seen_in_what_tells_the_model(inputs: Any, expected: Any) -> None:
    assert documents_of(inputs) == [RowDocuments(*row) for row in expected]


def test_documents_of_rows_that_processes_share_are_whole() -> None:
    part = {"input_ids": ONE_ROW, "cu_seqlens": integers(0, 4, 18)}
    assert documents_of(part, n_sharing=2) == [RowDocuments((4, 14))]
    with pytest.raises(
        ValueError, match=r"position_ids: expected shape \(1, 18\), as of the tokens, got \(1, 9\)"
    ):
        documents_of({"input_ids": ONE_ROW, "position_ids": torch.arange(9)[None]}, n_sharing=2)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"labels": ONE_ROW}, r"forward\(\): expected one of input_ids, tokens, .*, got labels"),
        (
            {"input_ids": ONE_ROW, "cu_seqlens": integers(0, 4, 10)},
            r"cu_seqlens: expected ends of documents that rise from 0 to 9, got \[0, 4, 10\]",
        ),
        ({"input_ids": ONE_ROW, "cu_seqlens": integers(0, 5, 4)}, "cu_seqlens: expected ends of documents"),
        ({"input_ids": ONE_ROW, "cu_seqlens": integers(1, 9)}, "cu_seqlens: expected ends of documents"),
        ({"input_ids": ONE_ROW, "cu_seqlens": torch.ones(3)}, "cu_seqlens: expected integers, got float32"),
        (
            {"input_ids": ONE_ROW, "seq_lens": integers(4, 6)},
            r"seq_lens: expected lengths of at most 9 tokens in a row, got \[\[4, 6\]\]",
        ),
        (
            {"input_ids": ONE_ROW, "attention_mask": torch.ones(1, 8, dtype=torch.long)},
            r"attention_mask: expected shape \(1, 9\), as of the tokens, got \(1, 8\)",
        ),
        (
            {"input_ids": ONE_ROW, "attention_mask": torch.ones(1, 1, 8, 8)},
            r"attention_mask: expected shape \(1, 1, 9, 9\), got \(1, 1, 8, 8\)",
        ),
        (
            {"input_ids": TWO_ROWS, "position_ids": torch.zeros(3, 5, dtype=torch.long)},
            r"position_ids: expected shape \(2, 5\), as of the tokens, got \(3, 5\)",
        ),
    ],
)
def test_what_does_not_fit_to_the_tokens_is_refused(inputs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        documents_of(inputs)
