// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/redis.h"

#include "src/open/engine.h"
#include "src/open/opened.h"
#include "src/open/store_uri.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view password, RedisOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) options.addresses.push_back({host.name, host.port});
  options.master_name = uri.path;  // empty: not by way of sentinels
  options.database = static_cast<int>(uri.number);
  options.user = uri.user;
  options.password = password;
}

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view password, bool) {
  RedisOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  return As<Opened>(Store::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(const StoreUri& uri,
                                                        std::string_view password,
                                                        const SequencerOptions& options,
                                                        std::shared_ptr<Sequencer> ceiling) {
  RedisOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  if (ceiling == nullptr) {
    return As<std::unique_ptr<Sequencer>>(RedisSequencer::Open(server, options));
  }
  return As<std::unique_ptr<Sequencer>>(
      CeilingSequencer::Open(server, options, std::move(ceiling)));
}

absl::StatusOr<std::optional<int64_t>> ValueUnderCeiling(const StoreUri& uri,
                                                         std::string_view password,
                                                         const std::string& name) {
  RedisOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  return CeilingSequencer::Stored(server, name);
}

}  // namespace

extern const Openers kRedisOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, RedisSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, RedisWorkerLeaseStore>,
    .counters = OpenCounters,
    .value_under_ceiling = ValueUnderCeiling,
    .types = Open<std::unique_ptr<SequenceTypeStore>, RedisSequenceTypeStore>,
};

}  // namespace locus::internal
