# SPDX-License-Identifier: Apache-2.0
"""Finds and loads liblocus.so, and calls it."""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Tuple, Union

from ._interface import CDEF
from .errors import error_of

_NAME = "liblocus.so.0"
_VARIABLE = "LOCUS_LIBRARY"

#: A path, or a text that is handed to the library.
Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

try:
    import cffi
except ImportError as error:
    raise ImportError(
        "locus_ids.native needs the package cffi, which is missing: install it with "
        "`python3 -m pip install cffi`, or on Debian the package python3-cffi. (The rest of "
        "locus_ids does without.)"
    ) from error


def _load() -> Tuple[Any, Any]:
    """cffi's FFI and the library. ImportError says what was looked for, and what to install."""
    interface = cffi.FFI()
    interface.cdef(CDEF)
    path = os.environ.get(_VARIABLE)
    try:
        library = interface.dlopen(path or _NAME)
    except OSError as error:
        where = (
            f"{_VARIABLE} names it"
            if path
            else "looked for in the folders of the dynamic linker and of LD_LIBRARY_PATH"
        )
        raise ImportError(
            f"locus_ids.native needs the native library of locus, {path or _NAME} ({where}): "
            f"{error}. Install the Debian package liblocus0, or build locus and set {_VARIABLE} to "
            "the path of liblocus.so.0. (The rest of locus_ids does without.)"
        ) from error
    try:
        for name in dir(library):
            getattr(library, name)
    except AttributeError as error:
        raise ImportError(
            f"{path or _NAME} is not the library that this locus_ids was made for, or an older "
            f"one: {error}"
        ) from error
    return interface, library


ffi, lib = _load()
_new_error = ffi.new_allocator(should_clear_after_alloc=False)


def library_version() -> str:
    """The version of the native library that is loaded, such as "0.1.0"."""
    return str(ffi.string(lib.locus_version()).decode())


def call(function: Callable[..., int], *arguments: object) -> None:
    """Calls `function` with these arguments and a locus_error behind them, while other threads of
    Python run. Raises a LocusError where it does not answer LOCUS_OK."""
    error = _new_error("locus_error *")
    code = function(*arguments, error)
    if code != 0:
        raise error_of(code, ffi.string(error.message).decode("utf-8", "replace"))


def encoded(name: str, text: Text) -> bytes:
    """The bytes of a text that C takes up to its first NUL. ValueError: it has one inside.
    TypeError: it is neither a text nor a path."""
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogateescape")
    elif not isinstance(text, bytes):
        raise TypeError(f"{name} is of type {type(text).__name__}, not str, bytes or a path")
    if b"\0" in text:
        raise ValueError(f"{name} has a NUL inside")
    return text


class Texts:
    """Texts in memory of C, which is wiped with this object: some are secret. It has to live as
    long as the call that reads them."""

    def __init__(self) -> None:
        self._kept: List[Any] = []

    def __del__(self) -> None:
        for text in self._kept:
            ffi.memmove(text, bytes(len(text)), len(text))

    def of(self, name: str, text: Optional[Text]) -> Any:
        """A char *; NULL for None. Raises what encoded() raises."""
        if text is None:
            return ffi.NULL
        self._kept.append(ffi.new("char[]", encoded(name, text)))
        return self._kept[-1]
