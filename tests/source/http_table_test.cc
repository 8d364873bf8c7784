// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/routing/engine/http.h"
#include "tests/source/http_table_server.h"
#include "tests/support/authority.h"
#include "tests/support/child_process.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using Behaviour = HttpTableServer::Behaviour;
using Fault = HttpTableServer::Fault;
using Validator = Behaviour::Validator;
using ::testing::HasSubstr;
using TimePoint = TableSource::TimePoint;

TimePoint In(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
}
TimePoint Now() { return In(absl::ZeroDuration()); }

void ExpectCode(const absl::Status& status, absl::StatusCode code, const std::string& says) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
}

std::unique_ptr<HttpTableSource> Open(const HttpTableOptions& options) {
  auto source = HttpTableSource::Open(options);
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}

// The source's document now; fails the test if there is none.
SourcedTable Newest(TableSource& source) {
  auto next = source.Next("", Now());
  EXPECT_TRUE(next.ok() && *next) << next.status();
  return next.ok() && *next ? **next : SourcedTable();
}

absl::Status Refusal(TableSource& source) { return source.Next("", Now()).status(); }

class HttpTableTest : public ::testing::Test {
 protected:
  HttpTableTest() { server_.Start(); }

  HttpTableOptions Options() const {
    HttpTableOptions options;
    options.url = server_.url();
    options.poll_every = absl::Milliseconds(20);
    return options;
  }
  void Behave(Fault fault) {
    Behaviour behaviour;
    behaviour.fault = fault;
    server_.Behave(behaviour);
  }
  void Hold() {
    Behaviour behaviour;
    behaviour.hold = true;
    server_.Behave(behaviour);
  }

  HttpTableServer server_;
};

TEST_F(HttpTableTest, Document_IsHandedOutOnceAsItIs) {
  server_.SetDocument("not a table");
  auto source = Open(Options());
  SourcedTable table = Newest(*source);
  EXPECT_EQ(table.document, "not a table");
  EXPECT_FALSE(table.version.empty());
  EXPECT_EQ(source->Next(table.version, Now()).value(), std::nullopt);
  EXPECT_EQ(source->Stats().unchanged, 1u);
  EXPECT_EQ(source->Stats().connects, 1u) << "one connection serves all";
  EXPECT_EQ(Newest(*source).version, table.version);
  EXPECT_EQ(source->place(), server_.url());
  std::string first = server_.requests()[0];
  EXPECT_THAT(first, HasSubstr("GET /table\n"));
  EXPECT_THAT(first, HasSubstr(absl::StrCat("Host: 127.0.0.1:", server_.port(), "\n")));
  EXPECT_THAT(first, HasSubstr("Accept-Encoding: identity\n"));
  EXPECT_THAT(first, Not(HasSubstr("Authorization")));
}

TEST_F(HttpTableTest, LongPoll_ReturnsNewsAtOnce) {
  server_.SetDocument("1");
  Hold();
  HttpTableOptions options = Options();
  options.poll_every = absl::Hours(1);  // polling would see nothing
  auto source = Open(options);
  std::string known = Newest(*source).version;
  for (int i = 2; i < 6; ++i) {
    std::thread publisher([&] {
      EXPECT_TRUE(WaitUntil([&] { return server_.held() == 1; }));
      server_.SetDocument(absl::StrCat(i));
    });
    auto next = source->Next(known, In(absl::Hours(1)));
    publisher.join();
    ASSERT_TRUE(next.ok() && *next) << next.status();
    EXPECT_EQ((*next)->document, absl::StrCat(i));
    known = (*next)->version;
  }
  EXPECT_EQ(source->Stats().connects, 1u);
  EXPECT_EQ(source->Stats().requests, 5u);
  EXPECT_THAT(server_.requests().back(), HasSubstr("Prefer: wait=30\n"));
  EXPECT_THAT(server_.requests().back(), HasSubstr("If-None-Match: \"4\"\n"));
}

TEST_F(HttpTableTest, HeldToItsEnd_IsAskedAgain) {
  server_.SetDocument("1");
  Hold();
  HttpTableOptions options = Options();
  options.wait = absl::Seconds(1);
  auto source = Open(options);
  std::string known = Newest(*source).version;
  TimePoint start = Now();
  EXPECT_EQ(source->Next(known, In(absl::Milliseconds(1500))).value(), std::nullopt);
  EXPECT_GE(Now() - start, std::chrono::milliseconds(1500));
  EXPECT_THAT(server_.requests()[1], HasSubstr("Prefer: wait=1\n"));
  EXPECT_THAT(server_.requests().back(), Not(HasSubstr("Prefer"))) << "less than a second is left";
}

TEST_F(HttpTableTest, ServerThatHoldsNothing_IsPolled) {
  for (Validator validator : {Validator::kETag, Validator::kWeakETag, Validator::kLastModified,
                              Validator::kFreshLastModified, Validator::kNone}) {
    Behaviour behaviour;
    behaviour.validator = validator;
    behaviour.chunked = validator == Validator::kWeakETag;
    server_.Behave(behaviour);
    server_.SetDocument("old");
    auto source = Open(Options());
    std::string known = Newest(*source).version;
    size_t before = server_.requests().size();
    std::thread publisher([&] {
      EXPECT_TRUE(WaitUntil([&] { return server_.requests().size() > before + 2; }));
      server_.SetDocument("new");
    });
    auto next = source->Next(known, In(absl::Hours(1)));
    publisher.join();
    ASSERT_TRUE(next.ok() && *next) << next.status();
    EXPECT_EQ((*next)->document, "new");
    bool conditions = validator != Validator::kNone && validator != Validator::kFreshLastModified;
    EXPECT_EQ(source->Stats().unchanged > 0, conditions) << static_cast<int>(validator);
  }
}

TEST_F(HttpTableTest, SameDocumentUnderAnotherETag_IsNoNews) {
  server_.SetDocument("1");
  Behaviour behaviour;
  behaviour.validator = Validator::kRandomETag;  // as of several servers behind one name
  server_.Behave(behaviour);
  auto source = Open(Options());
  std::string known = Newest(*source).version;
  EXPECT_EQ(source->Next(known, In(absl::Milliseconds(100))).value(), std::nullopt);
  EXPECT_GE(source->Stats().documents, 2u);
  // Nor for a source that knows it from elsewhere.
  EXPECT_EQ(Open(Options())->Next(known, Now()).value(), std::nullopt);
}

TEST_F(HttpTableTest, LookNow_DropsTheHeldRequest) {
  server_.SetDocument("1");
  Hold();
  HttpTableOptions options = Options();
  options.wait = absl::Hours(1);
  auto source = Open(options);
  std::string known = Newest(*source).version;
  for (int i = 0; i < 5; ++i) {
    std::thread other([&] {
      EXPECT_TRUE(WaitUntil([&] { return server_.held() == 1; }));
      source->LookNow();
    });
    EXPECT_EQ(source->Next(known, In(absl::Hours(1))).value(), std::nullopt);
    other.join();
    EXPECT_THAT(server_.requests().back(), Not(HasSubstr("Prefer")));
    server_.Behave({});  // ends what is held
    ASSERT_TRUE(WaitUntil([&] { return server_.held() == 0; }));
    Hold();
  }
  source->LookNow();
  EXPECT_EQ(source->Next(known, In(absl::Hours(1))).value(), std::nullopt) << "called before";
}

TEST_F(HttpTableTest, LookNowAtAnyMoment_IsNotLost) {
  server_.SetDocument("1");
  Hold();
  HttpTableOptions options = Options();
  options.wait = absl::Hours(1);
  options.poll_every = absl::Hours(1);
  auto source = Open(options);
  std::string known = Newest(*source).version;
  for (int i = 0; i < 100; ++i) {
    std::thread other([&] { source->LookNow(); });
    auto next = source->Next(known, In(absl::Hours(1)));
    other.join();
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_EQ(*next, std::nullopt);
  }
}

TEST_F(HttpTableTest, ServerKilledAndBack_IsFollowedAgain) {
  server_.SetDocument("1");
  Hold();
  auto source = Open(Options());
  std::string known = Newest(*source).version;
  std::thread killer([&] {
    EXPECT_TRUE(WaitUntil([&] { return server_.held() == 1; }));
    server_.Kill();
  });
  ExpectCode(source->Next(known, In(absl::Hours(1))).status(), absl::StatusCode::kUnavailable,
             server_.url());
  killer.join();
  ExpectCode(source->Next(known, In(absl::Hours(1))).status(), absl::StatusCode::kUnavailable,
             server_.url());
  server_.Start();
  EXPECT_EQ(source->Next(known, Now()).value(), std::nullopt);
  server_.SetDocument("2");
  auto next = source->Next(known, Now());
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_EQ((*next)->document, "2");
}

TEST_F(HttpTableTest, DocumentRemoved_IsNotFound) {
  auto source = Open(Options());
  ExpectCode(Refusal(*source), absl::StatusCode::kNotFound, server_.url());
  server_.SetDocument("1");
  std::string known = Newest(*source).version;
  server_.RemoveDocument();
  ExpectCode(source->Next(known, In(absl::Hours(1))).status(), absl::StatusCode::kNotFound, "404");
  EXPECT_EQ(source->Stats().connects, 1u) << "a refusal costs no connection";
}

TEST_F(HttpTableTest, PartOfADocument_IsNeverHandedOut) {
  server_.SetDocument(std::string(3000, 'x'));
  auto source = Open(Options());
  for (Fault fault : {Fault::kCutHead, Fault::kCutBody, Fault::kGarbage}) {
    Behave(fault);
    ExpectCode(Refusal(*source), absl::StatusCode::kUnavailable, server_.url());
  }
  HttpTableOptions options = Options();
  options.request_timeout = absl::Milliseconds(200);
  auto hasty = Open(options);
  for (Fault fault : {Fault::kStall, Fault::kDrip}) {
    Behave(fault);
    ExpectCode(Refusal(*hasty), absl::StatusCode::kUnavailable, server_.url());
  }
  Behaviour cut_chunks;
  cut_chunks.fault = Fault::kCutBody;
  cut_chunks.chunked = true;
  server_.Behave(cut_chunks);
  ExpectCode(Refusal(*source), absl::StatusCode::kUnavailable, server_.url());
  Behave(Fault::kNoLength);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, "Content-Length");
  server_.Behave({});
  EXPECT_EQ(Newest(*source).document, std::string(3000, 'x'));
  EXPECT_TRUE(WaitUntil([&] {
    auto next = hasty->Next("", Now());
    return next.ok() && *next && (*next)->document == std::string(3000, 'x');
  }));
}

TEST_F(HttpTableTest, DocumentTooLong_IsRefusedBeforeItIsHeld) {
  server_.SetDocument("1");
  auto source = Open(Options());
  Behave(Fault::kLongLength);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition,
             absl::StrCat("a body of ", TableSource::kMaxDocumentBytes + 1, " bytes; at most ",
                          TableSource::kMaxDocumentBytes));
  Behave(Fault::kEndlessBody);
  HttpTableOptions options = Options();
  options.request_timeout = absl::Seconds(60);
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition,
             absl::StrCat(TableSource::kMaxDocumentBytes));
}

TEST_F(HttpTableTest, Statuses_AreDistinguished) {
  server_.SetDocument("1");
  auto source = Open(Options());
  Behaviour behaviour;
  behaviour.status = 503;
  behaviour.header_lines = {"Retry-After: 7"};
  server_.Behave(behaviour);
  ExpectCode(Refusal(*source), absl::StatusCode::kUnavailable, "after \"7\"");
  behaviour.status = 302;
  behaviour.header_lines = {"Location: https://elsewhere.example/table?key=s3cret"};
  server_.Behave(behaviour);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, "elsewhere.example/table");
  behaviour.status = 200;
  behaviour.header_lines = {"Content-Encoding: gzip"};
  server_.Behave(behaviour);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, "gzip");
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(HttpTableTest, ConnectionClosedMeanwhile_IsMadeAgain) {
  server_.SetDocument("1");
  auto source = Open(Options());
  for (Fault fault : {Fault::kCloseAfter, Fault::kCloseUnheard}) {
    Behave(fault);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Newest(*source).document, "1");
  }
}

TEST_F(HttpTableTest, Token_IsSentAndNeverShown) {
  server_.SetDocument("1");
  Behaviour behaviour;
  behaviour.token = "s3cret-1";
  server_.Behave(behaviour);
  ExpectCode(Refusal(*Open(Options())), absl::StatusCode::kFailedPrecondition, "401");
  HttpTableOptions options = Options();
  options.url += "?key=s3cret";
  options.token = "s3cret-wrong";
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition, "401");
  options.token = "s3cret-1";
  EXPECT_EQ(Newest(*Open(options)).document, "1");
  EXPECT_THAT(Open(options)->place(), Not(HasSubstr("s3cret")));
  server_.Kill();
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kUnavailable, server_.url());
}

TEST_F(HttpTableTest, TokenFile_IsReadForEveryRequest) {
  TemporaryDirectory files;
  server_.SetDocument("1");
  HttpTableOptions options = Options();
  options.token_file = files / "token";
  ExpectCode(HttpTableSource::Open(options).status(), absl::StatusCode::kFailedPrecondition,
             options.token_file);
  auto write = [&](const std::string& text) {
    std::ofstream(options.token_file) << text;
    ASSERT_EQ(chmod(options.token_file.c_str(), 0600), 0);
  };
  write("s3cret 1");
  ExpectCode(HttpTableSource::Open(options).status(), absl::StatusCode::kFailedPrecondition,
             options.token_file);
  write("s3cret-1\n");
  auto source = Open(options);
  Behaviour behaviour;
  behaviour.token = "s3cret-1";
  server_.Behave(behaviour);
  EXPECT_EQ(Newest(*source).document, "1");
  behaviour.token = "s3cret-2";
  server_.Behave(behaviour);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, "401");
  write("s3cret-2");
  EXPECT_EQ(Newest(*source).document, "1");
  ASSERT_EQ(chmod(options.token_file.c_str(), 0644), 0);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, options.token_file);
  ASSERT_EQ(unlink(options.token_file.c_str()), 0);
  ExpectCode(Refusal(*source), absl::StatusCode::kFailedPrecondition, options.token_file);
}

TEST_F(HttpTableTest, ForkedChild_AsksNothing) {
  server_.SetDocument("1");
  server_.Kill();  // no thread of it crosses the fork
  HttpTableOptions options = Options();
  auto source = Open(options);
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(Refusal(*source));
    source.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

class HttpTableTlsTest : public ::testing::Test {
 protected:
  HttpTableServer::Tls Certificate(const std::string& name, const std::string& names) const {
    std::string file = right_.Sign(name, names);
    return {file, file + ".key", ""};
  }
  HttpTableOptions OptionsOf(const HttpTableServer& server) const {
    HttpTableOptions options;
    options.url = server.url();
    options.tls.ca_file = right_.file();
    options.poll_every = absl::Milliseconds(20);
    return options;
  }

  TemporaryDirectory files_;
  Authority right_{files_, "right"};
};

TEST_F(HttpTableTlsTest, CertificateOfTheHost_IsAccepted) {
  HttpTableServer server(Certificate("server", "IP:127.0.0.1,DNS:localhost"));
  server.Start();
  server.SetDocument("1");
  Behaviour behaviour;
  behaviour.hold = true;
  behaviour.token = "s3cret";
  server.Behave(behaviour);
  HttpTableOptions options = OptionsOf(server);
  options.token = "s3cret";
  auto source = Open(options);
  std::string known = Newest(*source).version;
  std::thread publisher([&] {
    EXPECT_TRUE(WaitUntil([&] { return server.held() == 1; }));
    server.SetDocument("2");
  });
  auto next = source->Next(known, In(absl::Hours(1)));
  publisher.join();
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_EQ((*next)->document, "2");
  EXPECT_EQ(source->Stats().connects, 1u);
  std::thread killer([&] {
    EXPECT_TRUE(WaitUntil([&] { return server.held() == 1; }));
    server.Kill();
  });
  ExpectCode(source->Next((*next)->version, In(absl::Hours(1))).status(),
             absl::StatusCode::kUnavailable, server.url());
  killer.join();
  server.Start();
  options.url = server.url("localhost");
  EXPECT_EQ(Newest(*Open(options)).document, "2") << "by name as well";
}

TEST_F(HttpTableTlsTest, CertificateThatDoesNotFit_IsRefusedBeforeTheTokenGoes) {
  HttpTableServer server(Certificate("server", "IP:127.0.0.1"));
  server.Start();
  server.SetDocument("1");
  HttpTableOptions options = OptionsOf(server);
  options.token = "s3cret";
  Authority stranger(files_, "stranger");
  options.tls.ca_file = stranger.file();
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition, "certificate");
  options.tls.ca_file.clear();
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition, "certificate");
  options = OptionsOf(server);
  options.token = "s3cret";
  options.url = server.url("localhost");
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition, "localhost");
  EXPECT_THAT(server.requests(), ::testing::IsEmpty());
  options.tls.ca_file = files_ / "missing";
  ExpectCode(HttpTableSource::Open(options).status(), absl::StatusCode::kFailedPrecondition,
             "missing");
}

TEST_F(HttpTableTlsTest, ClientCertificate_IsShownWhereAsked) {
  HttpTableServer::Tls tls = Certificate("server", "IP:127.0.0.1");
  tls.client_ca_file = right_.file();
  HttpTableServer server(tls);
  server.Start();
  server.SetDocument("1");
  HttpTableOptions options = OptionsOf(server);
  ExpectCode(Refusal(*Open(options)), absl::StatusCode::kFailedPrecondition, "TLS");
  options.tls.certificate_file = right_.Sign("client", "DNS:client");
  options.tls.key_file = options.tls.certificate_file + ".key";
  ASSERT_EQ(chmod(options.tls.key_file.c_str(), 0600), 0);
  EXPECT_EQ(Newest(*Open(options)).document, "1");
}

TEST_F(HttpTableTlsTest, PlainServer_IsNotTalkedTo) {
  HttpTableServer server;
  server.Start();
  server.SetDocument("1");
  HttpTableOptions options = OptionsOf(server);
  options.url.replace(0, 4, "https");
  EXPECT_FALSE(Refusal(*Open(options)).ok());
  EXPECT_THAT(server.requests(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace locus
