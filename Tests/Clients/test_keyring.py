"""The conformance tests of Python's keyring for our backend, on a store of their own."""

import os
import shutil
import subprocess

import keyring
import keyring_vault
import pytest
from keyring.testing.backend import BackendBasicTests


class TestVaultKeyring(BackendBasicTests):
    def init_keyring(self):
        return keyring_vault.VaultKeyring()


def test_keyring_chooses_the_backend():
    assert isinstance(keyring.get_keyring(), keyring_vault.VaultKeyring)


def test_a_name_belongs_to_one_service_and_one_username():
    pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a", ""), ("a/", ""), ("a ", "b"), ("é", "e\u0301")]
    assert len({keyring_vault._name(*pair) for pair in pairs}) == len(pairs)


def test_a_username_that_is_asked_for_is_of_this_service_alone():
    backend = keyring_vault.VaultKeyring()
    backend.set_password("s/longer", "other", "1")
    assert backend.get_credential("s", None) is None
    backend.set_password("s", "a/b c", "2")
    found = backend.get_credential("s", None)
    assert (found.username, found.password) == ("a/b c", "2")


def test_another_group_is_chosen_by_a_property():
    backend = keyring_vault.VaultKeyring().with_properties(group="work")
    backend.set_password("s", "grouped", "3")
    assert backend.get_password("s", "grouped") == "3"
    assert keyring_vault.VaultKeyring().get_password("s", "grouped") is None


def test_errors_are_of_keyring(monkeypatch):
    monkeypatch.setenv("VAULT_KEY_FILE", "/nonexistent")
    with pytest.raises(keyring.errors.KeyringLocked):
        keyring_vault.VaultKeyring().get_password("s", "u")
    monkeypatch.delenv("VAULT_KEY_FILE")
    monkeypatch.setenv("VAULT_GROUP", "absent")
    with pytest.raises(keyring.errors.PasswordSetError) as refused:
        keyring_vault.VaultKeyring().set_password("s", "u", "s3cret")
    assert "s3cret" not in str(refused.value)


def test_an_error_about_a_text_does_not_hold_it():
    backend = keyring_vault.VaultKeyring()
    for unfit in ["s3cret\ud800", None]:
        with pytest.raises(keyring.errors.PasswordSetError) as refused:
            backend.set_password("s", "u", unfit)
        assert refused.value.__context__ is None and "s3cret" not in repr(refused.value)
    subprocess.run(["vault", "set", "python/s/bytes", "--type", "bytes"], input=b"s3cret\xff", check=True)
    with pytest.raises(keyring.errors.KeyringError) as refused:
        backend.get_password("s", "bytes")
    assert refused.value.__context__ is None and "s3cret" not in repr(refused.value)
    assert backend.get_password("s", None) is None


def test_another_program_is_chosen_by_a_variable(monkeypatch):
    monkeypatch.setenv("KEYRING_PROPERTY_PROGRAM", "no-such-vault")
    with pytest.raises(RuntimeError):
        keyring_vault.VaultKeyring.priority


def test_a_password_is_in_no_argument_or_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("REAL", shutil.which("vault"))
    recorder = tmp_path / "vault"
    recorder.write_text(f'#!/bin/sh\n{{ echo "$@"; env; }} >>"{tmp_path}/seen"\nexec "$REAL" "$@"\n')
    recorder.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    backend = keyring_vault.VaultKeyring()
    backend.set_password("s", "seen", "s3cret")
    assert backend.get_credential("s", None).password == "s3cret"
    backend.delete_password("s", "seen")
    seen = (tmp_path / "seen").read_text()
    assert "set python/s/seen" in seen and "s3cret" not in seen


def test_a_program_of_the_same_name_is_not_used(monkeypatch, tmp_path):
    other = tmp_path / "vault"
    other.write_text("#!/bin/sh\necho 'Vault v1.20.0'\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError):
        keyring_vault.VaultKeyring.priority
