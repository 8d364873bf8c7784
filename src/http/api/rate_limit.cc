// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/rate_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace locus::cluster_api {

using internal::MutexLock;

namespace {

// An IPv6 address without its last 64 bits, and an IPv4 address in IPv6 as such; otherwise the text
// itself.
std::string NetworkOf(std::string_view address) {
  std::string text(address.substr(0, address.find('%')));
  in6_addr bytes;
  if (inet_pton(AF_INET6, text.c_str(), &bytes) != 1) return text;
  char out[INET6_ADDRSTRLEN];
  if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
    return inet_ntop(AF_INET, bytes.s6_addr + 12, out, sizeof out);
  }
  std::memset(bytes.s6_addr + 8, 0, 8);
  return inet_ntop(AF_INET6, &bytes, out, sizeof out);
}

}  // namespace

absl::Status RateLimitOptions::Check() const {
  if (!(per_second >= 0 && per_second <= 1e6)) {
    return absl::InvalidArgumentError(absl::StrCat("requests a second of one address are ",
                                                   per_second, "; they must be 0 to 1000000"));
  }
  if (!(burst >= 1 && burst <= 1e6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("requests at once of one address are ", burst, "; they must be 1 to 1000000"));
  }
  if (addresses < 1 || addresses > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("remembered addresses are ", addresses, "; they must be 1 to 1000000"));
  }
  return absl::OkStatus();
}

absl::Duration RateLimit::Take(std::string_view address, absl::Duration now) {
  if (options_.per_second == 0) return absl::ZeroDuration();
  std::string network = NetworkOf(address);
  MutexLock lock(mutex_);
  auto known = by_address_.find(network);
  if (known == by_address_.end()) {
    if (buckets_.size() >= options_.addresses) {
      by_address_.erase(buckets_.back().address);
      buckets_.pop_back();
    }
    buckets_.push_front({std::move(network), options_.burst, now});
    known = by_address_.emplace(buckets_.front().address, buckets_.begin()).first;
  }
  Bucket& bucket = *known->second;
  buckets_.splice(buckets_.begin(), buckets_, known->second);
  const double seconds = std::max(absl::ToDoubleSeconds(now - bucket.filled), 0.0);
  bucket.tokens = std::min(options_.burst, bucket.tokens + seconds * options_.per_second);
  bucket.filled = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return absl::ZeroDuration();
  }
  return absl::Seconds((1 - bucket.tokens) / options_.per_second);
}

size_t RateLimit::remembered() const {
  MutexLock lock(mutex_);
  return buckets_.size();
}

}  // namespace locus::cluster_api
