// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/fields.h"
#include "src/cluster/machine/flaw.h"
#include "src/cluster/machine/machine.h"

// A snapshot: version, time, highest ceiling of deleted spaces, spaces with their leases,
// remembered requests; from kStoreCodecVersion on sessions, counters, spaces of order IDs and
// rules; from kStrictCodecVersion on sets of strict sequences; all ascending. Counts, the queue and
// the index of holders follow from these.

namespace locus::cluster_machine {
namespace {

constexpr size_t kSpaceBytes = 4 + 64 + 3 * 8 + 4;
constexpr size_t kLeaseBytes = 6 * 8 + 2 * 4 + 1;
// Only a lease with a holder has these.
constexpr size_t kHolderBytes = worker::kMostNonceBytes + kMostHolderBytes;
constexpr size_t kRequestBytes = 3 * 8 + 8 + 1 + 4 + kMostMessageBytes;
static_assert(1 + 2 * 8 + 4 + kMostSpaces * kSpaceBytes + kMostWorkers * kLeaseBytes +
                      kMostHeld * kHolderBytes + 4 + kMostRemembered * kRequestBytes +
                      Sessions::kMostSnapshotBytes + counter_machine::Counters::kMostSnapshotBytes +
                      segment_machine::Spaces::kMostSnapshotBytes +
                      type_machine::Types::kMostSnapshotBytes +
                      strict_machine::Sets::kMostSnapshotBytes <=
                  kMostSnapshotBytes,
              "a snapshot of a machine that has met all of its limits fits");

void Put(Writer& writer, const WorkerRecord& record, bool unhealthy) {
  writer.Number(record.worker);
  writer.Number(record.token);
  writer.Put(record.floor, "a floor");
  writer.Put(record.ceiling, "a ceiling");
  writer.Put(record.granted_at, "the time of a grant");
  writer.Put(record.renewed_at, "the time of a renewal");
  writer.Put(record.nonce, worker::kMostNonceBytes, "a nonce");
  writer.Put(record.holder, kMostHolderBytes, "a holder");
  writer.Byte(unhealthy);
}

void Get(Reader& reader, WorkerRecord& record, bool& unhealthy) {
  const size_t place = reader.at();
  record.worker = reader.Number();
  record.token = reader.Number();
  record.floor = reader.GetTime();
  record.ceiling = reader.GetTime();
  record.granted_at = reader.GetTime();
  record.renewed_at = reader.GetTime();
  record.nonce = reader.Text(worker::kMostNonceBytes, "a nonce");
  record.holder = reader.Text(kMostHolderBytes, "a holder");
  unhealthy = reader.Flag();
  if (record.nonce.empty() && (unhealthy || !record.holder.empty())) {
    reader.Fail(place, "a lease without a nonce that has a holder");
  }
  const absl::Status possible = worker::CheckRecord(record, 0);
  if (reader.ok() && !possible.ok()) {
    reader.Fail(place, absl::StrCat("a lease that cannot be: ", possible.message()));
  }
}

}  // namespace

std::string Machine::Snapshot() const {
  Writer writer;
  const bool of_store = KeepsStore();
  writer.Byte(!strict_sets_.empty() ? kStrictCodecVersion
              : of_store            ? kStoreCodecVersion
                                    : kCodecVersion);
  writer.Put(now_, "the machine's time");
  writer.Put(deleted_up_to_, "the highest ceiling of deleted spaces");
  writer.Size(spaces_.size());
  for (const auto& [name, space] : spaces_) {
    writer.Text(name.str());
    writer.Put(space.state.rest_until, "rest_until");
    writer.Put(space.state.longest, "the longest term");
    writer.Number(space.state.losses);
    writer.Size(space.leases.size());
    for (const auto& [worker, lease] : space.leases) Put(writer, lease.record, lease.unhealthy);
  }
  writer.Size(Has(Flaw::kAnswersNotInSnapshot) ? 0 : requests_.size());
  for (const auto& [id, remembered] : requests_) {
    if (Has(Flaw::kAnswersNotInSnapshot)) break;
    writer.Put(id);
    writer.Number(remembered.fingerprint);
    writer.Put(remembered.answer);
  }
  if (of_store) {
    sessions_.Put(writer);
    counters_.Put(writer);
    segments_.Put(writer);
    types_.Put(writer);
  }
  if (!strict_sets_.empty()) strict_sets_.Put(writer);
  absl::StatusOr<std::string> bytes = writer.Finish();
  LOCUS_CHECK(bytes.ok());
  return *std::move(bytes);
}

absl::StatusOr<Machine> Machine::Restore(std::string_view bytes) {
  Reader reader(bytes, "bytes of a snapshot");
  Machine machine;
  if (reader.version() > kStrictCodecVersion) reader.Fail(0, "a version that no snapshot has");
  const size_t place = reader.at();
  machine.now_ = reader.GetTime();
  if (machine.now_ == absl::InfinitePast() || machine.now_ == absl::InfiniteFuture()) {
    reader.Fail(place, "an infinite time");
  }
  const size_t at_deleted = reader.at();
  machine.deleted_up_to_ = reader.GetTime();
  if (machine.deleted_up_to_ > machine.now_) {
    reader.Fail(at_deleted, "a ceiling of a deleted space after the machine's time");
  }
  const size_t spaces = reader.Size(kMostSpaces, "spaces");
  for (size_t i = 0; i < spaces && reader.ok(); ++i) machine.GetSpace(reader);
  const size_t requests = reader.Size(kMostRemembered, "requests");
  for (size_t i = 0; i < requests && reader.ok(); ++i) {
    const size_t at = reader.at();
    const RequestId id = reader.GetId();
    const uint64_t fingerprint = reader.Number();
    const auto last = machine.requests_.last();
    if (last && !(*last < id)) reader.Fail(at, "a request that is not after the one before");
    machine.requests_.Remember(id, {fingerprint, reader.GetAnswer()});
  }
  if (reader.version() >= kStoreCodecVersion) {
    machine.sessions_.Get(reader);
    machine.counters_.Get(reader);
    machine.segments_.Get(reader);
    machine.types_.Get(reader);
    if (reader.version() >= kStrictCodecVersion) {
      machine.strict_sets_.Get(reader);
      if (machine.strict_sets_.empty())
        reader.Fail(0, "version 4, where an earlier one says the same");
    }
    if (!machine.KeepsStore()) reader.Fail(0, "version 3, where version 2 says the same");
  }
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  if (Has(Flaw::kTypesNotInSnapshot)) machine.types_ = {};
  machine.SettleQueue();
  return machine;
}

absl::StatusOr<std::string> Machine::Fold(std::string_view snapshot,
                                          const std::vector<std::string>& commands) {
  Machine machine;
  if (!snapshot.empty()) {
    LOCUS_ASSIGN_OR_RETURN(machine, Restore(snapshot));
  }
  for (const std::string& bytes : commands) {
    LOCUS_ASSIGN_OR_RETURN(const Command command, DecodeCommand(bytes));
    machine.Apply(command);
  }
  return machine.Snapshot();
}

void Machine::GetSpace(Reader& reader) {
  const size_t place = reader.at();
  const SpaceName name = reader.GetSpace();
  if (!reader.ok()) return;
  if (!spaces_.empty() && !(spaces_.rbegin()->first < name)) {
    return reader.Fail(place, "a space that is not after the one before");
  }
  WorkerSpace& space = spaces_[name];
  space.state.rest_until = reader.GetTime();
  space.state.longest = reader.GetDuration();
  space.state.losses = reader.Number();
  const size_t leases = reader.Size(kMostWorkers, "leases");
  for (size_t i = 0; i < leases && reader.ok(); ++i) {
    const size_t at = reader.at();
    Lease lease;
    Get(reader, lease.record, lease.unhealthy);
    if (!space.leases.empty() && space.leases.rbegin()->first >= lease.record.worker) {
      reader.Fail(at, "a lease that is not after the one before");
    }
    if (!reader.ok()) return;
    ++workers_;
    if (!lease.record.nonce.empty()) {
      ++held_;
      space.holders.emplace(lease.record.nonce, lease.record.worker);
      Enqueue(name, lease);
    }
    if (workers_ > kMostWorkers || held_ > kMostHeld) {
      return reader.Fail(at, "one lease more than a machine has");
    }
    space.blocks.Changed(nullptr, lease.record);
    space.leases.emplace_hint(space.leases.end(), lease.record.worker, std::move(lease));
  }
}

}  // namespace locus::cluster_machine
