// SPDX-License-Identifier: Apache-2.0
// Requests about counters, spaces of order IDs, sequence types and strict sequences.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/flaw.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_machine {
namespace {

Answer RefusedStoreCall(const absl::Status& status) {
  return {
      absl::Status(status.code(), status.message().substr(0, kMostMessageBytes)), std::nullopt, {}};
}

}  // namespace

size_t SectionsAskedBy(const Action& action) {
  if (const auto* strict = std::get_if<strict_machine::Call>(&action)) {
    return strict_machine::SectionsIn(*strict);
  }
  const auto* call = std::get_if<segment_machine::Call>(&action);
  const auto* allocation =
      call == nullptr ? nullptr : std::get_if<segment_machine::Allocation>(call);
  return allocation == nullptr ? 0 : allocation->requests.size();
}

size_t GrantsOf(const Answer& answer) {
  if (const auto* strict = std::get_if<strict_machine::Reply>(&answer.reply)) {
    return strict_machine::UnitsOf(*strict);
  }
  const auto* reply = std::get_if<segment_machine::Reply>(&answer.reply);
  return reply == nullptr ? 0 : segment_machine::GrantsIn(*reply);
}

bool HasSameReply(const Answer& one, const Answer& other) {
  if (one.reply.index() != other.reply.index()) return false;
  if (const auto* counter = std::get_if<counter_machine::Reply>(&one.reply)) {
    return *counter == std::get<counter_machine::Reply>(other.reply);
  }
  if (const auto* type = std::get_if<type_machine::Reply>(&one.reply)) {
    return *type == std::get<type_machine::Reply>(other.reply);
  }
  if (const auto* strict = std::get_if<strict_machine::Reply>(&one.reply)) {
    return strict_machine::Same(*strict, std::get<strict_machine::Reply>(other.reply));
  }
  const auto* segments = std::get_if<segment_machine::Reply>(&one.reply);
  return segments == nullptr ||
         segment_machine::Same(*segments, std::get<segment_machine::Reply>(other.reply));
}

Answer Machine::AnswerOfStore(const Request& request, std::vector<Fact>& facts) {
  bool changed = false;
  if (!request.id) return DoOfStore(request, facts, changed);
  const RequestId& id = *request.id;
  const absl::Status in_time = RememberedRequests::CheckTime(id, now_);
  if (!in_time.ok()) return RefusedStoreCall(in_time);
  const uint64_t fingerprint = FingerprintOf(request);
  if (const auto* known = sessions_.Find(id);
      known != nullptr &&
      (id.serial == known->serial || (id.serial < known->serial && !Has(Flaw::kForgetsSerials)))) {
    if (id.serial < known->serial) {
      return RefusedStoreCall(absl::AbortedError(
          absl::StrCat("request ", ToString(id), " comes after request ", known->serial,
                       " of its session. Whether it was carried out before is not known")));
    }
    if (known->fingerprint == fingerprint) return known->answer;
    return RefusedStoreCall(absl::InvalidArgumentError(absl::StrCat(
        "request ID ", ToString(id), " was used for another request; draw a new one")));
  }
  // Before the change, which must not stay without a memory.
  const auto* strict = std::get_if<strict_machine::Call>(&request.action);
  const absl::Status room = sessions_.CheckRoom(
      id, strict == nullptr ? SectionsAskedBy(request.action) : strict_sets_.MostUnitsOf(*strict));
  if (!room.ok()) return RefusedStoreCall(room);
  Answer answer = DoOfStore(request, facts, changed);
  if (changed) sessions_.Remember(id, fingerprint, answer);
  return answer;
}

// A change that was refused because of the state it found is remembered like one that was made: its
// client has been answered "not done", so no later copy of the request may do it.
Answer Machine::DoOfStore(const Request& request, std::vector<Fact>& facts, bool& changed) {
  Answer answer;
  if (const auto* counter = std::get_if<counter_machine::Call>(&request.action)) {
    auto reply = counters_.Apply(*counter, now_, changed, keeps_ends_);
    if (!reply.ok()) return RefusedStoreCall(reply.status());
    changed |= !reply->done && !Has(Flaw::kForgetsRefusals);
    answer.reply = *std::move(reply);
  } else if (const auto* type = std::get_if<type_machine::Call>(&request.action)) {
    type_machine::Call call = *type;
    if (Has(Flaw::kChangesTypesOfAnyVersion)) {
      const auto known = types_.all().find(call.name);
      call.expected = known == types_.all().end() ? 0 : known->second.version;
    }
    Fact fact;
    fact.kind = Fact::Kind::kTypeChanged;
    fact.time = now_;
    fact.trace = request.trace;
    fact.type = {call.name, std::nullopt, call.next};
    const auto before = types_.all().find(call.name);
    if (before != types_.all().end()) fact.type.before = before->second;
    auto reply = types_.Apply(call, changed);
    if (!reply.ok()) return RefusedStoreCall(reply.status());
    if (changed) facts.push_back(std::move(fact));
    changed |= !reply->done && !Has(Flaw::kForgetsRefusals);
    answer.reply = *std::move(reply);
  } else if (const auto* strict = std::get_if<strict_machine::Call>(&request.action)) {
    auto reply = strict_sets_.Apply(request.space, *strict, now_, changed);
    if (!reply.ok()) return RefusedStoreCall(reply.status());
    changed |= strict_machine::SectionsIn(*strict) > 0 && !Has(Flaw::kForgetsRefusals);
    answer.reply = *std::move(reply);
  } else {
    const auto& call = std::get<segment_machine::Call>(request.action);
    auto reply = segments_.Apply(request.space, call, now_, changed);
    if (!reply.ok()) return RefusedStoreCall(reply.status());
    answer.reply = *std::move(reply);
  }
  return answer;
}

}  // namespace locus::cluster_machine
