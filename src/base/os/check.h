// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_CHECK_H_
#define LOCUS_SRC_BASE_OS_CHECK_H_

#include <cstdio>
#include <cstdlib>

// "We failed", as opposed to "the world failed" (which is a Status): prints the condition and
// aborts, also in release builds. The condition's text is all that is printed, never a value.
#define LOCUS_CHECK(condition)                                                                   \
  do {                                                                                           \
    if (!(condition)) [[unlikely]] {                                                             \
      std::fprintf(stderr, "locus: check failed: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)

// Aborts like LOCUS_CHECK(false). For the end of a function that returns a value in every case
// above: an unoptimized g++ would warn there that control may reach the end after a check.
#define LOCUS_UNREACHABLE()                                                                \
  do {                                                                                     \
    std::fprintf(stderr, "locus: unreachable code reached (%s:%d)\n", __FILE__, __LINE__); \
    std::abort();                                                                          \
  } while (false)

// Returns the Status of `expression` to the caller unless it is OK.
#define LOCUS_RETURN_IF_ERROR(expression)     \
  do {                                        \
    absl::Status locus_status = (expression); \
    if (!locus_status.ok()) [[unlikely]]      \
      return locus_status;                    \
  } while (false)

#define LOCUS_CONCAT_INNER(a, b) a##b
#define LOCUS_CONCAT(a, b) LOCUS_CONCAT_INNER(a, b)

// `declaration` = the value of the StatusOr `expression`, or returns its Status to the caller.
#define LOCUS_ASSIGN_OR_RETURN(declaration, expression) \
  LOCUS_ASSIGN_OR_RETURN_INNER(LOCUS_CONCAT(locus_or_, __LINE__), declaration, expression)
#define LOCUS_ASSIGN_OR_RETURN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                         \
  if (!temporary.ok()) [[unlikely]]                                      \
    return std::move(temporary).status();                                \
  declaration = *std::move(temporary)

#endif  // LOCUS_SRC_BASE_OS_CHECK_H_
