// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/framed_wire.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::raft {
namespace {

constexpr size_t kReadBytes = 64 << 10;

}  // namespace

std::chrono::steady_clock::duration TimeFor(size_t bytes) {
  return std::chrono::seconds(3) + std::chrono::milliseconds(bytes / 1000);
}

absl::Status Broken(std::string_view what, const boost::system::error_code& error) {
  return absl::UnavailableError(absl::StrCat(internal::ToAbsl(what), ": ", error.message()));
}

boost::asio::awaitable<absl::StatusOr<std::string_view>> FramedWire::Read() {
  while (true) {
    auto frame = reader_.Next();
    if (!frame.ok()) co_return frame.status();
    if (*frame) {
      awaited_ = 0;  // the next one has a time of its own
      co_return **frame;
    }
    if (watched_) Watch();
    chunk_.resize(kReadBytes);
    size_t read = 0;
    const auto error = co_await wire_->ReadSome(chunk_.data(), chunk_.size(), read);
    if (error) co_return Broken("reading", error);
    reader_.Feed({chunk_.data(), read});
  }
}

void FramedWire::Expect(size_t most) {
  reader_.set_most(most);
  watched_ = true;
}

void FramedWire::Watch() {
  const size_t lacks = reader_.Lacks();
  if (lacks == 0) wire_->Disarm();
  if (lacks > awaited_) wire_->Arm(TimeFor(lacks));  // one has begun, or its size is known now
  awaited_ = std::max(lacks, awaited_);
}

}  // namespace locus::raft
