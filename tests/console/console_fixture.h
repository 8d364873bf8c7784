// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CONSOLE_CONSOLE_FIXTURE_H_
#define LOCUS_TESTS_CONSOLE_CONSOLE_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/front/front.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/key_ring.h"
#include "locus/routing/router.h"
#include "locus/routing/table_publisher.h"
#include "nlohmann/json.hpp"
#include "src/http/connection.h"
#include "src/http/server.h"
#include "tests/console/api_types.h"

namespace locus::locusd {

// A console behind the front of locusd, on a port of loopback, with three tokens.
class ConsoleServer {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  static constexpr char kReader[] = "reader-token-0123456789";
  static constexpr char kPublisher[] = "publisher-token-0123456789";
  static constexpr char kMaker[] = "maker-token-0123456789";  // of IDs only

  ConsoleServer(ConsoleParts parts, const ConsoleOptions& options, bool tokens = true) {
    auto console = ConsoleApi::Make(std::move(parts), options);
    EXPECT_TRUE(console.ok()) << console.status();
    console_ = *std::move(console);
    std::vector<TokenRule> rules;
    if (tokens) {
      rules.push_back(RuleOf("reader", kReader, {Scope::kRead}));
      rules.push_back(RuleOf("publisher", kPublisher, Scopes::All()));
      rules.push_back(RuleOf("maker", kMaker, {Scope::kIds}));
    }
    FrontOptions front;
    front.only_loopback_hosts = !tokens;
    front_.emplace(AccessControl::Make(std::move(rules), {}).value(), front);
    front_->Add(*console_);
    auto server =
        http::Server::Start({}, [this](http::ServerRequest request, http::Server::Respond respond) {
          front_->Handle(std::move(request), std::move(respond));
        });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~ConsoleServer() { server_.reset(); }

  std::unique_ptr<http::HttpConnection> Connect() const {
    auto endpoint = http::Endpoint::Parse(absl::StrCat("127.0.0.1:", server_->port()));
    auto connection = http::HttpConnection::Connect(*endpoint, nullptr, Soon());
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *std::move(connection);
  }
  http::HttpAnswer Ask(const std::string& method, const std::string& target,
                       const std::string& token = kReader, const std::string& body = "",
                       const Headers& more = {}) const {
    std::vector<std::pair<std::string_view, std::string_view>> headers(more.begin(), more.end());
    const std::string bearer = absl::StrCat("Bearer ", token);
    if (!token.empty()) headers.emplace_back("Authorization", bearer);
    auto answer = Connect()->Send({method, target, headers, body}, 64 << 20, Soon());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return *std::move(answer);
  }
  nlohmann::json Get(const std::string& target, const std::string& token = kReader) const {
    const http::HttpAnswer answer = Ask("GET", target, token);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }
  // As the page does it.
  http::HttpAnswer Post(const std::string& target, const nlohmann::json& body,
                        const std::string& token = kPublisher, const Headers& more = {}) const {
    Headers headers = {{"Content-Type", "application/json"}, {"Locus-Console", "1"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return Ask("POST", target, token, body.dump(), headers);
  }

  ConsoleApi& console() { return *console_; }
  http::Server& server() { return *server_; }
  static http::TimePoint Soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(120);
  }

 private:
  static TokenRule RuleOf(const std::string& name, const std::string& token, Scopes scopes) {
    auto memory = internal::SecretBytes::Allocate(token.size());
    EXPECT_TRUE(memory.ok()) << memory.status();
    internal::PrivateText text{*std::move(memory), token.size()};
    std::memcpy(text.memory.data(), token.data(), token.size());
    TokenRule rule;
    rule.name = name;
    rule.token = std::move(text);
    rule.scopes = scopes;
    return rule;
  }

  std::unique_ptr<ConsoleApi> console_;
  std::optional<Front> front_;
  std::unique_ptr<http::Server> server_;
};

// Reads a stream of events.
class EventReader {
 public:
  explicit EventReader(const ConsoleServer& server,
                       const std::string& token = ConsoleServer::kReader)
      : connection_(server.Connect()) {
    const std::string bearer = absl::StrCat("Bearer ", token);
    EXPECT_TRUE(
        connection_
            ->Begin({"GET", "/v1/events", {{"Authorization", bearer}}, ""}, ConsoleServer::Soon())
            .ok());
    auto head = connection_->ReadHead(ConsoleServer::Soon());
    EXPECT_TRUE(head.ok()) << head.status();
    if (head.ok()) head_ = *std::move(head);
  }
  const http::HttpAnswer& head() const { return head_; }

  struct Event {
    std::string kind;
    nlohmann::json value;
  };
  // nullopt: the stream has ended.
  std::optional<Event> Next() {
    Event event;
    while (true) {
      auto line = connection_->ReadLine(16 << 20, ConsoleServer::Soon());
      if (!line.ok() || !line->has_value()) {
        EXPECT_TRUE(line.ok()) << line.status();
        return std::nullopt;
      }
      absl::string_view rest = **line;
      if (absl::ConsumePrefix(&rest, "event: ")) event.kind = std::string(rest);
      if (absl::ConsumePrefix(&rest, "data: ")) {
        event.value = nlohmann::json::parse(std::string(rest), nullptr, false);
        return event;
      }
    }
  }
  // The next of this kind of which `fits` is true.
  template <typename Fits>
  nlohmann::json NextOf(const std::string& kind, Fits fits) {
    while (std::optional<Event> event = Next()) {
      if (event->kind == kind && fits(event->value)) return event->value;
    }
    return nullptr;
  }

 private:
  std::unique_ptr<http::HttpConnection> connection_;
  http::HttpAnswer head_;
};

}  // namespace locus::locusd

#endif  // LOCUS_TESTS_CONSOLE_CONSOLE_FIXTURE_H_
