"""accept_settings.py FOLDER: gives settings to trainers' own configuration classes.

FOLDER has a folder for each trainer, and that has one of settings for each plan. Prints for each trainer how many
were accepted, or its first refusal. A process for each trainer, because their imports get in each other's way; what
they share is imported once, which takes longer than all else.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import yaml
from settings_readers import Files, arguments, read_files


class NoTriton(MetaPathFinder, Loader):
    """Triton, which is a GB, without anything in it: no kernel runs here."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "triton" else None

    def create_module(self, spec: ModuleSpec) -> Any:
        module = MagicMock()
        module.__spec__, module.__path__ = spec, []
        module.JITFunction = module.Autotuner = type(
            "Kernel", (), {}
        )  # PyTorch asks whether something is one
        return module

    def exec_module(self, module: object) -> None:
        pass


# What a user gives beside the settings.
JOB = {"output_dir": "output", "use_cpu": True, "report_to": "none"}


def deepspeed_files(files: Files) -> None:
    from deepspeed.runtime.config import DeepSpeedConfig

    if "deepspeed.json" not in files:
        return
    config = DeepSpeedConfig(files["deepspeed.json"])
    assert config.zero_config.stage == files["deepspeed.json"]["zero_optimization"]["stage"]
    assert config.bfloat16_config.enabled


def accelerate_files(files: Files) -> None:
    from accelerate import ParallelismConfig
    from accelerate.commands.config.config_args import ClusterConfig

    deepspeed_files(files)
    if "accelerate.yaml" not in files:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(files["accelerate.yaml"], file)
        file.flush()
        config = ClusterConfig.from_yaml_file(file.name)
    sizes = {
        key.removeprefix("parallelism_config_"): n for key, n in (config.parallelism_config or {}).items()
    }
    if sizes:
        # Accelerate wants the sizes to make up all processes.
        assert ParallelismConfig(**sizes).total_size == config.num_processes


def transformers(files: Files) -> None:
    from transformers import HfArgumentParser, TrainingArguments

    accelerate_files(files)
    HfArgumentParser(TrainingArguments).parse_dict({**files["training_arguments.yaml"], **JOB})
    if "distributed_config.json" in files:
        from transformers.distributed import DistributedConfig

        DistributedConfig(**files["distributed_config.json"])


def trl(files: Files) -> None:
    from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser

    accelerate_files(files)
    TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_dict({**files["trl.yaml"], **JOB})


def axolotl(files: Files) -> None:
    from axolotl.utils.schemas.config import AxolotlInputConfig

    sys.modules["ring_flash_attn"] = MagicMock()  # kernels of a GPU, which only have to be there
    deepspeed_files(files)
    datasets = [{"path": "data", "type": "alpaca"}]
    job = {"base_model": "model", "datasets": datasets, "learning_rate": 1e-5, "output_dir": "output"}
    AxolotlInputConfig(**files["axolotl.yaml"], **job)


def llama_factory(files: Files) -> None:
    os.environ["DISABLE_VERSION_CHECK"] = "1"
    from llamafactory.hparams.parser import _parse_train_args

    accelerate_files(files)
    job = {"model_name_or_path": "model", "dataset": "data", "template": "llama3", "do_train": True}
    values = {**files["llamafactory.yaml"], **job, **JOB}
    values.pop("deepspeed", None)  # is opened, and was read above
    _parse_train_args(values)


def ms_swift(files: Files) -> None:
    from swift.arguments import SftArguments

    deepspeed_files(files)
    unknown = set(arguments(files["swift.sh"])) - {one.name for one in fields(SftArguments)}
    assert not unknown, unknown


def torchtitan(files: Files) -> None:
    import torch

    torch.compile = lambda function=None, **_: function or (lambda one: one)  # would want a real Triton
    sys.meta_path.insert(0, NoTriton())
    import tyro
    from torchtitan.trainer import Trainer

    config = tyro.cli(Trainer.Config, args=files["torchtitan.sh"])
    values = arguments(files["torchtitan.sh"])
    assert config.parallelism.tensor_parallel_degree == values["parallelism.tensor_parallel_degree"]
    assert config.training.seq_len == values["training.seq_len"]


def nemo_automodel(files: Files) -> None:
    from nemo_automodel.recipes._dist_utils import parse_distributed_section

    degrees = files["automodel.yaml"]["distributed"]
    parsed = parse_distributed_section(dict(degrees))
    for key in ("tp_size", "pp_size", "cp_size", "ep_size"):
        assert parsed[key] == degrees.get(key, 1)


def verl(files: Files) -> None:
    import verl as package
    from hydra import compose, initialize_config_dir

    folder = os.path.join(os.path.dirname(package.__file__), "trainer/config")
    with initialize_config_dir(folder, version_base=None):
        config = compose("sft_trainer_engine", overrides=files["verl.sh"])
    tokens = [word for word in files["verl.sh"] if word.startswith("data.max_token_len_per_gpu=")]
    assert tokens == [f"data.max_token_len_per_gpu={config.data.max_token_len_per_gpu}"]


ACCEPT: dict[str, Callable[[Files], None]] = {
    "axolotl": axolotl,
    "llama-factory": llama_factory,
    "ms-swift": ms_swift,
    "nemo-automodel": nemo_automodel,
    "torchtitan": torchtitan,
    "transformers": transformers,
    "trl": trl,
    "verl-fsdp": verl,
    "verl-megatron": verl,
}


def accept(trainer: str, folder: Path) -> None:
    cases = sorted(folder.iterdir())
    for case in cases:
        files = read_files(case)
        files.pop("truth.json", None)
        ACCEPT[trainer](files)
    print(f"{trainer}: {len(cases)} accepted", flush=True)


if __name__ == "__main__":
    from transformers import HfArgumentParser, TrainingArguments  # noqa: F401

    for trainer in ACCEPT:
        if os.fork() == 0:
            accept(trainer, Path(sys.argv[1]) / trainer)
            sys.exit()
        if os.wait()[1]:
            print(f"{trainer}: refused", flush=True)
