// SPDX-License-Identifier: Apache-2.0
#include "src/http/fetcher.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/signals_blocked.h"
#include "src/base/run/mutex.h"
#include "src/http/await.h"
#include "src/http/tls_context_rep.h"

namespace locus::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr uint32_t kMostHeadBytes = 16 << 10;
// Interim answers (100 to 199) that are skipped.
constexpr int kMostInterim = 8;

using Request = beast::http::request<beast::http::string_body>;
using Parser = beast::http::response_parser<beast::http::string_body>;
template <typename T>
using awaitable = asio::awaitable<T>;

absl::Status Failed(const error_code& error) {
  if (error == beast::error::timeout || error == asio::error::operation_aborted) {
    return absl::UnavailableError("no answer in time");
  }
  if (error == beast::http::error::body_limit || error == beast::http::error::header_limit ||
      error == beast::http::error::buffer_overflow) {
    return absl::OutOfRangeError("the answer is too long");
  }
  if (error.category() == asio::error::get_ssl_category()) {
    return absl::FailedPreconditionError(absl::StrCat("TLS: ", error.message()));
  }
  return absl::UnavailableError(error.message());
}

Request RequestOf(FetchRequest&& from) {
  Request request;
  request.version(11);
  request.method_string({from.method.data(), from.method.size()});
  request.target({from.target.data(), from.target.size()});
  request.set(beast::http::field::host, from.endpoint.text);
  request.set(beast::http::field::connection, "close");
  for (const auto& [name, value] : from.headers) request.insert(name, value);
  request.body() = std::move(from.body);
  request.prepare_payload();
  return request;
}

HttpAnswer AnswerOf(Parser::value_type&& from) {
  HttpAnswer answer;
  answer.status = from.result_int();
  for (const auto& field : from) {
    const auto name = field.name_string(), value = field.value();
    answer.headers.emplace_back(std::string(name.data(), name.size()),
                                std::string(value.data(), value.size()));
  }
  answer.body = std::move(from.body());
  return answer;
}

// A socket that programs which this process starts do not inherit.
error_code OpenSocket(tcp::socket& socket, const tcp::endpoint& to) {
  error_code error;
  socket.close(error);
  const int fd = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return error_code(errno, boost::system::system_category());
  socket.assign(to.protocol(), fd, error);
  if (error) close(fd);
  return error;
}

// Where the endpoint is. A name is looked up by a thread of Asio's.
awaitable<absl::StatusOr<std::vector<tcp::endpoint>>> PlacesOf(
    const Endpoint& endpoint, std::chrono::steady_clock::time_point deadline) {
  std::vector<tcp::endpoint> places;
  error_code numeric;
  const auto address = asio::ip::make_address(endpoint.host, numeric);
  if (!numeric) {
    places.emplace_back(address, endpoint.port);
    co_return places;
  }
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  asio::steady_timer limit(executor, deadline);
  limit.async_wait([&resolver](const error_code& error) {
    if (!error) resolver.cancel();
  });
  auto [error, found] =
      co_await resolver.async_resolve(endpoint.host, absl::StrCat(endpoint.port), kAwait);
  limit.cancel();
  if (error) co_return Failed(error);
  for (const auto& one : found) places.push_back(one.endpoint());
  co_return places;
}

// Writes the request and reads the answer. `lowest`, of which `stream` is made, has the deadline.
template <typename Stream>
awaitable<absl::StatusOr<HttpAnswer>> Exchange(Stream& stream, FetchRequest request) {
  const size_t most_body = request.most_body_bytes;
  const bool head = request.method == "HEAD";
  const Request message = RequestOf(std::move(request));
  auto [unsent, sent] = co_await beast::http::async_write(stream, message, kAwait);
  if (unsent) co_return Failed(unsent);
  beast::flat_buffer buffer(2 * kMostHeadBytes);
  for (int interim = 0; interim <= kMostInterim; ++interim) {
    Parser parser;
    parser.header_limit(kMostHeadBytes);
    parser.body_limit(most_body);
    parser.skip(head);
    auto [error, got] = co_await beast::http::async_read_header(stream, buffer, parser, kAwait);
    if (error) co_return Failed(error);
    const unsigned status = parser.get().result_int();
    if (status < 200 && status != 101) continue;
    if (most_body != FetchRequest::kHeadOnly) {
      auto [cut, rest] = co_await beast::http::async_read(stream, buffer, parser, kAwait);
      if (cut) co_return Failed(cut);
    }
    co_return AnswerOf(parser.release());
  }
  co_return absl::UnavailableError("only interim answers");
}

awaitable<absl::StatusOr<HttpAnswer>> Run(FetchRequest request,
                                          std::chrono::steady_clock::time_point deadline) {
  const Endpoint endpoint = request.endpoint;
  // GCC 12 cannot take the range of a loop from a co_await.
  auto places = co_await PlacesOf(endpoint, deadline);
  if (!places.ok()) co_return places.status();
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_at(deadline);
  error_code error = asio::error::host_not_found;
  for (const tcp::endpoint& place : *places) {
    error = OpenSocket(stream.socket(), place);
    if (error) continue;
    std::tie(error) = co_await stream.async_connect(place, kAwait);
    if (!error || error == beast::error::timeout) break;
  }
  if (error) co_return Failed(error);
  error_code ignored;
  stream.socket().set_option(tcp::no_delay(true), ignored);
  if (request.tls == nullptr) co_return co_await Exchange(stream, std::move(request));

  beast::ssl_stream<beast::tcp_stream&> tls(stream, request.tls->rep().context);
  asio::ip::make_address(endpoint.host, error);
  if (error) SSL_set_tlsext_host_name(tls.native_handle(), endpoint.host.c_str());
  tls.set_verify_callback(asio::ssl::host_name_verification(endpoint.host), error);
  if (error) co_return Failed(error);
  auto [refused] = co_await tls.async_handshake(asio::ssl::stream_base::client, kAwait);
  if (refused) co_return Failed(refused);
  co_return co_await Exchange(tls, std::move(request));
}

}  // namespace

// Its thread holds a reference as well.
class Fetcher::Rep : public std::enable_shared_from_this<Rep> {
 public:
  Rep() : work_(io_.get_executor()) {}

  void Start() {
    const internal::SignalsBlocked blocked;
    thread_ = std::thread([self = shared_from_this()] { self->Work(); });
  }
  // Also by a `done`: the thread then ends by itself.
  void Stop() {
    io_.stop();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Fetch(FetchRequest request, Done done) {
    const auto deadline =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(request.timeout);
    auto job = std::make_shared<Job>(Job{std::move(done)});
    {
      internal::MutexLock lock(mutex_);
      jobs_.insert(job);
    }
    // Spawned by the thread, so that the coroutine has it alone from its first step on.
    asio::post(io_, [this, job, request = std::move(request), deadline]() mutable {
      Spawn(std::move(request), deadline, std::move(job));
    });
  }

 private:
  struct Job {
    Done done;
  };

  void Work() {
    io_.run();
    std::set<std::shared_ptr<Job>> left;
    {
      internal::MutexLock lock(mutex_);
      left.swap(jobs_);
    }
    for (const auto& job : left) {
      job->done(absl::UnavailableError("the client of HTTP is ending"));
    }
  }

  void Spawn(FetchRequest request, std::chrono::steady_clock::time_point deadline,
             std::shared_ptr<Job> job) {
    asio::co_spawn(
        io_, Run(std::move(request), deadline),
        [this, job](const std::exception_ptr& thrown, absl::StatusOr<HttpAnswer> answer) {
          {
            internal::MutexLock lock(mutex_);
            jobs_.erase(job);
          }
          // Out of descriptors, for example.
          if (thrown) answer = absl::UnavailableError("no connection could be made");
          job->done(std::move(answer));
        });
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  internal::Mutex mutex_;
  std::set<std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

Fetcher::Fetcher(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}
Fetcher::~Fetcher() { rep_->Stop(); }

absl::StatusOr<std::unique_ptr<Fetcher>> Fetcher::Start() {
  try {
    auto rep = std::make_shared<Rep>();
    rep->Start();
    return std::unique_ptr<Fetcher>(new Fetcher(std::move(rep)));
  } catch (const std::system_error& thrown) {
    return absl::UnavailableError(absl::StrCat("a client of HTTP: ", thrown.what()));
  }
}

void Fetcher::Fetch(FetchRequest request, Done done) {
  rep_->Fetch(std::move(request), std::move(done));
}

}  // namespace locus::http
