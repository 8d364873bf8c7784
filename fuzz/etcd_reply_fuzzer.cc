// SPDX-License-Identifier: Apache-2.0
// What a member of an etcd cluster answers, and what stands in it. The first byte picks the reader.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "routing/engine/etcd/stored_table.h"
#include "routing/source/publication_note.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/reply.h"
#include "src/engine/etcd/sequence_value.h"
#include "src/engine/etcd/server_clock.h"
#include "src/engine/etcd/space_record.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// What a server said may have letters of any alphabet; it goes into messages made safe for
// terminals.
void RequirePrintable(std::string_view text) {
  Require(locus::internal::Printable(text, text.size()) == text);
}

void CheckTxn(std::string_view body) {
  auto reply = locus::etcd::ReadTxn(body);
  if (!reply.ok()) return;
  Require(reply->header.revision > 0 && reply->header.cluster_id != 0);
  for (const auto& range : reply->ranges) {
    for (const auto& pair : range) Require(pair.mod_revision > 0);
  }
}

void CheckWatch(std::string_view line) {
  auto reply = locus::etcd::ReadWatch(line);
  if (!reply.ok()) return;
  Require(reply->canceled || (reply->header.revision > 0 && reply->header.cluster_id != 0));
  for (const auto& event : reply->events) Require(event.pair.mod_revision > 0);
  RequirePrintable(reply->cancel_reason);
}

void CheckRefusal(std::string_view body) {
  for (unsigned status : {400u, 401u, 404u, 503u}) {
    locus::etcd::Refusal refusal = locus::etcd::ReadRefusal(status, body);
    Require(!refusal.status.ok());
    // What cannot be repeated elsewhere is not called harmless.
    Require(!refusal.token_expired || !refusal.maybe_served);
    RequirePrintable({refusal.status.message().data(), refusal.status.message().size()});
  }
}

void CheckStored(std::string_view text) {
  auto record = locus::etcd::SpaceRecord::Parse(text);
  if (record.ok()) Require(record->Text() == text);
  auto group = locus::etcd::SectionGroup::Parse(text, 2);
  if (group.ok() && !text.empty()) Require(group->Text() == text);
  auto value = locus::etcd::SequenceValue::Parse(text);
  if (value) Require(value->Text() == text && value->number >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0]) {
    case 't':
      CheckTxn(text);
      break;
    case 'w':
      CheckWatch(text);
      break;
    case 'p': {
      auto document = locus::etcd::UnpackDocument(text);
      if (!document.ok()) break;
      auto again = locus::etcd::UnpackDocument(locus::etcd::PackDocument(*document));
      // What is short is stored as it is, whatever it begins with.
      Require(document->size() <= 65536 || *again == *document);
      break;
    }
    case 's': {
      auto status = locus::etcd::ReadStatus(text);
      Require(!status.ok() || status->raft_index > 0);
      break;
    }
    case 'g': {
      auto lease = locus::etcd::ReadLeaseGrant(text);
      Require(!lease.ok() || *lease > 0);
      break;
    }
    case 'a': {
      auto token = locus::etcd::ReadToken(text);
      Require(!token.ok() || token->find('\n') == std::string::npos);
      break;
    }
    case 'e':
      CheckRefusal(text);
      break;
    case 'd':
      locus::etcd::ServerClock::ParseDate(text);
      break;
    case 'n': {
      constexpr std::string_view kOf = "1795165200000 5";
      const locus::PublicationNote note = locus::internal::ParseNoteText(text, kOf);
      const std::string written = locus::internal::NoteText(note, kOf);
      Require(locus::internal::ParseNoteText(written, kOf) == note);
      Require(locus::internal::ParseNoteText(written, "1795165200001 5") ==
              locus::PublicationNote());
      break;
    }
    case 'v':
      CheckStored(text);
      break;
  }
  return 0;
}
