// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CONSOLE_API_TYPES_H_
#define LOCUS_TESTS_CONSOLE_API_TYPES_H_

#include <map>
#include <string>

#include "nlohmann/json.hpp"

namespace locus::locusd {

// The interfaces of web/src/api.ts, as far as to say whether an object has the members of one.
class ApiTypes {
 public:
  static ApiTypes Load();

  // "": `value` is an object with all members of the interface that it must have, and no other;
  // otherwise what is wrong.
  std::string Misfit(const std::string& name, const nlohmann::json& value) const;

 private:
  void LoadFile(const std::string& file);

  struct Member {
    bool optional = false;
    std::string type;  // as far as it stands in the member's line
  };
  std::map<std::string, std::map<std::string, Member>> interfaces_;
};

}  // namespace locus::locusd

#endif  // LOCUS_TESTS_CONSOLE_API_TYPES_H_
