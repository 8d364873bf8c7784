// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_RESP_H_
#define LOCUS_SRC_ENGINE_REDIS_RESP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

struct redisReader;

// The wire format, RESP2.

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

// Cuts a stream of bytes into replies.
class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // False: what was fed has no other whole reply. UNAVAILABLE: this is no RESP2; the stream is
  // lost.
  absl::Status Feed(const char* bytes, size_t size);
  absl::StatusOr<bool> Next(Reply& reply);

 private:
  redisReader* const reader_;
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_RESP_H_
