"""HTTP over a Unix socket for requests, and so for hvac."""

import socket

import requests
import urllib3


class _Connection(urllib3.connection.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class _Pool(urllib3.connectionpool.HTTPConnectionPool):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def _new_conn(self):
        return _Connection(self.path)


class _Adapter(requests.adapters.HTTPAdapter):
    def __init__(self, path):
        super().__init__()
        self.pool = _Pool(path)

    def get_connection_with_tls_context(self, request, verify, proxies=None, cert=None):
        return self.pool

    def get_connection(self, url, proxies=None):
        return self.pool


def session(path):
    """A session whose requests to http:// all go to the socket at `path`."""
    made = requests.Session()
    made.trust_env = False
    made.mount("http://", _Adapter(path))
    return made
