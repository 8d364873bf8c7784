// SPDX-License-Identifier: Apache-2.0
#include "locus/sequence_type.h"

#include <limits>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "src/number/type_text.h"

namespace locus {
namespace {

using Period = SequenceType::Period;

SequenceType Daily() {
  SequenceType type;
  type.name = "invoices";
  type.period = Period::kDay;
  type.pattern = "{date:yyyyMMdd}{seq:8}";
  return type;
}

template <typename Spoil>
std::string RefusalOf(Spoil spoil, SequenceType type = Daily()) {
  spoil(type);
  absl::Status status = type.Check();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(SequenceTypeTest, OptionThatCannotBe_IsNamedWithItsLimit) {
  using T = SequenceType;
  EXPECT_TRUE(Daily().Check().ok());
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.name = "In"; }), "\"In\""));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.step = 0; }), "step is 0"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.start = -1; }), "start is -1"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.buffer = -1; }), "buffer is -1"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.zone = "Mars/Olympus"; }), "Mars/Olympus"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.zone = ""; }), "zone is \"\""));
  for (const char* zone : {"localtime", "posixrules", ":UTC", "/etc/localtime", "libc:localtime",
                           "right/UTC", "Etc/../UTC", "./UTC", "Etc//UTC"}) {
    EXPECT_TRUE(Has(RefusalOf([&](T& t) { t.zone = zone; }), "one zone on all machines")) << zone;
  }
  for (const char* zone : {"Fixed/UTC-12:00:01", "Fixed/UTC+14:00:01", "Fixed/UTC+24:00:00"}) {
    EXPECT_TRUE(Has(RefusalOf([&](T& t) { t.zone = zone; }), "from 12 hours before UTC")) << zone;
  }
  SequenceType furthest = Daily();
  furthest.zone = "Fixed/UTC+14:00:00";
  EXPECT_TRUE(furthest.Check().ok()) << furthest.Check();
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.expiry = absl::Hours(51); }), "longer than 51h"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.expiry = absl::Microseconds(1); }), "1us"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.lifetime = absl::Milliseconds(1500); }), "1.5s"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.lifetime = absl::Hours(25); }), "1s to 24h"));
}

TEST(SequenceTypeTest, PatternThatDoesNotFit_IsRefusedWithTheReason) {
  using T = SequenceType;
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.pattern = "{date:yyyyMMdd}{seq:8"; }), "pattern"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.pattern = "{date:yyyyMMdd}{n:8}"; }), "{seq:N}"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.pattern = "{date:yyyyMMdd}{seq}"; }), "{seq:N}"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.max_value = 100'000'000; }), "up to 99999999"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.start = 100'000'000; }), "up to 99999999"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.pattern = "{date:yyyyMM}{seq:8}"; }), "the day"));
  EXPECT_TRUE(Has(RefusalOf([](T& t) { t.pattern = "{seq:8}"; }), "repeat"));
  EXPECT_TRUE(
      Has(RefusalOf([](T& t) { t.period = Period::kMonth, t.pattern = "{date:yy}{seq:8}"; }),
          "the month"));
  EXPECT_TRUE(
      Has(RefusalOf([](T& t) { t.period = Period::kYear, t.pattern = "{seq:8}"; }), "the year"));
  SequenceType finer = Daily();
  finer.period = Period::kYear;
  EXPECT_TRUE(finer.Check().ok()) << "a number may show more than its period";
  finer.period = Period::kDay;
  finer.pattern = "{date:yyMMdd}-{shop:A-Z;2}-{seq:6}{check}";
  EXPECT_TRUE(finer.Check().ok()) << finer.Check();
}

TEST(SequenceTypeTest, CounterOfAKey_IsNamedByItsPeriodInTheZone) {
  SequenceType type = Daily();
  absl::Time time = absl::FromUnixSeconds(1'798'732'800);  // 2026-12-31T16:00:00Z
  EXPECT_EQ(type.CounterName("shop", time).value(), "invoices:shop:20261231");
  type.zone = "Asia/Shanghai";
  EXPECT_EQ(type.CounterName("", time).value(), "invoices::20270101");
  EXPECT_EQ(type.CounterName("", time - absl::Nanoseconds(1)).value(), "invoices::20261231");
  type.period = Period::kMonth;
  EXPECT_EQ(type.CounterName("a:b", time).value(), "invoices:a:b:202701");
  type.period = Period::kYear;
  EXPECT_EQ(type.CounterName("k", time).value(), "invoices:k:2027");
  type.zone = "America/New_York";
  EXPECT_EQ(type.CounterName("k", time).value(), "invoices:k:2026");
  type.period = Period::kNone;
  EXPECT_EQ(type.CounterName("k", time).value(), "invoices:k");
  EXPECT_EQ(type.CounterName(std::string(400, 'k'), time)->size(), 409u);
  EXPECT_TRUE(absl::IsInvalidArgument(type.CounterName(std::string(401, 'k'), time).status()));
  EXPECT_EQ(type.CounterName("k\u00F6ln", time).value(), "invoices:k\u00F6ln");
  EXPECT_TRUE(absl::IsInvalidArgument(type.CounterName("ko\u0308ln", time).status()))
      << "it would count beside the key that looks the same";
  type.period = Period::kYear;
  EXPECT_TRUE(absl::IsOutOfRange(type.CounterName("k", absl::InfiniteFuture()).status()));
  EXPECT_TRUE(absl::IsOutOfRange(type.CounterName("k", absl::InfinitePast()).status()));
}

// The day of a counter and the day in the number are the same at every instant, also where clocks
// change and where midnight is skipped.
TEST(SequenceTypeTest, CounterAndNumber_ShowTheSameDay) {
  for (const char* zone : {"UTC", "America/New_York", "America/Sao_Paulo", "Asia/Shanghai",
                           "Pacific/Apia", "Pacific/Kiritimati", "Europe/Berlin"}) {
    SequenceType type = Daily();
    type.zone = zone;
    NumberFormat format = type.Format().value();
    for (int64_t begin : {1'540'000'000, 1'325'200'000, 1'773'000'000, 1'798'700'000}) {
      for (int64_t quarter = 0; quarter < 3000; ++quarter) {
        absl::Time time = absl::FromUnixSeconds(begin / 900 * 900 + quarter * 900);
        std::string group = type.CounterName("", time)->substr(10);
        ASSERT_EQ(format.Format(time, {FieldValue::Uint64(7)}).value(), group + "00000007")
            << zone << " at " << time;
        ASSERT_EQ(format.GroupKey(time).value(), group) << zone << " at " << time;
      }
    }
  }
}

TEST(SequenceTypeTest, WithoutAMaximum_CountersEndWhereTheFieldDoes) {
  SequenceType type = Daily();
  EXPECT_EQ(type.counter_options().max_value, 99'999'999);
  type.max_value = 5;
  EXPECT_EQ(type.counter_options().max_value, 5);
  type.max_value = 0;
  type.pattern = "{date:yyyyMMdd}{seq:19}";
  EXPECT_EQ(type.counter_options().max_value, std::numeric_limits<int64_t>::max());
  type.pattern = "{date:yyyyMMdd}{seq:18}";
  EXPECT_EQ(type.counter_options().max_value, 999'999'999'999'999'999);
  type.pattern.clear();
  EXPECT_EQ(type.counter_options().max_value, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(type.Format().status()));
}

TEST(SequenceTypeTest, OptionAgainstTheType_IsRefusedWithBothValues) {
  SequenceType type = Daily();
  type.step = 5;
  auto refusal = [&](auto change) {
    SequencerOptions wanted = type.counter_options();
    EXPECT_TRUE(type.CheckAgrees(wanted).ok());
    change(wanted);
    absl::Status status = type.CheckAgrees(wanted);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  };
  using O = SequencerOptions;
  EXPECT_TRUE(Has(refusal([](O& o) { o.step = 3; }), "step is 3"));
  EXPECT_TRUE(Has(refusal([](O& o) { o.step = 3; }), "has 5"));
  EXPECT_TRUE(Has(refusal([](O& o) { o.start = 1; }), "start is 1"));
  EXPECT_TRUE(Has(refusal([](O& o) { o.max_value = 9; }), "max_value is 9"));
  EXPECT_TRUE(Has(refusal([](O& o) { o.at_max = O::AtMax::kWrap; }), "at_max is wrap"));
  EXPECT_TRUE(Has(refusal([](O& o) { o.ttl = absl::Hours(1); }), "ttl is 1h"));
  SequencerOptions same = type.counter_options();
  same.start = 5;
  same.key_prefix = "shop/";
  EXPECT_TRUE(type.CheckAgrees(same).ok()) << "start 0 is the step";
}

TEST(SequenceTypeTest, Buffer_IsTheLengthOfSegments) {
  SequenceType type;
  type.name = "tickets";
  type.start = 1000;
  type.buffer = 20;
  std::shared_ptr<Sequencer> counters = MemorySequencer::Create(type.counter_options()).value();
  std::string counter = type.CounterName("", absl::Now()).value();
  auto sequence = SegmentSequence::Create(counters, counter, type.segment_options()).value();
  EXPECT_EQ(sequence->Next(absl::Seconds(30)).value(), 1000);
  int64_t last = counters->Get(counter).value();
  EXPECT_EQ((last - 999) % 20, 0) << last;
  SequenceType adaptive;
  EXPECT_TRUE(adaptive.segment_options().return_unused);
  adaptive.leftovers = SequenceType::Leftovers::kDrop;
  EXPECT_FALSE(adaptive.segment_options().return_unused);
  EXPECT_EQ(adaptive.segment_options().min_length, SegmentSequence::Options().min_length);
}

TEST(SequenceTypeTextTest, TextOfAType_IsFrozen) {
  EXPECT_EQ(internal::TypeTextOf(Daily()),
            "start=0\nstep=1\nmax_value=0\nat_max=error\nexpiry_ms=0\nbuffer=0\nperiod=day\n"
            "zone=UTC\npattern={date:yyyyMMdd}{seq:8}\nleftovers=return\nlifetime_s=60\n");
}

TEST(SequenceTypeTextTest, TextOfADroppedType_IsFrozenAndReadAlsoWithoutALastState) {
  const std::string text = internal::TypeTextOf(Daily());
  EXPECT_EQ(internal::DroppedTextOf(text), "dropped=1\n" + text);
  EXPECT_FALSE(internal::ParseTypeText(internal::DroppedTextOf(text)).ok())
      << "builds that know nothing of it must not count by it";
  internal::StoredType read = internal::ParseStoredText(internal::DroppedTextOf(text)).value();
  EXPECT_TRUE(read.is_dropped && read.is_readable);
  EXPECT_EQ(internal::TypeTextOf(read.type), text);
  read = internal::ParseStoredText(text).value();
  EXPECT_FALSE(read.is_dropped);
  EXPECT_EQ(internal::TypeTextOf(read.type), text);
  read = internal::ParseStoredText(internal::DroppedTextOf("no type")).value();
  EXPECT_TRUE(read.is_dropped);
  EXPECT_FALSE(read.is_readable);
  EXPECT_FALSE(internal::ParseStoredText("no type").ok());
  const std::string longest(internal::kLongestTypeText, 'x');
  EXPECT_EQ(internal::DroppedTextOf(longest), "dropped=1\n") << "within what engines store";
}

TEST(SequenceTypeTextTest, TextThatIsNoType_IsRefusedWithTheReason) {
  const std::string good = internal::TypeTextOf(Daily());
  ASSERT_TRUE(internal::ParseTypeText(good).ok());
  auto refusal = [](const std::string& text) {
    absl::Status status = internal::ParseTypeText(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status << " of " << text;
    return std::string(status.message());
  };
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_TRUE(Has(refusal(""), "lacks \"start\""));
  EXPECT_TRUE(Has(refusal(good + "extra=1\n"), "unknown name \"extra\""));
  EXPECT_TRUE(Has(refusal(good + "step=2\n"), "\"step\" twice"));
  EXPECT_TRUE(Has(refusal(good.substr(0, good.size() - 1)), "within a line"));
  EXPECT_TRUE(Has(refusal(good + "words\n"), "not NAME=VALUE"));
  EXPECT_TRUE(Has(refusal(with("step=1", "step=-1")), "\"-1\" for \"step\""));
  EXPECT_TRUE(Has(refusal(with("step=1", "step=9223372036854775808")), "2^63"));
  EXPECT_TRUE(Has(refusal(with("at_max=error", "at_max=Error")), "at_max"));
  EXPECT_TRUE(Has(refusal(with("period=day", "period=week")), "week"));
  EXPECT_TRUE(Has(refusal(with("leftovers=return", "leftovers=keep")), "keep"));
  EXPECT_TRUE(Has(refusal(with("lifetime_s=60", "lifetime_s=1m")), "lifetime_s"));
  EXPECT_TRUE(Has(refusal(good + std::string(4096, '\n')), "more than 4096"));
}

}  // namespace
}  // namespace locus
