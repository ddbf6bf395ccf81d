#!/usr/bin/env python3
"""Makes the exports in this folder anew, after what Bitwarden and 1Password write: make-exports.py FOLDER

The encrypted ones are made with argon2-cffi and pycryptodomex (PyPI); their passphrase is 'pass wörd'.
"""
import base64
import hashlib
import hmac
import json
import os
import sys
import zipfile

from argon2.low_level import Type, hash_secret_raw
from Cryptodome.Cipher import AES

folder = sys.argv[1]

items = [
    {
        "id": "a", "folderId": "f1", "type": 1, "reprompt": 0, "name": "GitHub", "notes": "two\nlines", "favorite": True,
        "fields": [
            {"name": "PIN", "value": "1234", "type": 1, "linkedId": None},
            {"name": "on", "value": "true", "type": 2, "linkedId": None},
            {"name": "link", "value": None, "type": 3, "linkedId": 100},
        ],
        "login": {
            "uris": [{"match": None, "uri": "https://github.com"}, {"match": 1, "uri": "https://gist.github.com"}],
            "username": "ann", "password": "now", "totp": "JBSWY3DPEHPK3PXP", "fido2Credentials": [],
        },
        "passwordHistory": [
            {"lastUsedDate": "2025-02-01T00:00:00.000Z", "password": "second"},
            {"lastUsedDate": "2025-01-01T00:00:00.000Z", "password": "first"},
        ],
        "revisionDate": "2025-02-01T00:00:00.000Z", "creationDate": "2024-01-01T00:00:00.000Z", "deletedDate": None,
    },
    {"id": "b", "folderId": None, "type": 2, "name": "A note", "notes": "text ü", "secureNote": {"type": 0}},
    {
        "id": "c", "folderId": None, "type": 3, "name": "Card", "notes": None,
        "card": {"cardholderName": "Ann", "brand": "Visa", "number": "4111", "expMonth": "1", "expYear": "2030", "code": "123"},
    },
    {
        "id": "d", "folderId": None, "type": 5, "name": "Key",
        "sshKey": {"privateKey": "PRIVATE", "publicKey": "PUBLIC", "keyFingerprint": "SHA256:x"},
    },
    {"id": "e", "folderId": None, "type": 1, "name": "Gone", "login": {"password": "x"}, "deletedDate": "2025-02-01T00:00:00.000Z"},
]
plain = {"encrypted": False, "folders": [{"id": "f1", "name": "Work/Web"}], "items": items}


def save(name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")


def encrypt(text, key, vector):
    parts = {p: hmac.new(key, p.encode() + b"\x01", hashlib.sha256).digest() for p in ("enc", "mac")}
    padding = 16 - len(text) % 16
    content = AES.new(parts["enc"], AES.MODE_CBC, vector).encrypt(text + bytes([padding]) * padding)
    code = hmac.new(parts["mac"], vector + content, hashlib.sha256).digest()
    return "2." + "|".join(base64.b64encode(part).decode() for part in (vector, content, code))


def save_encrypted(name, kdf):
    salt = base64.b64encode(bytes(range(16))).decode()
    if kdf["kdfType"] == 0:
        key = hashlib.pbkdf2_hmac("sha256", "pass wörd".encode(), salt.encode(), kdf["kdfIterations"])
    else:
        key = hash_secret_raw(
            "pass wörd".encode(), hashlib.sha256(salt.encode()).digest(), kdf["kdfIterations"], kdf["kdfMemory"] * 1024,
            kdf["kdfParallelism"], 32, Type.ID)
    save(name, {
        "encrypted": True, "passwordProtected": True, "salt": salt, **kdf,
        "encKeyValidation_DO_NOT_EDIT": encrypt(b"7e3a0a1c-0000-4000-8000-000000000000", key, bytes(range(16, 32))),
        "data": encrypt(json.dumps(plain).encode(), key, bytes(range(32, 48))),
    })


save("bitwarden.json", plain)
save_encrypted("bitwarden-pbkdf2.json", {"kdfType": 0, "kdfIterations": 5000})
save_encrypted("bitwarden-argon2id.json", {"kdfType": 1, "kdfIterations": 2, "kdfMemory": 1, "kdfParallelism": 2})

data = {"accounts": [{"attrs": {"name": "Ann"}, "vaults": [
    {"attrs": {"name": "Personal", "type": "P"}, "items": [{
        "uuid": "u1", "favIndex": 1, "createdAt": 1700000000, "updatedAt": 1735689600, "state": "active", "categoryUuid": "001",
        "details": {
            "loginFields": [
                {"value": "ann", "id": "", "name": "username", "fieldType": "T", "designation": "username"},
                {"value": "now", "id": "", "name": "password", "fieldType": "P", "designation": "password"},
                {"value": "yes", "id": "remember", "name": "remember", "fieldType": "C"},
            ],
            "notesPlain": "a note",
            "sections": [{"title": "More", "name": "s", "fields": [
                {"title": "one-time password", "id": "TOTP_1", "value": {"totp": "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"}},
                {"title": "PIN", "id": "p", "value": {"concealed": "1234"}},
                {"title": "born", "id": "b", "value": {"date": 86400}},
                {"title": "home", "id": "h", "value": {"address": {"street": "Way 1", "city": "Town", "zip": "1"}}},
                {"title": "mail", "id": "m", "value": {"email": {"email_address": "a@b.test", "provider": None}}},
                {"title": "scan", "id": "f", "value": {"file": {"fileName": "scan.txt", "documentId": "doc1", "decryptedSize": 5}}},
                {"title": "other", "id": "o", "value": {"reference": "u2"}},
                {"title": "until", "id": "u", "value": {"monthYear": 203012}},
            ]}],
            "passwordHistory": [{"value": "before", "time": 1720000000}],
        },
        "overview": {"title": "GitHub", "url": "https://github.com", "urls": [{"label": "", "url": "https://github.com"}], "tags": ["a", "b"]},
    }]},
    {"attrs": {"name": "Shared", "type": "U"}, "items": [{"item": {
        "uuid": "u2", "state": "archived", "categoryUuid": "005", "details": {"password": "alone", "sections": [
            {"title": "Server", "fields": [{"title": "username", "id": "a", "value": {"string": "root"}}]},
            {"title": "Console", "fields": [
                {"title": "username", "id": "b", "value": {"string": "guest"}},
                {"title": "password", "id": "c", "value": {"concealed": "other"}},
            ]},
        ]}, "overview": {"title": "Wifi"},
    }}]},
]}]}
with zipfile.ZipFile(os.path.join(folder, "export.1pux"), "w", zipfile.ZIP_DEFLATED) as archive:
    for name, content in [
        ("export.attributes", json.dumps({"version": 3, "description": "1Password Unencrypted Export"})),
        ("export.data", json.dumps(data)), ("files/doc1__scan.txt", "hello"),
    ]:
        archive.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
