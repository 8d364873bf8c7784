// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/etcd.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/connection.h"

namespace locus {

using etcd::KeyValue;
using etcd::TimePoint;
using etcd::Txn;
using etcd::TxnAnswer;
using internal::Quoted;

namespace {

// Sequence types that one request reads: together far below the size that an answer may have.
constexpr size_t kTypesAtOnce = 1000;

}  // namespace

class EtcdSequenceTypeStore::Rep {
 public:
  Rep(const EtcdOptions& options, std::unique_ptr<etcd::Connection> connection)
      : prefix_(options.prefix + "/seq_type/"), connection_(std::move(connection)) {}

  etcd::Connection& connection() { return *connection_; }

  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    LOCUS_ASSIGN_OR_RETURN(std::optional<KeyValue> pair, Get(name, connection_->Deadline()));
    if (!pair) return std::nullopt;
    LOCUS_ASSIGN_OR_RETURN(Stored stored, StoredIn(*pair));
    return stored;
  }

  absl::StatusOr<std::map<std::string, Stored>> LoadAll() {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    const TimePoint deadline = connection_->Deadline();
    std::map<std::string, Stored> all;
    // On behind the last name: there may be any number, and more meanwhile.
    std::string first = prefix_;
    const std::string end = prefix_ + '\xFF';  // names are ASCII
    for (bool more = true; more;) {
      LOCUS_ASSIGN_OR_RETURN(
          TxnAnswer answer,
          connection_->Commit(Txn().GetRange(first, end, kTypesAtOnce), deadline));
      if (answer.ranges.empty()) break;
      const size_t before = all.size();
      for (const KeyValue& pair : answer.ranges[0]) {
        LOCUS_ASSIGN_OR_RETURN(all[pair.key.substr(prefix_.size())], StoredIn(pair));
        first = pair.key + '\0';
      }
      // A lying server could send pages without end.
      more = answer.ranges[0].size() == kTypesAtOnce && all.size() > before;
    }
    return all;
  }

  // Compares with what was read a moment before: revision and, since revisions occur again after a
  // rewind, value.
  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    TimePoint deadline = connection_->Deadline();
    LOCUS_ASSIGN_OR_RETURN(std::optional<KeyValue> pair, Get(name, deadline));
    uint64_t version = 0;
    if (pair) {
      LOCUS_ASSIGN_OR_RETURN(Stored stored, StoredIn(*pair));
      version = stored.version;
    }
    if (version != expected) return false;
    std::string key = prefix_ + name;
    Txn txn;
    txn.IfRevision(key, pair ? pair->mod_revision : 0);
    if (pair) txn.IfValue(key, pair->value);
    if (next) {
      txn.Put(key, next->Joined());
    } else {
      txn.Delete(key, key + '\0');
    }
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    return answer.succeeded;
  }

 private:
  absl::StatusOr<std::optional<KeyValue>> Get(const std::string& name, TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer,
                           connection_->Commit(Txn().Get(prefix_ + name), deadline));
    if (answer.ranges.empty() || answer.ranges[0].empty()) return std::nullopt;
    return answer.ranges[0][0];
  }

  absl::StatusOr<Stored> StoredIn(const KeyValue& pair) const {
    std::optional<Stored> stored = Stored::Split(pair.value);
    if (stored) return *std::move(stored);
    return absl::DataLossError(absl::StrCat(connection_->place(), " holds ", Quoted(pair.value),
                                            " under ", Quoted(pair.key),
                                            ", which is no sequence type"));
  }

  const std::string prefix_;
  const std::unique_ptr<etcd::Connection> connection_;
};

absl::StatusOr<std::unique_ptr<EtcdSequenceTypeStore>> EtcdSequenceTypeStore::Open(
    const EtcdOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto connection, etcd::Connection::Open(options));
  return std::unique_ptr<EtcdSequenceTypeStore>(
      new EtcdSequenceTypeStore(std::make_unique<Rep>(options, std::move(connection))));
}

EtcdSequenceTypeStore::EtcdSequenceTypeStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

EtcdSequenceTypeStore::~EtcdSequenceTypeStore() {
  if (rep_->connection().forked()) rep_.release();
}

absl::StatusOr<std::optional<SequenceTypeStore::Stored>> EtcdSequenceTypeStore::Load(
    const std::string& name) {
  return rep_->Load(name);
}

absl::StatusOr<std::map<std::string, SequenceTypeStore::Stored>> EtcdSequenceTypeStore::LoadAll() {
  return rep_->LoadAll();
}

absl::StatusOr<bool> EtcdSequenceTypeStore::Swap(const std::string& name, uint64_t expected,
                                                 const std::optional<Stored>& next) {
  return rep_->Swap(name, expected, next);
}

EtcdStats EtcdSequenceTypeStore::Stats() const { return rep_->connection().Stats(); }

}  // namespace locus
