// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_ARGUMENT_H_
#define LOCUS_INTERNAL_ARGUMENT_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "locus/internal/cxx20.h"

// Arguments of factories, made so that mistakes of callers do not compile.
namespace locus::internal {

inline void ThisNumberIsNegative() {}  // not constexpr: a call in a constant is an error

// A number that becomes a uint64 without a surprise: a value of an unsigned type, or a constant
// that is not negative. Variables of signed types and fractions do not compile.
class Natural {
 public:
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) constexpr Natural(T number)
      : number_(number) {}  // NOLINT: implicit
  template <std::signed_integral T>
  consteval Natural(T number) : number_(static_cast<uint64_t>(number)) {  // NOLINT: implicit
    if (number < 0) ThisNumberIsNegative();
  }

  constexpr uint64_t value() const { return number_; }

 private:
  uint64_t number_;
};

// A std::string (of any allocator) that nothing will hold: a view of it would dangle.
template <typename T>
concept DyingString = !std::is_lvalue_reference_v<T> && requires {
  typename std::remove_cvref_t<T>::allocator_type;
};

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_ARGUMENT_H_
