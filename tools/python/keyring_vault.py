"""Keeps the passwords of Python's keyring in Vault, the keychain for Linux.

Each password is an item python/SERVICE/USERNAME of the default group, or of the group in KEYRING_PROPERTY_GROUP. The
program that is called is vault, or the one in KEYRING_PROPERTY_PROGRAM. Passwords pass through pipes only, never through
arguments or the environment.
"""

import json
import os
import shutil
import subprocess
from urllib.parse import quote, unquote

from keyring import credentials
from keyring.backend import KeyringBackend
from keyring.compat import properties
from keyring.errors import InitError, KeyringError, KeyringLocked, PasswordDeleteError, PasswordSetError

NOT_FOUND, LOCKED, NO_STORE = 10, 11, 21


class VaultKeyring(KeyringBackend):
    group = None
    program = "vault"

    @properties.classproperty
    def priority(cls):
        # keyring sets the properties of its variables on instances only.
        program = shutil.which(os.environ.get("KEYRING_PROPERTY_PROGRAM", cls.program))
        if program is None:
            raise RuntimeError("vault is not installed")
        # HashiCorp's client has the same name, and a version in another form.
        version = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True)
        if b"\nformat " not in version.stdout:
            raise RuntimeError("vault is another program")
        if subprocess.run([program, "status"], stdin=subprocess.DEVNULL, capture_output=True).returncode == NO_STORE:
            raise RuntimeError("there is no store yet: vault init")
        # Whoever installed this wants it before the desktop's keyrings, which have 5.
        return 6

    def get_password(self, service, username):
        if username is None:
            return None
        found = self._run("get", _name(service, username))
        if found.returncode == NOT_FOUND:
            return None
        return _text(_require(found, KeyringError))

    def set_password(self, service, username, password):
        name, value = _name(service, username), _bytes(password)
        _require(self._run("set", name, "--exact", "--replace-fields", "--allow-empty", value=value), PasswordSetError)

    def delete_password(self, service, username):
        _require(self._run("remove", _name(service, username)), PasswordDeleteError)

    def get_credential(self, service, username):
        if username is None:
            username = self._newest_username(service)
        if username is None:
            return None
        password = self.get_password(service, username)
        return None if password is None else credentials.SimpleCredential(username, password)

    def _newest_username(self, service):
        prefix = _name(service, "")
        items = json.loads(_require(self._run("list", "--json", prefix), KeyringError) or b"[]")
        # A slash behind the prefix belongs to a longer service: a username has none.
        items = [item for item in items if "/" not in item["name"][len(prefix):]]
        newest = max(items, key=lambda item: item["changed"], default=None)
        return None if newest is None else unquote(newest["name"][len(prefix):])

    def _run(self, *words, value=b""):
        program = shutil.which(self.program)
        if program is None:
            raise InitError("vault is not installed")
        group = ["--group", self.group] if self.group else []
        return subprocess.run([program, *words, *group], input=value, capture_output=True)


def _name(service, username):
    """The item's name. Everything that a name cannot contain, and a username's slash, becomes % and two digits."""
    return f"python/{quote(service, safe='/:@+')}/{quote(username, safe=':@+')}"


# Python's own errors about a text hold it, so ours are raised outside their handlers.


def _text(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        pass
    raise KeyringError("the item's value is not a text")


def _bytes(password):
    try:
        return password.encode()
    except (AttributeError, UnicodeEncodeError):
        pass
    raise PasswordSetError("the password is not a text that UTF-8 can hold")


def _require(ended, error):
    if ended.returncode == LOCKED:
        error = KeyringLocked
    if ended.returncode != 0:
        raise error(ended.stderr.decode(errors="replace").strip())
    return ended.stdout
