// SPDX-License-Identifier: Apache-2.0
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/key_ring.h"
#include "locus/order_no_codec.h"
#include "src/base/os/private_file.h"
#include "src/base/os/secret_bytes.h"
#include "src/order/key_derivation.h"
#include "src/order/order_no_ciphers.h"

// Where keys lie in this process: every byte of memory is searched.

namespace locus {

using internal::CipherPool;
using internal::DeriveKey;
using internal::ExcludeFromCoreDumps;
using internal::kDerivedKeyBytes;
using internal::PrivateText;
using internal::ReadPrivateFile;
using internal::SecretBytes;

namespace {

constexpr unsigned char kMask = 0xA7;
constexpr size_t kPatternBytes = 16;
using Pattern = std::array<unsigned char, kPatternBytes>;  // masked

// The bytes to search for. They are kept masked, so that the search does not find them here.
class Patterns {
 public:
  // Both halves of a key, as it is and as SHA-256 and some AES code hold it: in words the other
  // way round.
  void AddKey(const unsigned char* key) {
    for (size_t half : {0u, 16u}) {
      Pattern plain, swapped;
      for (size_t i = 0; i < kPatternBytes; ++i) {
        plain[i] = key[half + i] ^ kMask;
        swapped[i] = key[half + (i ^ 3)] ^ kMask;
      }
      all_.push_back(plain);
      all_.push_back(swapped);
    }
  }
  void AddText(const char* text, size_t size) {
    for (size_t begin = 0; begin + kPatternBytes <= size; begin += kPatternBytes) {
      Pattern pattern;
      for (size_t i = 0; i < kPatternBytes; ++i) {
        pattern[i] = static_cast<unsigned char>(text[begin + i]) ^ kMask;
      }
      all_.push_back(pattern);
    }
  }
  const std::vector<Pattern>& all() const { return all_; }

 private:
  std::vector<Pattern> all_;
};

struct Mapping {
  uintptr_t begin, end;
  bool dumped;
};

std::vector<Mapping> ReadableMappings() {
  std::vector<Mapping> mappings;
  std::ifstream smaps("/proc/self/smaps");
  bool readable = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin, end;
    char access;
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &access) == 3) {
      readable = access == 'r';
      if (readable) mappings.push_back({begin, end, true});
    } else if (readable && line.starts_with("VmFlags:")) {
      mappings.back().dumped = (line + " ").find(" dd ") == std::string::npos;
    }
  }
  return mappings;
}

struct Found {
  size_t left_out = 0;  // where core dumps do not look
  size_t dumped = 0;
};

// How often each pattern occurs in this process.
std::vector<Found> Search(const std::vector<Pattern>& patterns) {
  constexpr size_t kWindow = 1 << 20;
  // The searched memory is copied here, and this copy is not searched.
  SecretBytes window = SecretBytes::Allocate(kWindow).value();
  std::vector<Found> found(patterns.size());
  std::vector<uint64_t> first_words(patterns.size());
  uint64_t mask;
  std::memset(&mask, kMask, sizeof mask);
  for (size_t i = 0; i < patterns.size(); ++i) {
    std::memcpy(&first_words[i], patterns[i].data(), sizeof(uint64_t));
  }
  auto own = reinterpret_cast<uintptr_t>(window.data());
  auto matches = [](const char* at, const Pattern& pattern) {
    for (size_t i = 0; i < kPatternBytes; ++i) {
      if ((static_cast<unsigned char>(at[i]) ^ kMask) != pattern[i]) return false;
    }
    return true;
  };
  auto look_at = [&](const Mapping& mapping, uintptr_t address, size_t size) {
    for (size_t at = 0; at + kPatternBytes <= size; ++at) {
      if (address + at >= own && address + at < own + kWindow) continue;
      uint64_t word;
      std::memcpy(&word, window.data() + at, sizeof word);
      word ^= mask;
      for (size_t i = 0; i < patterns.size(); ++i) {
        if (word != first_words[i] || !matches(window.data() + at, patterns[i])) continue;
        ++(mapping.dumped ? found[i].dumped : found[i].left_out);
      }
    }
  };
  for (const Mapping& mapping : ReadableMappings()) {
    constexpr size_t kStep = kWindow - kPatternBytes + 1;
    for (uintptr_t address = mapping.begin; address < mapping.end; address += kStep) {
      iovec to = {window.data(), kWindow};
      iovec from = {reinterpret_cast<void*>(address),
                    std::min<size_t>(kWindow, mapping.end - address)};
      // Fails for pages that cannot be read after all, such as those behind a file's end.
      ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
      if (got > 0) look_at(mapping, address, static_cast<size_t>(got));
    }
  }
  return found;
}

size_t Dumped(const Patterns& patterns) {
  size_t dumped = 0;
  for (const Found& found : Search(patterns.all())) dumped += found.dumped;
  return dumped;
}

size_t FoundAnywhere(const Patterns& patterns) {
  size_t total = 0;
  for (const Found& found : Search(patterns.all())) total += found.dumped + found.left_out;
  return total;
}

constexpr const char* kPurposes[] = {"locus order_no tag", "locus order_no ctr",
                                     "locus order_no ff1", "locus order_no ctr64"};

void AddDerived(const KeyRing& ring, KeyVersion version, Patterns* patterns) {
  SecretBytes derived = SecretBytes::Allocate(kDerivedKeyBytes).value();
  for (const char* purpose : kPurposes) {
    ASSERT_TRUE(DeriveKey(ring.key(version).value(), "orders", purpose, derived.bytes()).ok());
    patterns->AddKey(derived.bytes());
  }
}

void AddMaster(const KeyRing& ring, KeyVersion version, Patterns* patterns) {
  patterns->AddKey(reinterpret_cast<const unsigned char*>(ring.key(version).value().data()));
}

KeyVersion Version(int value) { return KeyVersion::FromInt(value).value(); }

TEST(KeyMemoryTest, CopyOnTheOrdinaryHeap_IsFoundByTheSearch) {
  Patterns patterns;
  auto copy = std::make_unique<std::array<unsigned char, 32>>();
  std::random_device random;
  for (unsigned char& byte : *copy) byte = static_cast<unsigned char>(random());
  patterns.AddKey(copy->data());
  EXPECT_GE(Dumped(patterns), 2u);  // two halves
  ExcludeFromCoreDumps(copy.get(), sizeof *copy);
  EXPECT_EQ(Dumped(patterns), 0u);
  EXPECT_GE(FoundAnywhere(patterns), 2u);
}

TEST(KeyMemoryTest, RingAndCodecInUse_NoKeyIsInACoreDump_NorAnywhereAfterwards) {
  Patterns masters, derived;
  {
    KeyRing ring = KeyRing::Generate().value();
    ASSERT_TRUE(ring.Add().ok());
    for (int version : {1, 2}) {
      AddMaster(ring, Version(version), &masters);
      AddDerived(ring, Version(version), &derived);
    }
    OrderNoCodec codec = OrderNoCodec::Create(ring, SpaceName()).value();
    OrderNo number = codec.Encode(OrderId()).value();
    ASSERT_TRUE(codec.Decode(number).ok());
    ASSERT_TRUE(codec.EncodeFf1(OrderId(), Version(2)).ok());
    ASSERT_TRUE(codec.EncodeCtr64ReusingKeystream(OrderId(), Version(2)).ok());
    EXPECT_EQ(Dumped(masters), 0u);
    EXPECT_EQ(Dumped(derived), 0u);
    EXPECT_GE(FoundAnywhere(masters), 4u);
    std::vector<Found> found = Search(derived.all());
    for (size_t i = 0; i < found.size(); i += 4) {
      EXPECT_GE(found[i].left_out, 2u) << "a derived key and its schedules were not found";
    }
  }
  EXPECT_EQ(FoundAnywhere(masters), 0u);
  EXPECT_EQ(FoundAnywhere(derived), 0u);
}

TEST(KeyMemoryTest, CiphersMadeWhileAllAreLent_AreNotInACoreDumpEither) {
  Patterns derived;
  {
    KeyRing ring = KeyRing::Generate().value();
    AddDerived(ring, Version(1), &derived);
    std::unique_ptr<CipherPool> pool = CipherPool::Create(ring, SpaceName()).value();
    size_t before = FoundAnywhere(derived);
    std::vector<std::unique_ptr<CipherPool::Held>> held;
    for (int i = 0; i < 40; ++i) {
      held.emplace_back(new CipherPool::Held(pool->Claim(Version(1))));
    }
    EXPECT_GT(FoundAnywhere(derived), before);
    EXPECT_EQ(Dumped(derived), 0u);
  }
  EXPECT_EQ(FoundAnywhere(derived), 0u);
}

TEST(KeyMemoryTest, KeyRetired_IsNowhere) {
  KeyRing ring = KeyRing::Generate().value();
  ASSERT_TRUE(ring.Add().ok());
  Patterns master;
  AddMaster(ring, Version(2), &master);
  ASSERT_GT(FoundAnywhere(master), 0u);
  ASSERT_TRUE(ring.Retire(Version(2)).ok());
  EXPECT_EQ(FoundAnywhere(master), 0u);
}

TEST(KeyMemoryTest, RingSavedAndLoaded_NeitherKeyNorItsTextIsInACoreDump) {
  std::string directory = testing::TempDir() + "key_memory_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  Patterns key, text;
  {
    KeyRing ring = KeyRing::Generate().value();
    AddMaster(ring, Version(1), &key);
    ASSERT_TRUE(ring.Save(directory + "/keys").ok());
    KeyRing loaded = KeyRing::Load(directory + "/keys").value();
    ASSERT_EQ(loaded.active(), Version(1));
    PrivateText file = ReadPrivateFile(directory + "/keys", 256).value();
    constexpr size_t kKeyAt = sizeof("locus-key-ring 1\nactive 1\n1 ") - 1;
    text.AddText(file.memory.data() + kKeyAt, 32);
    EXPECT_EQ(FoundAnywhere(text), 2u) << "only in this test's own secret memory";
    EXPECT_EQ(Dumped(text), 0u);
    EXPECT_EQ(Dumped(key), 0u);
  }
  EXPECT_EQ(FoundAnywhere(text), 0u);
  EXPECT_EQ(FoundAnywhere(key), 0u);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace locus
