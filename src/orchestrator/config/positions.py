"""YAML text as plain data, with the place of every key and value; what hides meaning in YAML is refused."""

from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Path = tuple[str | int, ...]
Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]

_PREFIX: Final = "tag:yaml.org,2002:"
_LARGEST: Final = 256 * 1024
_LONGEST_NUMBER: Final = 100


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands in a text, counted from 1."""

    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class NotRead(Exception):
    """The text cannot be read; carries the place and one sentence on what is wrong and what to do."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data and the places of its keys and values, by path."""

    data: Value
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)

    def place_of(self, path: Path, *, key: bool = False) -> Place:
        """Where the value of ``path`` (or its key) stands; what is not written stands at its parent."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Place())


def read(text: str) -> Document:
    """Read one YAML document.

    Raises:
        NotRead: syntax error, duplicate key, alias, tag, or too large.
    """
    if len(text) > _LARGEST:
        raise NotRead(Place(), f"the file is larger than {_LARGEST // 1024} KiB; shorten it")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        reading = _Reading()
        data = reading.value(node, ()) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place()
        raise NotRead(place, f"YAML syntax: {_problem(error)}; mend the line") from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = Place(before.count("\n") + 1, error.position - before.rfind("\n"))
        raise NotRead(place, "a character that YAML does not allow; remove it") from error
    except RecursionError as error:
        raise NotRead(Place(), "nested too deeply; flatten it") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise NotRead(
            Place(), "YAML syntax: a number or an escape that is out of range; correct it"
        ) from error
    return Document(data, reading.keys, reading.values)


class _Reading:
    """Turns composed nodes into data and notes the places on the way."""

    def __init__(self) -> None:
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self._seen: set[int] = set()
        self._scalars = yaml.SafeLoader("")

    def value(self, node: Node, path: Path) -> Value:
        place = _place(node)
        self.values[path] = place
        if id(node) in self._seen:
            raise NotRead(place, "anchors and aliases are not used here; write the value out")
        self._seen.add(id(node))
        match node:
            case MappingNode(tag=tag) if tag == f"{_PREFIX}map":
                return self._mapping(node, path)
            case SequenceNode(tag=tag) if tag == f"{_PREFIX}seq":
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case ScalarNode() if node.tag == self._implied_tag(node):
                return self._scalar(node)
        raise NotRead(place, f"the tag {node.tag.replace(_PREFIX, '!!')} is not used here; remove it")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key_node, value_node in node.value:
            place = _place(key_node)
            if not isinstance(key_node, ScalarNode):
                raise NotRead(place, "a key must be a word; write it as text")
            key = self._text(key_node)
            if key in found:
                first = self.keys[*path, key]
                raise NotRead(place, f"duplicate key {key!r}, first on line {first.line}; keep one of them")
            self.keys[*path, key] = place
            found[key] = self.value(value_node, (*path, key))
        return found

    def _implied_tag(self, node: ScalarNode) -> str:
        if node.style is not None:
            return f"{_PREFIX}str"
        tag = self._scalars.resolve(ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        return str(tag)

    def _scalar(self, node: ScalarNode) -> Value:
        """Dates and the special words of YAML stay text: 2024-01-01 is meant as it is written."""
        match node.tag.removeprefix(_PREFIX):
            case "null":
                return None
            case "bool":
                return bool(self._scalars.construct_yaml_bool(node))
            case "int" | "float" if len(node.value) > _LONGEST_NUMBER:
                raise NotRead(_place(node), "a number with too many digits; shorten it or put it into quotes")
            case "int":
                return int(self._scalars.construct_yaml_int(node))
            case "float":
                return float(self._scalars.construct_yaml_float(node))
        return self._text(node)

    def _text(self, node: ScalarNode) -> str:
        """Nothing that is read from here can be an argument, a path or part of a page with these in it."""
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in node.value):
            raise NotRead(_place(node), "a text with a NUL or a half character; remove it")
        return str(node.value)


def _problem(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or error.context or "not understood"
    return f"{error.context}, {problem}" if problem.startswith("but ") else problem


def _place(node: Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
