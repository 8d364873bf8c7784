// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_DAMM_H_
#define LOCUS_SRC_NUMBER_PATTERN_DAMM_H_

#include <cstdint>
#include <string_view>

namespace locus::internal {

// The check digit of H. Michael Damm over the digits of `text`; other characters are skipped.
inline char DammDigit(std::string_view text) {
  // Damm's quasigroup of order 10. It is totally anti-symmetric, which detects swapped digits, and
  // its diagonal is 0, so that appending the check digit gives 0.
  static constexpr uint8_t kTable[10][10] = {
      {0, 3, 1, 7, 5, 9, 8, 6, 4, 2}, {7, 0, 9, 2, 1, 5, 4, 8, 6, 3},
      {4, 2, 0, 6, 8, 7, 1, 3, 5, 9}, {1, 7, 5, 0, 9, 8, 3, 4, 2, 6},
      {6, 1, 2, 3, 0, 4, 5, 9, 7, 8}, {3, 6, 7, 4, 2, 0, 9, 5, 8, 1},
      {5, 8, 6, 9, 7, 2, 0, 1, 3, 4}, {8, 9, 4, 5, 3, 6, 2, 0, 1, 7},
      {9, 4, 3, 8, 6, 1, 7, 2, 0, 5}, {2, 5, 8, 1, 4, 3, 6, 7, 9, 0}};
  uint8_t check = 0;
  for (char c : text) {
    if (c >= '0' && c <= '9') check = kTable[check][c - '0'];
  }
  return static_cast<char>('0' + check);
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_DAMM_H_
