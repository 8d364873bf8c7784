// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_ARGUMENTS_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shop {

// The words of a command line: a verb, then options with a value, and flags.
class Arguments {
 public:
  // INVALID_ARGUMENT: no verb, a word that is no option, an option without its value or given
  // twice.
  static absl::StatusOr<Arguments> Read(const std::vector<std::string>& words,
                                        const std::set<std::string>& flags);

  const std::string& verb() const { return verb_; }
  bool Has(const std::string& name) const { return values_.contains(name); }
  std::string Text(const std::string& name, const std::string& otherwise = "") const;
  // INVALID_ARGUMENT: the value is no number of least..most.
  absl::StatusOr<uint64_t> Number(const std::string& name, uint64_t otherwise, uint64_t least,
                                  uint64_t most) const;
  // INVALID_ARGUMENT: an option of another name was given, or one of `needed` was not.
  absl::Status Check(const std::set<std::string>& known, const std::set<std::string>& needed) const;
  // The options as they were given.
  std::vector<std::string> Words() const;

 private:
  std::string verb_;
  std::map<std::string, std::string> values_;
  std::set<std::string> flags_;
};

// The first line of a file that only its owner may read; empty: no file, no password.
// FAILED_PRECONDITION: group or others may read it, or it has no line.
absl::StatusOr<std::string> PasswordIn(const std::string& path);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_ARGUMENTS_H_
