"""A complete proof of a group: nothing is left out, nothing is too much."""

from container import blob, integer
from layout import COUNTER_LIMIT, require
from primitives import digest
from answers import child, require_followed, require_name
from state import CHAIN_LENGTH


def prove(answers):
    state, container = answers.state, answers.container
    require(container.rows("PRAGMA quick_check(1)") == [(b"ok",)], "container", "quick_check")
    items = answers.rows("item")
    tokens = [row.token for row in items]
    require(tokens == sorted(set(tokens)), "tree", "order of rows")
    require(len(items) == state.items, "row", "number of items")
    older = {(row.token, row.version): row for row in answers.rows("version")}
    require(len(older) == state.versions, "row", "number of older versions")
    blobs = set()
    for item in items:
        row = item
        require_followed(item)
        if item.state == 1:
            require_name(answers.attributes(item)["name"])
        while True:
            answers.attributes(row)
            answers.value(row)
            if row.place == 2:
                blobs.add((row.token, row.version))
            if row.version == item.oldest:
                break
            before = older.pop((row.token, row.version - 1), None)
            require(before and before.digest == row.previous, "row", "an older version")
            row = before
    require(not older, "row", "older versions of nothing")
    nodes = {}
    require(build([(row.token, row.digest) for row in items], 0, bytes(16), nodes) == state.root, "tree", "root")
    stored = {blob(prefix, (17,)): blob(body, range(34, 1_537)) for prefix, body in container.rows("SELECT prefix,body FROM node")}
    require(stored == nodes, "tree", "stored nodes")
    kept = {(token, version) for token, version in container.rows("SELECT token,version FROM blob")}
    require(kept == blobs, "row", "blobs")
    wraps = {slot: digest("vault1.wrap.hash", slot + sealed) for slot, sealed in container.rows("SELECT slot,sealed FROM wrap")}
    require(wraps == {m["slot"]: m["wrap"] for m in state.roster["members"].values()}, "wrap", "wraps")
    require(len(wraps) == len(state.roster["members"]), "wrap", "two members with one slot id")
    prove_chain(state)


def build(entries, depth, prefix, nodes):
    """The digest of the canonical tree of entries; every node that is stored goes into `nodes`."""
    key = bytes([depth]) + prefix
    if len(entries) <= 32:
        body = b"".join(token + row for token, row in entries)
        if entries:
            nodes[key] = body
        return digest("vault1.leaf", key + bytes([len(entries)]) + body)
    bitmap, digests = 0, b""
    for nibble in range(16):
        below = [entry for entry in entries if entry[0].hex()[depth] == f"{nibble:x}"]
        if below:
            bitmap |= 1 << nibble
            digests += build(below, depth + 1, child(prefix, depth, nibble), nodes)
    nodes[key] = bitmap.to_bytes(2, "big") + digests
    return digest("vault1.node", key + nodes[key])


def prove_chain(state):
    rows = state.chain()
    require(rows and rows[-1] == (state.epoch, state.rest), "chain", "the last row")
    require(rows[0][0] > state.epoch - CHAIN_LENGTH, "chain", "a row that should be dropped")
    if state.epoch <= CHAIN_LENGTH:
        require(rows[0][0] <= state.roster["first_epoch"], "chain", "the first row")
    if rows[0][0] == 1:
        link = bytes(32)
        for _, rest in rows:
            link = digest("vault1.man.link", link + rest)
        require(link == state.link, "chain", "another state")
