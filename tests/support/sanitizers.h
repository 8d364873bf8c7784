// SPDX-License-Identifier: Apache-2.0
// Which sanitizer the program is built with: each of the compilers tells in its own way.
#ifndef LOCUS_TESTS_SUPPORT_SANITIZERS_H_
#define LOCUS_TESTS_SUPPORT_SANITIZERS_H_

namespace locus {

#ifdef __clang__  // headers of others define __has_feature for g++ too
inline constexpr bool kUnderAsan = __has_feature(address_sanitizer);
inline constexpr bool kUnderTsan = __has_feature(thread_sanitizer);
#else
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kUnderAsan = true;
#else
inline constexpr bool kUnderAsan = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool kUnderTsan = true;
#else
inline constexpr bool kUnderTsan = false;
#endif
#endif

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_SANITIZERS_H_
