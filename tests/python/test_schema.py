"""The JSON Schemas that `packsim schema` prints, against files that packsim accepts and refuses."""

import functools
import json
import os
import pathlib
import subprocess

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKSIM = pathlib.Path(os.environ.get("PACKSIM", ROOT / "build/packsim"))

# Bad scenarios that the schema accepts, by number: what is no JSON at all or has a key twice, other files
# that have mistakes or are not there, and values that are wrong only beside another value.
NO_JSON = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15}
OTHER_FILES = {29, 30, 31, 32, 33, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 93}
TWO_VALUES = {34, 36, 41, 43, 44, 47, 79, 80, 81, 83, 92, 96}


# Where the shipped files of a kind are.
FOLDERS = {
    "scenario": "scenarios",
    "model": "models/architectures",
    "cluster": "models/clusters",
    "network": "models/networks",
    "gpu": "models/gpus",
}


@functools.cache
def validator_of(kind):
    schema = json.loads(
        subprocess.run([PACKSIM, "schema", kind], check=True, capture_output=True, text=True).stdout
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def validator():
    return validator_of("scenario")


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def mistakes(validator, path):
    """What the schema says of a file; nothing of one that is no JSON."""
    try:
        scenario = json.loads(without_comments(path.read_text()))
    except ValueError:
        return []
    return [error.message for error in validator.iter_errors(scenario)]


def shipped():
    return [
        pytest.param(kind, path, id=f"{kind}-{path.stem}")
        for kind, folder in FOLDERS.items()
        for path in sorted((ROOT / folder).glob("*.json"))
    ]


@pytest.mark.parametrize(("kind", "path"), shipped())
def test_shipped_files_are_valid(kind, path):
    assert mistakes(validator_of(kind), path) == []


def changed(file, place, value):
    """The file's JSON with another value at a place; None takes the key away."""
    whole = json.loads((ROOT / file).read_text())
    *path, last = place.split("/")
    parent = whole
    for step in path:
        parent = parent[int(step) if step.isdigit() else step]
    if value is None:
        del parent[last]
    else:
        parent[last] = value
    return whole


H100 = "models/clusters/h100-sxm-80gb.json"
FAT_TREE = "models/networks/fat-tree.json"


@pytest.mark.parametrize(
    ("kind", "file", "place", "value"),
    [
        ("model", "models/architectures/llama3.1-8b.json", "layers", "32"),
        ("model", "models/architectures/llama3.1-8b.json", "hidden", 4096),
        ("model", "models/architectures/deepseek-v2.json", "experts/routed", None),
        ("cluster", H100, "gpu", "h100"),
        ("cluster", H100, "gpus_per_node", 1025),
        ("cluster", H100, "network/nic_bytes_per_s", None),
        ("cluster", H100, "network/links", []),
        ("cluster", H100, "network/rails", 1),
        ("network", FAT_TREE, "vertices/0/every_nodes", 4),
        ("network", FAT_TREE, "links/0/wiring", "ring"),
        ("network", FAT_TREE, "links/0/bytes_per_s", 0),
        ("gpu", "models/gpus/h100-sxm-80gb.json", "peak_flop_per_s/bf16", None),
        ("gpu", "models/gpus/h100-sxm-80gb.json", "peak_flop_per_s/fp12", 1),
    ],
)
def test_a_mistake_in_a_shipped_file_is_refused(kind, file, place, value):
    assert len(list(validator_of(kind).iter_errors(changed(file, place, value)))) == 1


def test_a_cluster_may_have_its_network_as_a_graph_or_by_name():
    cluster = validator_of("cluster")
    graph = json.loads((ROOT / FAT_TREE).read_text())
    for network in (graph, "fat-tree", "../my-network.json"):
        assert not list(cluster.iter_errors(changed(H100, "network", network)))
    for network in ({**graph, "rails": True}, {"name": "x", "vertices": graph["vertices"]}, "fat-trees"):
        assert list(cluster.iter_errors(changed(H100, "network", network)))


def test_the_schema_refuses_bad_types_names_keys_and_limits(validator):
    """43 of 86 bad scenarios; all others need more than a schema can say."""
    bad = sorted((ROOT / "tests/bad_scenarios").glob("[0-9]*.json"))
    accepted = {int(path.stem[:2]) for path in bad if not mistakes(validator, path)}
    assert accepted == NO_JSON | OTHER_FILES | TWO_VALUES


def test_a_new_scenario_is_valid(validator, tmp_path):
    subprocess.run([PACKSIM, "new", "--lengths", "gsm8k.csv"], cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "my.json").read_text()
    lines = [line.split("  //")[0] for line in text.splitlines() if not line.lstrip().startswith("//")]
    assert [error.message for error in validator.iter_errors(json.loads("\n".join(lines)))] == []


def test_packsim_ignores_where_the_schema_is(tmp_path):
    text = (ROOT / "scenarios/llama3.1-8b-tulu3-4k.json").read_text()
    (tmp_path / "my.json").write_text(text.replace("{", '{"$schema": "packsim.schema.json",', 1))
    subprocess.run([PACKSIM, "check", "my.json"], cwd=tmp_path, check=True, capture_output=True)
