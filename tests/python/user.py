"""What a user of the package writes; test_package.py has mypy check it."""

import numpy as np
from numpy.typing import NDArray

import packsim
import packsim.sweeps

lengths: NDArray[np.int64] = np.array([5, 3, 2, 7, 4])
packing: packsim.Packing = packsim.pack(lengths, strategy="isf", capacity_tokens=10, rounds=3, shuffle=False)
packsim.pack([5, 3], strategy="hbp", capacity_tokens=(5, 10), over_long="split", packer="ffd")
packsim.pack(range(5), strategy="trl_lpt", capacity_tokens=10, n_gpus=2, tokens_per_iteration=20)

fill: float = packing.statistics.fill_fraction
dropped: int = packing.counts.dropped_samples
samples: NDArray[np.uint32]
for group in packing.groups:
    for samples in group:
        print(samples.tolist(), fill, dropped)
    pack_tokens: NDArray[np.int64] = group.pack_tokens()
names: list[str] = [strategy.name for strategy in packsim.strategies()]
print(packsim.__version__, names, packing.placed["first_gpu"])

packer: packsim.StreamPacker = packsim.StreamPacker(
    strategy="isf", capacity_tokens=10, window_samples=4, over_long="drop", most_carries=2, rounds=3
)
positions: NDArray[np.uint64] = packer.push(lengths).samples
packer.load_state_dict(packer.state_dict())
for members in packsim.stream_packs(["ab", "c"], strategy="bfd", capacity_tokens=10, window_samples=4):
    texts: list[tuple[int, str]] = members
n_packs: int = packsim.window_quality(lengths, strategy="bfd", capacity_tokens=10, windows=(2, 0))[0].n_packs
packsim.StreamPacker(strategy="isf", capacity_tokens=10, window_samples=4, over_long="split")  # type: ignore[arg-type]
packsim.stream_packs([1], strategy="isf", capacity_tokens=10)  # type: ignore[call-arg]

mixture: packsim.Mixture = packsim.Mixture(
    ["web", "code"], policy="hbo", learning_rate=1e-3, update="reinforce"
)
drawn: NDArray[np.uint32] = mixture.draw(8, step=3).samples
shares: NDArray[np.float64] = mixture.probabilities().groups[0]
packsim.Mixture([0, 1], policy="hbo", update="adam")  # type: ignore[arg-type]
packsim.Mixture([0, 1], policy="hbo", rate=1)  # type: ignore[call-arg]

scenario: packsim.Scenario = packsim.load_scenario(
    "llama3.1-8b-tulu3-4k", set={"cluster.nodes": 4}
).with_lengths(lengths)
swept: packsim.sweeps.Sweep = packsim.sweep(
    scenario,
    {"cluster.nodes": [1, 2]},
    zipped=[{"seed": range(3)}],
    shard=(1, 2),
    progress=lambda n, *_: None,
)
packsim.sweep(scenario, out=3)  # type: ignore[arg-type]
report: packsim.Report = packsim.compare(scenario, ["isf"], threads=2, progress=print)
run: packsim.Run = packsim.simulate(scenario, "isf")
plan: packsim.Plan = (
    run.plan() if report["isf"].gpu_days > 1 else packsim.plan_of(scenario, "isf", normaliser="sum")
)
print(report.manifest.model, report.to_pandas(), report.charts()["gpu_days"], plan.n_iterations)
packsim.compare(scenario, threads="2")  # type: ignore[arg-type]
packsim.compair(scenario)  # type: ignore[attr-defined]

packsim.pack(lengths, strategy="isf", capacity_tokens=10, round=3)  # type: ignore[call-arg]
packsim.pack(lengths, strategy="isf", capacity_tokens=10, rounds="3")  # type: ignore[arg-type]
packsim.pack(lengths, strategy="isf", capacity_tokens=10, over_long="cut")  # type: ignore[arg-type]
packsim.pack("53", strategy="isf", capacity_tokens=10)  # type: ignore[arg-type]
