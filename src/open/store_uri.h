// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_STORE_URI_H_
#define LOCUS_SRC_OPEN_STORE_URI_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/open/engine.h"

namespace locus::internal {

// Where a store is, as locus/open.h says.
struct StoreUri {
  struct Host {
    std::string name;  // an IPv6 address without its brackets
    uint16_t port = 0;
    friend bool operator==(const Host&, const Host&) = default;
  };

  std::string text;  // as it was written
  const Engine* engine = &Engines().front();
  // A file; or what stands after the hosts: the database of mysql, the master's name of
  // redis+sentinel, the prefix of etcd and zookeeper, which may be empty.
  std::string path;
  std::vector<Host> hosts;  // at least one; none for a file
  std::string user;
  uint32_t number = 0;                          // the database of redis
  std::map<std::string, std::string> settings;  // after the '?'

  // The value of a setting, "" where it has none.
  std::string Setting(const std::string& name) const;
  // The hosts as "name:port".
  std::vector<std::string> Endpoints() const;

  // INVALID_ARGUMENT, naming the text, what is wrong in it and the forms there are. A password in
  // it is not repeated. `what`: what messages call it.
  static absl::StatusOr<StoreUri> Parse(std::string_view text, std::string_view what = "store");
};

// FAILED_PRECONDITION: this build leaves the engine out; the message names the CMake option.
absl::Status CheckBuilt(const StoreUri& uri);

// The text of a URI, quoted for a message, without what may be a password in it.
std::string ShownUri(std::string_view text);
// Whether a password may stand in it.
bool MayHavePassword(std::string_view uri);
// The path of a URI of a file: `scheme`:PATH, or `scheme`:///PATH. What stands after "//" is a
// host: taken for a path, sqlite://x.db would be a file of the root directory.
absl::StatusOr<std::string> FilePathOf(std::string_view text, std::string_view scheme,
                                       std::string_view what);

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_STORE_URI_H_
