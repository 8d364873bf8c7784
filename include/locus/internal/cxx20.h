// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_CXX20_H_
#define LOCUS_INTERNAL_CXX20_H_

// Every public header includes this one before any code of locus, by itself or by another header.
#if __cplusplus < 202002L
#error "locus needs C++20: compile with -std=c++20 or later"
// Compilers continue after #error, but stop at a file that does not exist. Without the next line, a
// hundred errors about C++20 syntax would follow.
#include "locus/internal/compile_with_std_cxx20_or_later"
#endif

#endif  // LOCUS_INTERNAL_CXX20_H_
