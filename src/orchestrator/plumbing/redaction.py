"""Masks what looks like a secret in every text that is stored or shown.

Masking too much costs a reader a word, masking too little costs a key: where the two conflict, text is
masked. Every pattern runs in time linear in the text, because whoever writes a log line must not be able to
stop us with it.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "***"

# Shorter values occur in ordinary text by chance; masking them would shred it.
MINIMUM_LENGTH = 6

_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

_USERINFO = re.compile(r"(?<=://)[^\s/\"'<>]+@")

# A name and what parts it from its value: `=`, `:`, `=>` or `:=`, and a space after an option. The quotes
# around a name may be escaped, as in JSON within JSON.
_NAME = re.compile(
    r"(?<![\w.-])(?:(?P<name>[\w.-]++)\\*+[\"']?[ \t]*+(?:=>|:=|=(?!=)|:(?![:/]))[ \t]*+"
    r"|(?P<option>--[\w.-]++)[ \t]++(?!-))"
)
# Quoted with escaped quotes, with double ones, with single ones (with the prefix letters of a literal), not
# quoted.
_VALUES = (
    re.compile(r"(?P<open>\\++\")(?P<value>(?:[^\"\\\r\n]|\\++(?![\"\\]))*+)"),
    re.compile(r"(?P<open>[A-Za-z]{0,2}(?:\"{3}|\"))(?P<value>(?:[^\"\\\r\n]|\\.)*+)"),
    re.compile(r"(?P<open>[A-Za-z]{0,2}(?:'{3}|'))(?P<value>(?:[^'\\\r\n]|\\.)*+)"),
    re.compile(r"(?P<open>)(?P<value>[^\s\"']++)"),
)
_WHOLE_LINE = re.compile(r"(?P<open>\\*+[\"']?)(?P<value>[^\r\n\"'\\]++)")
_HEADERS = frozenset({"authorization", "proxy_authorization", "cookie", "set_cookie"})
_SECRET_ENDINGS = (
    *("token", "secret", "secrets", "password", "passwd", "passphrase", "_pwd", "credential", "credentials"),
    *("apikey", "api_key", "accesskey", "access_key", "secretkey", "secret_key", "privatekey", "private_key"),
    *("signing_key", "encryption_key", "auth_key", "account_key"),
)
_UPPER_ENDINGS = ("_KEY", "_TOKENS", "_PASS")
_NUMBER = re.compile(r"[\d.,_]++$")

# In source code a name like `token` is followed by a type, a constant or an expression, not by a secret.
_CODE = re.compile(
    r"(?:str|int|bytes|bool|float|None|null|nil|true|false|True|False|string|Any|SecretStr)[\])},:;|]*+$"
    r"|[A-Za-z_][\w.]*+[(\[]"
)

_SHAPES = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))sk-(?:ant-[\w-]{8,}+|(?:proj-|svcacct-)[\w-]{16,}+|[A-Za-z0-9_]{20,}+)"
    r"|gh[opusr]_[A-Za-z0-9]{16,}+|github_pat_\w{16,}+|glpat-[\w-]{16,}+|xox[abeprs]-[\w-]{10,}+"
    r"|(?<![A-Z0-9])A(?:KI|SI)A[0-9A-Z]{16}(?![0-9A-Z])|AIza[\w-]{35}|npm_[A-Za-z0-9]{30,}+|pypi-[\w-]{40,}+"
    r"|plane_api_[0-9a-f]{16,}+|(?<!\d)\d{8,10}:[\w-]{35}(?![\w-])"
    r"|(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+"
    r"|(?<=hooks\.slack\.com/services/)[\w/]{12,}+"
)
_BEARER = re.compile(r"(?i)\b(bearer[ \t]{1,4})(?=[^\s\"']{0,200}\d)[\w.~+/=-]{8,}+")


class Redactor:
    """Masks what looks like a secret, and the values that are known to be one."""

    def __init__(self, extra_values: Iterable[str] = ()) -> None:
        """Takes the known secrets; those shorter than `MINIMUM_LENGTH` are left to the general rules."""
        self._spellings: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.know(extra_values)

    def know(self, values: Iterable[str]) -> None:
        """Mask these values too from now on."""
        self._spellings |= {
            spelling
            for value in values
            if len(value) >= MINIMUM_LENGTH
            for spelling in (value, quote(value, safe=""), json.dumps(value)[1:-1])
        }
        if self._spellings:
            longest_first = sorted(self._spellings, key=lambda spelling: (-len(spelling), spelling))
            self._known = re.compile("|".join(map(re.escape, longest_first)))

    def redact(self, text: str) -> str:
        """The text with every secret-like value replaced by `MASK`."""
        text = _without_private_keys(text)
        if self._known is not None:
            text = self._known.sub(MASK, text)
        text = _USERINFO.sub(MASK + "@", text)
        text = _without_named_values(text)
        text = _BEARER.sub(rf"\g<1>{MASK}", text)
        return _SHAPES.sub(MASK, text)


class LineRedactor:
    """Masks a text that arrives line by line: remembers that a private key has begun in an earlier line."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        """Starts outside a private key; without ``redactor`` it masks as `redact` does."""
        self._redactor = redactor if redactor is not None else PROCESS
        self._in_key = False

    @property
    def in_key(self) -> bool:
        """Whether the lines so far end within a private key."""
        return self._in_key

    def redact(self, line: str) -> str:
        """The next line, masked."""
        tail = line
        if self._in_key:
            end = _KEY_END.search(line)
            if end is None:
                return MASK + line[len(line.rstrip("\r\n")) :]
            tail = line[end.end() :]
        head = "" if tail is line else MASK
        begins = [match.end() for match in _KEY_BEGIN.finditer(tail)]
        self._in_key = bool(begins) and _KEY_END.search(tail, begins[-1]) is None
        ending = tail[len(tail.rstrip("\r\n")) :] if self._in_key else ""
        return head + self._redactor.redact(tail) + ending


PROCESS = Redactor()
"""The redactor of this process, which is told the secrets of its settings when they are loaded."""


def redact(text: str) -> str:
    """The text with every secret-like value, and every secret of this process, replaced by `MASK`."""
    return PROCESS.redact(text)


def is_secret_name(name: str) -> bool:
    """Whether a setting, header or field of this name holds a secret."""
    spelled = name.strip("-").replace("-", "_")
    lower = spelled.lower()
    if lower in _HEADERS or lower.rpartition(".")[2] in _HEADERS or lower.endswith(_SECRET_ENDINGS):
        return True
    return spelled.isupper() and spelled.endswith(_UPPER_ENDINGS)


def _without_private_keys(text: str) -> str:
    begin = _KEY_BEGIN.search(text)
    if begin is None:
        return text
    parts, position = [], 0
    while begin is not None:
        parts += [text[position : begin.start()], MASK]
        end = _KEY_END.search(text, begin.end())
        if end is None:
            return "".join(parts)
        position = end.end()
        begin = _KEY_BEGIN.search(text, position)
    return "".join([*parts, text[position:]])


def _without_named_values(text: str) -> str:
    """Masks the values of secret names.

    The value of any other name is not stepped over: it may hold a secret name itself (`cmd="TOKEN=…"`).
    """
    parts, copied, position = [], 0, 0
    while (found := _NAME.search(text, position)) is not None:
        position = found.end()
        name = _as_written(text, found)
        value = _value_at(text, position, name) if is_secret_name(name) else None
        if value is not None:
            parts += [text[copied : value.start("value")], MASK]
            copied = position = value.end("value")
    return "".join([*parts, text[copied:]])


def _as_written(text: str, found: re.Match[str]) -> str:
    """The name without the letter of an escaped line end before it (`\\nTOKEN=…` within quotes)."""
    name = found["name"] or found["option"]
    if found.start() > 0 and text[found.start() - 1] == "\\" and name[0] in "nrt":
        return name[1:]
    return name


def _value_at(text: str, position: int, name: str) -> re.Match[str] | None:
    """The value that is to be masked at this position, or None when nothing there is one."""
    if _is_header(name):
        return _WHOLE_LINE.match(text, position)
    value = next((found for pattern in _VALUES if (found := pattern.match(text, position))), None)
    if value is None or not value["value"]:
        return None
    bare = not value["open"]
    if bare and not name.isupper() and _CODE.match(value["value"]):
        return None
    if bare and name.endswith("_TOKENS") and _NUMBER.match(value["value"]):
        return None
    return value


def _is_header(name: str) -> bool:
    """Whether this is the name of a header whose whole value is a secret."""
    return name.strip("-").replace("-", "_").lower().rpartition(".")[2] in _HEADERS
