# SPDX-License-Identifier: Apache-2.0
"""What the native library answers instead of a result: one class of exception for each code."""

from __future__ import annotations

from typing import ClassVar, Dict, Type


class LocusError(Exception):
    """The native library could not do what it was asked. `code` says what the caller does next,
    `message` (also str(error)) what happened; neither holds a password or a key.

    Raised as one of its subclasses, each of which has one code. Codes are those of gRPC.
    """

    code: ClassVar[int] = 2
    code_name: ClassVar[str] = "UNKNOWN"

    @property
    def message(self) -> str:
        return str(self)


class CancelledError(LocusError):
    """CANCELLED."""

    code, code_name = 1, "CANCELLED"


class UnknownError(LocusError):
    """UNKNOWN, or a code that this package does not know."""


class InvalidArgumentError(LocusError, ValueError):
    """INVALID_ARGUMENT: fix the input."""

    code, code_name = 3, "INVALID_ARGUMENT"


class DeadlineExceededError(LocusError, TimeoutError):
    """DEADLINE_EXCEEDED: the timeout is over; the message has the store's last error."""

    code, code_name = 4, "DEADLINE_EXCEEDED"


class NotFoundError(LocusError):
    """NOT_FOUND: the store, space, table or file is missing."""

    code, code_name = 5, "NOT_FOUND"


class AlreadyExistsError(LocusError):
    """ALREADY_EXISTS."""

    code, code_name = 6, "ALREADY_EXISTS"


class PermissionDeniedError(LocusError):
    """PERMISSION_DENIED."""

    code, code_name = 7, "PERMISSION_DENIED"


class ResourceExhaustedError(LocusError):
    """RESOURCE_EXHAUSTED: all worker IDs are taken, some come free again; or there is no memory."""

    code, code_name = 8, "RESOURCE_EXHAUSTED"


class FailedPreconditionError(LocusError):
    """FAILED_PRECONDITION: do not retry until somebody repairs the cause. Also: the object was
    opened before a fork and is used in the child, or it was closed."""

    code, code_name = 9, "FAILED_PRECONDITION"


class AbortedError(LocusError):
    """ABORTED: reload and restart the larger operation."""

    code, code_name = 10, "ABORTED"


class OutOfRangeError(LocusError):
    """OUT_OF_RANGE: used up for good."""

    code, code_name = 11, "OUT_OF_RANGE"


class UnimplementedError(LocusError):
    """UNIMPLEMENTED."""

    code, code_name = 12, "UNIMPLEMENTED"


class InternalError(LocusError):
    """INTERNAL: a defect of locus."""

    code, code_name = 13, "INTERNAL"


class UnavailableError(LocusError):
    """UNAVAILABLE: retry this call."""

    code, code_name = 14, "UNAVAILABLE"


class DataLossError(LocusError):
    """DATA_LOSS: what is stored contradicts itself."""

    code, code_name = 15, "DATA_LOSS"


class UnauthenticatedError(LocusError):
    """UNAUTHENTICATED."""

    code, code_name = 16, "UNAUTHENTICATED"


_CLASSES: Dict[int, Type[LocusError]] = {
    each.code: each for each in LocusError.__subclasses__()
}


def error_of(code: int, message: str) -> LocusError:
    """The exception of a code."""
    return _CLASSES.get(code, UnknownError)(message)
