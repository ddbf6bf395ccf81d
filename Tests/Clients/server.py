"""A server on the loopback that wants a user name and a password: a git host, a docker registry and a Python package index.

server.py FOLDER: serves FOLDER/*.git to git, /v2/ to docker, /simple/ to pip, and takes /legacy/ from twine. FOLDER/login
holds NAME:PASSWORD and is read anew for each request; the port is written to FOLDER/port. A request that is signed for AWS
is answered with the access key's id and the session token that it names.
"""

import base64
import email
import http.server
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def serve(self):
        body = self.body()
        signed = self.headers.get("Authorization", "")
        if signed.startswith("AWS4-HMAC-SHA256 "):
            key, token = signed.split("Credential=")[1].split("/")[0], self.headers.get("X-Amz-Security-Token", "")
            return self.answer(200, [("Content-Type", "text/xml")], (
                "<GetCallerIdentityResponse><GetCallerIdentityResult>"
                f"<Arn>{key}</Arn><UserId>{token}</UserId><Account>1</Account>"
                "</GetCallerIdentityResult></GetCallerIdentityResponse>").encode())
        login = (FOLDER / "login").read_bytes().strip()
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(login).decode():
            return self.answer(401, [("WWW-Authenticate", 'Basic realm="test"')])
        path, _, query = self.path.partition("?")
        if path == "/v2/":
            return self.answer(200, [("Docker-Distribution-Api-Version", "registry/2.0")], b"{}")
        packages = FOLDER / "packages"
        if path == "/legacy/":
            head = "Content-Type: " + self.headers["Content-Type"] + "\r\n\r\n"
            for part in email.message_from_bytes(head.encode() + body).get_payload():
                if part.get_filename():
                    packages.mkdir(exist_ok=True)
                    (packages / pathlib.Path(part.get_filename()).name).write_bytes(part.get_payload(decode=True))
            return self.answer(200, [])
        if path.startswith("/simple/"):
            links = "".join(f'<a href="/packages/{file.name}">{file.name}</a>' for file in packages.iterdir())
            return self.answer(200, [("Content-Type", "text/html")], links.encode())
        if path.startswith("/packages/"):
            return self.answer(200, [], (packages / pathlib.Path(path).name).read_bytes())
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(FOLDER), "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "user", "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        output = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
        head, _, rest = output.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        self.answer(status, [header for header in headers if header[0] != "Status"], rest)

    do_GET = do_POST = do_HEAD = serve


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(FOLDER / "port.new").write_text(str(server.server_address[1]))
(FOLDER / "port.new").rename(FOLDER / "port")
server.serve_forever()
