// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_BOUNDED_CALL_H_
#define LOCUS_SRC_ENGINE_MYSQL_BOUNDED_CALL_H_

#include <chrono>
#include <cstddef>

#include "absl/status/status.h"

struct st_mysql;

namespace locus::mysql {

using TimePoint = std::chrono::steady_clock::time_point;

// Bounds what the client library does on this thread with one handle, in time as a whole and in
// bytes received. The library alone bounds neither: its timeouts hold for one read, so a server
// that sends a byte a second holds a call for ever, and it reads descriptions of columns for as
// long as they come. A call that passes a bound has its socket shut down, which makes the library's
// call fail.
//
// Made before the calls and destroyed after them, on the same thread, one at a time.
class BoundedCall {
 public:
  // Prepares the client library; once a process, before its first handle.
  static void Install();

  BoundedCall(st_mysql* handle, TimePoint deadline);
  ~BoundedCall();
  BoundedCall(const BoundedCall&) = delete;
  BoundedCall& operator=(const BoundedCall&) = delete;

  // How many bytes may come from now on. Before the first call of it: kGreetingBytes.
  void Allow(size_t bytes);
  static constexpr size_t kGreetingBytes = 256 << 10;

  // Shuts the socket down: what else comes is not wanted.
  void Cut();

  // OK unless the call passed a bound; otherwise UNAVAILABLE, saying which. No place.
  absl::Status Status() const;

 private:
  static void OnRead(int mode, st_mysql* handle, const unsigned char* bytes, size_t size);
  // Has the socket watched, once there is one.
  void Watch();

  st_mysql* const handle_;
  const TimePoint started_ = std::chrono::steady_clock::now();
  const TimePoint deadline_;
  size_t allowed_ = kGreetingBytes;
  size_t received_ = 0;
  bool too_much_ = false;
  int watched_ = -1;  // a descriptor of our own for the handle's socket
};

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_BOUNDED_CALL_H_
