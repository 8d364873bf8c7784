// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_BODY_STREAM_H_
#define LOCUS_SRC_HTTP_BODY_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "src/base/run/mutex.h"

namespace locus::http {

// The body of an answer that is sent while it is being made, such as a stream of events. One side
// writes pieces, which may be shared by many streams; the connection sends them as fast as its
// client takes them. A client that lets more than `most_bytes` wait, beside the largest piece of
// what waits, loses the stream: the connection is closed without the end of the body. Thread
// safety: all methods may be called from any thread.
class BodyStream {
 public:
  using Piece = std::shared_ptr<const std::string>;

  // Larger: a slow client is waited for longer, with more memory.
  explicit BodyStream(size_t most_bytes) : most_bytes_(most_bytes) {}
  BodyStream(const BodyStream&) = delete;
  BodyStream& operator=(const BodyStream&) = delete;

  // Never waits. False: the piece is dropped, because the stream has ended, the client is gone, or
  // more would wait than may.
  bool Write(Piece piece);
  // The body ends behind what was written.
  void End();
  // Whether Write would answer false, whatever it brings.
  bool closed() const;
  // The client took less than was written.
  bool overrun() const;

  // For the connection. `wake` is called, under a lock, when Take has something new; it must not
  // call the stream.
  void Attach(std::function<void()> wake);
  struct Taken {
    std::vector<Piece> pieces;
    bool end = false;      // the body ends behind them
    bool overrun = false;  // and not as it should
  };
  // All that waits.
  Taken Take();
  // No more is sent. `wake` is not called any more when this returns.
  void Detach();

 private:
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // what waits
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  mutable internal::Mutex mutex_;
  std::vector<Piece> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // of them
  size_t largest_ ABSL_GUARDED_BY(mutex_) = 0;  // of them
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool overrun_ ABSL_GUARDED_BY(mutex_) = false;
  bool detached_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_BODY_STREAM_H_
