// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <sys/stat.h>

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shop {

absl::StatusOr<Arguments> Arguments::Read(const std::vector<std::string>& words,
                                          const std::set<std::string>& flags) {
  Arguments arguments;
  arguments.flags_ = flags;
  if (words.empty()) return absl::InvalidArgumentError("no verb was given");
  arguments.verb_ = words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      return absl::InvalidArgumentError(absl::StrCat("\"", words[i], "\" is no option"));
    }
    const std::string name = words[i].substr(2);
    const bool flag = flags.contains(name);
    if (!flag && i + 1 == words.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    }
    if (!arguments.values_.emplace(name, flag ? "" : words[i + 1]).second) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " was given twice"));
    }
    if (!flag) ++i;
  }
  return arguments;
}

std::string Arguments::Text(const std::string& name, const std::string& otherwise) const {
  auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

absl::StatusOr<uint64_t> Arguments::Number(const std::string& name, uint64_t otherwise,
                                           uint64_t least, uint64_t most) const {
  auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  uint64_t number = 0;
  if (absl::SimpleAtoi(found->second, &number) && number >= least && number <= most) return number;
  return absl::InvalidArgumentError(absl::StrCat(
      "--", name, " is \"", found->second, "\"; it must be a number from ", least, " to ", most));
}

absl::Status Arguments::Check(const std::set<std::string>& known,
                              const std::set<std::string>& needed) const {
  for (const auto& [name, value] : values_) {
    if (!known.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(verb_, " knows no option --", name));
    }
  }
  for (const std::string& name : needed) {
    if (!Has(name)) return absl::InvalidArgumentError(absl::StrCat(verb_, " needs --", name));
  }
  return absl::OkStatus();
}

std::vector<std::string> Arguments::Words() const {
  std::vector<std::string> words;
  for (const auto& [name, value] : values_) {
    words.push_back("--" + name);
    if (!flags_.contains(name)) words.push_back(value);
  }
  return words;
}

absl::StatusOr<std::string> PasswordIn(const std::string& path) {
  std::string line;
  if (path.empty()) return line;
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " may be read by others; chmod 600 ", path));
  }
  std::ifstream file(path);
  if (std::getline(file, line)) return line;
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has no first line; write the password there"));
}

}  // namespace shop
