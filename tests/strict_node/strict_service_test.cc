// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_service.h"

#include <future>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;
using ::testing::HasSubstr;

// A node on an SQLite store, which no other node can call.
class StrictServiceTest : public ::testing::Test {
 protected:
  StrictServiceTest() {
    settings_.place.uri = absl::StrCat("sqlite:", directory_ / "strict.db");
    settings_.create = true;
    settings_.name = "one";
    settings_.advertise = absl::StrCat("127.0.0.1:", FreePort());
    settings_.options.uids = 1000;
    settings_.options.section_size = 100;
  }
  void Open() {
    StrictServiceOptions options;
    options.on_event = [this](const IdServiceEvent& event) {
      internal::MutexLock lock(mutex_);
      told_.push_back(absl::StrCat(event.what, ": ", event.why));
    };
    absl::StatusOr<std::unique_ptr<StrictService>> service =
        StrictService::Open(settings_, std::move(options));
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  void StartEmpty() {
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_TRUE(service_->Begin().ok());
  }
  // Until it has all sections.
  void Start() {
    ASSERT_NO_FATAL_FAILURE(StartEmpty());
    ASSERT_TRUE(WaitUntil([&] { return Has("locus_strict_sections_owned 10\n"); }));
  }
  bool Has(const std::string& metric) const {
    return service_->api().Metrics().find(metric) != std::string::npos;
  }
  ServerAnswer Ask(const std::string& path, const std::string& body) {
    std::promise<ServerAnswer> promise;
    ServerRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body;
    service_->api().Handle(std::move(request), {}, [&promise](ServerAnswer answer) {
      promise.set_value(std::move(answer));
    });
    return promise.get_future().get();
  }
  // The logged messages that begin so.
  std::vector<std::string> Told(const std::string& begin) const {
    internal::MutexLock lock(mutex_);
    std::vector<std::string> told;
    for (const std::string& what : told_) {
      if (what.starts_with(begin)) told.push_back(what);
    }
    return told;
  }

  const TemporaryDirectory directory_;
  StrictSettings settings_;
  mutable internal::Mutex mutex_;
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<StrictService> service_;
};

TEST_F(StrictServiceTest, ASecondNodeOfOneName_IsReportedOnce) {
  ASSERT_NO_FATAL_FAILURE(Start());
  StrictNews news;
  news.self = {"one", "elsewhere.example:7070", 100};
  news.set = SpaceName().str();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ask("/v1/strict/nodes", ToJson(news)).status, 400u);
  }
  const std::vector<std::string> told = Told("a sequence-node that called was refused");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("at elsewhere.example:7070 is named one, as is the one at 127"));
}

TEST_F(StrictServiceTest, BeforeItBegins_NoNodeHasSections) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const ServerAnswer answer = Ask("/v1/strict/next", R"({"uids":["7"]})");
  EXPECT_EQ(answer.status, 421u) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr(R"("owner":null)"));
  EXPECT_THAT(service_->api().Metrics(), HasSubstr("locus_strict_sections_owned 0\n"));
  ASSERT_TRUE(service_->Begin().ok());
  EXPECT_TRUE(WaitUntil([&] { return Has("locus_strict_sections_owned 10\n"); }));
}

TEST_F(StrictServiceTest, SetThatRestsAfterALoss_IsReportedOnce) {
  settings_.options.ttl = absl::Minutes(10);
  const auto store = OpenStrictStore(settings_.place.uri, {.create = true});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Create(settings_.set, settings_.options, {.first_ever = true}).ok());
  ASSERT_TRUE((*store)->DeclareRestored(settings_.set).ok());
  ASSERT_NO_FATAL_FAILURE(StartEmpty());
  const std::string what = "the set of strict sequences rests after a loss";
  ASSERT_TRUE(WaitUntil([&] { return !Told(what).empty(); }));
  EXPECT_THAT(Told(what)[0], HasSubstr("grants no sections until 2"));
  EXPECT_FALSE(Has("locus_strict_rests_seconds 0\n"));
  EXPECT_TRUE(Has("locus_strict_rests_seconds "));
  EXPECT_THAT(Told("strict sections cannot be taken"), ::testing::IsEmpty());
  EXPECT_EQ(Told(what).size(), 1u);
}

TEST_F(StrictServiceTest, HandOverWithoutASuccessor_ChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const ServerAnswer answer = Ask("/v1/strict/sections:hand_over", R"({"to":"nobody"})");
  EXPECT_EQ(answer.status, 404u);
  EXPECT_THAT(answer.body, HasSubstr("no node named nobody is heard"));
  EXPECT_THAT(service_->api().Metrics(), HasSubstr("locus_strict_takes 1\n"));
  EXPECT_THAT(service_->api().Metrics(), HasSubstr("locus_strict_sections_owned 10\n"));
}

TEST_F(StrictServiceTest, HandOverToOneThatDoesNotAnswer_ChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  StrictNews two;
  two.self = {"two", absl::StrCat("127.0.0.1:", FreePort()), 100};
  two.set = SpaceName().str();
  // It is dead once a round has called it.
  ServerAnswer answer;
  do {
    ASSERT_EQ(Ask("/v1/strict/nodes", ToJson(two)).status, 200u);
    answer = Ask("/v1/strict/sections:hand_over", R"({"to":"two"})");
  } while (answer.status == 404);
  EXPECT_EQ(answer.status, 503u);
  EXPECT_THAT(answer.body, HasSubstr("two does not answer; nothing was changed"));
  EXPECT_THAT(service_->api().Metrics(), HasSubstr("locus_strict_takes 1\n"));
  EXPECT_THAT(service_->api().Metrics(), HasSubstr("locus_strict_sections_owned 10\n"));
}

}  // namespace
}  // namespace locus::locusd
