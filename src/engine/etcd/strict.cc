// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/strict.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/vet.h"

namespace locus::etcd {

using internal::Quoted;

namespace {

constexpr int64_t kPage = 1024;
// Each renewal writes a record of every section, which etcd keeps until it compacts: with 43,000
// sections its database grew by 90 MB a minute, and they were not renewed in time.
constexpr size_t kMostSections = 4096;
constexpr size_t kSectionDigits = 7;
constexpr uint32_t kMostSection = 9'999'999;

}  // namespace

SectionStore::SectionStore(const EtcdOptions& options, std::unique_ptr<Connection> connection)
    : prefix_(options.prefix + "/strict/"), connection_(std::move(connection)) {}

SectionStore::~SectionStore() { internal::AbandonIfForked(connection_); }

absl::StatusOr<std::unique_ptr<SectionStore>> SectionStore::Open(const EtcdOptions& options,
                                                                 Clock* store_clock) {
  LOCUS_ASSIGN_OR_RETURN(auto connection, Connection::Open(options, store_clock));
  return std::unique_ptr<SectionStore>(new SectionStore(options, std::move(connection)));
}

std::string SectionStore::SetKey(const SpaceName& name) const {
  return prefix_ + name.str() + "/set";
}
std::string SectionStore::SectionKey(const SpaceName& name, uint32_t section) const {
  return absl::StrFormat("%s%s/section/%07d", prefix_, name.str(), section);
}

absl::Status SectionStore::At(const std::string& key, const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(connection_->place(), ", key ", Quoted(key), ": ",
                                                  status.message()));
}

absl::Status SectionStore::OtherRanges(const SpaceName& name) const {
  return At(SetKey(name),
            absl::FailedPreconditionError("a transaction returned other ranges than requested"));
}

absl::Status SectionStore::Busy() const {
  return absl::UnavailableError(connection_->place() +
                                ": other processes changed the same set each time");
}

absl::StatusOr<strict::StoreTime> SectionStore::Time(TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  return strict::StoreTime(now.earliest, now.latest);
}

absl::StatusOr<StrictSet> SectionStore::SetIn(const SpaceName& name,
                                              const std::vector<KeyValue>& found) const {
  if (found.empty()) return strict::NoSuchSet(name);
  absl::StatusOr<StrictSet> set = StrictSet::Parse(found[0].value);
  if (!set.ok()) return At(SetKey(name), set.status());
  return set;
}

absl::Status SectionStore::TakeSection(const SpaceName& name, const StrictSet& set,
                                       const KeyValue& found,
                                       std::map<uint32_t, strict::Record>& records) const {
  std::string_view digits = found.key;
  digits.remove_prefix(std::min(SectionKey(name, 0).size() - kSectionDigits, digits.size()));
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  const auto section = internal::ParseDecimal(digits, set.options.sections() - 1);
  if (!section || found.key != SectionKey(name, static_cast<uint32_t>(*section))) {
    return At(found.key, absl::DataLossError(absl::StrCat("is none of the ", set.options.sections(),
                                                          " sections of set ", name.str())));
  }
  absl::StatusOr<strict::Record> record = StrictRecordOf(found.value);
  if (!record.ok()) return At(found.key, record.status());
  records[static_cast<uint32_t>(*section)] = *std::move(record);
  return absl::OkStatus();
}

absl::StatusOr<TxnAnswer> SectionStore::Read(const SpaceName& name,
                                             std::span<const uint32_t> sections, StrictSet& set,
                                             std::map<uint32_t, strict::Record>& records,
                                             TimePoint deadline) {
  Txn txn;
  txn.Get(SetKey(name));
  for (uint32_t section : sections) txn.Get(SectionKey(name, section));
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
  if (answer.ranges.size() != 1 + sections.size()) return OtherRanges(name);
  LOCUS_ASSIGN_OR_RETURN(set, SetIn(name, answer.ranges[0]));
  records.clear();
  for (size_t i = 0; i < sections.size(); ++i) {
    const std::vector<KeyValue>& found = answer.ranges[i + 1];
    if (found.empty()) continue;
    if (found.size() > 1 || found[0].key != SectionKey(name, sections[i])) return OtherRanges(name);
    LOCUS_RETURN_IF_ERROR(TakeSection(name, set, found[0], records));
  }
  return answer;
}

absl::StatusOr<TxnAnswer> SectionStore::Write(const SpaceName& name, const StrictSet& before,
                                              StrictSet& after, const strict::Batch& batch,
                                              TimePoint deadline) {
  after.mark = RandomMark();
  Txn txn;
  txn.IfValue(SetKey(name), before.Text()).Put(SetKey(name), after.Text());
  for (uint32_t section : batch.changed) {
    txn.Put(SectionKey(name, section), TextOf(batch.records.at(section)));
  }
  return connection_->Commit(txn, deadline);
}

absl::StatusOr<ClusterIdentity> SectionStore::Identify(const SpaceName& name, StrictSet& set,
                                                       TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection_->Status(deadline));
  std::map<uint32_t, strict::Record> none;
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, Read(name, {}, set, none, deadline));
  return IdentityOf(status, answer.header);
}

absl::StatusOr<SectionStore::Standing> SectionStore::Settle(const SpaceName& name,
                                                            const TxnAnswer& answer,
                                                            const StrictSet& set, bool& noticed,
                                                            TimePoint deadline) {
  Known& known = known_[name.str()];
  // A new life without a new loss means that the set was created again: it had been lost, or
  // deleted by hand.
  const bool made_anew =
      !known.memory.life.empty() && set.life != known.memory.life && set.losses <= known.losses;
  Soundness soundness = Soundness::kLost;
  if (!made_anew) {
    LOCUS_ASSIGN_OR_RETURN(soundness, Vet(*connection_, set, answer, known.memory, deadline));
  }
  if (soundness == Soundness::kSound) {
    known.losses = set.losses;
    return Standing::kSound;
  }
  StrictSet there;
  LOCUS_ASSIGN_OR_RETURN(ClusterIdentity identity, Identify(name, there, deadline));
  if (there.life != set.life) return Standing::kAgain;  // others stored it
  LOCUS_ASSIGN_OR_RETURN(bool written, WriteLoss(name, there, identity, deadline));
  if (written) {
    known.memory.life.clear();
    known.memory.lost = false;
    noticed = true;
  }
  return Standing::kAgain;
}

absl::StatusOr<bool> SectionStore::WriteLoss(const SpaceName& name, const StrictSet& set,
                                             const ClusterIdentity& identity, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(strict::StoreTime now, Time(deadline));
  strict::Batch batch;
  batch.set = set;
  strict::Rules::NoteLoss(batch, now);
  StrictSet after = set;
  static_cast<strict::Set&>(after) = batch.set;
  after.BeginLife(now.latest, identity);
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, Write(name, set, after, batch, deadline));
  if (!answer.succeeded) connection_->CountConflict();
  return answer.succeeded;
}

template <typename Reply, typename Sections, typename Decide>
absl::StatusOr<Reply> SectionStore::Plan(const SpaceName& name, const StrictSetOptions& options,
                                         const Sections& sections, const Decide& decide) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  std::vector<uint32_t> named;
  for (const auto& item : sections) named.push_back(item.section);
  bool noticed = false;
  internal::Backoff backoff(kConflictPauses);
  do {
    StrictSet set;
    strict::Batch batch;
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, Read(name, named, set, batch.records, deadline));
    LOCUS_ASSIGN_OR_RETURN(Standing read, Settle(name, answer, set, noticed, deadline));
    LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, set.options, options));
    if (read == Standing::kAgain) continue;
    batch.set = set;
    LOCUS_ASSIGN_OR_RETURN(strict::StoreTime now, Time(deadline));
    Reply reply = decide(batch, now);
    reply.loss_noticed |= noticed;
    if (!batch.set_changed && batch.changed.empty()) return reply;
    StrictSet after = set;
    static_cast<strict::Set&>(after) = batch.set;
    LOCUS_ASSIGN_OR_RETURN(answer, Write(name, set, after, batch, deadline));
    if (!answer.succeeded) {
      connection_->CountConflict();
      continue;
    }
    // Checked again after the write: a restored cluster may have granted sections that have another
    // owner, so its grants are dropped.
    LOCUS_ASSIGN_OR_RETURN(Standing written, Settle(name, answer, after, noticed, deadline));
    if (written == Standing::kSound) return reply;
  } while (SleepBeforeRetry(backoff, deadline));
  return Busy();
}

absl::StatusOr<StrictReply<StrictGrant>> SectionStore::Take(const SpaceName& name,
                                                            const StrictSetOptions& options,
                                                            const StrictTake& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return Plan<StrictReply<StrictGrant>>(name, options, request.wishes,
                                        [&](strict::Batch& batch, strict::StoreTime now) {
                                          return strict::Rules::Take(batch, request, now);
                                        });
}

absl::StatusOr<StrictReply<StrictExtended>> SectionStore::Extend(const SpaceName& name,
                                                                 const StrictSetOptions& options,
                                                                 const StrictExtend& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return Plan<StrictReply<StrictExtended>>(name, options, request.sections,
                                           [&](strict::Batch& batch, strict::StoreTime now) {
                                             return strict::Rules::Extend(batch, request, now);
                                           });
}

absl::StatusOr<StrictReply<StrictExtended>> SectionStore::Release(const SpaceName& name,
                                                                  const StrictSetOptions& options,
                                                                  const StrictRelease& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return Plan<StrictReply<StrictExtended>>(name, options, request.sections,
                                           [&](strict::Batch& batch, strict::StoreTime now) {
                                             return strict::Rules::Release(batch, request, now);
                                           });
}

absl::Status SectionStore::Create(const SpaceName& name, const StrictSetOptions& options,
                                  const StrictSetPast& past) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(options.Check());
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  internal::Backoff backoff(kConflictPauses);
  do {
    LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection_->Status(deadline));
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer there, connection_->Commit(Txn().Get(SetKey(name)), deadline));
    if (there.ranges.size() != 1) return OtherRanges(name);
    absl::StatusOr<StrictSet> found = SetIn(name, there.ranges[0]);
    if (found.ok()) return strict::CheckSame(name, found->options, options);
    if (!absl::IsNotFound(found.status())) return found.status();
    LOCUS_RETURN_IF_ERROR(strict::CheckFits(name, options, kMostSections, "etcd"));
    LOCUS_ASSIGN_OR_RETURN(strict::StoreTime now, Time(deadline));
    strict::Batch batch;
    strict::Rules::Create(batch, options, past, now);
    StrictSet set;
    static_cast<strict::Set&>(set) = batch.set;
    set.mark = RandomMark();
    set.BeginLife(now.latest, IdentityOf(status, there.header));
    Txn txn;
    txn.IfAbsent(SetKey(name)).Put(SetKey(name), set.Text());
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.succeeded) return absl::OkStatus();
  } while (SleepBeforeRetry(backoff, deadline));
  return Busy();
}

absl::Status SectionStore::DeclareRestored(const SpaceName& name) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  internal::Backoff backoff(kConflictPauses);
  do {
    StrictSet set;
    LOCUS_ASSIGN_OR_RETURN(ClusterIdentity identity, Identify(name, set, deadline));
    LOCUS_ASSIGN_OR_RETURN(bool written, WriteLoss(name, set, identity, deadline));
    if (written) return absl::OkStatus();
  } while (SleepBeforeRetry(backoff, deadline));
  return Busy();
}

absl::StatusOr<StrictSetView> SectionStore::Show(const SpaceName& name) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  const TimePoint deadline = connection_->Deadline();
  StrictSet set;  // the first page's: what comes later is newer
  std::map<uint32_t, strict::Record> records;
  while (true) {
    const uint32_t first = records.empty() ? 0 : records.rbegin()->first + 1;
    const size_t before = records.size();
    Txn txn;
    txn.Get(SetKey(name))
        .GetRange(SectionKey(name, first), SectionKey(name, kMostSection) + '\0', kPage);
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.ranges.size() != 2) return OtherRanges(name);
    LOCUS_ASSIGN_OR_RETURN(StrictSet there, SetIn(name, answer.ranges[0]));
    if (before == 0) set = there;
    for (const KeyValue& found : answer.ranges[1]) {
      LOCUS_RETURN_IF_ERROR(TakeSection(name, there, found, records));
    }
    // A lying server could send pages without end.
    if (static_cast<int64_t>(answer.ranges[1].size()) < kPage || records.size() == before) break;
  }
  LOCUS_ASSIGN_OR_RETURN(strict::StoreTime now, Time(deadline));
  return strict::ViewOf(set, records, now.earliest);
}

}  // namespace locus::etcd

namespace locus {

absl::StatusOr<std::unique_ptr<EtcdStrictStore>> EtcdStrictStore::Open(const EtcdOptions& options) {
  return etcd::SectionStore::Open(options);
}

}  // namespace locus
