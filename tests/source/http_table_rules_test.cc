// SPDX-License-Identifier: Apache-2.0
// The meaning of a URL, a token and the head of an answer: nothing is sent.
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "locus/routing/engine/http.h"
#include "routing/engine/http/answer.h"
#include "routing/engine/http/bearer.h"
#include "routing/engine/http/url.h"

namespace locus {
namespace {

using http::HttpAnswer;
using http::Url;
using ::testing::HasSubstr;

TEST(HttpUrlTest, Urls_AreTakenApart) {
  struct Case {
    const char *text, *host;
    uint16_t port;
    const char *header, *target, *shown;
  };
  for (const Case& c : {
           Case{"http://h", "h", 80, "h", "/", "http://h/"},
           {"HTTPS://config.example/a/b?sig=s3cret", "config.example", 443, "config.example",
            "/a/b?sig=s3cret", "https://config.example/a/b"},
           {"https://h:443/t", "h", 443, "h", "/t", "https://h/t"},
           {"https://h:80", "h", 80, "h:80", "/", "https://h:80/"},
           {"http://h?x=1", "h", 80, "h", "/?x=1", "http://h/"},
           {"http://[::1]:8080/t", "::1", 8080, "[::1]:8080", "/t", "http://[::1]:8080/t"},
           {"http://[fe80::1]/", "fe80::1", 80, "[fe80::1]", "/", "http://[fe80::1]/"},
           {"http://h/a@b:c", "h", 80, "h", "/a@b:c", "http://h/a@b:c"},
       }) {
    auto url = Url::Parse(c.text);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->endpoint.host, c.host);
    EXPECT_EQ(url->endpoint.port, c.port);
    EXPECT_EQ(url->endpoint.text, c.header);
    EXPECT_EQ(url->target, c.target);
    EXPECT_EQ(url->shown, c.shown);
    EXPECT_EQ(url->tls, absl::StartsWithIgnoreCase(c.text, "https"));
  }
}

TEST(HttpUrlTest, TextsThatAreNone_AreRefusedWithoutTheirSecrets) {
  for (std::string text : {"",
                           "h",
                           "ftp://h/",
                           "http:/h",
                           "http://",
                           "http://:80/",
                           "http://h:0/",
                           "http://h:65536/",
                           "http://h:/",
                           "http://h:080/",
                           "http://a b/",
                           "http://h/ x",
                           "http://h/\r\nX: y",
                           "http://h/\x7F",
                           "http://h/\xC3\xA9",
                           "http://[::1/",
                           "http://[]/",
                           "http://[::1]x/",
                           "http://a:b:c/",
                           "http://user:s3cret@h/",
                           "http://s3cret@h/",
                           "http://h/#s3cret",
                           "ftp://h/?s3cret",
                           "http://h/{x",
                           "https://user:s3cret/x@h:0/"}) {
    absl::Status status = Url::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "s3cret")) << status;
  }
  EXPECT_TRUE(Url::Parse("http://h/" + std::string(8183, 'x')).ok());
  EXPECT_FALSE(Url::Parse("http://h/" + std::string(8184, 'x')).ok());
}

HttpAnswer Head(unsigned status, std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {status, std::move(headers), ""};
}

TEST(HttpAnswerTest, EachStatus_HasTheCodeForTheCallersNextAction) {
  using Code = absl::StatusCode;
  for (const auto& [status, code] : std::vector<std::pair<unsigned, Code>>{
           {101, Code::kFailedPrecondition}, {103, Code::kFailedPrecondition},
           {204, Code::kFailedPrecondition}, {206, Code::kFailedPrecondition},
           {301, Code::kFailedPrecondition}, {307, Code::kFailedPrecondition},
           {400, Code::kFailedPrecondition}, {401, Code::kFailedPrecondition},
           {403, Code::kFailedPrecondition}, {404, Code::kNotFound},
           {408, Code::kUnavailable},        {410, Code::kNotFound},
           {412, Code::kFailedPrecondition}, {425, Code::kUnavailable},
           {429, Code::kUnavailable},        {500, Code::kUnavailable},
           {503, Code::kUnavailable},        {599, Code::kUnavailable},
           {600, Code::kFailedPrecondition}, {200, Code::kFailedPrecondition}}) {
    for (bool conditional : {false, true}) {
      absl::Status checked = http::CheckHead(Head(status), conditional);
      EXPECT_EQ(checked.code(), code) << status << ": " << checked;
      if (status != 200) {
        EXPECT_THAT(std::string(checked.message()), HasSubstr(std::to_string(status)));
      }
    }
  }
  EXPECT_TRUE(http::CheckHead(Head(304), true).ok());
  EXPECT_TRUE(absl::IsUnavailable(http::CheckHead(Head(304), false)));
  EXPECT_TRUE(http::CheckHead(Head(200, {{"content-length", "5"}}), false).ok());
  EXPECT_TRUE(http::CheckHead(Head(200, {{"Transfer-Encoding", "chunked"}}), true).ok());
  for (const char* coding : {"gzip", "identity", "chunked, gzip", "gzip, chunked"}) {
    absl::Status checked = http::CheckHead(Head(200, {{"Transfer-Encoding", coding}}), false);
    EXPECT_TRUE(absl::IsFailedPrecondition(checked)) << coding << ": " << checked;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(
      http::CheckHead(Head(200, {{"Content-Length", "5"}, {"Content-Encoding", "gzip"}}), false)));
}

TEST(HttpAnswerTest, Refusals_SayWhereToAndWhen) {
  auto message = [](const HttpAnswer& head) {
    return std::string(http::CheckHead(head, false).message());
  };
  EXPECT_THAT(message(Head(302, {{"Location", "https://login.example/x?token=s3cret"}})),
              AllOf(HasSubstr("https://login.example/x"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(message(Head(302, {{"Location", "/y?token=s3cret"}})),
              AllOf(HasSubstr("/y"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(message(Head(302, {{"Location", "https://u:s3cret@h/z"}})),
              AllOf(HasSubstr("@h/z"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(message(Head(503, {{"Retry-After", "120"}})), HasSubstr("120"));
}

TEST(HttpAnswerTest, Validators_AreThoseThatHold) {
  constexpr char kDate[] = "Sun, 06 Nov 1994 08:49:37 GMT";
  auto of = [](std::vector<std::pair<std::string, std::string>> headers) {
    return http::ValidatorsOf(Head(200, std::move(headers)));
  };
  EXPECT_EQ(of({{"ETag", "\"a b\""}}).etag, "") << "a space";
  for (const char* etag : {"\"\"", "\"x\"", "W/\"x\"", "\"\xC3\xA9!\""}) {
    EXPECT_EQ(of({{"etag", etag}}).etag, etag);
  }
  for (const char* etag : {"", "x", "\"", "W/x", "w/\"x\"", "\"x\"y\"", "\"x\", \"y\""}) {
    EXPECT_EQ(of({{"ETag", etag}}).etag, "") << etag;
  }
  EXPECT_EQ(of({{"ETag", "\"" + std::string(2000, 'x') + "\""}}).etag, "");
  EXPECT_EQ(of({{"Last-Modified", kDate}, {"Date", "Sun, 06 Nov 1994 08:49:39 GMT"}}).last_modified,
            kDate);
  EXPECT_TRUE(of({{"Last-Modified", kDate}, {"Date", "Sun, 06 Nov 1994 08:49:38 GMT"}}).empty());
  EXPECT_TRUE(of({{"Last-Modified", kDate}}).empty()) << "how old it is is not known";
  EXPECT_TRUE(of({{"Last-Modified", "Sun, \r6 Nov 1994 08:49:37 GMT"},
                  {"Date", "Sun, 06 Nov 1994 08:50:37 GMT"}})
                  .empty())
      << "it would be sent back";
  EXPECT_TRUE(of({{"Last-Modified", "yesterday"}, {"Date", kDate}}).empty());
}

TEST(HttpAnswerTest, Version_IsOfTheDocument) {
  EXPECT_EQ(http::VersionOf("a"), http::VersionOf("a"));
  EXPECT_NE(http::VersionOf("a"), http::VersionOf("b"));
  EXPECT_EQ(http::VersionOf("").size(), 32u);
}

TEST(HttpTableOptionsTest, OptionsThatCannotBe_AreRefused) {
  HttpTableOptions good;
  good.url = "https://config.example/table?key=s3cret";
  EXPECT_TRUE(good.Check().ok()) << good.Check();
  auto refused = [&](const std::string& names, auto change) {
    HttpTableOptions bad = good;
    change(bad);
    absl::Status status = bad.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(names), Not(HasSubstr("s3cret"))));
  };
  using Options = HttpTableOptions;
  refused("url", [](Options& o) { o.url = "config.example"; });
  refused("request_timeout", [](Options& o) { o.request_timeout = absl::ZeroDuration(); });
  refused("request_timeout", [](Options& o) { o.request_timeout = absl::InfiniteDuration(); });
  refused("wait", [](Options& o) { o.wait = absl::Hours(2); });
  refused("wait", [](Options& o) { o.wait = -absl::Seconds(1); });
  refused("poll_every", [](Options& o) { o.poll_every = absl::Milliseconds(9); });
  refused("tls.key_file", [](Options& o) { o.tls.certificate_file = "c"; });
  refused("https", [](Options& o) {
    o.url = "http://config.example/?s3cret";
    o.tls.ca_file = "c";
  });
  refused("token_file", [](Options& o) { o.token = o.token_file = "s3cret"; });
  refused("token_in_plain_text", [](Options& o) {
    o.url = "http://config.example/?s3cret";
    o.token = "s3cret";
  });
  refused("token_in_plain_text", [](Options& o) {
    o.url = "http://127.0.0.1.example/?s3cret";
    o.token_file = "f";
  });
  HttpTableOptions local = good;
  local.url = "http://127.0.0.1/";
  local.token = "s3cret";
  EXPECT_TRUE(local.Check().ok()) << "no other host can listen on the way";
  local.url = "http://config.example/";
  local.token_in_plain_text = true;
  EXPECT_TRUE(local.Check().ok()) << "as asked";
  local.token = "s3cret with a space";
  absl::Status status = HttpTableSource::Open(local).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "s3cret")) << status;
}

}  // namespace
}  // namespace locus
