// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/frame.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::raft {

using internal::Quoted;

namespace {

constexpr std::string_view kMagic = "LRAF";
constexpr size_t kSizeBytes = sizeof(uint32_t);
constexpr size_t kMostReasonBytes = 512;
constexpr size_t kMostKeptBytes = 1 << 20;

template <typename T>
void Put(T number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename T>
bool Take(std::string_view& bytes, T& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

bool TakeText(std::string_view& bytes, size_t most, std::string& text) {
  uint16_t size = 0;
  if (!Take(bytes, size) || size > most || bytes.size() < size) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

absl::Status NotA(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("what came is no ", what, " of a Raft node"));
}

}  // namespace

std::string Encode(const Hello& hello) {
  std::string out(kMagic);
  Put(hello.protocol, out);
  if (hello.protocol != kProtocolVersion) return out;
  Put(hello.codec, out);
  Put(hello.from, out);
  Put(hello.to, out);
  Put(static_cast<uint8_t>(hello.bulk), out);
  for (const std::string* text : {&hello.cluster, &hello.address}) {
    Put(static_cast<uint16_t>(text->size()), out);
    out += *text;
  }
  return out;
}

absl::StatusOr<Hello> DecodeHello(std::string_view bytes) {
  Hello hello;
  uint8_t bulk = 0;
  if (!bytes.starts_with(kMagic)) return NotA("hello");
  bytes.remove_prefix(kMagic.size());
  if (!Take(bytes, hello.protocol)) return NotA("hello");
  if (hello.protocol != kProtocolVersion) return hello;
  if (!Take(bytes, hello.codec) || !Take(bytes, hello.from) || !Take(bytes, hello.to) ||
      !Take(bytes, bulk) || bulk > 1 || !TakeText(bytes, kMostClusterBytes, hello.cluster) ||
      !TakeText(bytes, kMostAddressBytes, hello.address) || !bytes.empty()) {
    return NotA("hello");
  }
  hello.bulk = bulk == 1;
  return hello;
}

absl::Status CheckHello(const Hello& hello, NodeId self, std::string_view cluster) {
  auto refuse = [](std::string why) { return absl::FailedPreconditionError(why); };
  if (hello.protocol != kProtocolVersion) {
    return refuse(absl::StrCat("the caller speaks version ", hello.protocol,
                               " of the protocol, this node ", kProtocolVersion));
  }
  if (hello.codec != kCodecVersion) {
    return refuse(absl::StrCat("the caller has entries of version ", hello.codec, ", this node ",
                               kCodecVersion));
  }
  if (hello.cluster != cluster) {
    return refuse(absl::StrCat("the caller is of cluster ", Quoted(hello.cluster),
                               ", this node of ", Quoted(cluster)));
  }
  if (hello.to != self) {
    return refuse(absl::StrCat("the caller wants node ", hello.to, ", this is node ", self,
                               ": one that lost its disk is another one"));
  }
  if (hello.from == 0 || hello.from == self) {
    return refuse(absl::StrCat("the caller has the ID ", hello.from));
  }
  return absl::OkStatus();
}

std::string EncodeWelcome(const absl::Status& status) {
  std::string out(kMagic);
  Put(static_cast<uint8_t>(status.ok()), out);
  return out.append(status.message().data(), std::min(status.message().size(), kMostReasonBytes));
}

absl::Status DecodeWelcome(std::string_view bytes) {
  uint8_t ok = 0;
  if (!bytes.starts_with(kMagic)) return NotA("welcome");
  bytes.remove_prefix(kMagic.size());
  if (!Take(bytes, ok) || ok > 1 || bytes.size() > kMostReasonBytes) return NotA("welcome");
  if (ok == 1) return bytes.empty() ? absl::OkStatus() : NotA("welcome");
  return absl::FailedPreconditionError(absl::StrCat("refused: ", internal::Printable(bytes)));
}

std::string Framed(std::string_view bytes) {
  std::string out;
  out.reserve(kSizeBytes + bytes.size());
  Put(static_cast<uint32_t>(bytes.size()), out);
  return out.append(bytes);
}

void FrameReader::Feed(std::string_view bytes) {
  // Gives back the memory of a long frame.
  if (begin_ == buffer_.size() && buffer_.capacity() > kMostKeptBytes) buffer_ = std::string();
  buffer_.erase(0, std::min(begin_, buffer_.size()));
  begin_ = 0;
  buffer_.append(bytes);
}

absl::StatusOr<std::optional<std::string_view>> FrameReader::Next() {
  std::string_view rest = std::string_view(buffer_).substr(begin_);
  uint32_t size = 0;
  if (!Take(rest, size)) return std::nullopt;
  if (size > most_) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", size, " bytes; the most are ", most_));
  }
  if (rest.size() < size) return std::nullopt;
  begin_ += kSizeBytes + size;
  return rest.substr(0, size);
}

size_t FrameReader::Lacks() const {
  std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.empty()) return 0;
  uint32_t size = 0;
  if (!Take(rest, size)) return kSizeBytes - rest.size();
  return size - std::min<size_t>(size, rest.size());
}

}  // namespace locus::raft
