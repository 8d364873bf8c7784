// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_WORDS_H_
#define LOCUS_SRC_ENGINE_ETCD_WORDS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "src/base/text/text.h"

namespace locus::etcd {

// Reads a stored text word by word, each after one space. A word that cannot be read is 0 or empty;
// callers check good() at the end.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view Next() {
    const size_t size = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    return word;
  }
  uint64_t Number(uint64_t most = INT64_MAX) { return NumberIn(Next(), most); }
  int64_t SignedNumber() {
    const std::string_view word = Next();
    const bool negative = word.starts_with("-");
    return static_cast<int64_t>(NumberIn(word.substr(negative), INT64_MAX)) * (negative ? -1 : 1);
  }
  // In ms since 1970, up to the end of the year 9999.
  absl::Time Millis() {
    return absl::FromUnixMillis(static_cast<int64_t>(Number(253'402'300'799'999)));
  }
  // After a '=', so that it may be empty.
  std::string_view Name() {
    std::string_view word = Next();
    good_ &= word.starts_with("=");
    word.remove_prefix(std::min<size_t>(1, word.size()));
    return word;
  }
  // 32 characters: a mark, or a life.
  std::string_view Mark() {
    const std::string_view word = Next();
    good_ &= word.size() == 32;
    return word;
  }
  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }

 private:
  uint64_t NumberIn(std::string_view word, uint64_t most) {
    const std::optional<uint64_t> number = internal::ParseDecimal(word, most);
    good_ &= number.has_value();
    return number.value_or(0);
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_WORDS_H_
