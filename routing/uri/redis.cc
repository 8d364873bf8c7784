// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/redis.h"

#include "routing/uri/engines.h"
#include "routing/uri/opened.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view password, RedisOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) options.addresses.push_back({host.name, host.port});
  if (uri.engine == StoreUri::Engine::kRedisSentinel) options.master_name = uri.path;
  options.database = static_cast<int>(uri.redis_database);
  options.user = uri.user;
  options.password = password;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenRedisStore(const StoreUri& uri,
                                                             std::string_view password) {
  RedisOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  return As<std::shared_ptr<SegmentStore>>(RedisSegmentStore::Open(options));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenRedisWorkerLeases(const StoreUri& uri,
                                                                        std::string_view password) {
  RedisOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  return As<std::shared_ptr<WorkerLeaseStore>>(RedisWorkerLeaseStore::Open(options));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenRedisSequenceTypes(
    const StoreUri& uri, std::string_view password) {
  RedisOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  return As<std::unique_ptr<SequenceTypeStore>>(RedisSequenceTypeStore::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenRedisSequencer(const StoreUri& uri,
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

absl::StatusOr<std::optional<int64_t>> RedisValueUnderCeiling(const StoreUri& uri,
                                                              std::string_view password,
                                                              const std::string& name) {
  RedisOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  return CeilingSequencer::Stored(server, name);
}

}  // namespace locus::internal
