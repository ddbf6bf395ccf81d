"""The format's worked example: each value in the article is computed again by the formula above it.

The code blocks of FileFormatExample.md hold values: a name alone on its line, then one or more lines that begin with "=". The last
of these is the value in hexadecimal, with remarks behind three spaces; one before it is its formula, in the article's notation.
A value without a formula is given. All values must occur in Tests/Vectors, and each step's result in what the next one signs or hashes.
"""

import os
import re
import sys

from layout import pad16, padded_size, u16, u32, u64
from primitives import digest, mac, open_box, public_key, seal, sign

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARTICLE = f"{ROOT}/Sources/Vault/Vault.docc/FileFormatExample.md"

FUNCTIONS = dict(
    H=digest, MAC=mac, seal=seal, open=lambda key, nonce, context, box: open_box(key, nonce, context, box, "row"),
    Ed25519=lambda seed, message: sign(message, seed), public_key=public_key, pad16=pad16, zeros=bytes,
    pad=lambda text: (u32(len(text)) + text).ljust(padded_size(len(text)), b"\0"),
    u8=lambda number: bytes([number]), u16=u16, u32=u32, u64=u64, count=len)

# The proof path: the bytes of the first value must occur in the second.
PATH = [
    ("token", "leaf body"), ("row digest", "leaf body"), ("leaf digest", "branch body"), ("root", "manifest body"),
    ("member signing key", "manifest body"), ("roster digest", "manifest body"), ("member signing key", "roster body"),
    ("slot id", "roster body"), ("key commitment", "roster body"), ("owner key", "roster body"),
]


def values(article):
    """Name, formula or None, and bytes of each value, in the article's order."""
    for block in re.findall(r"^```\n(.*?)^```", article, re.M | re.S):
        for name, text in re.findall(r"^(\S.*)\n((?: .*\n)+)", block, re.M):
            *formula, shown = re.split(r"^ +=", text, flags=re.M)[1:]
            lines = [re.split(r" {3,}", line.strip())[0] for line in shown.splitlines()]
            yield name, " ".join(formula).strip() or None, bytes.fromhex("".join(lines))


def evaluate(formula, known):
    """A formula's bytes: its text becomes an expression in which each value that was shown before has its name."""
    expression = formula.replace("‖", "+").replace("..<", ":").replace("public key(", "public_key(").replace('""', 'b""')
    names = sorted(known, key=len, reverse=True)
    pattern = '"[^"]*"|' + "|".join(rf"\b{re.escape(name)}\b(?!\()" for name in names)
    expression = re.sub(pattern, lambda m: m[0] if m[0][0] == '"' else f"known[{m[0]!r}]", expression)
    return eval(" ".join(expression.split()), FUNCTIONS | {"__builtins__": {}}, {"known": known})


def failures(article, vectors):
    """Descriptions of what is wrong in the article, and the number of its values."""
    known, found = {}, []
    for name, formula, shown in values(article):
        if formula and evaluate(formula, known) != shown:
            found.append(f"'{name}' is not what its formula gives")
        if shown.hex() not in vectors:
            found.append(f"'{name}' is in no vector")
        known[name] = shown
    found += [f"'{part}' is not in '{whole}'" for part, whole in PATH if known[part] not in known[whole]]
    return found, len(known)


def main():
    with open(ARTICLE, encoding="utf-8") as file:
        article = file.read()
    vectors = ""
    for name in ("keys", "rows", "tree", "state", "group"):
        with open(f"{ROOT}/Tests/Vectors/{name}.json", encoding="utf-8") as file:
            vectors += file.read()
    found, count = failures(article, vectors)
    for failure in found:
        print("example:", failure, file=sys.stderr)
    if found or count < 40:
        sys.exit("example: FAILED; the article's worked example does not follow from its formulas")
    print(f"example: {count} values of the worked example are what their formulas give, and what the vectors hold")


if __name__ == "__main__":
    main()
