// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SPACE_H_
#define LOCUS_SPACE_H_

#include <compare>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/internal/cxx20.h"
#include "locus/str.h"

namespace locus {

// The name of a space: an independent set of sequences in a store. It also salts the keys of
// order_nos, so spaces may share a key ring. Database tables that share orders share a space.
// 1 to 64 characters of a-z, 0-9, '_' and '-'; the default is "orders".
class SpaceName {
 public:
  SpaceName() : name_("orders") {}
  // INVALID_ARGUMENT: the name has other characters or another length.
  static absl::StatusOr<SpaceName> Parse(std::string_view name);

  const std::string& str() const { return name_; }
  friend auto operator<=>(const SpaceName&, const SpaceName&) = default;
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const SpaceName& space) {
    sink.Append(space.name_);
  }

 private:
  explicit SpaceName(std::string_view name) : name_(name) {}
  std::string name_;
};

}  // namespace locus

#endif  // LOCUS_SPACE_H_
