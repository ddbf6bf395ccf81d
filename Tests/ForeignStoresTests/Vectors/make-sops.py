#!/usr/bin/env python3
"""Makes sealed.yaml, sealed.json, sealed.env, sealed-binary.json and age.key anew, after the documentation of sops: make-sops.py FOLDER

Needs age and age-keygen, and pycryptodomex (PyPI).
"""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys

from Cryptodome.Cipher import AES

folder = sys.argv[1]
data_key = bytes(range(32))
modified = "2026-01-02T03:04:05Z"
count = 0


def seal(content, kind, bound):
    global count
    count += 1
    vector = hashlib.sha256(bytes([count])).digest()
    cipher = AES.new(data_key, AES.MODE_GCM, nonce=vector)
    cipher.update(bound.encode())
    data, tag = cipher.encrypt_and_digest(content)
    parts = [base64.b64encode(part).decode() for part in (data, vector, tag)]
    return f"ENC[AES256_GCM,data:{parts[0]},iv:{parts[1]},tag:{parts[2]},type:{kind}]"


def sealed(value, path, gathered):
    if isinstance(value, dict):
        return {key: sealed(inner, path + [key], gathered) for key, inner in value.items()}
    if isinstance(value, list):
        return [sealed(inner, path, gathered) for inner in value]
    if value is None or value == "":
        return value
    kind, content = "str", value if isinstance(value, bytes) else str(value).encode()
    if isinstance(value, bool):
        kind = "bool"
    elif isinstance(value, int):
        kind = "int"
    elif isinstance(value, float):
        kind = "float"
    gathered.append(content)
    if path[-1].endswith("_unencrypted"):
        return value
    return seal(content, kind, ":".join(path) + ":")


document = {
    "database": {"user": "ann", "password": "two\nlines: # ü", "port": 5432, "ratio": 0.5, "tls": True},
    "tokens": ["one", "two"],
    "empty": None,
    "plain_unencrypted": "seen",
}
if not os.path.exists(os.path.join(folder, "age.key")):
    subprocess.run(["age-keygen", "-o", os.path.join(folder, "age.key")], check=True)
recipient = subprocess.run(
    ["age-keygen", "-y", os.path.join(folder, "age.key")], check=True, capture_output=True, text=True).stdout.strip()
key = subprocess.run(["age", "-a", "-r", recipient], input=data_key, check=True, capture_output=True).stdout.decode()


def write(name, document):
    gathered = []
    values = sealed(document, [], gathered)
    code = hashlib.sha512(b"".join(gathered)).hexdigest().upper().encode()
    values["sops"] = {
        "kms": None, "age": [{"recipient": recipient, "enc": key}], "lastmodified": modified,
        "mac": seal(code, "str", modified), "pgp": None, "unencrypted_suffix": "_unencrypted", "version": "3.9.0",
    }
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(values, file, indent="\t")
        file.write("\n")
    return values


values = write("sealed.json", document)
write("sealed-binary.json", {"data": b"PK\x03\x04\xff\xfe\x00"})


def yaml(value, indent):
    """As sops writes it: the sequences indented, long texts in blocks."""
    space = " " * indent
    if isinstance(value, dict):
        lines = ""
        for name, inner in value.items():
            lines += f"{space}{name}:"
            if isinstance(inner, (dict, list)) and inner:
                lines += "\n" + yaml(inner, indent + 4)
            elif isinstance(inner, str) and "\n" in inner:
                lines += " |\n" + "".join(f"{space}    {line}\n" for line in inner.rstrip("\n").split("\n"))
            else:
                lines += " " + plain(inner) + "\n"
        return lines
    lines = ""
    for inner in value:
        text = yaml(inner, indent + 2) if isinstance(inner, dict) else plain(inner) + "\n"
        lines += f"{space}- {text.lstrip()}"
    return lines


def plain(value):
    if value is None:
        return "null"
    return f'"{value}"' if re.match(r"^\d+-\d+-\d+T", str(value)) else str(value)


with open(os.path.join(folder, "sealed.yaml"), "w", encoding="utf-8") as file:
    file.write("#ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:comment]\n" + yaml(values, 0))


def flat(value, name):
    """The metadata as sops writes it into a dotenv file."""
    if isinstance(value, dict):
        return [line for key, inner in value.items() for line in flat(inner, f"{name}__map_{key}")]
    if isinstance(value, list):
        return [line for index, inner in enumerate(value) for line in flat(inner, f"{name}__list_{index}")]
    return [] if value is None else [(name, value)]


variables = write("sealed.env", {"USER": "ann", "PASSWORD": "two\nlines: # ü", "NOTE_unencrypted": "a = b\nc"})
metadata = variables.pop("sops")
lines = list(variables.items()) + [line for key, value in metadata.items() for line in flat(value, f"sops_{key}")]
with open(os.path.join(folder, "sealed.env"), "w", encoding="utf-8") as file:
    file.write("#ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:comment]\n\n")
    for name, value in lines:
        file.write(name + "=" + value.replace("\n", "\\n") + "\n")
