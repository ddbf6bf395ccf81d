"""The small files beside the groups, and the items of the registry."""

import re

from identity import stretched
from layout import Cursor, Refused, fields, pad16, refuse_later_formats, require, short_counter, utf8
from primitives import digest, mac, open_box


def credential(data, passphrase=None):
    """What an application opens its groups with; with a passphrase, where it is sealed with one."""
    level = "credential"
    refuse_later_formats(data, "app.cred")
    version = int.from_bytes(data[16:18], "big")
    limit = 65_536 if version in (1, 2) else 131_072
    require(125 <= len(data) <= limit and data[:16] == pad16("vault1.app.cred"), level, "size or label")
    if version not in (1, 2, 3, 4):
        raise Refused("newer-format")
    require(digest("vault1.cred.hash", data[:-32]) == data[-32:], level, "hash")
    cursor = Cursor(data[18:-32], level)
    require(cursor.number(2) == 0, level, "a flag")
    if version in (2, 4):
        return sealed_credential(data, cursor, passphrase, level)
    issue, owner, seed, application = cursor.number(4), cursor.take(32), cursor.take(32), cursor.text16()
    floors = [
        dict(
            group=cursor.text16(), groupID=cursor.take(32), rosterRevision=cursor.counter(), generation=cursor.counter(),
            epoch=cursor.counter(), link=cursor.take(32))
        for _ in range(bounded(cursor.number(2), level))
    ]
    where = remote(cursor.take(cursor.number(4)), level) if version == 3 else None
    cursor.end()
    names = [floor["group"] for floor in floors]
    require(all(is_folder_name(name) for name in [application, *names]), level, "a name")
    require(names == sorted(set(names)), level, "order of floors")
    return dict(application=application, issue=issue, ownerKey=owner, memberSeed=seed, floors=floors, remote=where)


def remote(data, level):
    """Where groups are published, and how to log in there."""
    require(len(data) <= 65_536, level, "size of a remote")
    cursor = Cursor(data, level)
    open_part, key, password = (cursor.take(cursor.number(4)) for _ in range(3))
    cursor.end()
    found = fields(open_part, level, highest=8, limit=65_536)
    require(found.keys() >= {1, 2, 3} and found[2] in (b"\1", b"\2"), level, "fields of a remote")
    texts = {tag: utf8(found[tag], level) if tag in found else None for tag in (1, 4, 5, 6)}
    require(is_folder_name(texts[1]), level, "name of a remote")
    endpoints, places = [], Cursor(found[3], level)
    while places.offset < len(found[3]):
        port, host = places.number(2), places.text16()
        require(port > 0 and is_host(host), level, "endpoint")
        endpoints.append(dict(host=host, port=port))
    require(1 <= len(endpoints) <= 64, level, "number of endpoints")
    require(len({(place["host"], place["port"]) for place in endpoints}) == len(endpoints), level, "endpoint twice")
    require(found[2] == b"\2" or not found.keys() & {4, 5}, level, "certificates without TLS")
    require(all(texts[tag] is None or is_certificate(texts[tag]) for tag in (4, 5)), level, "certificate")
    require((5 in found) == bool(key) and (not key or is_private_key(key)), level, "key of a client")
    require((6 in found) == bool(password) and len(password) <= 1_024, level, "password")
    require(texts[6] is None or is_user(texts[6]), level, "user")
    times = {tag: int.from_bytes(found[tag]) if tag in found else None for tag in (7, 8)}
    require(all(len(found.get(tag, b"1234")) == 4 and times[tag] != 0 for tag in (7, 8)), level, "length of time")
    return dict(
        name=texts[1], maxAge=times[7], heartbeat=times[8], usesTLS=found[2] == b"\2", endpoints=endpoints, authority=texts[4], certificate=texts[5],
        user=texts[6], key=utf8(key, level) or None, password=utf8(password, level) or None)


def is_host(text):
    pattern = r"[0-9A-Fa-f:.]+" if ":" in text else r"[0-9A-Za-z_][0-9A-Za-z_.-]*"
    return len(text) <= 253 and re.fullmatch(pattern, text) is not None


def is_certificate(text):
    marks = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    return all(mark in text for mark in marks) and "\0" not in text and "PRIVATE KEY-----" not in text


def is_private_key(data):
    return b"PRIVATE KEY-----" in data and b"ENCRYPTED" not in data and b"\0" not in data


def is_user(text):
    """1 to 256 bytes without control characters, as in names of items."""
    return 0 < len(text.encode()) <= 256 and not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", text)


def sealed_credential(data, cursor, passphrase, level):
    passes, memory, salt, check, nonce = (
        cursor.number(4), cursor.number(4), cursor.take(16), cursor.take(16), cursor.take(24))
    if passphrase is None:
        raise Refused("locked")
    header = data[:44]
    key = stretched(passphrase, salt, passes, memory)
    if mac(key, "vault1.cred.chk", header)[:16] != check:
        raise Refused("wrong-key")
    inner = open_box(key, nonce, header, data[84:-32], level)
    require(inner[16:18] == (b"\0\1" if data[17] == 2 else b"\0\3"), level, "what is sealed")
    return credential(inner)


def settings(data):
    """What a machine remembers for its user's convenience."""
    level = "settings"
    refuse_later_formats(data, "settings")
    require(data[:16] == pad16("vault1.settings"), level, "label")
    require(digest("vault1.set.hash", data[:-32]) == data[-32:], level, "hash")
    cursor = Cursor(data[16:-32], level)
    path, backup = cursor.text16(), cursor.counter()
    cursor.end()
    require(len(path.encode()) <= 4_096, level, "path")
    return dict(keyFile=path or None, lastBackup=backup or None)


def registry_item(data):
    """What the owner's registry says of a group."""
    level = "registry"
    found = fields(data, level, highest=3, limit=1_024)
    require(found.keys() == {1, 2, 3} and len(found[1]) == 32, level, "fields")
    require(found[2] in (b"\1", b"\2", b"\3"), level, "presence")
    return dict(groupID=found[1], presence=found[2][0], created=short_counter(found[3], level))


def registered_application(data):
    """What it says of an application."""
    level = "registry"
    found = fields(data, level, highest=6, limit=1_024)
    require(found.keys() | {6} == {1, 2, 3, 4, 5, 6}, level, "fields")
    issue, created, issued = (short_counter(found[tag], level) for tag in (1, 4, 5))
    require(0 < issue < 2**32, level, "issue")
    highest = short_counter(found[6], level) if 6 in found else None
    require(highest is None or issue < highest < 2**32, level, "highest issue")
    require(found[2] in (b"\1", b"\2", b"\3", b"\4") and found[3] in (b"\1", b"\2"), level, "standing or lifetime")
    return dict(
        issue=issue, highestIssue=highest, standing=found[2][0], lifetime=found[3][0], created=created, issued=issued or None)


def bounded(count, level):
    require(count <= 256, level, "too many floors")
    return count


def is_folder_name(name):
    """Of a group or an application."""
    return re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,127}", name) is not None and ".." not in name
