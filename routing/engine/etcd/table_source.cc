// SPDX-License-Identifier: Apache-2.0
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "routing/engine/etcd/stored_table.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/engine/etcd/connection.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

// In one call of Next; then the follower backs off.
constexpr int kMostStreams = 3;

absl::Status At(const etcd::Origin& origin, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("etcd at ", origin.endpoint, ": ", status.message()));
}

}  // namespace

class EtcdTableSource::Rep {
 public:
  Rep(const EtcdTableOptions& options, std::unique_ptr<etcd::Connection> connection)
      : keys_(options), connection_(std::move(connection)) {}

  etcd::Connection& connection() { return *connection_; }
  const etcd::TableKeys& keys() const { return keys_; }

  // A newer table, or nullopt: there is none.
  using Newer = std::optional<SourcedTable>;

  absl::StatusOr<Newer> Next(const std::string& known, TimePoint deadline) {
    LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
    absl::StatusOr<Newer> news = Follow(known, deadline);
    if (!news.ok()) Forget();
    return news;
  }

  void LookNow() {
    MutexLock lock(mutex_);
    look_now_ = true;
    if (stream_ != nullptr) stream_->Interrupt();
  }

 private:
  // The newest table that was read.
  struct Newest {
    std::string version;  // empty: none
    uint64_t cluster_id = 0;
    int64_t mod_revision = 0;
    int64_t seen_at = 0;  // the revision of the cluster at which it was the newest
    uint64_t link = 0;    // over which it was read; if a stream brought it, that of the one before
  };

  absl::StatusOr<Newer> Follow(const std::string& known, TimePoint deadline) {
    for (int streams = 0; streams < kMostStreams; ++streams) {
      if (newest_.version.empty() || newest_.version != known) {
        bool answer_at_once = TakeLookNow();
        LOCUS_ASSIGN_OR_RETURN(SourcedTable table, Look());
        if (table.version != known) return table;
        if (answer_at_once) return std::nullopt;
      }
      bool waits = std::chrono::steady_clock::now() < deadline;
      if (stream_ == nullptr && waits) LOCUS_RETURN_IF_ERROR(OpenStream());
      bool broken = false;
      absl::StatusOr<Newer> news = Listen(deadline, broken);
      if (!broken) return news;
      last_break_ = news.status();
      Forget();
    }
    return absl::UnavailableError(
        absl::StrCat(keys_.place(), ": ", kMostStreams,
                     " streams broke; the last one: ", last_break_.message()));
  }

  // Waits for news on the stream. `broken`: the stream is useless now; the status says why.
  absl::StatusOr<Newer> Listen(TimePoint deadline, bool& broken) {
    for (;;) {
      if (stream_ == nullptr || TakeLookNow()) return Confirm();
      absl::StatusOr<std::string> line = stream_->ReadLine(deadline);
      if (absl::IsCancelled(line.status())) continue;
      if (absl::IsDeadlineExceeded(line.status())) return Confirm();
      if (absl::IsFailedPrecondition(line.status())) return line.status();
      broken = !line.ok();
      if (broken) return line.status();
      absl::StatusOr<etcd::WatchReply> reply = etcd::ReadWatch(*line);
      if (!reply.ok()) {
        broken = !absl::IsFailedPrecondition(reply.status());
        return At(stream_->origin(), reply.status());
      }
      broken = reply->canceled || Contradicts(reply->header);
      if (broken) return WhyBroken(*reply);
      if (!reply->events.empty()) return Take(reply->header, reply->events.back());
    }
  }

  // A cluster that was created again lacks the revision from which the watch should continue.
  bool Contradicts(const etcd::Header& header) const {
    return header.cluster_id != newest_.cluster_id || header.revision < newest_.seen_at;
  }

  absl::Status WhyBroken(const etcd::WatchReply& reply) const {
    std::string why;
    if (!reply.canceled) {
      why = absl::StrCat("it is at revision ", reply.header.revision, " of cluster ",
                         absl::Hex(reply.header.cluster_id), ", but ", newest_.seen_at, " of ",
                         absl::Hex(newest_.cluster_id), " was seen before");
    } else if (reply.compact_revision > 0) {
      why = absl::StrCat("the watch was canceled: revisions below ", reply.compact_revision,
                         " were compacted");
    } else {
      why = absl::StrCat("the watch was canceled: ",
                         reply.cancel_reason.empty() ? "no reason given" : reply.cancel_reason);
    }
    return At(stream_->origin(), absl::UnavailableError(why));
  }

  absl::StatusOr<Newer> Take(const etcd::Header& header, const etcd::WatchReply::Event& event) {
    if (event.deleted) return NoTable();
    LOCUS_ASSIGN_OR_RETURN(SourcedTable table, Read(header, event.pair, newest_.link));
    return table;
  }

  // Reads the table, linearizably, and ends the stream.
  absl::StatusOr<SourcedTable> Look() {
    Forget();
    etcd::Txn txn;
    LOCUS_ASSIGN_OR_RETURN(etcd::TxnAnswer answer, Ask(txn.Get(keys_.newest())));
    if (answer.ranges[0].empty()) return NoTable();
    return Read(answer.header, answer.ranges[0][0], answer.origin.link);
  }

  // Reads only the revision, linearizably: over one link it differs after every change. A cluster
  // that was restored may reach the same revision again, so over another link the table is read.
  absl::StatusOr<Newer> Confirm() {
    etcd::Txn txn;
    LOCUS_ASSIGN_OR_RETURN(etcd::TxnAnswer answer, Ask(txn.GetRevision(keys_.newest())));
    if (answer.ranges[0].empty()) return NoTable();
    bool same = answer.origin.link == newest_.link && !Contradicts(answer.header) &&
                answer.ranges[0][0].mod_revision == newest_.mod_revision;
    if (!same) {
      std::string known = newest_.version;
      LOCUS_ASSIGN_OR_RETURN(SourcedTable table, Look());
      if (table.version == known) return std::nullopt;
      return table;
    }
    newest_.seen_at = answer.header.revision;
    // The stream moves to the member that answers: its own may hang.
    if (stream_ != nullptr && stream_->origin().endpoint != answer.origin.endpoint) {
      KeepStream(nullptr);
    }
    return std::nullopt;
  }

  absl::StatusOr<etcd::TxnAnswer> Ask(const etcd::Txn& txn) {
    LOCUS_ASSIGN_OR_RETURN(etcd::TxnAnswer answer,
                           connection_->Commit(txn, connection_->Deadline()));
    if (answer.ranges.size() == 1) return answer;
    return At(answer.origin,
              absl::FailedPreconditionError("the answer belongs to another request"));
  }

  absl::StatusOr<SourcedTable> Read(const etcd::Header& header, const etcd::KeyValue& pair,
                                    uint64_t link) {
    absl::StatusOr<std::string> document = etcd::UnpackDocument(pair.value);
    if (!document.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(keys_.place(), ": ", document.status().message()));
    }
    // A cluster that was emptied may have the same ID and reach the same revision again.
    uint64_t digest = XXH64(pair.value.data(), pair.value.size(), 0);
    newest_ = {absl::StrCat(absl::Hex(header.cluster_id), ":", pair.mod_revision, ":",
                            absl::Hex(digest, absl::kZeroPad16)),
               header.cluster_id, pair.mod_revision, header.revision, link};
    return SourcedTable{*std::move(document), newest_.version};
  }

  absl::Status NoTable() const {
    return absl::NotFoundError(absl::StrCat(keys_.place(), " holds no routing table"));
  }

  absl::Status OpenStream() {
    std::string request = etcd::WatchJson(keys_.newest(), newest_.seen_at + 1);
    LOCUS_ASSIGN_OR_RETURN(auto stream,
                           connection_->OpenStream("/v3/watch", request, connection_->Deadline()));
    KeepStream(std::move(stream));
    return absl::OkStatus();
  }

  void Forget() {
    newest_ = Newest();
    KeepStream(nullptr);
  }

  void KeepStream(std::unique_ptr<etcd::Stream> stream) {
    MutexLock lock(mutex_);
    stream_ = std::move(stream);
  }

  bool TakeLookNow() {
    MutexLock lock(mutex_);
    return std::exchange(look_now_, false);
  }

  const etcd::TableKeys keys_;
  const std::unique_ptr<etcd::Connection> connection_;
  // Used only by the thread that calls Next.
  Newest newest_;
  absl::Status last_break_;

  Mutex mutex_;
  bool look_now_ ABSL_GUARDED_BY(mutex_) = false;
  // Replaced under the mutex by the thread that calls Next, which reads it without.
  std::unique_ptr<etcd::Stream> stream_;
};

absl::StatusOr<std::unique_ptr<EtcdTableSource>> EtcdTableSource::Open(
    const EtcdTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto connection, etcd::Connection::Open(options.etcd));
  return std::unique_ptr<EtcdTableSource>(
      new EtcdTableSource(std::make_unique<Rep>(options, std::move(connection))));
}

EtcdTableSource::EtcdTableSource(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

EtcdTableSource::~EtcdTableSource() {
  // The sockets belong to the parent: the child abandons them.
  if (rep_->connection().forked()) rep_.release();
}

absl::StatusOr<std::optional<SourcedTable>> EtcdTableSource::Next(const std::string& known,
                                                                  TimePoint deadline) {
  return rep_->Next(known, deadline);
}

void EtcdTableSource::LookNow() { rep_->LookNow(); }
std::string EtcdTableSource::place() const { return rep_->keys().place(); }

}  // namespace locus
