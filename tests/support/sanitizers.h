// SPDX-License-Identifier: Apache-2.0
// Which sanitizer the program is built with.
#ifndef LOCUS_TESTS_SUPPORT_SANITIZERS_H_
#define LOCUS_TESTS_SUPPORT_SANITIZERS_H_

#include "absl/base/config.h"

namespace locus {

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
inline constexpr bool kUnderAsan = true;
#else
inline constexpr bool kUnderAsan = false;
#endif
#ifdef ABSL_HAVE_THREAD_SANITIZER
inline constexpr bool kUnderTsan = true;
#else
inline constexpr bool kUnderTsan = false;
#endif

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_SANITIZERS_H_
