// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_RESP_H_
#define LOCUS_SRC_ENGINE_REDIS_RESP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The wire format, RESP2: commands are written, replies are read within limits. Pure: no socket.

namespace locus::redis {

struct Reply {
  enum class Kind { kNil, kInteger, kText, kError, kArray };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // of kText and kError
  std::vector<Reply> elements;

  bool IsError(std::string_view code) const {
    return kind == Kind::kError && text.starts_with(code) &&
           (text.size() == code.size() || text[code.size()] == ' ');
  }
};

// Appends the beginning of a command of `count` words, then each word.
void AppendHead(std::string& out, size_t count);
void AppendWord(std::string& out, std::string_view word);
void AppendCommand(std::string& out, std::span<const std::string_view> words);

// Cuts a stream of bytes into replies. The server decides nothing about memory: a reply that is
// announced as larger than the limits is refused before memory is taken for it.
class ReplyReader {
 public:
  // The largest legal replies are a space of 65,536 sections (131,077 elements, 3 MB) and the slots
  // of a cluster in pieces (16,384 ranges of three nodes: 300,000 elements).
  struct Limits {
    size_t bytes = 16 << 20;       // of one reply, as it is sent
    size_t elements = 512 << 10;   // of all arrays of one reply
    size_t depth = 7;              // of arrays in arrays
    size_t line_bytes = 64 << 10;  // of an error, a status, a number or a length
  };

  ReplyReader() = default;
  explicit ReplyReader(const Limits& limits) : limits_(limits) {}

  void Feed(std::string_view bytes);
  // Takes the next whole reply out of the bytes that were fed. False: there is none yet.
  // UNAVAILABLE: the bytes are no RESP2, or a reply exceeds the limits; the stream is lost, and so
  // says every later call.
  absl::StatusOr<bool> Next(Reply& reply);
  // About how much memory the last reply takes, in bytes.
  size_t last_cost() const { return last_cost_; }

 private:
  struct OpenArray {
    Reply array;
    size_t missing;  // elements
  };

  // The next value, where all of it was fed; an array's elements follow by themselves.
  absl::StatusOr<bool> ReadValue(Reply& value, std::optional<size_t>& elements);
  absl::StatusOr<bool> ReadText(Reply& value);
  absl::StatusOr<bool> ReadLine(std::string_view& line);
  absl::Status BeginText(int64_t size);
  absl::Status BeginArray(int64_t size);
  // Puts a whole value into the array it belongs to. True: it is the reply itself.
  bool Place(Reply& value);
  absl::Status Refuse(std::string_view why);

  const Limits limits_{};
  std::string buffer_;
  size_t read_ = 0;      // of buffer_
  size_t searched_ = 0;  // of buffer_: no line ends before here
  std::vector<OpenArray> open_;
  std::optional<size_t> text_size_;  // of a text whose length was read
  size_t bytes_ = 0;                 // of the current reply
  size_t elements_ = 0;              // announced in the current reply
  size_t last_cost_ = 0;
  absl::Status lost_;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_RESP_H_
