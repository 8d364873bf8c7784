// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/resp.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"

namespace locus::redis {
namespace {

void AppendNumber(std::string& out, char kind, size_t number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out += kind;
  out.append(digits, end);
  out += "\r\n";
}

// The reader builds our replies in place: an element goes where its array has room for it.
Reply* PlaceOf(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  auto* array = static_cast<Reply*>(task->parent->obj);
  return &array->elements[static_cast<size_t>(task->idx)];
}

void* CreateText(const redisReadTask* task, char* text, size_t size) {
  Reply* reply = PlaceOf(task);
  reply->kind = task->type == REDIS_REPLY_ERROR ? Reply::Kind::kError : Reply::Kind::kText;
  reply->text.assign(text, size);
  return reply;
}

void* CreateArray(const redisReadTask* task, int size) {
  Reply* reply = PlaceOf(task);
  reply->kind = Reply::Kind::kArray;
  reply->elements.resize(static_cast<size_t>(size));
  return reply;
}

void* CreateInteger(const redisReadTask* task, long long integer) {
  Reply* reply = PlaceOf(task);
  reply->kind = Reply::Kind::kInteger;
  reply->integer = integer;
  return reply;
}

void* CreateNil(const redisReadTask* task) { return PlaceOf(task); }

void Free(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions functions = {CreateText, CreateArray, CreateInteger, CreateNil, Free};

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

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&functions)) {
  LOCUS_CHECK(reader_ != nullptr);
}

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

absl::Status ReplyReader::Feed(const char* bytes, size_t size) {
  if (redisReaderFeed(reader_, bytes, size) == REDIS_OK) return absl::OkStatus();
  return Broken(*reader_);
}

absl::StatusOr<bool> ReplyReader::Next(Reply& reply) {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_, &raw) != REDIS_OK) return Broken(*reader_);
  if (raw == nullptr) return false;
  auto* whole = static_cast<Reply*>(raw);
  reply = std::move(*whole);
  delete whole;
  return true;
}

}  // namespace locus::redis
