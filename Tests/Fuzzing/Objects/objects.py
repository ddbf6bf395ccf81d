#!/usr/bin/env python3
"""Runs the object fuzzer in child processes and counts crashes, hangs and excessive memory.

    objects.py PROGRAM FOUND [--count N] [--first N] [--seconds N] [--report FILE]

Each archive is made from a number, so a finding is a number: PROGRAM --write NUMBER gives its bytes, which are also put into the
folder FOUND. A child that ends unexpectedly, takes more than a second of processor time for one call, or more than
256 MiB of memory, is a finding. On a busy machine the same work takes up to twice the processor time, so a slow archive is
measured again, alone, and the lowest time counts. Exits with 1 if there was any finding.
"""
import argparse
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

BATCH = 5_000
HANG = 30  # seconds of processor time for one archive, after which a child is killed because its own measurement never ends
STOP = 600  # seconds of wall time for one archive that uses no processor time
AGAIN = 5  # how many times a slow archive is measured again

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("found")
parser.add_argument("--count", type=int, default=10_000_000)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--seconds", type=float, default=float("inf"))
parser.add_argument("--report")
arguments = parser.parse_args()

state_file = tempfile.NamedTemporaryFile()
state_file.write(bytes(64))
state_file.flush()
state = mmap.mmap(state_file.fileno(), 64)
environment = {**os.environ, "SWIFT_BACKTRACE": "enable=yes,color=no,threads=crashed,images=none,interactive=no"}
findings, executions, decoded, longest, largest = [], 0, 0, 0, 0
began = time.time()


def numbers():
    return struct.unpack("<6Q", state[:48])


def processor_seconds(process):
    """The processor time that a child has used so far."""
    with open(f"/proc/{process.pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def child(first, count):
    """Runs one child; returns how it ended, at which number, and what it printed."""
    state[:64] = bytes(64)
    process = subprocess.Popen([arguments.program, str(first), str(count), state_file.name], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    last, since, taken = None, 0, 0
    while True:
        try:
            output, errors = process.communicate(timeout=1)
            return process.returncode, numbers(), output, errors
        except subprocess.TimeoutExpired:
            if numbers()[0] != last:
                last, since, taken = numbers()[0], time.time(), processor_seconds(process)
            elif processor_seconds(process) - taken > HANG or time.time() - since > STOP:
                process.kill()
                process.communicate()
                return "hang", numbers(), "", ""


def alone(number, bound):
    """The lowest measured time of an archive's longest call, in µs. Stops measuring once it is at most `bound`."""
    least = float("inf")
    for _ in range(AGAIN):
        least = min(least, child(number, 1)[1][3])
        if least <= bound:
            break
    return least


def add(kind, number, detail=""):
    findings.append({"kind": kind, "number": number, "detail": detail})
    path = os.path.join(arguments.found, f"objects-{kind}-{number}")
    with open(path, "wb") as file:
        subprocess.run([arguments.program, "--write", str(number)], stdout=file, env=environment)
    print(f"{kind} {number} {detail}", flush=True)


def report():
    result = {"mutants": executions, "decoded": decoded, "longest_ms": round(longest / 1000, 1), "largest_kB": largest,
              "first": arguments.first,
              "wall_seconds": round(time.time() - began), "findings": findings}
    if arguments.report:
        with open(arguments.report, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return result


next_number, end = arguments.first, arguments.first + arguments.count
while next_number < end and time.time() - began < arguments.seconds:
    status, (at, done, good, slowest, where, resident), output, errors = child(next_number, min(BATCH, end - next_number))
    executions, decoded, largest = executions + done, decoded + good, max(largest, resident)
    if slowest > longest:
        longest = max(longest, min(slowest, alone(where, longest)))
    for line in output.splitlines():
        kind, number, amount = line.split()
        if kind == "slow":
            least = alone(int(number), 1e6)
            if least > 1e6:
                add("slow", int(number), f"{least / 1000:.0f} ms")
        elif child(int(number), 1)[0] == 3:  # large even alone, so not because of memory that earlier archives left
            add("large", int(number), f"{amount} kB")
    if status == 0:
        next_number += done
    elif status in (3, 4):
        next_number = at + 1
    elif status == -signal.SIGTERM:  # someone ended the child, so continue where it was
        next_number = at
    else:
        lines = [line.strip() for line in errors.splitlines() if " in " in line or "rror:" in line]
        add("hang" if status == "hang" else "crash", at, " | ".join(lines[:6])[:600] or str(status))
        executions += 1
        next_number = at + 1
    report()
result = report()
print(f"objects: {result['mutants']} archives, {result['decoded']} decoded, {len(findings)} findings, longest {result['longest_ms']} ms, "
      f"largest {largest} kB")
sys.exit(1 if findings else 0)
