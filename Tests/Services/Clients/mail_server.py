"""A mail server for one message.

Usage: mail_server.py PORT-FILE LOGIN-FILE: writes the port that it listens on, then the login of its client.
"""

import base64
import pathlib
import socket
import sys

port_file, login_file = map(pathlib.Path, sys.argv[1:])
server = socket.create_server(("localhost", 0))
server.settimeout(120)
port_file.write_text(str(server.getsockname()[1]))
connection, _ = server.accept()
lines = connection.makefile("rwb")


def say(text):
    lines.write(text.encode() + b"\r\n")
    lines.flush()


say("220 localhost")
while command := lines.readline().decode().strip():
    verb = command.split()[0].upper()
    if verb == "EHLO":
        say("250-localhost\r\n250 AUTH PLAIN")
    elif verb == "AUTH":
        _, user, password = base64.b64decode(command.split()[2]).decode().split("\0")
        login_file.write_text(f"{user} {password}\n")
        say("235 welcome")
    elif verb == "DATA":
        say("354 go on")
        while lines.readline().strip() != b".":
            pass
        say("250 taken")
    else:
        say("221 bye" if verb == "QUIT" else "250 good")
        if verb == "QUIT":
            break
