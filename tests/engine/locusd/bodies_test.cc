// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/bodies.h"

#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::cluster_api {
namespace {

using ::testing::HasSubstr;

absl::Time At(uint64_t ms) { return absl::FromUnixMillis(static_cast<int64_t>(ms)); }

TEST(BodiesTest, RandomRequestsAndAnswers_ComeBackAsTheyWere) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    auto time = [&] { return At(1 + random() % 253402300799999); };
    OfSpace<WorkerAcquire> acquire;
    acquire.wish.range = {random() % 100, 100 + random() % 1000};
    if (random() % 2 == 0) acquire.wish.preferred = random() % 1000;
    acquire.wish.start = random() % 1000;
    acquire.wish.term.ttl = absl::Milliseconds(random() % 86'400'000);
    acquire.wish.nonce = "n-1";
    acquire.wish.holder = "{\"a\":\"\xc3\xa9\\\"\n\"}";
    acquire.wish.caller_now = time();
    auto read = ParseAcquire(BodyOf(acquire));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->wish.range, acquire.wish.range);
    EXPECT_EQ(read->wish.preferred, acquire.wish.preferred);
    EXPECT_EQ(read->wish.start, acquire.wish.start);
    EXPECT_EQ(read->wish.term, acquire.wish.term);
    EXPECT_EQ(read->wish.nonce, acquire.wish.nonce);
    EXPECT_EQ(read->wish.holder, acquire.wish.holder);
    EXPECT_EQ(read->wish.caller_now, acquire.wish.caller_now);

    WorkerGrant grant;
    grant.worker = random() % kMostWorker;
    grant.token = 1 + random() % (uint64_t{1} << 62);
    if (random() % 2 == 0) grant.floor = time();
    grant.ceiling = time();
    grant.granted_at = time();
    grant.loss_noticed = random() % 2 == 0;
    auto granted = ParseGrant(BodyOf(grant));
    ASSERT_TRUE(granted.ok()) << granted.status();
    EXPECT_EQ(granted->token, grant.token);
    EXPECT_EQ(granted->floor, grant.floor);
    EXPECT_EQ(granted->ceiling, grant.ceiling);
    EXPECT_EQ(granted->loss_noticed, grant.loss_noticed);

    WorkerSpaceView view;
    view.now = time();
    view.losses = random() % 100;
    WorkerRecord record;
    record.worker = grant.worker;
    record.token = grant.token;
    record.ceiling = grant.ceiling;
    record.granted_at = record.renewed_at = grant.granted_at;
    view.workers = {record, record};
    const std::optional<uint64_t> next =
        random() % 2 == 0 ? std::nullopt : std::optional(grant.worker + 1);
    auto viewed = ParsePage(BodyOf(ViewPage{view, next}));
    ASSERT_TRUE(viewed.ok()) << viewed.status();
    EXPECT_EQ(viewed->view.workers, view.workers);
    EXPECT_EQ(viewed->view.now, view.now);
    EXPECT_EQ(viewed->view.rest_until, view.rest_until);
    EXPECT_EQ(viewed->next, next);
  }
}

TEST(BodiesTest, Release_IsRoundedUp_AndInfiniteWhereItIs) {
  OfSpace<WorkerRelease> of;
  of.wish = {3, 7, At(5) + absl::Nanoseconds(1)};
  EXPECT_EQ(ParseRelease(3, BodyOf(of))->wish.last_used, At(6));
  of.wish.last_used = absl::InfiniteFuture();
  EXPECT_EQ(ParseRelease(3, BodyOf(of))->wish.last_used, absl::InfiniteFuture());
  of.wish.last_used = absl::InfinitePast();
  EXPECT_EQ(ParseRelease(3, BodyOf(of))->wish.last_used, absl::UnixEpoch());
  EXPECT_EQ(ParseRelease(3, BodyOf(of))->wish.nonce, "") << "of a client before";
  of.wish.nonce = "n-1";
  EXPECT_EQ(ParseRelease(3, BodyOf(of))->wish.nonce, "n-1");
}

TEST(BodiesTest, NoValidBody_IsRefusedByName) {
  const std::string good = R"({"rest_ms":1,"caller_now_ms":2})";
  EXPECT_TRUE(ParseCreate(good).ok());
  for (auto [body, says] :
       {std::pair{"", "no JSON object"}, std::pair{"[1]", "no JSON object"},
        std::pair{R"({"rest_ms":1})", "\"caller_now_ms\" is missing"},
        std::pair{R"({"rest_ms":-1,"caller_now_ms":2})", "rest_ms"},
        std::pair{R"({"rest_ms":"1","caller_now_ms":2})", "rest_ms"},
        std::pair{R"({"rest_ms":1e3,"caller_now_ms":2})", "rest_ms"},
        std::pair{R"({"rest_ms":1,"caller_now_ms":2,"more":0})", "more"},
        std::pair{R"({"rest_ms":1,"caller_now_ms":2,"rest_ms":1})", "twice"},
        std::pair{R"({"rest_ms":1,"caller_now_ms":2,"rest\u005fms":3})", "twice"},
        std::pair{R"({"rest_ms":1,"caller_now_ms":99999999999999999})", "caller_now_ms"}}) {
    const absl::Status status = ParseCreate(body).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says)) << body;
  }
}

TEST(BodiesTest, Statuses_ComeBackWithCodeAndMessage) {
  for (const absl::Status& status :
       {absl::AbortedError("a \"b\""), absl::ResourceExhaustedError("c"),
        absl::UnavailableError("d"), absl::DataLossError("e"), absl::NotFoundError("f"),
        absl::FailedPreconditionError("g"), absl::InvalidArgumentError("h")}) {
    EXPECT_EQ(ParseProblem(HttpStatusOf(status), BodyOf(status, HttpStatusOf(status))), status);
  }
  for (const auto& [status, http, code] :
       {std::tuple(absl::UnauthenticatedError("i"), 401u, "UNAUTHENTICATED"),
        std::tuple(absl::PermissionDeniedError("j"), 403u, "PERMISSION_DENIED")}) {
    EXPECT_EQ(HttpStatusOf(status), http);
    const std::string body = BodyOf(status, http);
    EXPECT_THAT(body, HasSubstr(absl::StrCat(R"("code":")", code, "\"")));
    EXPECT_EQ(ParseProblem(http, body), absl::FailedPreconditionError(status.message()));
  }
  EXPECT_EQ(ParseProblem(502, "<html>").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ParseProblem(403, "").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace locus::cluster_api
