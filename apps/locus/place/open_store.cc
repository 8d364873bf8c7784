// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/open_store.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/place/server_options.h"
#include "locus/engine/etcd.h"
#include "locus/engine/mariadb.h"
#include "locus/engine/redis.h"
#include "locus/engine/sqlite.h"
#include "src/base/check.h"

namespace locus {
namespace {

using Engine = StoreUri::Engine;

template <typename Store>
using Opened = absl::StatusOr<std::unique_ptr<Store>>;

template <typename Interface, typename Store>
absl::StatusOr<Interface> As(Opened<Store> store) {
  if (!store.ok()) return store.status();
  return Interface(*std::move(store));
}

// What to do where there is no store.
absl::Status Explained(const absl::Status& status, absl::string_view uri) {
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(
      absl::StrCat(status.message(), "; `locus store init ", uri, "` makes one"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create) {
  using Result = std::shared_ptr<SegmentStore>;
  switch (uri.engine) {
    case Engine::kSqlite: {
      SqliteSegmentStore::Options options;
      options.create = create;
      return As<Result>(SqliteSegmentStore::Open(uri.path, options));
    }
    case Engine::kMysql: {
      Secretive<MariadbOptions> server;
      LOCUS_RETURN_IF_ERROR(Fill(uri, server));
      if (create) LOCUS_RETURN_IF_ERROR(MariadbSegmentStore::CreateSchema(server.options));
      return As<Result>(MariadbSegmentStore::Open(server.options));
    }
    case Engine::kRedis:
    case Engine::kRedisSentinel: {
      Secretive<RedisOptions> server;
      LOCUS_RETURN_IF_ERROR(Fill(uri, server));
      return As<Result>(RedisSegmentStore::Open(server.options));
    }
    case Engine::kEtcd: {
      Secretive<EtcdOptions> server;
      LOCUS_RETURN_IF_ERROR(Fill(uri, server));
      return As<Result>(EtcdSegmentStore::Open(server.options));
    }
  }
  LOCUS_CHECK(false);
}

namespace {

absl::StatusOr<std::unique_ptr<Sequencer>> OpenDurable(const StoreUri& uri, PasswordFor whose,
                                                       const SequencerOptions& options) {
  using Result = std::unique_ptr<Sequencer>;
  if (uri.engine == Engine::kSqlite) {
    auto sequencer = As<Result>(SqliteSequencer::Open(uri.path, {}, options));
    if (sequencer.ok()) return sequencer;
    return Explained(sequencer.status(), absl::StrCat("sqlite:", uri.path));
  }
  Secretive<MariadbOptions> server;
  LOCUS_RETURN_IF_ERROR(Fill(uri, server, whose));
  return As<Result>(MariadbSequencer::Open(server.options, options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenBelowCeiling(const RedisOptions& server,
                                                            const StoreUri& ceiling,
                                                            const SequencerOptions& options) {
  if (ceiling.engine != Engine::kSqlite && ceiling.engine != Engine::kMysql) {
    return absl::InvalidArgumentError("--ceiling must be a store of sqlite or mysql");
  }
  if (options.at_max == SequencerOptions::AtMax::kWrap || options.ttl != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "--at-max wrap and --ttl go without --ceiling only: they let numbers come again");
  }
  SequencerOptions of_ceiling;
  of_ceiling.key_prefix = options.key_prefix;
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> durable,
                         OpenDurable(ceiling, PasswordFor::kCeiling, of_ceiling));
  return As<std::unique_ptr<Sequencer>>(
      CeilingSequencer::Open(server, options, std::move(durable)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options) {
  using Result = std::unique_ptr<Sequencer>;
  bool is_redis = uri.engine == Engine::kRedis || uri.engine == Engine::kRedisSentinel;
  if (ceiling != nullptr && !is_redis) {
    return absl::InvalidArgumentError(
        "--ceiling is for a --store of redis: the other engines keep their numbers themselves");
  }
  if (is_redis) {
    Secretive<RedisOptions> server;
    LOCUS_RETURN_IF_ERROR(Fill(uri, server));
    if (ceiling != nullptr) return OpenBelowCeiling(server.options, *ceiling, options);
    return As<Result>(RedisSequencer::Open(server.options, options));
  }
  if (uri.engine == Engine::kEtcd) {
    Secretive<EtcdOptions> server;
    LOCUS_RETURN_IF_ERROR(Fill(uri, server));
    return As<Result>(EtcdSequencer::Open(server.options, options));
  }
  return OpenDurable(uri, PasswordFor::kStore, options);
}

}  // namespace locus
