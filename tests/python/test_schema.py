"""The JSON Schema that `packsim schema` prints, against scenarios that packsim accepts and refuses."""

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
TWO_VALUES = {34, 36, 41, 43, 44, 47, 79, 80, 81, 83, 92}


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(
        subprocess.run([PACKSIM, "schema"], check=True, capture_output=True, text=True).stdout
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def mistakes(validator, path):
    """What the schema says of a scenario; nothing of one that is no JSON."""
    try:
        scenario = json.loads(without_comments(path.read_text()))
    except ValueError:
        return []
    return [error.message for error in validator.iter_errors(scenario)]


def shipped():
    return sorted((ROOT / "scenarios").glob("*.json"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid(validator, path):
    assert mistakes(validator, path) == []


def test_the_schema_refuses_bad_types_names_keys_and_limits(validator):
    """42 of 84 bad scenarios; all others need more than a schema can say."""
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
