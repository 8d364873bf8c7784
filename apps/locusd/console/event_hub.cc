// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/event_hub.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using http::BodyStream;
using internal::MutexLock;
using internal::ToAbsl;

EventHub::~EventHub() {
  MutexLock lock(mutex_);
  for (const Stream& stream : streams_) stream.body->End();
}

absl::StatusOr<std::shared_ptr<BodyStream>> EventHub::Open(absl::Duration now) {
  MutexLock lock(mutex_);
  std::erase_if(streams_, [](const Stream& stream) { return stream.body->closed(); });
  if (streams_.size() >= options_.most_streams) {
    ++stats_.refused;
    return absl::UnavailableError(
        absl::StrCat(options_.most_streams, " streams of events are open, which is the most"));
  }
  std::string first = "retry: 2000\n\n";
  for (const auto& [kind, piece] : last_) absl::StrAppend(&first, *piece);
  auto body = std::make_shared<BodyStream>(options_.most_waiting_bytes);
  body->Write(std::make_shared<const std::string>(std::move(first)));
  streams_.push_back({body, now + options_.longest});
  ++stats_.opened;
  return body;
}

namespace {

// An event ends at an empty line, and its data at the end of a line.
BodyStream::Piece EventOf(std::string_view kind, std::string_view json) {
  return std::make_shared<const std::string>(absl::StrCat(
      "event: ", ToAbsl(kind),
      "\ndata: ", absl::StrReplaceAll(ToAbsl(json), {{"\n", " "}, {"\r", " "}}), "\n\n"));
}

}  // namespace

bool EventHub::Publish(std::string_view kind, std::string_view json, absl::Duration now) {
  BodyStream::Piece piece = EventOf(kind, json);
  MutexLock lock(mutex_);
  BodyStream::Piece& last = last_[std::string(kind)];
  if (last != nullptr && *last == *piece) return false;
  last = std::move(piece);
  told_at_ = now;
  WriteToAll(last);
  return true;
}

void EventHub::Keep(std::string_view kind, std::string_view json) {
  BodyStream::Piece piece = EventOf(kind, json);
  MutexLock lock(mutex_);
  last_[std::string(kind)] = std::move(piece);
}

void EventHub::Tick(absl::Duration now) {
  static const BodyStream::Piece kBeat = std::make_shared<const std::string>(": beat\n\n");
  MutexLock lock(mutex_);
  for (const Stream& stream : streams_) {
    if (stream.end <= now) stream.body->End();
  }
  if (now - told_at_ >= options_.beat) {
    told_at_ = now;
    WriteToAll(kBeat);
  }
  std::erase_if(streams_, [](const Stream& stream) { return stream.body->closed(); });
}

void EventHub::WriteToAll(const BodyStream::Piece& piece) {
  uint64_t slow = 0;
  std::erase_if(streams_, [&](const Stream& stream) {
    if (stream.body->Write(piece)) return false;
    slow += stream.body->overrun();
    return true;
  });
  stats_.slow += slow;
}

EventHub::Stats EventHub::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.streams = streams_.size();
  return stats;
}

}  // namespace locus::locusd
