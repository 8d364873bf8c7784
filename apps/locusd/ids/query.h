// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_QUERY_H_
#define LOCUS_APPS_LOCUSD_IDS_QUERY_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::locusd {

// The parameters behind a '?' or the parts of a path, with %XX read.
class Query {
 public:
  // INVALID_ARGUMENT: a parameter has no name, is given twice, or has a bad %XX or a '+'.
  static absl::StatusOr<Query> Parse(std::string_view text);

  // nullptr: it is not there.
  const std::string* Find(const std::string& name) const;
  // 1 to `most`; without the parameter `otherwise`. INVALID_ARGUMENT: it is no such number.
  absl::StatusOr<size_t> Count(const std::string& name, size_t otherwise, size_t most) const;
  // Those whose names begin with `prefix`, without it, and their values.
  std::vector<std::pair<std::string, std::string>> Under(std::string_view prefix) const;
  // INVALID_ARGUMENT: there is another parameter than these, with a list of them. A name that ends
  // with '*' is of all that begin with the rest of it.
  absl::Status Only(std::initializer_list<std::string_view> names) const;
  size_t size() const { return values_.size(); }

 private:
  std::map<std::string, std::string> values_;
};

// INVALID_ARGUMENT: there is a '+', which a client may mean as a blank or as a plus.
absl::Status RefusePlus(std::string_view text);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_QUERY_H_
