// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/locusd/config/config.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/http/endpoint.h"
#include "src/open/store_uri.h"

// Any bytes are refused, naming file, line and column, or make a configuration whose every part
// passes its own check, and which listens beyond loopback only with certificates.

namespace locus::locusd {
namespace {

bool IsBeyond(const std::string& address) {
  return !internal::IsLoopback(http::Endpoint::Parse(address)->host);
}

void CheckAccepted(const Config& config) {
  LOCUS_CHECK(config.cluster_node || config.id_service);
  LOCUS_CHECK(config.id_service == config.ids.has_value());
  if (config.cluster_node) {
    LOCUS_CHECK(!config.cluster.empty() && !config.data.empty());
    LOCUS_CHECK(!IsBeyond(config.raft.listen) || config.raft.tls);
  }
  LOCUS_CHECK(!IsBeyond(config.api.server.listen) || (config.api.tls && config.AsksForTokens()));
  for (const TokenSettings& token : config.tokens) {
    LOCUS_CHECK(!token.name.empty() && !token.file.empty() && !token.scopes.empty());
  }
  if (config.ids && config.ids->orders) {
    for (const OrderSettings::Member& member : config.ids->orders->members) {
      LOCUS_CHECK(internal::StoreUri::Parse(member.place.uri).ok());
    }
  }
  if (config.health) LOCUS_CHECK(config.health->probe.Check().ok());
  if (config.audit) {
    ClickHouseOptions server = config.audit->clickhouse;
    if (!config.audit->password_file.empty()) server.password = "x";
    LOCUS_CHECK(server.Check().ok());
    LOCUS_CHECK(config.audit->sink.Check().ok());
  }
}

}  // namespace
}  // namespace locus::locusd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto config = locus::locusd::ParseConfig(text, "f.toml");
  if (config.ok()) {
    locus::locusd::CheckAccepted(*config);
    return 0;
  }
  LOCUS_CHECK(config.status().code() == absl::StatusCode::kInvalidArgument);
  const absl::string_view message = config.status().message();
  LOCUS_CHECK(message.substr(0, 7) == "f.toml:" && message.find(": ") != absl::string_view::npos);
  return 0;
}
