// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/answer_memory.h"

#include <openssl/sha.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::locusd {

using http::ServerAnswer;
using internal::MutexLock;

namespace {

// Of one key.
constexpr size_t kMostWaiting = 64;
// What an entry takes beside its texts.
constexpr size_t kEntryBytes = 512;

std::string Digest(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

size_t BytesOf(const ServerAnswer& answer) {
  size_t bytes = answer.body.size();
  for (const auto& [name, value] : answer.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

absl::StatusOr<bool> AnswerMemory::Ask(const std::string& key, std::string_view request,
                                       absl::Duration now, Take take) {
  const std::string digest = Digest(request);
  ServerAnswer answer;
  {
    MutexLock lock(mutex_);
    DropOld(now);
    const auto [at, is_new] = entries_.try_emplace(key);
    Entry& entry = at->second;
    if (is_new) {
      entry.request = digest;
      return true;
    }
    if (entry.request != digest) {
      return absl::InvalidArgumentError("the Idempotency-Key was used for another request");
    }
    if (!entry.answer) {
      if (entry.waiting.size() >= kMostWaiting) {
        return absl::ResourceExhaustedError(
            absl::StrCat("more than ", kMostWaiting,
                         " requests wait for the first one with their Idempotency-Key"));
      }
      entry.waiting.push_back(std::move(take));
      ++stats_.repeated;
      return false;
    }
    answer = *entry.answer;
    ++stats_.repeated;
  }
  take(answer);
  return false;
}

void AnswerMemory::Answer(const std::string& key, const ServerAnswer& answer, absl::Duration now) {
  std::vector<Take> waiting;
  {
    MutexLock lock(mutex_);
    const auto at = entries_.find(key);
    LOCUS_CHECK(at != entries_.end() && !at->second.answer);
    Entry& entry = at->second;
    waiting.swap(entry.waiting);
    entry.answer = answer;
    entry.given = now;
    entry.bytes = kEntryBytes + 2 * key.size() + BytesOf(answer);
    entry.order = order_.insert(order_.end(), key);
    stats_.bytes += entry.bytes;
    ++stats_.answers;
    DropOld(now);
  }
  for (const Take& take : waiting) take(answer);
}

void AnswerMemory::Forget(const std::string& key, const ServerAnswer& answer) {
  std::vector<Take> waiting;
  {
    MutexLock lock(mutex_);
    const auto at = entries_.find(key);
    LOCUS_CHECK(at != entries_.end() && !at->second.answer);
    waiting.swap(at->second.waiting);
    entries_.erase(at);
  }
  for (const Take& take : waiting) take(answer);
}

AnswerMemory::Stats AnswerMemory::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void AnswerMemory::Drop(Entries::iterator entry) {
  stats_.bytes -= entry->second.bytes;
  --stats_.answers;
  order_.erase(entry->second.order);
  entries_.erase(entry);
}

void AnswerMemory::DropOld(absl::Duration now) {
  while (!order_.empty()) {
    const auto oldest = entries_.find(order_.front());
    const bool is_due = now - oldest->second.given >= options_.keep;
    if (!is_due && stats_.bytes <= options_.most_bytes) return;
    if (!is_due) ++stats_.evicted;
    Drop(oldest);
  }
}

}  // namespace locus::locusd
