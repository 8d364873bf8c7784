// SPDX-License-Identifier: Apache-2.0
// What a client sends on one connection: the first byte says in which pieces it comes, the rest is
// the bytes. In whatever pieces they come, the server reads the same requests, and each answer has
// one end; what it takes keeps the rules of its heads.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/http/conversation.h"

namespace {

namespace asio = boost::asio;
using locus::http::Connection;
using locus::http::Received;
using Stream = boost::beast::test::stream;

void Check(bool right) {
  if (!right) std::abort();
}

// As much of a server as a conversation asks for.
struct FakeServer {
  const locus::http::ServerOptions& options() const { return of; }
  bool TakeBodyBytes(size_t) { return true; }

  locus::http::ServerOptions of;
};

struct Outcome {
  std::vector<std::string> requests;
  unsigned refusal = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

asio::awaitable<void> Converse(Stream& stream, Connection& connection, FakeServer& server,
                               Outcome& outcome) {
  locus::http::Conversation<Stream, FakeServer> conversation(stream, connection, server);
  while (true) {
    Received received = co_await conversation.Receive();
    if (!received.request) {
      if (received.refusal) {
        outcome.refusal = received.refusal->status;
        received.form.keep_alive = false;
        co_await conversation.Say(*received.refusal, received.form, false);
      }
      break;
    }
    const auto& request = *received.request;
    std::string text = absl::StrCat(request.method, " ", request.path, "?", request.query, "\n");
    std::string target = request.path;
    if (!request.query.empty()) absl::StrAppend(&target, "?", request.query);
    Check(locus::http::FlawOfTarget(request.method, target).empty());
    size_t hosts = 0;
    for (const auto& [name, value] : request.headers) {
      absl::StrAppend(&text, name, ": ", value, "\n");
      hosts += name == "Host" || name == "host";
      Check(value.find_first_of("\r\n") == value.npos && value.find('\0') == value.npos);
    }
    Check(hosts <= 1);
    Check(request.body.size() <= server.of.most_body_bytes);
    outcome.requests.push_back(absl::StrCat(text, "\n", request.body));
    if (!co_await conversation.Say({200, {}, "ok"}, received.form, request.method == "HEAD")) break;
    if (!received.form.keep_alive) break;
  }
  co_await conversation.Flush({});
}

Outcome Run(std::string_view bytes, size_t piece) {
  asio::io_context io;
  Stream stream(io), client(io);
  stream.connect(client);
  stream.read_size(piece);
  client.write_size(SIZE_MAX);
  client.write_some(asio::buffer(bytes.data(), bytes.size()));
  client.close();
  Connection connection{asio::ip::tcp::socket(io)};
  FakeServer server;
  server.of.most_body_bytes = 1000;
  server.of.most_header_bytes = 500;
  Outcome outcome;
  asio::co_spawn(io, Converse(stream, connection, server, outcome), asio::detached);
  io.run();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = Run(bytes, SIZE_MAX);
  const Outcome parts = Run(bytes, 1 + data[0] % 16);
  Check(whole == parts);
  return 0;
}
