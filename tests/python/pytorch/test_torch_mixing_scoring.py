"""Scores of difficulty are those of a naive loop over texts, and go on where they were interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mixing_probes import WithDropout, lengths_of, perplexity_of, samples  # noqa: E402

from packsim.torch.mixing import ifd_scores, write_score_column  # noqa: E402

TOLERANCE = 1e-9


def data_and_lengths() -> tuple[list[dict[str, Any]], list[int]]:
    """Prompts of 1 to 3 tokens, and responses of at least two."""
    data = [sample for index, sample in enumerate(samples()) if index % 4 and len(sample["input_ids"]) > 5]
    return data, lengths_of(data)


def naive_score(model: Any, ids: Any, n_prompt: int, start: list[int]) -> float:
    """As Superfiltering computes it: the model's mean loss over the response, in two batches of one."""
    labels = ids.copy()
    labels[:n_prompt] = -100
    alone = np.array([*start, *ids[n_prompt:]])
    return perplexity_of(model, ids, labels) / perplexity_of(model, alone, alone)


@pytest.mark.parametrize("start_token_id", [None, 1])
@pytest.mark.parametrize("from_labels", [True, False])
def test_scores_are_those_of_batches_of_one(from_labels: bool, start_token_id: int | None) -> None:
    data, lengths = data_and_lengths()
    n_prompts = [int((sample["labels"] == -100).sum()) for sample in data]
    model, alone = WithDropout(), WithDropout().eval()
    scores = ifd_scores(
        model,
        data if from_labels else [sample["input_ids"] for sample in data],
        lengths_tokens=lengths,
        capacity_tokens=100,
        prompt_tokens=None if from_labels else n_prompts,
        start_token_id=start_token_id,
    )
    start = [] if start_token_id is None else [start_token_id]
    expected = [
        naive_score(alone, sample["input_ids"], n_prompt, start)
        for sample, n_prompt in zip(data, n_prompts, strict=True)
    ]
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE)
    assert all(module.training for module in model.modules())


def test_a_model_of_transformers_has_the_scores_of_its_own_loss() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = transformers.AutoModelForCausalLM.from_config(config).double()
    data, lengths = data_and_lengths()
    scores = ifd_scores(model, data, lengths_tokens=lengths, capacity_tokens=128)
    model.eval()
    for sample, score in list(zip(data, scores, strict=True))[:8]:
        ids, labels = (torch.from_numpy(sample[name])[None] for name in ("input_ids", "labels"))
        response = ids[:, int((labels == -100).sum()) :]
        with torch.no_grad():
            given, alone = model(ids, labels=labels).loss, model(response, labels=response).loss
        assert score == pytest.approx(float(torch.exp(given - alone)), rel=1e-5)


def test_a_function_scores_too() -> None:
    data, lengths = data_and_lengths()
    model = WithDropout().eval()

    def logits(batch: Any) -> Any:
        return model(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"])

    options: dict[str, Any] = {"lengths_tokens": lengths, "capacity_tokens": 64}
    np.testing.assert_array_equal(ifd_scores(logits, data, **options), ifd_scores(model, data, **options))
    with pytest.raises(ValueError, match="model_name: expected a name, by which the cache knows"):
        ifd_scores(logits, data, cache="scores.npz", **options)


def test_truncated_samples_have_the_scores_of_their_beginnings() -> None:
    data, lengths = data_and_lengths()
    cut = [{name: values[:12] for name, values in sample.items()} for sample in data]
    options: dict[str, Any] = {"capacity_tokens": 12}
    found = ifd_scores(WithDropout(), data, lengths_tokens=lengths, over_long="truncate", **options)
    expected = ifd_scores(WithDropout(), cut, lengths_tokens=lengths_of(cut), **options)
    np.testing.assert_array_equal(found, expected)


class Counted:
    """A model of a cache's name, and how many rows it was asked for."""

    def __init__(self, fails_behind: int | None = None) -> None:
        self.model, self.n_rows, self.fails_behind = WithDropout().eval(), 0, fails_behind

    def __call__(self, batch: Any) -> Any:
        if self.n_rows == self.fails_behind:
            raise KeyboardInterrupt
        self.n_rows += 1
        return self.model(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"])


def test_an_interrupted_call_goes_on_at_its_chunk(tmp_path: Path) -> None:
    data, lengths = data_and_lengths()
    options: dict[str, Any] = {"lengths_tokens": lengths, "capacity_tokens": 100, "chunk_samples": 9}
    options |= {"cache": tmp_path / "scores.npz", "model_name": "small"}
    whole = Counted()
    expected = ifd_scores(whole, data, **options | {"cache": None})
    n_chunks = -(-len(data) // 9)
    assert n_chunks == 4
    with pytest.raises(KeyboardInterrupt):
        ifd_scores(Counted(fails_behind=whole.n_rows // 2), data, **options)
    resumed = Counted()
    np.testing.assert_array_equal(ifd_scores(resumed, data, **options), expected)
    assert 0 < resumed.n_rows < whole.n_rows
    again = Counted()
    np.testing.assert_array_equal(ifd_scores(again, data, **options), expected)
    assert again.n_rows == 0
    # Another label in the last chunk: this one is scored anew, and no other.
    data[-1]["labels"][:4] = -100
    ifd_scores(again, data, **options)
    assert 0 < again.n_rows < whole.n_rows / 2
    other = Counted()
    ifd_scores(other, data, **options | {"model_name": "large"})
    assert other.n_rows == whole.n_rows


def test_other_files_are_no_cache(tmp_path: Path) -> None:
    data, lengths = data_and_lengths()
    for content in (b"tokens\n3\n", b"PK\x03\x04 torn", b""):
        path = tmp_path / "lengths.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="lengths.csv: expected a cache of scores"):
            ifd_scores(WithDropout(), data, lengths_tokens=lengths, capacity_tokens=64, cache=path)
        assert path.read_bytes() == content


def test_samples_without_response_are_named_all_at_once() -> None:
    data, lengths = data_and_lengths()
    data[4]["labels"][:] = -100
    data[7]["labels"][:-1] = -100  # alone, its one token has no loss
    lengths[9] += 1
    options: dict[str, Any] = {"lengths_tokens": lengths, "capacity_tokens": 64}
    with pytest.raises(ValueError) as error:
        ifd_scores(WithDropout(), data, **options)
    assert str(error.value).splitlines() == [
        "dataset: expected as many tokens and labels as lengths_tokens says, got others: sample 9",
        "dataset: expected a prompt and a response of at least 2 tokens, got others: sample 4, sample 7",
    ]
    lengths[9] -= 1
    scores = ifd_scores(WithDropout(), data, without_response="nan", **options)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [4, 7]
    # With a token before it, one token is enough.
    scores = ifd_scores(WithDropout(), data, without_response="nan", start_token_id=1, **options)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [4]


def test_scores_are_a_column_of_a_length_file(tmp_path: Path) -> None:
    path = tmp_path / "scored.csv"
    write_score_column(path, [5, 7], [0.1 + 0.2, 1.5])
    assert path.read_text() == "tokens,ifd\n5,0.30000000000000004\n7,1.5\n"
    for scores, message in (
        ([1.0], r"scores: expected shape \(2,\), one for each length, got \(1,\)"),
        ([1.0, float("nan")], "scores: expected finite ones, got nan at sample 1"),
    ):
        with pytest.raises(ValueError, match=message):
            write_score_column(path, [5, 7], scores)
    with pytest.raises(ValueError, match="column: expected a word other than tokens, got 'a,b'"):
        write_score_column(path, [5, 7], [1, 2], column="a,b")
    assert path.read_text().startswith("tokens,ifd\n5,0.3")


def test_no_samples_have_no_scores() -> None:
    assert ifd_scores(WithDropout(), [], lengths_tokens=[], capacity_tokens=64).shape == (0,)
