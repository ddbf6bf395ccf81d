"""What no library asks of the Secret Service: prompts, locks, signals, sessions of others, and hostile messages.

Usage: secret_service.py prompts|refused|hostile|forged|race|portal|backend
"""

import os
import sys
import threading

from jeepney import (
    DBusAddress, Endianness, Header, HeaderFields, MatchRule, Message, MessageFlag, MessageType, Properties, new_method_call)
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
SECRET = "org.freedesktop.Secret."
FAILURE = "org.freedesktop.DBus.Error."


def address(path, interface):
    return DBusAddress(path, NAME, interface)


class Client:
    def __init__(self):
        self.bus = open_dbus_connection("SESSION")

    def raw(self, path, interface, member, signature="", *values):
        message = new_method_call(address(path, interface), member, signature or None, values)
        return self.bus.send_and_get_reply(message, timeout=60)

    def call(self, path, interface, member, signature="", *values):
        answer = self.raw(path, SECRET + interface, member, signature, *values)
        assert answer.header.message_type == MessageType.method_return, answer
        return answer.body

    def error(self, path, interface, member, signature="", *values):
        answer = self.raw(path, interface if "." in interface else SECRET + interface, member, signature, *values)
        assert answer.header.message_type == MessageType.error, answer
        return answer.header.fields[4]

    def get(self, path, interface, name):
        message = Properties(address(path, SECRET + interface)).get(name)
        answer = self.bus.send_and_get_reply(message, timeout=60)
        assert answer.header.message_type == MessageType.method_return, answer
        return answer.body[0][1]

    def set(self, path, interface, name, signature, value):
        message = Properties(address(path, SECRET + interface)).set(name, signature, value)
        return self.bus.send_and_get_reply(message, timeout=60)

    def session(self):
        return self.call(ROOT, "Service", "OpenSession", "sv", "plain", ("s", ""))[1]

    def create(self, collection, label, attributes, value, session, replace=False, kind="text/plain"):
        properties = {
            SECRET + "Item.Label": ("s", label),
            SECRET + "Item.Attributes": ("a{ss}", attributes),
        }
        return self.call(
            collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties, (session, b"", value, kind), replace)[0]

    def prompt(self, path):
        """Begins a prompt and returns what it ends with."""
        rule = MatchRule(path=path, interface=SECRET + "Prompt", member="Completed", type=MessageType.signal)
        with self.bus.filter(rule) as signals:
            self.call(path, "Prompt", "Prompt", "s", "")
            return self.bus.recv_until_filtered(signals, timeout=120).body

    def listen(self, **conditions):
        rule = MatchRule(type="signal", sender=NAME, **conditions)
        self.bus.send_and_get_reply(message_bus.AddMatch(rule), timeout=60)


def prompts():
    client = Client()
    collection = client.call(ROOT, "Service", "ReadAlias", "s", "default")[0]
    session = client.session()
    item = client.create(collection, "kept", {"k": "prompts"}, b"\xff\x00bytes", session, kind="application/x-test")
    secret = client.call(item, "Item", "GetSecret", "o", session)[0]
    assert secret[2:] == (b"\xff\x00bytes", "application/x-test"), secret
    assert client.get(item, "Item", "Attributes") == {"k": "prompts"}

    # A property that no item has is left out, of whatever kind.
    properties = {SECRET + "Item.Label": ("s", "odd"), "org.example.Order": ("i", -5), "org.example.Size": ("d", 0.5)}
    odd = client.call(
        collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties, (session, b"", b"x", ""), False)[0]
    assert client.get(odd, "Item", "Label") == "odd"
    client.call(odd, "Item", "Delete")

    # Locked: it is found as locked, keeps its secret, and opens after a question.
    client.listen(path_namespace=ROOT)
    rule = MatchRule(type="signal", interface="org.freedesktop.DBus.Properties", path=collection)
    with client.bus.filter(rule) as signals:
        client.call(ROOT, "Service", "Lock", "ao", [collection])
        body = client.bus.recv_until_filtered(signals, timeout=60).body
        assert body[1]["Locked"] == ("b", True), body
    assert client.get(collection, "Collection", "Locked") is True
    assert client.call(ROOT, "Service", "SearchItems", "a{ss}", {"k": "prompts"}) == ([], [item])
    assert client.error(item, "Item", "GetSecret", "o", session) == SECRET + "Error.IsLocked"
    assert client.call(ROOT, "Service", "GetSecrets", "aoo", [item], session) == ({},)
    assert client.get(item, "Item", "Label") == "kept" and client.get(item, "Item", "Locked") is True
    unlocked, path = client.call(ROOT, "Service", "Unlock", "ao", [item])
    assert unlocked == [] and path != "/"
    assert Client().error(path, "Prompt", "Prompt", "s", "") == SECRET + "Error.NoSuchObject"
    assert client.prompt(path) == (False, ("ao", [item]))
    assert client.get(collection, "Collection", "Locked") is False
    assert client.call(ROOT, "Service", "Unlock", "ao", [item]) == ([item], "/")

    # What changes is told: to everybody that it did, to those that have read it also how.
    rule = MatchRule(type="signal", interface="org.freedesktop.DBus.Properties", path=item)
    with client.bus.filter(rule) as signals:
        client.set(item, "Item", "Label", "s", "another")
        body = client.bus.recv_until_filtered(signals, timeout=60).body
        assert body[1]["Label"] == ("s", "another"), body
    rule = MatchRule(type="signal", interface=SECRET + "Collection", member="ItemDeleted")
    with client.bus.filter(rule) as signals:
        client.call(item, "Item", "Delete")
        assert client.bus.recv_until_filtered(signals, timeout=60).body == (item,)
    assert client.error(item, "Item", "Delete") == SECRET + "Error.NoSuchObject"

    # A collection is a group of the store, which a slot's passphrase makes and removes.
    properties = {SECRET + "Collection.Label": ("s", "Holiday Photos!")}
    made, path = client.call(ROOT, "Service", "CreateCollection", "a{sv}s", properties, "")
    assert made == "/"
    dismissed, (_, made) = client.prompt(path)
    assert not dismissed and made.endswith("/Holiday_20Photos_21"), (dismissed, made)
    assert client.get(made, "Collection", "Label") == "Holiday Photos!"
    assert made in client.get(ROOT, "Service", "Collections")
    client.create(made, "", {"place": "sea"}, b"blue", session)
    assert len(client.get(made, "Collection", "Items")) == 1
    path = client.call(made, "Collection", "Delete")[0]
    assert client.prompt(path)[0] is False
    assert client.error(made, "Collection", "SearchItems", "a{ss}", {}) == SECRET + "Error.NoSuchObject"

    # A prompt can be dismissed before anybody answers.
    client.call(ROOT, "Service", "Lock", "ao", [collection])
    path = client.call(ROOT, "Service", "Unlock", "ao", [collection])[1]
    client.call(path, "Prompt", "Dismiss")
    assert client.error(path, "Prompt", "Prompt", "s", "") == SECRET + "Error.NoSuchObject"
    assert client.prompt(client.call(ROOT, "Service", "Unlock", "ao", [collection])[1])[0] is False

    # Replacing needs attributes, so that no item is replaced by chance.
    first = client.create(collection, "one", {}, b"1", session)
    second = client.create(collection, "one", {}, b"2", session, replace=True)
    assert first != second
    for item in (first, second):
        client.call(item, "Item", "Delete")


def refused():
    """Where nobody can be asked, or the answer is no."""
    client = Client()
    collection = client.call(ROOT, "Service", "ReadAlias", "s", "default")[0]
    assert client.get(collection, "Collection", "Locked") is True
    path = client.call(ROOT, "Service", "Unlock", "ao", [collection])[1]
    assert client.prompt(path) == (True, ("ao", []))
    session = client.session()
    assert client.error(
        collection, "Collection", "CreateItem", "a{sv}(oayays)b", {}, (session, b"", b"x", ""), False,
    ) == SECRET + "Error.IsLocked"


def forged(process):
    """A client that sends answers in the name of the bus is still taken for what it is."""
    for turn in range(3):
        watch, client = Client(), Client()
        owner = watch.bus.send_and_get_reply(message_bus.GetNameOwner(NAME)).body[0]
        serial = watch.raw(ROOT, "org.freedesktop.DBus.Introspectable", "Introspect").header.serial
        call = new_method_call(DBusAddress(ROOT, NAME, SECRET + "Service"), "SearchItems", "a{ss}", ({},))
        data = call.serialise(serial=next(client.bus.outgoing_serial))
        for number in range(1, 5):
            fields = {
                HeaderFields.reply_serial: serial + number, HeaderFields.destination: owner, HeaderFields.signature: "u"}
            kind = MessageType.method_return
            if turn == 2:
                kind, fields[HeaderFields.error_name] = MessageType.error, FAILURE + "Failed"
            header = Header(Endianness.little, kind, MessageFlag(0), 1, -1, -1, fields)
            data += Message(header, (int(process),)).serialise(serial=next(client.bus.outgoing_serial))
        client.bus.sock.sendall(data)
        answer = None
        while answer is None or answer.header.fields.get(HeaderFields.sender) != owner:
            answer = client.bus.receive(timeout=60)
        assert answer.header.message_type == MessageType.error, answer
        assert answer.header.fields[HeaderFields.error_name] == FAILURE + "AccessDenied", answer


def race():
    """Six clients that make the same item at once make one."""
    collection = ROOT + "/collection/team"
    start = threading.Barrier(6)

    def make(number):
        client = Client()
        session = client.session()
        start.wait()
        client.create(collection, "race", {"race": "1"}, b"%d" % number, session, replace=True)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Client().call(ROOT, "Service", "SearchItems", "a{ss}", {"race": "1"})[0]) == 1


def hostile():
    client, other = Client(), Client()
    session = client.session()
    collection = client.call(ROOT, "Service", "ReadAlias", "s", "default")[0]
    item = client.create(collection, "target", {"k": "hostile"}, b"x", session)
    calls = [
        # Sessions belong to the client that opened them.
        (other, item, "Item", "GetSecret", "o", [session], SECRET + "Error.NoSession"),
        (other, session, "Session", "Close", "", [], SECRET + "Error.NoSession"),
        (client, item, "Item", "GetSecret", "o", ["/"], SECRET + "Error.NoSession"),
        # Types and numbers of arguments.
        (client, item, "Item", "GetSecret", "s", [session], FAILURE + "InvalidArgs"),
        (client, ROOT, "Service", "SearchItems", "a{sv}", [{}], FAILURE + "InvalidArgs"),
        (client, ROOT, "Service", "OpenSession", "", [], FAILURE + "InvalidArgs"),
        (client, ROOT, "Service", "OpenSession", "sv", ["rot13", ("s", "")], FAILURE + "NotSupported"),
        # Keys with which the shared secret would be known, and secrets that are not encrypted for the session.
        *[
            (client, ROOT, "Service", "OpenSession", "sv",
             ["dh-ietf1024-sha256-aes128-cbc-pkcs7", ("ay", key)], FAILURE + "InvalidArgs")
            for key in (b"", b"\0" * 128, b"\x01", b"\xff" * 128, b"\xff" * 4096)
        ],
        # Objects that are not there.
        (client, "/", "Service", "LockService", "", [], FAILURE + "UnknownMethod"),
        (client, "/somewhere", "Service", "LockService", "", [], FAILURE + "UnknownObject"),
        (client, ROOT + "/collection/none", "Collection", "Delete", "", [], SECRET + "Error.NoSuchObject"),
        (client, collection + "/none", "Item", "Delete", "", [], SECRET + "Error.NoSuchObject"),
        (client, ROOT + "/prompt/p999", "Prompt", "Dismiss", "", [], SECRET + "Error.NoSuchObject"),
        (client, ROOT, "Service", "Frobnicate", "", [], FAILURE + "UnknownMethod"),
        (client, ROOT, "Service", "SetAlias", "so", ["login", collection], FAILURE + "NotSupported"),
        (client, ROOT, "Service", "SetAlias", "so", ["default", ROOT + "/collection/session"], FAILURE + "NotSupported"),
        (client, ROOT + "/collection/session", "Collection", "Delete", "", [], FAILURE + "NotSupported"),
        # Nothing that could move a terminal's cursor, and nothing out of proportion.
        (client, collection, "Collection", "CreateItem", "a{sv}(oayays)b",
         [{SECRET + "Item.Attributes": ("a{ss}", {"a\x1b": "b"})}, (session, b"", b"x", ""), False],
         FAILURE + "InvalidArgs"),
        (client, collection, "Collection", "CreateItem", "a{sv}(oayays)b",
         [{}, (session, b"", b"x" * (1 << 20) + b"x", ""), False], FAILURE + "LimitsExceeded"),
        (client, collection, "Collection", "CreateItem", "a{sv}(oayays)b",
         [{}, (session, b"", b"x" * (8 << 20), ""), False], FAILURE + "LimitsExceeded"),
        (client, ROOT, "Service", "Unlock", "ao", [[item] * 40_000], FAILURE + "LimitsExceeded"),
        (client, collection, "Collection", "CreateItem", "a{sv}(oayays)b",
         [{SECRET + "Item.Attributes": ("a{ss}", {str(n): "" for n in range(100)})}, (session, b"", b"x", ""), False],
         FAILURE + "LimitsExceeded"),
    ]
    for caller, path, interface, member, signature, values, expected in calls:
        found = caller.error(path, interface, member, signature, *values)
        assert found == expected, (path, member, values if len(str(values)) < 200 else "...", found, expected)
    for name, signature, value, expected in [
        ("Locked", "b", True, "PropertyReadOnly"), ("Label", "as", ["x"], "InvalidArgs"),
        ("None", "s", "x", "UnknownProperty"),
    ]:
        answer = client.set(item, "Item", name, signature, value)
        assert answer.header.fields[4] == FAILURE + expected, answer

    # A client that disappears leaves nothing that others could use.
    gone = Client()
    path = gone.session()
    gone.bus.close()
    assert client.error(path, "Session", "Close") == SECRET + "Error.NoSession"
    # More prompts than one client may have.
    greedy = Client()
    greedy.call(ROOT, "Service", "Lock", "ao", [collection])
    paths = [greedy.call(ROOT, "Service", "Unlock", "ao", [collection])[1] for _ in range(16)]
    assert greedy.error(ROOT, "Service", "Unlock", "ao", [collection]) == FAILURE + "LimitsExceeded"
    assert greedy.prompt(paths[0])[0] is False
    client.call(item, "Item", "Delete")


def portal():
    """Asks xdg-desktop-portal for this sandbox's key, and prints it in hexadecimal digits."""
    bus = open_dbus_connection("SESSION", enable_fds=True)
    desktop = DBusAddress(
        "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Desktop", "org.freedesktop.portal.Secret")
    rule = MatchRule(type="signal", interface="org.freedesktop.portal.Request", member="Response")
    bus.send_and_get_reply(message_bus.AddMatch(rule), timeout=60)
    ours, theirs = os.pipe()
    with bus.filter(rule) as signals:
        answer = bus.send_and_get_reply(new_method_call(desktop, "RetrieveSecret", "ha{sv}", (theirs, {})), timeout=60)
        assert answer.header.message_type == MessageType.method_return, answer
        os.close(theirs)
        response = bus.recv_until_filtered(signals, timeout=60).body[0]
    if response != 0:
        sys.exit(f"response {response}")
    print(os.read(ours, 4096).hex())


def backend(application):
    """Calls as xdg-desktop-portal does, which this program is not."""
    bus = open_dbus_connection("SESSION", enable_fds=True)
    desktop = DBusAddress("/org/freedesktop/portal/desktop", NAME, "org.freedesktop.impl.portal.Secret")
    ours, theirs = os.pipe()
    call = new_method_call(desktop, "RetrieveSecret", "osha{sv}", ("/request", application, theirs, {}))
    answer = bus.send_and_get_reply(call, timeout=60)
    assert answer.header.message_type == MessageType.error, answer
    assert answer.header.fields[4] == FAILURE + "AccessDenied", answer
    os.close(theirs)
    assert os.read(ours, 4096) == b""


{
    "prompts": prompts, "refused": refused, "hostile": hostile, "forged": forged, "race": race, "portal": portal,
    "backend": backend,
}[sys.argv[1]](*sys.argv[2:])
