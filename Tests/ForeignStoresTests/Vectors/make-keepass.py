#!/usr/bin/env python3
"""Makes the databases in this folder anew, with pykeepass (PyPI) and keepassxc-cli: make-keepass.py FOLDER

They hold the same entries; the passphrase is 'pass wörd', and that of kdbx31.kdbx is 'pw'. The key derivation is cheap.
"""
import datetime
import os
import subprocess
import sys

import pykeepass.kdbx_parsing as parsing
from pykeepass import create_database

folder = sys.argv[1]
key = bytes(range(50, 82))


def fill(database):
    web = database.add_group(database.root_group, "Web")
    deep = database.add_group(web, "Deep & <er>")
    entry = database.add_entry(
        web, "GitHub", "ann", "first pw", url="https://github.com/login", notes="line 1\nline 2 ü", tags=["a", "b"])
    entry.save_history()
    entry.password = "second pw"
    entry.save_history()
    entry.password = "third pw"
    entry.set_custom_property("PIN", "1234", protect=True)
    entry.set_custom_property("Hint", "plain")
    entry.add_attachment(database.add_binary(b"attached \x00\xff bytes"), "key.bin")
    mail = database.add_entry(deep, "Mail", "bob", "p<&>\"'ä", otp="otpauth://totp/x?secret=JBSWY3DPEHPK3PXP")
    mail.expires = True
    mail.expiry_time = datetime.datetime(2031, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    database.add_entry(database.root_group, "", "", "only a password")
    database.add_entry(web, "GitHub", "eve", "other")
    database.trash_entry(database.add_entry(web, "Old", "x", "y"))


def make(name, derivation="argon2", cipher="aes256", keyfile=None):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.remove(path)
    database = create_database(path, password="pass wörd", keyfile=keyfile)
    fill(database)
    header = database.kdbx.header.value.dynamic_header
    parameters = header.kdf_parameters.data.dict
    parameters.I.value, parameters.M.value = 2, 64 * 1024
    parameters["$UUID"].value = parsing.kdf_uuids[derivation]
    header.cipher_id.data = cipher
    database.save()


digits = key.hex().upper()
with open(os.path.join(folder, "key.keyx"), "w", encoding="ascii") as file:
    import hashlib

    file.write(
        '<?xml version="1.0" encoding="utf-8"?>\n<KeyFile>\n\t<Meta>\n\t\t<Version>2.0</Version>\n\t</Meta>\n\t<Key>\n'
        f'\t\t<Data Hash="{hashlib.sha256(key).hexdigest()[:8].upper()}">\n\t\t\t{digits[:32]}\n\t\t\t{digits[32:]}\n'
        "\t\t</Data>\n\t</Key>\n</KeyFile>\n")

make("argon2d-aes.kdbx")
make("argon2id-chacha20-keyfile.kdbx", "argon2id", "chacha20", os.path.join(folder, "key.keyx"))


def keepassxc(command, *arguments, words="pw\n"):
    subprocess.run(["keepassxc-cli", command, "-q", *arguments], input=words.encode(), check=True)


path = os.path.join(folder, "kdbx31.kdbx")
if os.path.exists(path):
    os.remove(path)
keepassxc("db-create", "-p", "-t", "100", path, words="pw\npw\n")
keepassxc("mkdir", path, "Web")
keepassxc("add", "-p", "-u", "ann", "--url", "https://x.test", "--notes", "hello", path, "Web/Site", words="pw\none\n")
keepassxc("edit", "-p", path, "Web/Site", words="pw\ntwo\n")
with open(os.path.join(folder, "note.txt"), "w", encoding="ascii") as file:
    file.write("hello\n")
keepassxc("attachment-import", path, "Web/Site", "note.txt", os.path.join(folder, "note.txt"))
os.remove(os.path.join(folder, "note.txt"))
with open(os.path.join(folder, "exported.xml"), "wb") as file:
    subprocess.run(["keepassxc-cli", "export", "-q", path], input=b"pw\n", stdout=file, check=True)

# A database that only the key file opens.
path = os.path.join(folder, "keyfile-only.kdbx")
keys = ["--no-password", "-k", os.path.join(folder, "key.keyx")]
if os.path.exists(path):
    os.remove(path)
keepassxc("db-create", "--set-key-file", keys[2], "-t", "100", path)
keepassxc("add", *keys, "-p", "-u", "ann", path, "Site", words="one\n")
