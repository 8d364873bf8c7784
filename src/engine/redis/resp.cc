// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/resp.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/check.h"

namespace locus::redis {
namespace {

void AppendNumber(std::string& out, char kind, size_t number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out += kind;
  out.append(digits, end);
  out += "\r\n";
}

Reply Convert(const redisReply& from) {
  Reply reply;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      reply.kind = Reply::Kind::kInteger;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      reply.kind = Reply::Kind::kText;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = Reply::Kind::kError;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = Reply::Kind::kArray;
      reply.elements.reserve(from.elements);
      for (size_t i = 0; i < from.elements; ++i) {
        reply.elements.push_back(Convert(*from.element[i]));
      }
      break;
    default:
      break;
  }
  return reply;
}

absl::Status Broken(const redisReader& reader) {
  return absl::UnavailableError(absl::StrCat("the answer is no RESP2: ", reader.errstr));
}

}  // namespace

void AppendHead(std::string& out, size_t count) { AppendNumber(out, '*', count); }

void AppendWord(std::string& out, std::string_view word) {
  AppendNumber(out, '$', word.size());
  out += word;
  out += "\r\n";
}

void AppendCommand(std::string& out, std::span<const std::string_view> words) {
  AppendHead(out, words.size());
  for (std::string_view word : words) AppendWord(out, word);
}

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) { LOCUS_CHECK(reader_ != nullptr); }

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

absl::Status ReplyReader::Feed(const char* bytes, size_t size) {
  if (redisReaderFeed(reader_, bytes, size) == REDIS_OK) return absl::OkStatus();
  return Broken(*reader_);
}

absl::StatusOr<bool> ReplyReader::Next(Reply& reply) {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_, &raw) != REDIS_OK) return Broken(*reader_);
  if (raw == nullptr) return false;
  reply = Convert(*static_cast<redisReply*>(raw));
  freeReplyObject(raw);
  return true;
}

}  // namespace locus::redis
