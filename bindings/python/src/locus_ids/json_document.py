# SPDX-License-Identifier: Apache-2.0
"""Reads a JSON document whose members are known, and refuses any other.

Refusals are ValueErrors that begin with the JSON Pointer (RFC 6901) of the offending value and
": "; an error of the whole document has no pointer. No message quotes a string of the document: it
may be a secret that was put in the wrong place.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple, Union

from .texts import quoted

#: No document is longer.
MAX_DOCUMENT_BYTES = 32 << 20
_MOST_SHOWN = 64


class _Members(List[Tuple[str, Any]]):
    """A JSON object as it is written: a member may occur twice."""

    __slots__ = ()


class _MinusZero:
    """-0, which has a sign and so is no integer here."""


@dataclass(frozen=True)
class Integer:
    """A JSON integer without a sign, 0..most."""

    most: int


@dataclass(frozen=True)
class Text:
    """A string of at most `most` bytes of UTF-8."""

    most: int


@dataclass(frozen=True)
class Array:
    """At most `most` elements. `each` is called with an element and the array's pointer once the
    element has been read."""

    element: Shape
    most: int
    each: Callable[[Any, str], None] = lambda element, pointer: None


@dataclass(frozen=True)
class Map:
    """An object of at most `most` members of any name up to `name_bytes`."""

    element: Shape
    most: int
    name_bytes: int


@dataclass(frozen=True)
class Object:
    """An object of these members and no others."""

    members: Dict[str, Shape]
    optional: frozenset[str] = field(default_factory=frozenset)


Shape = Union[Integer, Text, Array, Map, Object]


def refusal(pointer: str, reason: str) -> ValueError:
    """The error of the value that `pointer` leads to; "": of the whole document."""
    return ValueError(f"{pointer}: {reason}" if pointer else reason)


def pointer_to(parent: str, member: Union[str, int]) -> str:
    """The pointer of a member or an element of what `parent` points to. Control characters stand as
    \\xHH, so that a message stays one line."""
    shown = []
    for character in str(member):
        if character < " " or character == "\x7f":
            shown.append(f"\\x{ord(character):02x}")
        else:
            shown.append({"~": "~0", "/": "~1"}.get(character, character))
    return f"{parent}/{''.join(shown)}"


def read_document(document: Union[str, bytes], shape: Object) -> Dict[str, Any]:
    """The members of a document of this shape: ints, strs, lists and dicts.

    ValueError: the document is of another shape, not JSON (RFC 8259), not UTF-8, or too long.
    """
    members: Dict[str, Any] = _read(_parse(document), shape, "")
    return members


def _parse(document: Union[str, bytes]) -> Any:
    if isinstance(document, str):
        # A lone surrogate has no UTF-8 form; the parser refuses the byte it becomes.
        document = document.encode("utf-8", "surrogatepass")
    if len(document) > MAX_DOCUMENT_BYTES:
        raise refusal("", f"it is {len(document)} bytes long; at most {MAX_DOCUMENT_BYTES}")
    bom = b"\xef\xbb\xbf"
    skipped = len(bom) if document.startswith(bom) else 0
    try:
        text = document[skipped:].decode("utf-8")
    except UnicodeDecodeError as error:
        raise _syntax_error(document, skipped + error.start, "not UTF-8") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_Members,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        at = skipped + len(text[: error.pos].encode("utf-8"))
        raise _syntax_error(document, at, error.msg) from None
    except RecursionError:
        raise refusal("", "values are nested too deeply") from None


def _syntax_error(document: bytes, at: int, reason: str) -> ValueError:
    line = document.count(b"\n", 0, at) + 1
    column = at - document.rfind(b"\n", 0, at)
    return refusal("", f"line {line}, column {column} (byte {at + 1}): {reason}")


def _number(text: str) -> Any:
    """An int if it is written as one and fits 64 bits, else a float, which may be infinite."""
    if text == "-0":
        return _MinusZero()
    if text.lstrip("-").isdigit() and len(text) <= 20 and -(1 << 63) <= int(text) < 1 << 64:
        return int(text)
    return float(text)


def _refuse_constant(text: str) -> NoReturn:
    raise refusal("", f"{text} is not JSON")


class _Kind(NamedTuple):
    type: type
    name: str


_KINDS = {Integer: _Kind(int, "number"), Text: _Kind(str, "string"), Array: _Kind(list, "array"),
          Map: _Kind(_Members, "object"), Object: _Kind(_Members, "object")}
_NAMES = {type(None): "null", bool: "boolean", int: "number", float: "number",
          _MinusZero: "number", str: "string", list: "array", _Members: "object"}


def _read(value: Any, shape: Shape, pointer: str) -> Any:
    kind = _KINDS[type(shape)]
    if isinstance(value, float) and math.isinf(value):
        raise refusal("", "a number is out of range")
    if isinstance(shape, Integer):
        return _read_integer(value, shape, pointer)
    fits = type(value) is kind.type
    if not fits:
        raise refusal(pointer, f"it is of type {_NAMES[type(value)]}, not {kind.name}")
    if isinstance(shape, Text):
        return _read_text(value, shape, pointer)
    if isinstance(shape, Array):
        return _read_array(value, shape, pointer)
    return _read_members(value, shape, pointer)


def _read_integer(value: Any, shape: Integer, pointer: str) -> int:
    if type(value) is int and 0 <= value <= shape.most:
        return value
    if isinstance(value, _MinusZero):
        shown = "-0"
    else:
        shown = repr(value) if type(value) in (int, float) else "it"
    raise refusal(pointer, f"{shown} is not an integer from 0 to {shape.most}")


def _read_text(value: str, shape: Text, pointer: str) -> str:
    size = len(_utf8(value, pointer))
    if size > shape.most:
        raise refusal(pointer, f"{size} bytes; at most {shape.most}")
    return value


def _read_array(value: List[Any], shape: Array, pointer: str) -> List[Any]:
    read = []
    for index, element in enumerate(value):
        if index == shape.most:
            raise refusal(pointer, f"more than {shape.most} elements")
        read.append(_read(element, shape.element, pointer_to(pointer, index)))
        shape.each(read[-1], pointer)
    return read


def _read_members(value: _Members, shape: Union[Map, Object], pointer: str) -> Dict[str, Any]:
    read: Dict[str, Any] = {}
    for name, element in value:
        expected = _shape_of_member(name, shape, pointer, len(read))
        if name in read:
            raise refusal(pointer_to(pointer, name), "the member occurs twice")
        read[name] = _read(element, expected, pointer_to(pointer, name))
    if isinstance(shape, Object):
        for name in shape.members:
            if name not in read and name not in shape.optional:
                raise refusal(pointer, f"member {quoted(name)} is missing")
    return read


def _shape_of_member(name: str, shape: Union[Map, Object], pointer: str, count: int) -> Shape:
    size = len(_utf8(name, pointer))
    if isinstance(shape, Map):
        if size > shape.name_bytes:
            raise refusal(pointer, f"a member name of {size} bytes; at most {shape.name_bytes}")
        if count >= shape.most:
            raise refusal(pointer, f"more than {shape.most} members")
        return shape.element
    member: Optional[Shape] = shape.members.get(name)
    if member is not None:
        return member
    if size <= _MOST_SHOWN:
        raise refusal(pointer_to(pointer, name), "unknown member")
    raise refusal(pointer, f"unknown member with a name of {size} bytes")


def _utf8(text: str, pointer: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise refusal(pointer, "a surrogate without its partner") from None
