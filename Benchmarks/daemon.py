"""vaultd beside nginx with a static file, over Unix sockets, and a cold `vault get` in the same run."""

import os
import re
import shutil
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VAULTD = f"{ROOT}/.build/daemon/release/vaultd"
CLIENTS = (1, 16, 256)

NGINX = """
worker_processes 2;
daemon off;
error_log /dev/null;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  keepalive_requests 1000000000;
  server {{ listen unix:{folder}/nginx.sock; root {folder}/static; }}
}}
"""


def available():
    return os.access(VAULTD, os.X_OK) and shutil.which("nginx") and shutil.which("h2load")


class Daemon:
    """A vaultd that knows this user as the application `web`, and an nginx with the same bytes in a file."""

    def __init__(self, vault, folder):
        os.makedirs(f"{folder}/static", mode=0o700)
        self.folder = folder
        env = {"VAULT_HOME": f"{folder}/home", "VAULT_STATE": f"{folder}/state", "PATH": os.environ["PATH"]}

        def run(*arguments, text=None):
            subprocess.run([vault, *arguments], env=env, input=text, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        run("init", "--key-file", f"{folder}/key")
        run("app", "bind", "web", "--user", str(os.geteuid()))
        run("set", "-g", "web", "db/password", text="a value of about thirty bytes .")
        run("service", "enroll", "--output", f"{folder}/credential")
        daemon_env = dict(env, VAULT_STATE=f"{folder}/daemon-state")
        self.vaultd = subprocess.Popen(
            [VAULTD, "--socket", f"{folder}/socket", "--credential", f"{folder}/credential"], env=daemon_env, stderr=open(f"{folder}/log", "w"))
        subprocess.run(
            ["curl", "-sf", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", "--unix-socket", f"{folder}/socket",
             "http://vaultd/v1/web/data/db/password", "-o", f"{folder}/static/answer"], check=True)
        open(f"{folder}/nginx.conf", "w").write(NGINX.format(folder=folder))
        if os.geteuid() == 0:
            subprocess.run(["chmod", "-R", "go+rX", f"{folder}/static"], check=True)
        self.nginx = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf", "-p", folder, "-g", "user root;" if os.geteuid() == 0 else ""],
                                      stderr=subprocess.DEVNULL)
        time.sleep(1)

    def end(self):
        for process in (self.vaultd, self.nginx):
            process.terminate()
            process.wait()

    def load(self, server, clients, seconds):
        """Requests per second, and the mean time of one in milliseconds."""
        socket, path = {"vaultd": ("socket", "/v1/web/data/db/password"), "nginx": ("nginx.sock", "/answer")}[server]
        output = subprocess.run(
            ["h2load", "--h1", "-D", str(seconds), "-c", str(clients), "-t", "1", f"--base-uri=unix:{self.folder}/{socket}", f"http://vaultd{path}"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        answered = int(re.search(r"(\d+) 2xx", output).group(1))
        others = sum(int(re.search(rf"(\d+) {kind}xx", output).group(1)) for kind in (3, 4, 5))
        if others or not answered:
            raise RuntimeError(f"{server} answered {others} requests with something else:\n{output}")
        mean = re.search(r"time for request:\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)", output)
        return answered / seconds, float(mean.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3}[mean.group(2)]


def run(bench):
    """Adds the lines about vaultd to the table."""
    daemon = Daemon(bench.vault, f"{bench.folder}/daemon")
    try:
        for clients in CLIENTS:
            figures = {"vaultd": [], "nginx": []}
            for _ in range(1 if bench.quick else 5):
                for server in figures:
                    figures[server].append(daemon.load(server, clients, 2))
            middle = {server: sorted(found)[len(found) // 2] for server, found in figures.items()}
            (rate, mean), (other, _) = middle["vaultd"], middle["nginx"]
            wanted = (">=", 5_000) if clients > 1 else None
            bench.row(f"vaultd, {clients} clients: recorded reads", rate, "per s", wanted)
            bench.row(f"vaultd, {clients} clients: a read", mean, "ms", None)
            bench.row(f"vaultd, {clients} clients: against a static file", rate, "per s", None, rate / other, "nginx")
    finally:
        daemon.end()
