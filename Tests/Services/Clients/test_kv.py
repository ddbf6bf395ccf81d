"""What hvac expects of KV, versions 2 and 1. The mount `web` is of version 2, the mount `old` of version 1."""

import os

import hvac
import pytest
from hvac import exceptions

from unix_http import session


@pytest.fixture
def client():
    return hvac.Client(url="http://localhost", session=session(os.environ["VAULTD_SOCKET"]))


@pytest.fixture
def kv(client):
    return client.secrets.kv.v2


@pytest.fixture
def path(request):
    return "tests/" + request.node.name


WEB = {"mount_point": "web"}
OLD = {"mount_point": "old"}


def read(kv, path, **more):
    return kv.read_secret_version(path=path, raise_on_deleted_version=True, **WEB, **more)


def put(kv, path, secret, **more):
    return kv.create_or_update_secret(path=path, secret=secret, **WEB, **more)


def test_system(client):
    assert client.sys.is_initialized()
    assert not client.sys.is_sealed()
    assert client.sys.read_health_status(method="GET")["initialized"] is True
    assert client.sys.read_health_status(method="HEAD").status_code == 200
    mounts = client.sys.list_mounted_secrets_engines()["data"]
    assert mounts["web/"]["type"] == "kv"
    assert mounts["web/"]["options"] == {"version": "2"}
    assert mounts["old/"]["options"] == {"version": "1"}


def test_write_and_read(kv, path):
    written = put(kv, path, {"user": "me", "password": "s3cret", "port": 5432, "nested": {"a": [1, 2.50, None, True]}})
    assert written["data"]["version"] == 1
    answer = read(kv, path)
    assert answer["data"]["data"] == {
        "user": "me", "password": "s3cret", "port": 5432, "nested": {"a": [1, 2.5, None, True]}}
    metadata = answer["data"]["metadata"]
    assert metadata["version"] == 1
    assert metadata["destroyed"] is False
    assert metadata["deletion_time"] == ""
    assert metadata["custom_metadata"] is None
    assert metadata["created_time"].startswith("20")
    for key in ("request_id", "lease_id", "renewable", "lease_duration", "wrap_info", "warnings", "auth"):
        assert key in answer


def test_versions(kv, path):
    for number in (1, 2, 3):
        assert put(kv, path, {"value": str(number)})["data"]["version"] == number
    assert read(kv, path)["data"]["data"] == {"value": "3"}
    assert read(kv, path, version=1)["data"]["data"] == {"value": "1"}
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path, version=4)


def test_absent(kv, path):
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path)
    with pytest.raises(exceptions.InvalidPath):
        kv.read_secret_metadata(path=path, **WEB)


def test_check_and_set(kv, path):
    put(kv, path, {"a": "1"}, cas=0)
    with pytest.raises(exceptions.InvalidRequest, match="check-and-set parameter did not match the current version"):
        put(kv, path, {"a": "2"}, cas=0)
    put(kv, path, {"a": "2"}, cas=1)
    with pytest.raises(exceptions.InvalidRequest):
        put(kv, path, {"a": "3"}, cas=1)
    assert read(kv, path)["data"]["data"] == {"a": "2"}


def test_patch(client, kv, path):
    with pytest.raises(exceptions.InvalidPath):
        kv.patch(path=path, secret={"a": "1"}, **WEB)
    put(kv, path, {"a": "1", "b": {"c": "2", "d": "3"}})
    assert kv.patch(path=path, secret={"e": "4"}, **WEB)["data"]["version"] == 2
    assert read(kv, path)["data"]["data"] == {"a": "1", "b": {"c": "2", "d": "3"}, "e": "4"}


def merge(client, path, json, **more):
    """PATCH, which HashiCorp's own client uses and hvac does not."""
    headers = {"Content-Type": "application/merge-patch+json"} | more
    return client.adapter.session.patch(f"http://localhost/v1/web/{path}", json=json, headers=headers)


def test_merge_patch(client, kv, path):
    assert merge(client, f"data/{path}", {"data": {"a": "1"}}).status_code == 404
    put(kv, path, {"a": "1", "b": {"c": "2", "d": "3"}})
    answer = merge(client, f"data/{path}", {"data": {"b": {"c": None}, "e": "4"}, "options": {"cas": 1}})
    assert answer.json()["data"]["version"] == 2
    assert read(kv, path)["data"]["data"] == {"a": "1", "b": {"d": "3"}, "e": "4"}
    assert merge(client, f"data/{path}", {"data": {"a": "2"}, "options": {"cas": 1}}).status_code == 400
    assert merge(client, f"data/{path}", {"data": {}}, **{"Content-Type": "application/json"}).status_code == 415
    kv.delete_latest_version_of_secret(path=path, **WEB)
    assert merge(client, f"data/{path}", {"data": {"a": "2"}}).status_code == 404


def test_delete_and_undelete(kv, path):
    put(kv, path, {"a": "1"})
    put(kv, path, {"a": "2"})
    kv.delete_latest_version_of_secret(path=path, **WEB)
    with pytest.raises(exceptions.InvalidPath) as caught:
        read(kv, path)
    assert caught.value.json["data"]["data"] is None
    assert caught.value.json["data"]["metadata"]["version"] == 2
    assert caught.value.json["data"]["metadata"]["deletion_time"] != ""
    assert kv.read_secret_version(path=path, raise_on_deleted_version=False, **WEB)["data"]["data"] is None
    assert read(kv, path, version=1)["data"]["data"] == {"a": "1"}
    assert put(kv, path, {"a": "3"}, cas=2)["data"]["version"] == 3
    kv.undelete_secret_versions(path=path, versions=[2], **WEB)
    assert read(kv, path, version=2)["data"]["data"] == {"a": "2"}
    assert read(kv, path)["data"]["data"] == {"a": "3"}


def test_undelete_current(kv, path):
    put(kv, path, {"a": "1"})
    kv.update_metadata(path=path, custom_metadata={"team": "x"}, **WEB)
    kv.delete_secret_versions(path=path, versions=[1], **WEB)
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path)
    assert kv.read_secret_metadata(path=path, **WEB)["data"]["custom_metadata"] == {"team": "x"}
    kv.undelete_secret_versions(path=path, versions=[1], **WEB)
    answer = read(kv, path)["data"]
    assert answer["data"] == {"a": "1"}
    assert answer["metadata"]["version"] == 1
    assert answer["metadata"]["custom_metadata"] == {"team": "x"}
    assert put(kv, path, {"a": "2"})["data"]["version"] == 2


def test_destroy(kv, path):
    for number in (1, 2, 3):
        put(kv, path, {"a": str(number)})
    kv.destroy_secret_versions(path=path, versions=[1, 3], **WEB)
    assert read(kv, path, version=2)["data"]["data"] == {"a": "2"}
    for gone in (1, 3, None):
        with pytest.raises(exceptions.InvalidPath) as caught:
            read(kv, path, version=gone)
        assert caught.value.json["data"]["metadata"]["destroyed"] is True
    versions = kv.read_secret_metadata(path=path, **WEB)["data"]["versions"]
    assert {number: version["destroyed"] for number, version in versions.items()} == {"1": True, "2": False, "3": True}
    kv.undelete_secret_versions(path=path, versions=[1, 3], **WEB)
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path, version=1)
    assert put(kv, path, {"a": "4"})["data"]["version"] == 4
    assert read(kv, path)["data"]["data"] == {"a": "4"}
    assert read(kv, path, version=2)["data"]["data"] == {"a": "2"}


def test_delete_all(kv, path):
    put(kv, path, {"a": "1"})
    put(kv, path, {"a": "2"})
    kv.delete_metadata_and_all_versions(path=path, **WEB)
    with pytest.raises(exceptions.InvalidPath):
        kv.read_secret_metadata(path=path, **WEB)
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path, version=1)
    assert put(kv, path, {"a": "3"}, cas=0)["data"]["version"] == 1
    assert put(kv, path, {"a": "4"}, cas=1)["data"]["version"] == 2


def test_metadata(client, kv, path):
    put(kv, path, {"a": "1"})
    kv.update_metadata(
        path=path, max_versions=2, cas_required=True, delete_version_after="3h25m19s",
        custom_metadata={"team": "x", "stage": "test"}, **WEB)
    data = kv.read_secret_metadata(path=path, **WEB)["data"]
    assert data["max_versions"] == 2
    assert data["cas_required"] is True
    assert data["delete_version_after"] == "3h25m19s"
    assert data["custom_metadata"] == {"team": "x", "stage": "test"}
    assert data["current_version"] == 1
    assert list(data["versions"]) == ["1"]
    with pytest.raises(exceptions.InvalidRequest, match="check-and-set parameter required"):
        put(kv, path, {"a": "2"})
    put(kv, path, {"a": "2"}, cas=1)
    answer = read(kv, path)["data"]
    assert answer["metadata"]["custom_metadata"] == {"team": "x", "stage": "test"}
    assert answer["metadata"]["deletion_time"] != ""
    put(kv, path, {"a": "3"}, cas=2)
    data = kv.read_secret_metadata(path=path, **WEB)["data"]
    assert list(data["versions"]) == ["2", "3"]
    assert data["oldest_version"] == 2
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path, version=1)
    merge(client, f"metadata/{path}", {"max_versions": 0, "custom_metadata": {"team": None, "more": "y"}})
    data = kv.read_secret_metadata(path=path, **WEB)["data"]
    assert data["custom_metadata"] == {"stage": "test", "more": "y"}
    assert data["cas_required"] is True


def test_metadata_before_data(kv, path):
    kv.update_metadata(path=path, custom_metadata={"team": "x"}, **WEB)
    data = kv.read_secret_metadata(path=path, **WEB)["data"]
    assert data["current_version"] == 0
    assert data["versions"] == {}
    with pytest.raises(exceptions.InvalidPath):
        read(kv, path)
    assert put(kv, path, {"a": "1"}, cas=0)["data"]["version"] == 1
    assert read(kv, path)["data"]["metadata"]["custom_metadata"] == {"team": "x"}


def test_list(kv, path):
    for name in ("a", "b/c", "b/d/e", "f"):
        put(kv, f"{path}/{name}", {"value": "x"})
    kv.delete_latest_version_of_secret(path=f"{path}/f", **WEB)
    assert kv.list_secrets(path=path, **WEB)["data"]["keys"] == ["a", "b/", "f"]
    assert kv.list_secrets(path=f"{path}/b/", **WEB)["data"]["keys"] == ["c", "d/"]
    with pytest.raises(exceptions.InvalidPath):
        kv.list_secrets(path=f"{path}/a", **WEB)
    answer = kv._adapter.request("GET", f"/v1/web/metadata/{path}?list=true")
    assert answer["data"]["keys"] == ["a", "b/", "f"]


def test_configuration(client, kv, path):
    kv.configure(max_versions=3, cas_required=False, delete_version_after="1h", **WEB)
    try:
        data = kv.read_configuration(**WEB)["data"]
        assert data == {"max_versions": 3, "cas_required": False, "delete_version_after": "1h0m0s"}
        for number in range(5):
            put(kv, path, {"a": str(number)})
        data = kv.read_secret_metadata(path=path, **WEB)["data"]
        assert list(data["versions"]) == ["3", "4", "5"]
        assert data["versions"]["5"]["deletion_time"] != ""
    finally:
        kv.configure(max_versions=0, cas_required=False, delete_version_after="0s", **WEB)
    assert kv.read_configuration(**WEB)["data"]["delete_version_after"] == "0s"


def test_subkeys(client, kv, path):
    put(kv, path, {"a": "1", "b": {"c": {"d": "2"}}})
    answer = client.adapter.get(f"/v1/web/subkeys/{path}")
    assert answer["data"]["subkeys"] == {"a": None, "b": {"c": {"d": None}}}
    answer = client.adapter.get(f"/v1/web/subkeys/{path}", params={"depth": 1})
    assert answer["data"]["subkeys"] == {"a": None, "b": None}


def test_odd_names(kv, path):
    for name in ("with space", "ümlaut", "50%", "plus+plus", "dots..", "quote'\""):
        put(kv, f"{path}/{name}", {"value": name})
        assert read(kv, f"{path}/{name}")["data"]["data"] == {"value": name}
    assert sorted(kv.list_secrets(path=path, **WEB)["data"]["keys"]) == sorted(
        ["with space", "ümlaut", "50%", "plus+plus", "dots..", "quote'\""])


def test_refusals(client, kv, path):
    for bad in ("a//b", "//kv", path + "//kv"):
        assert client.adapter.session.get(f"http://localhost/v1/web/data/{bad}").status_code == 400
    with pytest.raises(exceptions.InvalidRequest):
        client.adapter.post(f"/v1/web/data/{path}", json={"data": "text"})
    with pytest.raises(exceptions.Forbidden):
        put_elsewhere = {"mount_point": "default"}
        kv.create_or_update_secret(path=path, secret={"a": "1"}, **put_elsewhere)
    with pytest.raises(exceptions.Forbidden, match="vault group create"):
        client.sys.enable_secrets_engine("kv", path="new", options={"version": "2"})


def test_version_one(client, path):
    kv = client.secrets.kv.v1
    with pytest.raises(exceptions.InvalidPath):
        kv.read_secret(path=path, **OLD)
    kv.create_or_update_secret(path=path, secret={"a": "1", "b": 2}, **OLD)
    answer = kv.read_secret(path=path, **OLD)
    assert answer["data"] == {"a": "1", "b": 2}
    assert answer["lease_duration"] == 2764800
    kv.create_or_update_secret(path=path + "/below", secret={"value": "text"}, **OLD)
    assert kv.read_secret(path=path + "/below", **OLD)["data"] == {"value": "text"}
    assert kv.list_secrets(path="tests", **OLD)["data"]["keys"] == [path.split("/")[1], path.split("/")[1] + "/"]
    kv.delete_secret(path=path, **OLD)
    kv.delete_secret(path=path, **OLD)
    with pytest.raises(exceptions.InvalidPath):
        kv.read_secret(path=path, **OLD)
    with pytest.raises(exceptions.InvalidPath):
        kv.list_secrets(path="tests/nothing", **OLD)
