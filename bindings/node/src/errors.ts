// SPDX-License-Identifier: Apache-2.0

/** The codes of errors: those of gRPC and of the C++ library. */
export type LocusErrorCode =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/**
 * What this package throws, and rejects promises with, where a value is refused or a call fails.
 * The message names the value, the limit and the place, but never a key. Arguments of a wrong type
 * throw TypeError instead.
 */
export class LocusError extends Error {
  /** Says what the caller does next: UNAVAILABLE is worth another try, INVALID_ARGUMENT is not. */
  readonly code: LocusErrorCode;

  constructor(code: LocusErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
Object.defineProperty(LocusError.prototype, "name", {
  value: "LocusError",
  writable: true,
  configurable: true,
});

/** The error of a value that is refused. */
export function invalid(message: string): LocusError {
  return new LocusError("INVALID_ARGUMENT", message);
}
