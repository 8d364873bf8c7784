// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_FRAMED_WIRE_H_
#define LOCUS_SRC_RAFT_TCP_FRAMED_WIRE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/tcp/frame.h"
#include "src/raft/tcp/wire.h"

namespace locus::raft {

// Of connecting, TLS and Hello together.
inline constexpr auto kGreeting = std::chrono::seconds(2);

// How long so many bytes may take on the way: 1 MB/s at least.
std::chrono::steady_clock::duration TimeFor(size_t bytes);

// UNAVAILABLE: what was being done, and why it failed.
absl::Status Broken(std::string_view what, const boost::system::error_code& error);

// Reads frames from a connection. Thread safety: none.
class FramedWire {
 public:
  // `most`: bytes of a frame.
  FramedWire(std::shared_ptr<Wire> wire, size_t most) : wire_(std::move(wire)), reader_(most) {}

  // The bytes are valid until the next Read. UNAVAILABLE: the connection broke. INVALID_ARGUMENT: a
  // longer frame.
  boost::asio::awaitable<absl::StatusOr<std::string_view>> Read();
  // From now on frames may be of this size, and once one has begun its rest has to come in time.
  void Expect(size_t most);

 private:
  void Watch();

  std::shared_ptr<Wire> wire_;
  FrameReader reader_;
  std::string chunk_;
  bool watched_ = false;
  size_t awaited_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_FRAMED_WIRE_H_
