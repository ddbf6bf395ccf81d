"""The small files beside the groups, and the items of the registry."""

import re

from identity import stretched
from layout import Cursor, Refused, fields, pad16, refuse_later_formats, require, short_counter
from primitives import digest, mac, open_box


def credential(data, passphrase=None):
    """What an application opens its groups with; with a passphrase, where it is sealed with one."""
    level = "credential"
    refuse_later_formats(data, "app.cred")
    require(125 <= len(data) <= 65_536 and data[:16] == pad16("vault1.app.cred"), level, "size or label")
    if data[16:18] not in (b"\0\1", b"\0\2"):
        raise Refused("newer-format")
    require(digest("vault1.cred.hash", data[:-32]) == data[-32:], level, "hash")
    cursor = Cursor(data[18:-32], level)
    require(cursor.number(2) == 0, level, "a flag")
    if data[17] == 2:
        return sealed_credential(data, cursor, passphrase, level)
    issue, owner, seed, application = cursor.number(4), cursor.take(32), cursor.take(32), cursor.text16()
    floors = [
        dict(
            group=cursor.text16(), groupID=cursor.take(32), rosterRevision=cursor.counter(), generation=cursor.counter(),
            epoch=cursor.counter(), link=cursor.take(32))
        for _ in range(bounded(cursor.number(2), level))
    ]
    cursor.end()
    names = [floor["group"] for floor in floors]
    require(all(is_folder_name(name) for name in [application, *names]), level, "a name")
    require(names == sorted(set(names)), level, "order of floors")
    return dict(application=application, issue=issue, ownerKey=owner, memberSeed=seed, floors=floors)


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
    require(inner[16:18] == b"\0\1", level, "what is sealed")
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
