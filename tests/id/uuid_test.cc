// SPDX-License-Identifier: Apache-2.0
#include "locus/uuid.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/os/random_word.h"
#include "src/order/uuid_v7.h"

namespace locus {

using internal::RandomWord;

namespace {

using ::testing::HasSubstr;

constexpr char kRfcV7[] = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";  // RFC 9562, A.6
constexpr char kRfcV4[] = "919108f7-52d1-4320-9bac-f847db4148a8";  // RFC 9562, A.3
constexpr char kMax[] = "ffffffff-ffff-ffff-ffff-ffffffffffff";

uint64_t MomentOf(const Uuid& uuid) {
  return uuid.high_word() >> 16 << 16 | (uuid.high_word() & 0xFFF) << 4 |
         (uuid.low_word() >> 58 & 0xF);
}

TEST(UuidTest, ExamplesOfTheRfc_AreRead) {
  Uuid v7 = Uuid::Parse(kRfcV7).value();
  EXPECT_EQ(v7.version(), 7);
  EXPECT_EQ(v7.time(), absl::FromUnixMillis(0x017F22E279B0));
  EXPECT_EQ(absl::FormatTime(*v7.time(), absl::UTCTimeZone()), "2022-02-22T19:22:22+00:00");
  EXPECT_EQ(v7.ToString(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  EXPECT_EQ(v7, Uuid::FromWords(0x017F22E279B07CC3, 0x98C4DC0C0C07398F));

  Uuid v4 = Uuid::Parse(kRfcV4).value();
  EXPECT_EQ(v4.version(), 4);
  EXPECT_EQ(v4.time(), std::nullopt);
  EXPECT_EQ(v4.ToString(), kRfcV4);
}

TEST(UuidTest, NilAndMax_HaveNoVersion) {
  EXPECT_EQ(Uuid().ToString(), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(Uuid::Parse(Uuid().ToString()).value(), Uuid());
  EXPECT_EQ(Uuid().version(), std::nullopt);
  EXPECT_EQ(Uuid::Parse(kMax).value().version(), std::nullopt);
  EXPECT_EQ(Uuid::Parse(kMax).value().time(), std::nullopt);
}

TEST(UuidTest, BytesAndText_RoundTripAndKeepTheOrder) {
  std::mt19937_64 random(20261120);
  Uuid before;
  for (int i = 0; i < 10000; ++i) {
    Uuid uuid = Uuid::FromWords(random(), random());
    EXPECT_EQ(Uuid::FromBytes(uuid.ToBytes()).value(), uuid);
    EXPECT_EQ(Uuid::Parse(uuid.ToString()).value(), uuid);
    EXPECT_EQ(before < uuid, before.ToBytes() < uuid.ToBytes());
    EXPECT_EQ(before < uuid, before.ToString() < uuid.ToString());
    std::ostringstream out;
    out << uuid;
    EXPECT_EQ(out.str(), uuid.ToString());
    before = uuid;
  }
  EXPECT_EQ(Uuid::FromWords(0x0102030405060708, 0x090a0b0c0d0e0f10).ToBytes(),
            "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
}

TEST(UuidTest, OtherLengths_AreRefused) {
  for (size_t size : {0, 15, 17, 36}) {
    absl::Status status = Uuid::FromBytes(std::string(size, 'a')).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(size) + " bytes"));
  }
  for (std::string text :
       {"", "017f22e279b07cc398c4dc0c0c07398f", "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
        "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}) {
    EXPECT_EQ(Uuid::Parse(text).status(),
              absl::InvalidArgumentError("\"" + text + "\" is not a UUID: it has " +
                                         std::to_string(text.size()) + " characters, not 36"));
  }
}

TEST(UuidTest, EachWrongCharacter_IsNamedWithItsPlace) {
  for (size_t i = 0; i < Uuid::kTextLength; ++i) {
    for (char c : {'g', '-', '0', ' ', '\0', '\xC3', '/', ':', '@', 'G', '`'}) {
      std::string text = kRfcV7;
      bool hyphen = text[i] == '-';
      if (hyphen ? c == '-' : c == '0') continue;
      text[i] = c;
      std::string place = "character " + std::to_string(i + 1) + ", ";
      absl::Status status = Uuid::Parse(text).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << i;
      EXPECT_THAT(std::string(status.message()), HasSubstr(place)) << i;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(hyphen ? "is not a hyphen" : "hex digit"));
    }
  }
}

TEST(UuidTest, BothVersions_HaveTheirFixedBits) {
  std::set<Uuid> seen;
  for (int i = 0; i < 5000; ++i) {  // more than a buffer of random bits
    Uuid v4 = Uuid::NewV4().value();
    EXPECT_EQ(v4.version(), 4);
    EXPECT_TRUE(seen.insert(v4).second);
    Uuid v7 = Uuid::NewV7().value();
    EXPECT_EQ(v7.version(), 7);
    EXPECT_TRUE(seen.insert(v7).second);
  }
}

TEST(UuidTest, RandomBits_TakeBothValuesEverywhere) {
  uint64_t high_or = 0, low_or = 0, high_and = ~uint64_t{0}, low_and = ~uint64_t{0}, tail_or = 0;
  uint64_t tail_and = ~uint64_t{0};
  for (int i = 0; i < 2000; ++i) {  // a bit is the same in all with probability 2^-1999
    Uuid v4 = Uuid::NewV4().value();
    high_or |= v4.high_word(), high_and &= v4.high_word();
    low_or |= v4.low_word(), low_and &= v4.low_word();
    Uuid v7 = Uuid::NewV7().value();
    tail_or |= v7.low_word(), tail_and &= v7.low_word();
  }
  EXPECT_EQ(high_or, 0xFFFFFFFFFFFF4FFF);
  EXPECT_EQ(high_and, 0x0000000000004000u);
  EXPECT_EQ(low_or, 0xBFFFFFFFFFFFFFFF);
  EXPECT_EQ(low_and, 0x8000000000000000);
  constexpr uint64_t kTail = (uint64_t{1} << 58) - 1;
  EXPECT_EQ(tail_or & kTail, kTail);
  EXPECT_EQ(tail_and & kTail, 0u);
}

TEST(UuidTest, V7_HasTheTime) {
  absl::Time before = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now()));
  absl::Time time = Uuid::NewV7().value().time().value();
  EXPECT_GE(time, before);
  EXPECT_LE(time, absl::Now());
}

TEST(UuidV7Test, MomentOfAReading_IsMillisecondAndTick) {
  EXPECT_EQ(uuid_v7::MomentOf({0, 0}), 0u);
  EXPECT_EQ(uuid_v7::MomentOf({-1, 999999999}), 0u);
  EXPECT_EQ(uuid_v7::MomentOf({0, 244}), 0u);
  EXPECT_EQ(uuid_v7::MomentOf({0, 245}), 1u << 4);
  EXPECT_EQ(uuid_v7::MomentOf({0, 500'000}), 2048u << 4);
  EXPECT_EQ(uuid_v7::MomentOf({0, 999'999}), 4095u << 4);
  EXPECT_EQ(uuid_v7::MomentOf({0, 1'000'000}), 1u << 16);
  EXPECT_EQ(uuid_v7::MomentOf({1645557742, 123'250'000}),
            uint64_t{1645557742123} << 16 | 1024u << 4);
}

TEST(UuidV7Test, MomentAndRandomness_AreInTheirPlaces) {
  uint64_t moment = uint64_t{0x017F22E279B0} << 16 | 0xCC3 << 4 | 0x6;
  EXPECT_EQ(uuid_v7::Assemble(moment, 0xFFFFFFFFFFFFFFFF).ToString(),
            "017f22e2-79b0-7cc3-9bff-ffffffffffff");
  EXPECT_EQ(uuid_v7::Assemble(moment, 0).ToString(), "017f22e2-79b0-7cc3-9800-000000000000");
  EXPECT_EQ(MomentOf(uuid_v7::Assemble(moment, 0x123456789)), moment);
}

TEST(UuidV7Test, ClockStandsStillAndStepsBack_StillRises) {
  std::mt19937_64 random(7);
  uuid_v7::Order order;
  timespec now = {1767225600, 0};
  uint64_t highest_clock = 0;
  Uuid last;
  for (int i = 0; i < 200000; ++i) {
    if (i % 1000 == 0) {  // to anywhere within an hour; each time stands still a while
      now.tv_sec = 1767225600 + static_cast<time_t>(random() % 3600);
      now.tv_nsec = static_cast<long>(random() % 1'000'000'000);
    }
    highest_clock = std::max(highest_clock, uuid_v7::MomentOf(now));
    Uuid uuid = uuid_v7::Assemble(order.Take(uuid_v7::MomentOf(now)), random());
    ASSERT_LT(last, uuid) << i;
    ASSERT_GE(MomentOf(uuid), highest_clock) << i;
    ASSERT_LE(MomentOf(uuid), highest_clock + static_cast<uint64_t>(i)) << i;
    last = uuid;
  }
}

TEST(UuidV7Test, FullCounter_CarriesIntoTheTime) {
  uuid_v7::Order order;
  uint64_t clock = uint64_t{1000} << 16 | 4095 << 4;
  Uuid uuid;
  for (int i = 0; i <= 16; ++i) uuid = uuid_v7::Assemble(order.Take(clock), 0);
  EXPECT_EQ(MomentOf(uuid), uint64_t{1001} << 16);
  EXPECT_EQ(uuid.time(), absl::FromUnixMillis(1001));
  EXPECT_EQ(order.Take(uint64_t{1001} << 16 | 1 << 4), uint64_t{1001} << 16 | 1 << 4);
}

// The moments of all threads are different, each thread's rise, and one made after another thread's
// was published is above it.
TEST(UuidV7Test, ManyThreads_OneStrictOrder) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50000;
  std::vector<std::vector<Uuid>> made(kThreads);
  std::atomic<uint64_t> published{0};
  std::atomic<int> out_of_order{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        uint64_t before = published.load(std::memory_order_acquire);
        Uuid uuid = Uuid::NewV7().value();
        if (MomentOf(uuid) <= before) ++out_of_order;
        published.store(MomentOf(uuid), std::memory_order_release);
        made[static_cast<size_t>(thread)].push_back(uuid);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(out_of_order, 0);
  std::set<uint64_t> moments;
  for (const std::vector<Uuid>& each : made) {
    EXPECT_EQ(std::adjacent_find(each.begin(), each.end(), std::greater_equal<Uuid>()), each.end());
    for (const Uuid& uuid : each) EXPECT_TRUE(moments.insert(MomentOf(uuid)).second);
  }
  EXPECT_EQ(moments.size(), size_t{kThreads} * kEach);
}

struct UsesRandomnessAtItsEnd {
  ~UsesRandomnessAtItsEnd() { *word = RandomWord().value_or(0); }
  uint64_t* word = nullptr;
};

TEST(RandomWordTest, DestructorOfAThreadsEnd_StillGetsRandomness) {
  uint64_t word = 0;
  std::thread([&] {
    thread_local UsesRandomnessAtItsEnd late;  // made before the buffer, so destroyed after it
    late.word = &word;
    EXPECT_NE(RandomWord().value(), 0u);
  }).join();
  EXPECT_NE(word, 0u);
}

// The UUIDs that a process makes after a fork, and the words behind them.
std::vector<uint64_t> WordsOfUuids(int count) {
  std::vector<uint64_t> words;
  for (int i = 0; i < count; ++i) {
    Uuid v4 = Uuid::NewV4().value();
    words.push_back(v4.high_word());
    words.push_back(v4.low_word() & ((uint64_t{1} << 62) - 1));
    words.push_back(Uuid::NewV7().value().low_word() & ((uint64_t{1} << 58) - 1));
  }
  return words;
}

// `fork_child` is fork() or what does the same.
void ExpectNothingInCommon(pid_t (*fork_child)()) {
  constexpr int kCount = 400;  // uses the buffer up and begins the next
  WordsOfUuids(1);             // there is a buffer, and most of it is unused
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Uuid before = Uuid::NewV7().value();
  pid_t child = fork_child();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::vector<uint64_t> words = WordsOfUuids(kCount);
    words.push_back(before < Uuid::NewV7().value() ? 1 : 0);
    size_t size = words.size() * sizeof words[0];
    _exit(write(ends[1], words.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  }
  close(ends[1]);
  std::vector<uint64_t> of_parent = WordsOfUuids(kCount);
  std::vector<uint64_t> of_child(of_parent.size() + 1);
  char* out = reinterpret_cast<char*>(of_child.data());
  size_t size = of_child.size() * sizeof of_child[0];
  size_t done = 0;
  for (ssize_t count; (count = read(ends[0], out + done, size - done)) > 0;) {
    done += static_cast<size_t>(count);
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  ASSERT_EQ(done, size);
  EXPECT_EQ(of_child.back(), 1u) << "a child continues above its parent's UUIDs";
  of_child.pop_back();
  std::set<uint64_t> all(of_parent.begin(), of_parent.end());
  all.insert(of_child.begin(), of_child.end());
  EXPECT_EQ(all.size(), of_parent.size() + of_child.size());
}

TEST(UuidForkTest, ParentAndChild_HaveNothingInCommon) {
  ExpectNothingInCommon([] { return fork(); });
}

TEST(UuidForkTest, BareClone_HasNothingInCommonEither) {
  ExpectNothingInCommon(
      [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0)); });
}

}  // namespace
}  // namespace locus
