#!/usr/bin/env python3
"""Records the results of a fuzzing run, and sums up the recorded runs.

    count.py note RUNS TARGET FILE   appends a line to RUNS, from the log of libFuzzer or the report of objects.py
    count.py sum RUNS                prints all runs and their sums as JSON, as in Benchmarks/fuzzing.json

libFuzzer measures a call in whole seconds of wall time, so only "below 1 s" is known. objects.py measures processor time.
"""
import datetime
import json
import re
import sys


def from_log(path):
    with open(path, errors="replace") as file:
        log = file.read()

    def number(pattern):
        found = re.search(pattern, log)
        return int(found.group(1)) if found else None

    slowest = number(r"stat::slowest_unit_time_sec: *(\d+)")
    return {"executions": number(r"stat::number_of_executed_units: *(\d+)") or 0, "findings": log.count("Test unit written to"),
            "seed": number(r"INFO: Seed: *(\d+)"), "wall_seconds_below": None if slowest is None else slowest + 1,
            "memory_MiB": number(r"stat::peak_rss_mb: *(\d+)")}


def from_report(path):
    with open(path) as file:
        report = json.load(file)
    return {"executions": report["mutants"], "findings": len(report["findings"]), "first": report["first"],
            "processor_ms": report["longest_ms"], "memory_MiB": -(-report["largest_kB"] // 1024)}


def sums(runs):
    targets = {}
    for run in runs:
        total = targets.setdefault(run["target"], {"runs": 0, "executions": 0, "findings": 0})
        total["runs"] += 1
        for key in ("executions", "findings"):
            total[key] += run[key]
        for key in ("wall_seconds_below", "processor_ms", "memory_MiB"):
            if run.get(key) is not None:
                total[key] = max(total.get(key, 0), run[key])
    return targets


if sys.argv[1] == "note":
    _, _, runs, target, path = sys.argv
    run = from_report(path) if target == "objects" else from_log(path)
    with open(runs, "a") as file:
        json.dump({"target": target, "date": datetime.date.today().isoformat(), **run}, file)
        file.write("\n")
else:
    with open(sys.argv[2]) as file:
        runs = [json.loads(line) for line in file]
    targets = sums(runs)
    print(json.dumps({
        "repeat": "tools/fuzz --runs N TARGET, any number of times; then tools/fuzz --sum",
        "limits": "256 MiB; 1 s of processor time for each call of objects; below 1 s of wall time for each input of the others",
        "archives": sum(total["executions"] for target, total in targets.items() if target not in ("groups", "foreign")),
        "targets": targets, "runs": runs}, indent=1))
