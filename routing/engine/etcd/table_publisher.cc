// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "locus/clock.h"
#include "routing/engine/etcd/stored_table.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/engine/etcd/connection.h"

namespace locus {
namespace {

using etcd::KeptEpoch;

constexpr size_t kMostNamed = 10;
// The room that a publication needs besides the table.
constexpr size_t kRequestHead = 8192;

absl::StatusOr<RoutingTable> ReadTable(const std::string& value) {
  absl::StatusOr<std::string> document = etcd::UnpackDocument(value);
  if (!document.ok()) return absl::DataLossError(document.status().message());
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(*document);
  if (!table.ok()) return absl::DataLossError(table.status().message());
  return table;
}

std::string Named(const std::vector<KeptEpoch>& history) {
  if (history.empty()) return "none is";
  std::string names;
  for (size_t i = history.size(); i > 0 && history.size() - i < kMostNamed; --i) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", history[i - 1].epoch);
  }
  if (history.size() > kMostNamed) {
    absl::StrAppend(&names, " and ", history.size() - kMostNamed, " more, the oldest ",
                    history.front().epoch, ",");
  }
  return names + (history.size() == 1 ? " is" : " are");
}

}  // namespace

class EtcdTablePublisher::Rep {
 public:
  Rep(const EtcdTableOptions& options, std::unique_ptr<etcd::Connection> connection)
      : keys_(options),
        max_request_bytes_(options.max_request_bytes),
        connection_(std::move(connection)) {}

  etcd::Connection& connection() { return *connection_; }
  const etcd::TableKeys& keys() const { return keys_; }

  absl::StatusOr<RoutingTable> Current() {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    etcd::Txn txn;
    LOCUS_ASSIGN_OR_RETURN(auto ranges,
                           Ranges(txn.Get(keys_.newest()), 1, connection_->Deadline()));
    if (ranges[0].empty()) return absl::NotFoundError(Here("holds no routing table"));
    absl::StatusOr<RoutingTable> table = ReadTable(ranges[0][0].value);
    if (!table.ok()) return absl::DataLossError(Here(table.status().message()));
    return table;
  }

  absl::StatusOr<std::vector<KeptEpoch>> History() {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    etcd::Txn txn;
    txn.GetAll(keys_.AllPublished()).GetAll(keys_.AllNotes());
    LOCUS_ASSIGN_OR_RETURN(auto ranges, Ranges(txn, 2, connection_->Deadline()));
    LOCUS_ASSIGN_OR_RETURN(std::vector<KeptEpoch> history, HistoryIn(ranges[0]));
    etcd::AddNotes(keys_, ranges[1], history);
    return history;
  }

  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    etcd::Txn txn;
    txn.Get(keys_.Epoch(epoch)).GetAll(keys_.AllPublished());
    LOCUS_ASSIGN_OR_RETURN(auto ranges, Ranges(txn, 2, connection_->Deadline()));
    LOCUS_ASSIGN_OR_RETURN(std::vector<KeptEpoch> history, HistoryIn(ranges[1]));
    if (ranges[0].empty()) {
      return absl::NotFoundError(
          Here(absl::StrCat("does not keep epoch ", epoch, "; ", Named(history), " kept")));
    }
    absl::StatusOr<RoutingTable> table = ReadTable(ranges[0][0].value);
    if (table.ok() && table->epoch() == epoch) return table;
    std::string why = table.ok() ? absl::StrCat("it is of epoch ", table->epoch())
                                 : std::string(table.status().message());
    return absl::DataLossError(Here(absl::StrCat("kept as epoch ", epoch, ": ", why)));
  }

  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(note.Check());
    const std::string value = etcd::PackDocument(table.ToJson());
    LOCUS_RETURN_IF_ERROR(CheckSize(value));
    etcd::TimePoint deadline = connection_->Deadline();
    for (;;) {
      etcd::Txn read;
      read.Get(keys_.newest()).GetAll(keys_.AllPublished());
      LOCUS_ASSIGN_OR_RETURN(auto ranges, Ranges(read, 2, deadline));
      LOCUS_ASSIGN_OR_RETURN(std::vector<KeptEpoch> history, HistoryIn(ranges[1]));
      std::optional<RoutingTable> newest;
      if (!ranges[0].empty()) {
        absl::StatusOr<RoutingTable> parsed = ReadTable(ranges[0][0].value);
        if (!parsed.ok()) return absl::DataLossError(Here(parsed.status().message()));
        newest = *std::move(parsed);
      }
      // An older table may have been put back, or the newest deleted, without a publisher.
      PublishedState state{.newest = newest ? &*newest : nullptr,
                           .highest = history.empty() ? 0 : history.back().epoch};
      absl::StatusOr<Publication> judged = JudgePublication(state, table, expected, named);
      if (!judged.ok()) {
        return absl::Status(judged.status().code(), Here(judged.status().message()));
      }
      if (*judged == Publication::kIsNewest) return absl::OkStatus();
      LOCUS_ASSIGN_OR_RETURN(etcd::TimeSpan now, connection_->Now(deadline));
      KeptEpoch kept{table.epoch(), now.Nearest(Clock::System().Now()), value.size(), note};
      if (!history.empty()) {
        kept.published_at = std::max(kept.published_at, history.back().published_at);
      }
      history.push_back(kept);
      int64_t revision = ranges[0].empty() ? 0 : ranges[0][0].mod_revision;
      LOCUS_ASSIGN_OR_RETURN(bool done, Write(value, revision, history, deadline));
      if (done) return absl::OkStatus();
      connection_->CountConflict();  // the next round says what came between
    }
  }

 private:
  template <typename Text>
  std::string Here(const Text& text) const {
    return absl::StrCat(keys_.place(), ": ", text);
  }

  absl::Status CheckSize(const std::string& value) const {
    size_t bytes = 2 * value.size() + kRequestHead;
    if (bytes <= max_request_bytes_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        Here(absl::StrCat("the table, compressed, takes a request of ", bytes,
                          " bytes; the option max_request_bytes is ", max_request_bytes_,
                          "; raise it together with etcd's --max-request-bytes")));
  }

  absl::StatusOr<bool> Write(const std::string& value, int64_t revision,
                             const std::vector<KeptEpoch>& history, etcd::TimePoint deadline) {
    const KeptEpoch& kept = history.back();
    etcd::Txn txn;
    txn.IfRevision(keys_.newest(), revision)
        .Put(keys_.newest(), value)
        .Put(keys_.Epoch(kept.epoch), value)
        .Put(keys_.Published(kept.epoch), kept.Text());
    if (kept.note == PublicationNote()) {
      txn.Delete(keys_.Note(kept.epoch), keys_.Note(kept.epoch + 1));
    } else {
      txn.Put(keys_.Note(kept.epoch), internal::NoteText(kept.note, kept.Text()));
    }
    uint64_t first = etcd::FirstKept(history);
    if (first > history.front().epoch) {
      txn.Delete(keys_.Epoch(0), keys_.Epoch(first));
      txn.Delete(keys_.Published(0), keys_.Published(first));
      txn.Delete(keys_.Note(0), keys_.Note(first));
    }
    LOCUS_ASSIGN_OR_RETURN(etcd::TxnAnswer answer, connection_->Commit(txn, deadline));
    return answer.succeeded;
  }

  absl::StatusOr<std::vector<std::vector<etcd::KeyValue>>> Ranges(const etcd::Txn& txn,
                                                                  size_t expected,
                                                                  etcd::TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(etcd::TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.ranges.size() == expected) return std::move(answer.ranges);
    return absl::FailedPreconditionError(Here("the answer belongs to another request"));
  }

  absl::StatusOr<std::vector<KeptEpoch>> HistoryIn(const std::vector<etcd::KeyValue>& pairs) const {
    absl::StatusOr<std::vector<KeptEpoch>> history = etcd::ReadHistory(keys_, pairs);
    if (!history.ok()) return absl::DataLossError(Here(history.status().message()));
    return history;
  }

  const etcd::TableKeys keys_;
  const size_t max_request_bytes_;
  const std::unique_ptr<etcd::Connection> connection_;
};

absl::StatusOr<std::unique_ptr<EtcdTablePublisher>> EtcdTablePublisher::Open(
    const EtcdTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto connection, etcd::Connection::Open(options.etcd));
  return std::unique_ptr<EtcdTablePublisher>(
      new EtcdTablePublisher(std::make_unique<Rep>(options, std::move(connection))));
}

EtcdTablePublisher::EtcdTablePublisher(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

EtcdTablePublisher::~EtcdTablePublisher() {
  // The sockets belong to the parent: the child abandons them.
  if (rep_->connection().forked()) rep_.release();
}

absl::StatusOr<RoutingTable> EtcdTablePublisher::Current() { return rep_->Current(); }

absl::Status EtcdTablePublisher::Publish(const RoutingTable& table, uint64_t expected,
                                         const GuardedChanges& named, const PublicationNote& note) {
  return rep_->Publish(table, expected, named, note);
}

absl::StatusOr<std::vector<PublishedEpoch>> EtcdTablePublisher::History(size_t most) {
  if (most < 1) return absl::InvalidArgumentError("a history of 0 epochs; at least 1");
  LOCUS_ASSIGN_OR_RETURN(std::vector<KeptEpoch> kept, rep_->History());
  std::vector<PublishedEpoch> history;
  for (auto at = kept.rbegin(); at != kept.rend() && history.size() < most; ++at) {
    history.push_back({at->epoch, at->published_at, at->note});
  }
  return history;
}

absl::StatusOr<RoutingTable> EtcdTablePublisher::Fetch(uint64_t epoch) {
  return rep_->Fetch(epoch);
}

std::string EtcdTablePublisher::place() const { return rep_->keys().place(); }

}  // namespace locus
