#!/usr/bin/env python3
"""Compares what two packsim programs say of the same jobs: the shipped scenarios, and small random ones.

    tests/equality/same_reports.py BEFORE AFTER --allow-new-keys

Reports are compared value by value, numbers to twelve digits. Refused jobs must be refused with the same words. The exit status is 1 if anything differs.
"""

import argparse
import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from random_jobs import random_job, repaired

ROOT = Path(__file__).resolve().parents[2]
# What the clock, the machine or the build decides.
MAY_DIFFER = {"timings", "packing_s", "scheduling_s", "search_s", "version", "commit", "command"}
# Sums over many prices may be added up in another order.
LAST_DIGITS = 1e-12
SLOW = {"llama3.1-70b-512gpus-with-failures", "all-strategies-real-mixture", "all-strategies-tulu3-longcite",
        "all-strategies-reasoning", "all-strategies-long-requests", "all-strategies-short-tasks"}


def answer(program, scenario, arguments, timeout_s):
    """The report as JSON, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "compare", str(scenario), "--quiet", "--color", "never", "--out", folder, *arguments]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, cwd=ROOT)
        except subprocess.TimeoutExpired:
            return {"timeout_s": timeout_s}
        report = Path(folder) / "report.json"
        if run.returncode == 0 and report.exists():
            return {"report": json.loads(report.read_text().replace(str(scenario), "SCENARIO"))}
        return {"status": run.returncode, "error": re.sub(r"/\S*/scenarios/", "", run.stderr.replace(str(scenario), "SCENARIO"))}


def differences(before, after, place, new_keys, limit=5):
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in before.keys() | after.keys():
            if key in MAY_DIFFER or (key not in before and new_keys):
                continue
            if key not in before or key not in after:
                found.append(f"{place}/{key}: only {'before' if key in before else 'after'}")
            else:
                found += differences(before[key], after[key], f"{place}/{key}", new_keys)
            if len(found) >= limit:
                break
        return found[:limit]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        found = []
        for index, (one, other) in enumerate(zip(before, after)):
            found += differences(one, other, f"{place}/{index}", new_keys)
            if len(found) >= limit:
                break
        return found[:limit]
    if isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=LAST_DIGITS):
        return []
    return [] if before == after else [f"{place}: before {str(before)[:200]}, after {str(after)[:200]}"]


class Programs:
    """The two programs, with what the first is known to say."""

    def __init__(self, options):
        self.options = options
        self.before_hash = hashlib.sha256(Path(options.before).read_bytes()).hexdigest()[:16]

    def answers(self, text, arguments):
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            scenario = Path(folder) / "job.json"
            scenario.write_text(text)
            known = None
            if options.cache:
                options.cache.mkdir(parents=True, exist_ok=True)
                key = hashlib.sha256((self.before_hash + text + str(arguments)).encode()).hexdigest()[:32]
                known = options.cache / f"{key}.json"
            if known and known.exists():
                before = json.loads(known.read_text())
            else:
                before = answer(options.before, scenario, arguments, options.timeout_s)
                if known:
                    known.write_text(json.dumps(before))
            return before, answer(options.after, scenario, arguments, options.timeout_s)


def without_comments(path):
    """A shipped scenario as a dict."""
    return json.loads("\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")))


def jobs(options):
    if not options.random_only:
        for path in sorted((ROOT / "scenarios").glob("*.json")):
            if options.all or path.stem not in SLOW:
                yield path.stem, without_comments(path), []
    for index in range(options.first, options.first + options.jobs):
        job, arguments = random_job(options.seed, index)
        yield f"random {index}", job, arguments


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--jobs", type=int, default=200, help="number of random jobs")
    parser.add_argument("--first", type=int, default=0, help="index of the first random job")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="shipped scenarios that take minutes too")
    parser.add_argument("--random-only", action="store_true", help="no shipped scenario")
    parser.add_argument("--allow-new-keys", action="store_true", help="the second program may write keys that the first does not")
    parser.add_argument("--cache", type=Path, help="folder that keeps the first program's answers")
    parser.add_argument("--timeout-s", type=float, default=120)
    parser.add_argument("--keep", type=Path, help="folder for the jobs that differ")
    options = parser.parse_args()

    programs = Programs(options)
    counts = dict.fromkeys(["equal", "differ", "refused alike", "too slow"], 0)
    for name, job, arguments in jobs(options):
        # A refused job is compared, and then once more without what the error names, until it runs.
        for _ in range(8):
            before, after = programs.answers(json.dumps(job), arguments)
            found = differences(before, after, "", options.allow_new_keys)
            if "timeout_s" in before or "timeout_s" in after:
                kind = "too slow"
            elif found:
                kind = "differ"
            else:
                kind = "equal" if "report" in before else "refused alike"
            counts[kind] += 1
            if found:
                print(f"{name}: {kind}", *found, sep="\n  ", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{name.replace(' ', '-')}.json").write_text(json.dumps(job, indent=1))
            job = repaired(job, before.get("error", ""))
            if job is None:
                break
    print(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    sys.exit(1 if counts["differ"] else 0)


if __name__ == "__main__":
    main()
