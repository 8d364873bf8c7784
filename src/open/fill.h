// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_FILL_H_
#define LOCUS_SRC_OPEN_FILL_H_

#include <string_view>

#include "absl/status/status.h"
#include "src/open/store_uri.h"

// Options of the engines that keep both stores and routing tables, from a URI. The caller wipes the
// copy of the password. Each is there where its engine is built.
namespace locus {
struct EtcdOptions;
struct MysqlOptions;
}  // namespace locus

namespace locus::internal {

void Fill(const StoreUri& uri, std::string_view password, MysqlOptions& options);

// INVALID_ARGUMENT: a password without a user. etcd would not be asked for it, and the caller would
// believe that it protects something.
absl::Status Fill(const StoreUri& uri, std::string_view password, EtcdOptions& options);

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_FILL_H_
