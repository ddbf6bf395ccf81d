"""Sets up each peer with the same items, in a folder of its own."""

import os
import shutil
import subprocess
import sys

PACKAGES = ["age", "sqlcipher", "libsecret-tools", "gnome-keyring", "dbus", "pass", "gnupg", "strace", "libsqlite3-dev", "nginx-light",
            "nghttp2-client"]
PROGRAMS = {"age": "age", "sqlcipher 3": "sqlcipher", "secret-tool": "secret-tool", "pass": "pass", "nginx": "nginx", "h2load": "h2load"}
KEY = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
VALUE = "v" * 32


def name(number):
    return f"service/{number}/password"


def install():
    root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run(root + ["apt-get", "update", "-qq"], check=True)
    subprocess.run(root + ["apt-get", "install", "-y", "-qq"] + PACKAGES, check=True, stdout=subprocess.DEVNULL)


def missing():
    return [peer for peer, program in PROGRAMS.items() if not shutil.which(program)]


def quiet(argv, **options):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def age(folder, count):
    """One file per secret; the key in a file."""
    os.makedirs(f"{folder}/items")
    key = f"{folder}/key"
    quiet(["age-keygen", "-o", key])
    public = next(line.split()[-1] for line in open(key) if "public key" in line)
    for number in range(count):
        quiet(["age", "-r", public, "-o", f"{folder}/items/{number}.age"], input=VALUE.encode())
    get = ["age", "-d", "-i", key, f"{folder}/items/0.age"]
    put = ["age", "-r", public, "-o", f"{folder}/items/0.age", f"{folder}/value"]
    open(f"{folder}/value", "w").write(VALUE)
    return get, put


def sqlcipher3(folder, count):
    """The shell of Debian's SQLCipher 3 with a raw key."""
    os.makedirs(folder)
    file = f"{folder}/items.db"
    rows = "".join(f"INSERT INTO item VALUES('{name(n)}','a label',1700000000,1,zeroblob(32));\n" for n in range(count))
    begin = f"PRAGMA key = \"x'{KEY}'\";\n"
    make = "CREATE TABLE item(name TEXT PRIMARY KEY, label TEXT, changed INTEGER, version INTEGER, value BLOB) WITHOUT ROWID;\n"
    quiet(["sqlcipher", file], input=f"{begin}{make}BEGIN;\n{rows}COMMIT;\n".encode())
    scripts = {
        "get": f"{begin}SELECT value FROM item WHERE name = '{name(0)}';\n",
        "set": f"{begin}UPDATE item SET value = zeroblob(33) WHERE name = '{name(0)}';\n",
    }
    for job, text in scripts.items():
        open(f"{folder}/{job}.sql", "w").write(text)
    return ["sqlcipher", file], f"{folder}/get.sql", f"{folder}/set.sql"


def secret_tool(folder, count):
    """gnome-keyring on a session bus of its own, unlocked; its environment is what the clients need."""
    os.makedirs(f"{folder}/run", mode=0o700)
    env = {"HOME": folder, "XDG_RUNTIME_DIR": f"{folder}/run", "XDG_DATA_HOME": f"{folder}/data"}
    bus = subprocess.run(
        ["dbus-daemon", "--session", "--fork", "--print-address=1", "--print-pid=1"],
        env=dict(os.environ, **env), check=True, capture_output=True, text=True).stdout.split()
    env["DBUS_SESSION_BUS_ADDRESS"] = bus[0]
    full = dict(os.environ, **env)
    quiet(["gnome-keyring-daemon", "--unlock", "--components=secrets", "--daemonize"], input=b"password", env=full)
    for number in range(count):
        quiet(["secret-tool", "store", "--label", name(number), "name", name(number)], input=VALUE.encode(), env=full)
    return env, int(bus[1]), ["secret-tool", "lookup", "name", name(0)], ["secret-tool", "store", "--label", "x", "name", name(0)]


def password_store(folder, count):
    """pass, with a key that needs no passphrase; the agent stays running."""
    os.makedirs(f"{folder}/gnupg", mode=0o700)
    env = {"GNUPGHOME": f"{folder}/gnupg", "PASSWORD_STORE_DIR": f"{folder}/store", "HOME": folder}
    full = dict(os.environ, **env)
    quiet(["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "bench@example.org", "default", "default"], env=full)
    quiet(["pass", "init", "bench@example.org"], env=full)
    for number in range(count):
        quiet(["pass", "insert", "-m", "-f", name(number)], input=VALUE.encode(), env=full)
    return env, ["pass", "show", name(0)], ["pass", "insert", "-m", "-f", name(0)]


def sqlcipher4(folder):
    """A Python with SQLCipher 4 from PyPI, in a folder of its own; `None` where it cannot be had."""
    python = f"{folder}/bin/python3"
    try:
        quiet([sys.executable, "-m", "venv", folder])
        quiet([python, "-m", "pip", "install", "-q", "sqlcipher3-binary"])
        return python
    except (subprocess.CalledProcessError, OSError):
        return None
