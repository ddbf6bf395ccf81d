"""What hvac expects of the two logins over TLS: by a role, and by a client's certificate."""

import os

import hvac
import pytest
from hvac import exceptions

FOLDER = os.environ["VAULTD_CERTIFICATES"]
CA = FOLDER + "/ca.pem"
PAIR = (FOLDER + "/client.pem", FOLDER + "/client.key")


@pytest.fixture
def client():
    return hvac.Client(url=os.environ["VAULTD_ADDRESS"], verify=CA)


def use(client, method):
    """What holders of a token do with it, until it ends."""
    assert client.is_authenticated()
    looked_up = client.auth.token.lookup_self()["data"]
    assert looked_up["meta"] == {"application": "web"}
    assert looked_up["path"] == f"auth/{method}/login"
    assert 0 < looked_up["ttl"] <= 3600
    assert client.auth.token.renew_self(increment=1800)["auth"]["lease_duration"] <= 1800
    kv = client.secrets.kv.v2
    kv.create_or_update_secret(path="tests/login", secret={"method": method}, mount_point="web")
    answer = kv.read_secret_version(path="tests/login", mount_point="web", raise_on_deleted_version=True)
    assert answer["data"]["data"] == {"method": method}
    client.auth.token.revoke_self()
    assert not client.is_authenticated()
    with pytest.raises(exceptions.Forbidden):
        kv.read_secret_version(path="tests/login", mount_point="web", raise_on_deleted_version=True)


def test_role(client):
    with pytest.raises(exceptions.InvalidRequest, match="invalid role or secret ID"):
        client.auth.approle.login(role_id="web", secret_id="0123456789abcdeF")
    answer = client.auth.approle.login(role_id="web", secret_id="0123456789abcdef")
    assert answer["auth"]["client_token"] == client.token
    use(client, "approle")


def test_certificate(client):
    with pytest.raises(exceptions.InvalidRequest, match="no client certificate"):
        client.adapter.login("/v1/auth/cert/login", json={})
    answer = client.auth.cert.login(cert_pem=PAIR[0], key_pem=PAIR[1])
    assert answer["auth"]["client_token"] == client.token
    assert 3000 <= answer["auth"]["lease_duration"] <= 3600
    use(client, "cert")


def test_certificate_for_a_name(client):
    client.auth.cert.login(name="web", cert_pem=PAIR[0], key_pem=PAIR[1])
    use(client, "cert")


def test_nothing_without_a_token(client):
    assert not client.is_authenticated()
    with pytest.raises(exceptions.Forbidden):
        client.secrets.kv.v2.read_secret_version(path="a", mount_point="web", raise_on_deleted_version=True)
