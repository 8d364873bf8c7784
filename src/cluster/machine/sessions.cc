// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/sessions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/fields.h"
#include "src/cluster/machine/flaw.h"

namespace locus::cluster_machine {

// kMostSnapshotBytes reserves so much for a session, and for each of the grants that it remembers.
static_assert(2 + strict_machine::kFixedBytes <= 64 && strict_machine::kUnitBytes <= 5 * 8);

const Sessions::Session* Sessions::Find(const RequestId& id) const {
  if (Has(Flaw::kForgetsAnswers)) return nullptr;
  const auto found = sessions_.find({id.high, id.low});
  return found == sessions_.end() ? nullptr : &found->second;
}

absl::Status Sessions::CheckRoom(const RequestId& id, size_t grants) const {
  const auto known = sessions_.find({id.high, id.low});
  if (known == sessions_.end() && sessions_.size() >= kMostSessions) {
    return absl::ResourceExhaustedError(absl::StrCat("the cluster remembers ", kMostSessions,
                                                     " sessions of clients, which is the most"));
  }
  const size_t before = known == sessions_.end() ? 0 : GrantsOf(known->second.answer);
  if (grants_ - before + grants > kMostGrantsRemembered) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cluster remembers the grants of ", grants_, " sections; with ", grants,
                     " more it would be above ", kMostGrantsRemembered, ", which is the most"));
  }
  return absl::OkStatus();
}

void Sessions::Remember(const RequestId& id, uint64_t fingerprint, Answer answer) {
  const Key key{id.high, id.low};
  const auto [at, is_new] = sessions_.try_emplace(key);
  Session& session = at->second;
  grants_ += GrantsOf(answer);
  grants_ -= GrantsOf(session.answer);
  if (!is_new) by_time_.erase({session.made, key});
  session.made = is_new ? id.made : std::max(session.made, id.made);
  session.serial = id.serial;
  session.fingerprint = fingerprint;
  session.answer = std::move(answer);
  by_time_.emplace(session.made, key);
}

void Sessions::ForgetBefore(absl::Time now) {
  while (!by_time_.empty() && by_time_.begin()->first + kRemembered < now) {
    const auto session = sessions_.find(by_time_.begin()->second);
    grants_ -= GrantsOf(session->second.answer);
    sessions_.erase(session);
    by_time_.erase(by_time_.begin());
  }
}

void Sessions::Put(Writer& writer) const {
  if (Has(Flaw::kAnswersNotInSnapshot)) return writer.Size(0);
  writer.Size(sessions_.size());
  for (const auto& [key, session] : sessions_) {
    writer.Put(RequestId{session.made, key.first, key.second});
    writer.Number(session.serial);
    writer.Number(session.fingerprint);
    writer.Put(session.answer);
  }
}

void Sessions::Get(Reader& reader) {
  const size_t count = reader.Size(kMostSessions, "sessions");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const size_t place = reader.at();
    RequestId id = reader.GetId();
    id.serial = reader.Number();
    const uint64_t fingerprint = reader.Number();
    Answer answer = reader.GetAnswer();
    if (!reader.ok()) return;
    if (!sessions_.empty() && !(sessions_.rbegin()->first < Key{id.high, id.low})) {
      return reader.Fail(place, "a session that is not after the one before");
    }
    const absl::Status room = CheckRoom(id, GrantsOf(answer));
    if (!room.ok()) return reader.Fail(place, room.message().data());
    Remember(id, fingerprint, std::move(answer));
  }
}

}  // namespace locus::cluster_machine
