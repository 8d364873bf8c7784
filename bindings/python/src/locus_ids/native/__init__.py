# SPDX-License-Identifier: Apache-2.0
"""Hands out order IDs, numbers and Snowflakes, routes and decodes, by the native library of locus.

Importing it needs the package cffi and liblocus.so.0: that which LOCUS_LIBRARY names, or the one that
the dynamic linker finds (on Debian: the package liblocus0). ImportError says what is missing.

What the library refuses raises a LocusError, a class of its own for each code; arguments that cannot
be handed to it raise ValueError or TypeError. Calls let other threads of Python run, wait in short
slices so that Ctrl-C is noticed, and may be made from any thread. Objects are context managers. They
cannot be shared with other processes: open them after a fork, in the process that uses them.
"""

from ._ids import gene_of, uuid_v7
from ._library import library_version
from .codec import OrderNoCodec
from .errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    LocusError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from .generator import OrderIdGenerator
from .numbers import NumberBlock, Numbers
from .router import BuyerRoute, RoutedShard, Router
from .sequence import Sequence
from .snowflake import Snowflake

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "BuyerRoute",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "LocusError",
    "NotFoundError",
    "NumberBlock",
    "Numbers",
    "OrderIdGenerator",
    "OrderNoCodec",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "RoutedShard",
    "Router",
    "Sequence",
    "Snowflake",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "gene_of",
    "library_version",
    "uuid_v7",
]
