// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "locus/routing/uri.h"
#include "routing/uri/engines.h"
#include "routing/uri/first_start.h"
#include "routing/uri/opened.h"
#include "routing/uri/password.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/plain_names.h"

namespace locus {
namespace {

using Engine = internal::StoreUri::Engine;

absl::Status ZookeeperHasNo(const internal::StoreUri& uri, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat(uri.text, ": zookeeper has worker leases and order IDs, and no ", what));
}

// A sequencer that keeps its numbers through crashes without another's help.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenDurable(const internal::StoreUri& uri,
                                                       const AskPassword& ask,
                                                       const SequencerOptions& options) {
  if (uri.engine == Engine::kSqlite) {
    return internal::As<std::unique_ptr<Sequencer>>(SqliteSequencer::Open(uri.path, {}, options));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(ask));
  return internal::OpenMysqlSequencer(uri, password, options);
}

absl::StatusOr<std::shared_ptr<Sequencer>> OpenCeiling(const SequencerUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri,
                         internal::StoreUri::Parse(options.ceiling, "ceiling"));
  if (uri.engine != Engine::kSqlite && uri.engine != Engine::kMysql) {
    return absl::InvalidArgumentError("a ceiling must be an sqlite or mysql store");
  }
  if (options.sequencer.at_max == SequencerOptions::AtMax::kWrap ||
      options.sequencer.ttl != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "a ceiling excludes wrapping at the maximum and a ttl, since numbers repeat with both");
  }
  SequencerOptions of_ceiling;
  of_ceiling.key_prefix = options.sequencer.key_prefix;
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> ceiling,
                         OpenDurable(uri, options.ceiling_password, of_ceiling));
  return ceiling;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenSegmentStore(std::string_view uri_text,
                                                               const StoreUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text));
  if (uri.engine == Engine::kSqlite) {
    SqliteSegmentStore::Options of_file;
    of_file.create = options.create;
    return internal::As<std::shared_ptr<SegmentStore>>(SqliteSegmentStore::Open(uri.path, of_file));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  switch (uri.engine) {
    case Engine::kSqlite:
      break;
    case Engine::kZookeeper:
      return internal::OpenZookeeperStore(uri, password);
    case Engine::kLocusd:
      return internal::OpenLocusdStore(uri, password);
    case Engine::kMysql:
      return internal::OpenMysqlStore(uri, password, options.create);
    case Engine::kRedis:
    case Engine::kRedisSentinel:
      return internal::OpenRedisStore(uri, password);
    case Engine::kEtcd:
      return internal::OpenEtcdStore(uri, password);
  }
  LOCUS_UNREACHABLE();
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenWorkerLeaseStore(
    std::string_view uri_text, const StoreUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text));
  if (uri.engine == Engine::kSqlite) {
    SqliteSegmentStore::Options of_file;
    of_file.create = options.create;
    return internal::As<std::shared_ptr<WorkerLeaseStore>>(
        SqliteWorkerLeaseStore::Open(uri.path, of_file));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  switch (uri.engine) {
    case Engine::kSqlite:
      break;
    case Engine::kMysql:
      return internal::OpenMysqlWorkerLeases(uri, password, options.create);
    case Engine::kRedis:
    case Engine::kRedisSentinel:
      return internal::OpenRedisWorkerLeases(uri, password);
    case Engine::kEtcd:
      return internal::OpenEtcdWorkerLeases(uri, password);
    case Engine::kZookeeper:
      return internal::OpenZookeeperWorkerLeases(uri, password);
    case Engine::kLocusd:
      return internal::OpenLocusdWorkerLeases(uri, password);
  }
  LOCUS_UNREACHABLE();
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenStrictStore(std::string_view uri_text,
                                                             const StoreUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text));
  if (uri.engine == Engine::kSqlite) {
    SqliteSegmentStore::Options of_file;
    of_file.create = options.create;
    return internal::As<std::shared_ptr<StrictStore>>(SqliteStrictStore::Open(uri.path, of_file));
  }
  if (uri.engine != Engine::kMysql && uri.engine != Engine::kEtcd &&
      uri.engine != Engine::kLocusd) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.text,
                     ": strict sequences are kept in sqlite, mysql, etcd and locusd "
                     "only"));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  if (uri.engine == Engine::kEtcd) return internal::OpenEtcdStrict(uri, password);
  if (uri.engine == Engine::kLocusd) return internal::OpenLocusdStrict(uri, password);
  return internal::OpenMysqlStrict(uri, password, options.create);
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(std::string_view uri_text,
                                                                 const AskPassword& ask) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text, "cluster"));
  if (uri.engine != Engine::kLocusd) {
    return absl::InvalidArgumentError(absl::StrCat(internal::ShownUri(uri.text),
                                                   " is no cluster of locusd; write ",
                                                   internal::kClusterUriHelp));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(ask));
  return internal::OpenLocusdCluster(uri, password);
}

namespace {

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenTypes(std::string_view uri_text,
                                                             const StoreUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text));
  if (uri.engine == Engine::kZookeeper) return ZookeeperHasNo(uri, "rules of sequences");
  if (uri.engine == Engine::kSqlite) {
    SqliteSegmentStore::Options of_file;
    of_file.create = options.create;
    return internal::As<std::unique_ptr<SequenceTypeStore>>(
        SqliteSequenceTypeStore::Open(uri.path, of_file));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  switch (uri.engine) {
    case Engine::kSqlite:
    case Engine::kZookeeper:
      break;
    case Engine::kLocusd:
      return internal::OpenLocusdSequenceTypes(uri, password);
    case Engine::kMysql:
      return internal::OpenMysqlSequenceTypes(uri, password, options.create);
    case Engine::kRedis:
    case Engine::kRedisSentinel:
      return internal::OpenRedisSequenceTypes(uri, password);
    case Engine::kEtcd:
      return internal::OpenEtcdSequenceTypes(uri, password);
  }
  LOCUS_UNREACHABLE();
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(std::string_view uri_text,
                                                        const SequencerUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::StoreUri uri, internal::StoreUri::Parse(uri_text));
  if (uri.engine == Engine::kZookeeper) return ZookeeperHasNo(uri, "sequences");
  bool is_redis = uri.engine == Engine::kRedis || uri.engine == Engine::kRedisSentinel;
  if (!options.ceiling.empty() && !is_redis) {
    return absl::InvalidArgumentError(
        "a ceiling is for redis only; the other engines do not lose numbers");
  }
  if (is_redis) {
    std::shared_ptr<Sequencer> ceiling;
    if (!options.ceiling.empty()) {
      LOCUS_ASSIGN_OR_RETURN(ceiling, OpenCeiling(options));
    }
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
    return internal::OpenRedisSequencer(uri, password, options.sequencer, std::move(ceiling));
  }
  if (uri.engine == Engine::kEtcd) {
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
    return internal::OpenEtcdSequencer(uri, password, options.sequencer);
  }
  if (uri.engine == Engine::kLocusd) {
    LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
    return internal::OpenLocusdSequencer(uri, password, options.sequencer);
  }
  return OpenDurable(uri, options.password, options.sequencer);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenSequenceTypeStore(
    std::string_view uri, const StoreUriOptions& options) {
  StoreUriOptions kept = options;
  kept.password = internal::Kept(options.password);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<SequenceTypeStore> types, OpenTypes(uri, kept));
  types->set_plain_value([uri = std::string(uri), password = kept.password](
                             const std::string& name) -> absl::StatusOr<int64_t> {
    LOCUS_ASSIGN_OR_RETURN(auto counters, OpenCounters(uri, {.password = password}));
    absl::StatusOr<int64_t> value = counters->Get(name);
    LOCUS_ASSIGN_OR_RETURN(const internal::StoreUri of, internal::StoreUri::Parse(uri));
    const bool is_redis = of.engine == Engine::kRedis || of.engine == Engine::kRedisSentinel;
    if (!is_redis || !absl::IsNotFound(value.status())) return value;
    LOCUS_ASSIGN_OR_RETURN(const std::string_view asked, internal::Ask(password));
    LOCUS_ASSIGN_OR_RETURN(const auto under, internal::RedisValueUnderCeiling(of, asked, name));
    if (under) value = *under;
    return value;
  });
  return types;
}

namespace internal {

absl::StatusOr<std::unique_ptr<Sequencer>> OpenUnchecked(std::string_view uri,
                                                         const AskPassword& ask) {
  return OpenCounters(uri, {.password = ask});
}

}  // namespace internal

namespace {

absl::Status CheckIsNoMark(const std::string& counter) {
  if (counter != internal::FirstStart::kName) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("counter ", internal::Quoted(counter),
                   " is the mark of a store's first start (locus seq create), and is not counted"));
}

// `first_start`: nullptr: counters begin without a mark.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenChecked(
    std::string_view uri, const SequencerUriOptions& options,
    std::shared_ptr<internal::FirstStart> first_start) {
  SequencerUriOptions kept = options;
  kept.password = internal::Kept(options.password);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Sequencer> counters, OpenCounters(uri, kept));
  auto mark = [first_start = std::move(first_start)](const std::string& name,
                                                     Sequencer::NameLook look) {
    return first_start == nullptr ? absl::OkStatus() : first_start->CheckCounter(name, look);
  };
  if (options.sequencer.of_types) {
    counters->set_name_check([mark](const std::string& name, Sequencer::NameLook look) {
      LOCUS_RETURN_IF_ERROR(internal::CheckIsOfType(name));
      return mark(name, look);
    });
    return counters;
  }
  auto open = [uri = std::string(uri), password = kept.password]() {
    return internal::As<std::shared_ptr<SequenceTypeStore>>(OpenTypes(uri, {.password = password}));
  };
  auto names = std::make_shared<internal::PlainNames>(std::move(open));
  counters->set_name_check([names, mark](const std::string& name, Sequencer::NameLook look) {
    LOCUS_RETURN_IF_ERROR(CheckIsNoMark(name));
    LOCUS_RETURN_IF_ERROR(names->Check(name, look));
    return mark(name, look);
  });
  return counters;
}

std::shared_ptr<internal::FirstStart> MarkOf(std::string_view uri,
                                             const SequencerUriOptions& options) {
  if (!options.marked) return nullptr;
  return std::make_shared<internal::FirstStart>(std::string(uri), options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(std::string_view uri,
                                                         const SequencerUriOptions& options) {
  const std::shared_ptr<internal::FirstStart> mark = MarkOf(uri, options);
  if (mark != nullptr) LOCUS_RETURN_IF_ERROR(mark->Check());
  return OpenChecked(uri, options, mark);
}

absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTypedSequences(
    std::string_view uri, const SequencerUriOptions& options, bool create) {
  LOCUS_ASSIGN_OR_RETURN(
      std::shared_ptr<SequenceTypeStore> types,
      OpenSequenceTypeStore(uri, {.password = options.password, .create = create}));
  const std::shared_ptr<internal::FirstStart> mark = MarkOf(uri, options);
  if (mark != nullptr) LOCUS_RETURN_IF_ERROR(mark->Check());
  auto open = [uri = std::string(uri), options,
               mark](const SequencerOptions& of) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
    SequencerUriOptions by_type = options;
    by_type.sequencer = of;
    return OpenChecked(uri, by_type, mark);
  };
  return std::make_unique<TypedSequences>(std::move(types), std::move(open));
}

}  // namespace locus
