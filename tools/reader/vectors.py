"""The vectors that need no group file: each worked example is computed again, each refusal refused."""

import json
import unicodedata

import nacl.bindings as sodium

from answers import Row, node_digest, parse_attributes, parse_node, require_name, row_context
from files import credential, registered_application, registry_item, settings
from identity import open_identity, recovery_bytes, recovery_checks, recovery_key, recovery_text, recovery_values, slots_of
from layout import Refused, damaged, pad16, padded_size, u32, u64, unpad
from primitives import digest, is_signed, mac, open_box, public_key, seal, sign
from proof import build
from state import Keys, parse_witness


class Report:
    """What was compared, and what came out otherwise."""

    def __init__(self):
        self.count, self.failures = 0, []

    def equal(self, what, found, expected):
        self.count += 1
        if found != expected:
            self.failures.append(f"{what}: {found!r:.80} instead of {expected!r:.80}")

    def ends(self, what, vector, reading):
        """`reading` is refused as the vector says, or gives its result where the vector has no refusal."""
        expected = vector.get("refusal", {})
        try:
            result, found = reading(), (None, None)
        except Refused as refusal:
            result, found = None, (refusal.outcome, refusal.level)
        name = f"{what}, {vector.get('name', '')!r}"
        wanted = [(one.get("outcome"), one.get("level")) for one in [expected, *expected.get("others", [])]]
        self.equal(name, found, found if found in wanted else wanted[0])
        return result


def conventions(report, vectors):
    for case in vectors["hash"]:
        report.equal("hash", digest(case["label"], bytes.fromhex(case["message"])).hex(), case["result"])
    for case in vectors["mac"]:
        found = mac(bytes.fromhex(case["key"]), case["label"], bytes.fromhex(case["message"]))
        report.equal("mac", found.hex(), case["result"])
    for case in vectors["seal"]:
        parts = (bytes.fromhex(case[name]) for name in ("key", "nonce", "associatedData", "message"))
        report.equal("seal", seal(*parts).hex(), case["result"])
    for case in vectors["paddedSizes"]:
        report.equal("padded size", padded_size(case["count"]), case["padded"])
    for case in vectors["unpad"]:
        refusal = {} if "text" in case else {"refusal": {"outcome": "damaged", "level": "row"}}
        found = report.ends("padding", case | refusal, lambda: unpad(bytes.fromhex(case["padded"]), "row"))
        if "text" in case:
            report.equal("padding", found.hex(), case["text"])


def keys(report, vectors):
    root = bytes.fromhex(vectors["rootSeed"])
    signing, applications = mac(root, "vault1.owner.sig"), mac(root, "vault1.app.root")
    report.equal("owner signing seed", signing.hex(), vectors["ownerSigningSeed"])
    report.equal("owner key", public_key(signing).hex(), vectors["ownerKey"])
    report.equal("application root", applications.hex(), vectors["applicationRoot"])
    for member in vectors["members"]:
        match member["name"]:
            case "registry":
                seed = mac(root, "vault1.registry")
            case "application":
                seed = mac(applications, "vault1.app.seed", u32(member["issue"]) + member["applicationID"].encode())
            case _:
                seed = mac(root, "vault1.self")
        place = bytes.fromhex(member["groupID"]) + u64(member["generation"])
        signing = mac(seed, "vault1.mem.sign")
        for name, value in dict(
            memberSeed=seed, signingSeed=signing, signingKey=public_key(signing), wrapKey=mac(seed, "vault1.mem.wrap", place),
            slotID=mac(seed, "vault1.mem.slot", place)[:16],
        ).items():
            report.equal(f"{name} of {member['name']}", value.hex(), member[name])
    for group in vectors["groups"]:
        group_id, effective = bytes.fromhex(group["groupID"]), bytes.fromhex(group["groupKey"])
        if "deviceKey" in group:
            report.equal(
                "device key id", mac(bytes.fromhex(group["deviceKey"]), "vault1.device.id")[:16].hex(), group["deviceKeyID"])
            effective = mac(bytes.fromhex(group["deviceKey"]), "vault1.device", effective + group_id)
        report.equal("effective key", effective.hex(), group["effectiveKey"])
        found = Keys(effective, group_id + u64(group["generation"]))
        for name, value in dict(
            tokenKey=found.token, attributesKey=found.attributes, secretKey=found.secret, metaKey=found.meta,
            keyCommitment=found.commitment,
        ).items():
            report.equal(name, value.hex(), group[name])
        for token in group["tokens"]:
            report.equal("token", found.token_of(token["name"]).hex(), token["token"])


def rows(report, vectors):
    place = bytes.fromhex(vectors["groupID"]) + u64(vectors["generation"])
    for vector in vectors["rows"]:
        octets = {name: bytes.fromhex(value) for name, value in vector.items() if isinstance(value, str)}
        content = vector["content"]
        row = Row((
            octets["token"], content["version"], content["state"], vector["oldest"], octets["previous"], octets["nonce"],
            octets["sealedAttributes"], vector["place"], octets["secret"]))
        report.equal("row", row.encoding, octets["rowEncoding"])
        report.equal("row's digest", row.digest, octets["digest"])
        report.equal("token", mac(bytes.fromhex(vectors["tokenKey"]), "vault1.token", content["name"].encode())[:16], row.token)
        halves = [(1, "attributes", "sealedAttributes", "paddedAttributes")]
        if "sealedValue" in vector:
            halves.append((2, "value", "sealedValue", "paddedValue"))
        for number, name, sealed, padded in halves:
            key = bytes.fromhex(vectors["attributesKey" if number == 1 else "secretKey"])
            context = row_context(place, row, number)
            report.equal("associated data", context, octets[f"{name}AssociatedData"])
            report.equal(padded, open_box(key, row.nonce, context, octets[sealed], "row"), octets[padded])
        plain = unpad(octets["paddedAttributes"], "row")
        report.equal("attributes", plain, octets["encodedAttributes"])
        read = parse_attributes(plain) | dict(state=content["state"], version=content["version"])
        report.equal("content", read, {name: value for name, value in content.items() if name != "value"})
        if "value" in content:
            report.equal("value", unpad(octets["paddedValue"], "row").hex(), content["value"])


def state(report, vectors):
    meta = bytes.fromhex(vectors["metaKey"])
    for name, signer in (("roster", "ownerSigningSeed"), ("manifest", "memberSigningSeed")):
        part = {key: bytes.fromhex(value) for key, value in vectors[name].items()}
        stored, signed = part["stored"], part["body"] + part["signature"]
        report.equal(f"signature of the {name}", sign(part["body"], part[signer]), part["signature"])
        report.equal("signature", is_signed(part["body"], part["signature"], public_key(part[signer])), True)
        plain = open_box(meta, stored[:24], part["associatedData"], stored[24:], name)
        if name == "roster":
            report.equal("roster's digest", digest("vault1.ros.hash", signed), part["digest"])
            plain = plain[4 : 4 + int.from_bytes(plain[:4], "big")]
        else:
            report.equal("manifest's rest", digest("vault1.man.rest", part["body"][:160] + part["body"][192:]), part["rest"])
            before = part["body"][160:192]
            report.equal("manifest's link", digest("vault1.man.link", before + part["rest"]), part["link"])
        report.equal(f"plaintext of the {name}", plain, signed)
    place = bytes.fromhex(vectors["header"])[:40]
    for vector in vectors["wraps"]:
        part = {key: bytes.fromhex(value) for key, value in vector.items() if key != "name"}
        wrap_key = mac(part["memberSeed"], "vault1.mem.wrap", place)
        context = pad16("vault1.wrap") + place + part["slotID"] + b"\1"
        report.equal("wrap key", wrap_key, part["wrapKey"])
        report.equal("slot id", mac(part["memberSeed"], "vault1.mem.slot", place)[:16], part["slotID"])
        report.equal("associated data of a wrap", context, part["associatedData"])
        wrap = part["wrap"]
        report.equal("group key", open_box(wrap_key, wrap[1:25], context, wrap[25:], "wrap"), part["groupKey"])
        report.equal("wrap's digest", digest("vault1.wrap.hash", part["slotID"] + wrap), part["digest"])
    link = bytes(32)
    for row in vectors["chain"]:
        link = digest("vault1.man.link", link + bytes.fromhex(row["rest"]))
        report.equal("link", link.hex(), row["link"])
    for vector in vectors["records"]:
        report.ends("witness record", vector, lambda: parse_witness(bytes.fromhex(vector["bytes"])) or refuse("witness"))


def tree(report, vectors):
    for vector in vectors["trees"]:
        entries = [(bytes.fromhex(entry["token"]), bytes.fromhex(entry["digest"])) for entry in vector["entries"]]
        nodes = {}
        report.equal(vector["name"], build(sorted(entries), 0, bytes(16), nodes).hex(), vector["root"])
        expected = {bytes.fromhex(node["key"]): bytes.fromhex(node["body"]) for node in vector["nodes"]}
        report.equal(f"nodes of {vector['name']}", nodes, expected)
        for node in vector["nodes"]:
            key, body = bytes.fromhex(node["key"]), bytes.fromhex(node["body"])
            report.equal("node's digest", node_digest(key, body).hex(), node["digest"])
            report.ends("node", node, lambda: parse_node(key, body))
    for vector in vectors["malformed"]:
        report.ends("node", vector, lambda: parse_node(bytes.fromhex(vector["key"]), bytes.fromhex(vector["body"])))


def identity(report, vectors):
    owner, root = bytes.fromhex(vectors["ownerKey"]), bytes.fromhex(vectors["rootSeed"])
    found_owner, slots = slots_of(bytes.fromhex(vectors["identity"]))
    report.equal("owner key", found_owner, owner)
    for slot, vector in zip(slots, vectors["slots"], strict=True):
        key = slot.key(bytes.fromhex(vector["secret"]))
        report.equal("slot key", key.hex(), vector["slotKey"])
        for name, value in dict(header=slot.header, check=slot.check, nonce=slot.nonce, salt=slot.salt, sealedSeed=slot.sealed).items():
            report.equal(f"slot's {name}", value.hex(), vector[name])
        report.equal("slot", [slot.use, slot.number], [vector["use"], vector["number"]])
    for vector in vectors["openings"]:
        secret, use = bytes.fromhex(vector.get("secret", "")), vector.get("use", 2)
        secret = recovery_key(vector["code"]) if "code" in vector else secret
        opened = report.ends("identity", vector, lambda: open_identity(bytes.fromhex(vector["bytes"]), secret, use))
        if "refusal" not in vector:
            report.equal("root seed", opened, (owner, root))
    for vector in vectors["recoveryCodes"]:
        code = bytes.fromhex(vector["bytes"])
        values = recovery_values(code)
        for name, value in dict(
            values=values, checks=recovery_checks(values), code=recovery_text(code), key=recovery_key(vector["code"]).hex()
        ).items():
            report.equal(f"recovery code's {name}", value, vector[name])
    for vector in vectors["typedCodes"]:
        found = report.ends("recovery code", vector, lambda: recovery_bytes(vector["typed"]))
        if "refusal" not in vector:
            report.equal("recovery code", found.hex(), vector["bytes"])
    for kind, read in (("credentials", credential), ("settings", settings), ("registry", registry_item),
                       ("applications", registered_application)):
        for vector in vectors[kind]:
            expected = {name: value for name, value in vector.items() if name != "bytes"}
            found = read(bytes.fromhex(vector["bytes"]))
            report.equal(kind, in_json(found), expected)
        for vector in vectors[f"refused{kind.capitalize()}"]:
            report.ends(kind, vector, lambda: read(bytes.fromhex(vector["bytes"])))
    for vector in vectors["sealedCredentials"]:
        sealed, passphrase = bytes.fromhex(vector["bytes"]), bytes.fromhex(vector["passphrase"])
        found = report.ends("credential", vector, lambda: credential(sealed, passphrase))
        if "refusal" not in vector:
            report.equal("credential", found, credential(bytes.fromhex(vector["credential"])))
    for vector in vectors["names"]:
        typed = unicodedata.normalize("NFC", "".join(map(chr, vector["typed"])))
        report.ends("item name", {key: value for key, value in vector.items() if key != "name"}, lambda: require_name(typed))
        if "refusal" not in vector:
            report.equal("item name", typed.encode().hex(), vector["name"])


def service(report, vectors):
    """The key of the record, the one box, and the chain. Bindings and fields of records are the service's own."""
    seed = mac(bytes.fromhex(vectors["rootSeed"]), "vault1.audit")
    report.equal("audit seed", seed.hex(), vectors["auditSeed"])
    public, secret = sodium.crypto_box_seed_keypair(seed)
    report.equal("audit key", public.hex(), vectors["auditKey"])
    batch = sodium.crypto_box_seal_open(bytes.fromhex(vectors["box"]), public, secret)
    report.equal("batch", batch.hex(), vectors["batch"])
    records = [bytes.fromhex(record["bytes"]) for record in vectors["records"]]
    header = pad16("vault1.audit.log") + bytes([0, 1]) + u64(2) + u64(vectors["batchTime"]) + u32(len(records))
    report.equal("batch of the records", header + b"".join(u32(len(record)) + record for record in records), batch)
    link = bytes.fromhex(vectors["groupID"])
    for vector in vectors["links"]:
        report.equal("previous link", link.hex(), vector["previousLink"])
        box = bytes.fromhex(vector["box"])
        link = digest("vault1.audit.lnk", link + u64(vector["number"]) + box)
        report.equal("link", [link.hex(), (link + u64(vector["time"]) + box).hex()], [vector["link"], vector["value"]])


def in_json(value):
    """As the vectors write it: bytes in hexadecimal, nothing for what is absent."""
    match value:
        case bytes():
            return value.hex()
        case list():
            return [in_json(item) for item in value]
        case dict():
            return {name: in_json(item) for name, item in value.items() if item is not None}
    return value


def refuse(level):
    raise damaged(level)


def check(folder):
    """The name and the report of each file."""
    for name, judge in dict(
        conventions=conventions, keys=keys, rows=rows, state=state, tree=tree, identity=identity,
        service=service,
    ).items():
        with open(f"{folder}/{name}.json", encoding="utf-8") as file:
            report = Report()
            judge(report, json.load(file))
            yield name, report
