#!/usr/bin/env python3
"""Writes one file per vector into a folder, as seeds for the fuzzer: seeds.py FOLDER."""
import base64
import json
import os
import plistlib
import struct
import sys

here = os.path.dirname(os.path.abspath(__file__))
folder = sys.argv[1]


def value(tree, reference=plistlib.UID):
    if isinstance(tree, list):
        return [value(element, reference) for element in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) == 1:
        (tag, inner), = tree.items()
        if tag == "$uid":
            return reference(inner)
        if tag == "$int":
            return int(inner)
        if tag == "$real":
            return float(inner)
        if tag == "$data":
            return base64.b64decode(inner)
        if tag == "$utf16":
            return "a"
    return {key: value(inner, reference) for key, inner in tree.items()}


written = 0
for number, vector in enumerate(json.load(open(os.path.join(here, "../SecureCodingTests/Vectors/archives.json")))):
    try:
        seeds = [base64.b64decode(vector["bytes"])] if "bytes" in vector else [
            plistlib.dumps(value(vector["archive"]), fmt=plistlib.FMT_BINARY, sort_keys=False),
            plistlib.dumps(value(vector["archive"], lambda n: {"CF$UID": n}), sort_keys=False)]
    except (KeyError, OverflowError, TypeError, ValueError):
        continue
    for seed in seeds:
        written += 1
        open(os.path.join(folder, f"{written:04}"), "wb").write(seed)


def swift(name, body):
    return bytes([len(name)]) + name.encode() + body


integer = lambda n: swift("Int", struct.pack("<q", n))
string = lambda s: swift("String", integer(len(s)) + s.encode())
record = lambda name, pairs: swift(name, b"".join(
    [integer(len(pairs))] + [integer(len(string(k))) for k in pairs] + [integer(len(v)) for v in pairs.values()]
    + [string(k) for k in pairs] + list(pairs.values())))
array = lambda items: swift("Array<Int>", b"".join([integer(len(items))] + [integer(len(i)) for i in items] + items))
for seed in (integer(5), string("x"), array([integer(1), integer(2)]),
             record("Sample", {"title": string("t"), "timestamp": swift("Double", struct.pack("<d", 1.5)), "tags": array([string("q")])})):
    written += 1
    open(os.path.join(folder, f"{written:04}"), "wb").write(seed)


def hexadecimal(tree):
    """All byte strings in a vector file that might be the body of a record."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        return [found for element in tree for found in hexadecimal(element)]
    try:
        return [bytes.fromhex(tree)] if isinstance(tree, str) and 64 < len(tree) < 8192 else []
    except ValueError:
        return []


# Seeds for the parsers of group files, after the byte that selects the parser.
header = bytearray(b"SQLite format 3\0" + bytes(84))
header[16:21], header[47], header[59], header[60:64], header[68:72] = b"\x10\0\2\2\0", 4, 1, b"\0\1\0\1", b"VLT1"
for body in [bytes(header)] + [body for name in ("state", "rows") for body in hexadecimal(
        json.load(open(os.path.join(here, f"../Vectors/{name}.json"))))]:
    for choice in range(5):
        written += 1
        open(os.path.join(folder, f"{written:04}"), "wb").write(bytes([choice]) + body)
if written < 100:
    sys.exit("fuzz: too few seeds; are the vectors there?")
print(f"{written} seeds")
