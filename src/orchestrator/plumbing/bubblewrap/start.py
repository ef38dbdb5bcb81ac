"""The small program that is started inside and turns into the command (see `launcher.py`).

Started as `python -I -S start.py <descriptor of the command> <descriptor of the bridge, or -1> <port>`. When
there is a bridge it listens on that port of the inner loopback and hands the listening socket out: a socket
belongs to the network it was made in, whoever accepts its connections. So no file, no path and no process has
to be shared with the inside.
"""

# The C modules behind `socket` and `signal`, as in `launcher.py`.
import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

NOT_STARTED = 127
BACKLOG = 64
# Ignored by the launcher, and by Python for itself: the command has them with their default meaning.
DEFAULTS = (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ)


def command_in(descriptor: int) -> list[str]:
    """The command that the launcher handed over."""
    with open(descriptor, "rb") as file:
        return [os.fsdecode(field) for field in file.read().split(b"\0")]


def hand_out(channel: int, port: int) -> None:
    """Listen on the inner loopback and give the listening socket to the bridge.

    Raises:
        OSError: the port cannot be had, or the bridge is gone.
    """
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    bridge = _socket.socket(fileno=channel)
    rights = listener.fileno().to_bytes(4, sys.byteorder)
    bridge.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    bridge.close()
    listener.close()


def main() -> None:
    """Become the command."""
    command, channel, port = (int(text) for text in sys.argv[1:4])
    argv = command_in(command)
    try:
        if channel >= 0:
            hand_out(channel, port)
        for number in DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 — it is the point.
    except OSError as error:
        os.write(2, f"cannot start {argv[0]} inside the sandbox: {error}\n".encode(errors="replace"))
    os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
