// SPDX-License-Identifier: Apache-2.0
#include "tests/source/http_table_server.h"

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/routing/table_source.h"
#include "src/base/run/mutex.h"
#include "tests/support/private_server.h"

namespace locus {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::empty_body>;

std::string HttpDate(absl::Time time) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", time, absl::UTCTimeZone());
}

std::string HeaderOf(const Request& request, const char* name) {
  return std::string(request[name]);
}

// A connection of a client: some bytes out, or the end.
struct Client {
  std::function<bool(Request&)> read;
  std::function<bool(const std::string&)> write;
};

}  // namespace

class HttpTableServer::Rep {
 public:
  explicit Rep(std::optional<Tls> tls) : port_(FreePort()) {
    if (!tls) return;
    context_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
    context_->use_certificate_chain_file(tls->certificate_file);
    context_->use_private_key_file(tls->key_file, asio::ssl::context::pem);
    if (tls->client_ca_file.empty()) return;
    context_->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    context_->load_verify_file(tls->client_ca_file);
  }

  void Start() {
    {
      MutexLock lock(mutex_);
      stopping_ = false;
    }
    error_code error;
    tcp::endpoint at(asio::ip::make_address("127.0.0.1"), port_);
    acceptor_ = std::make_unique<tcp::acceptor>(io_);
    acceptor_->open(at.protocol(), error);
    acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    acceptor_->bind(at, error);
    ASSERT_FALSE(error) << error.message() << " on port " << port_;
    acceptor_->listen(128, error);
    ASSERT_FALSE(error) << error.message();
    accepting_ = std::thread([this] { Accept(); });
  }

  void Kill() {
    if (acceptor_ == nullptr) return;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
      shutdown(acceptor_->native_handle(), SHUT_RDWR);
      for (int fd : open_) {
        linger reset{1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        shutdown(fd, SHUT_RDWR);
      }
    }
    accepting_.join();  // from here on there are no more
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    acceptor_.reset();
  }

  void SetDocument(std::optional<std::string> document) {
    MutexLock lock(mutex_);
    document_ = std::move(document);
    ++number_;
    changed_.NotifyAll();
  }
  void Behave(const Behaviour& behaviour) {
    MutexLock lock(mutex_);
    behaviour_ = behaviour;
    changed_.NotifyAll();
  }

  uint16_t port() const { return port_; }
  bool tls() const { return context_ != nullptr; }
  int held() const { return held_; }
  int connections() const { return connections_; }
  std::vector<std::string> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  void Accept() {
    while (true) {
      error_code error;
      tcp::socket socket(io_);
      acceptor_->accept(socket, error);
      MutexLock lock(mutex_);
      if (stopping_) return;
      if (error) continue;
      ++connections_;
      open_.insert(socket.native_handle());
      threads_.emplace_back([this, moved = std::move(socket)]() mutable { Serve(moved); });
    }
  }

  void Serve(tcp::socket& socket) {
    error_code error;
    socket.set_option(tcp::no_delay(true), error);
    if (context_ == nullptr) {
      Answer(socket);
    } else {
      asio::ssl::stream<tcp::socket&> stream(socket, *context_);
      stream.handshake(asio::ssl::stream_base::server, error);
      if (!error) Answer(stream);
    }
    MutexLock lock(mutex_);
    open_.erase(socket.native_handle());
    socket.close(error);
  }

  template <typename Stream>
  void Answer(Stream& stream) {
    boost::beast::flat_buffer buffer;
    Client client;
    client.read = [&](Request& request) {
      error_code error;
      request = {};
      http::read(stream, buffer, request, error);
      return !error;
    };
    client.write = [&](const std::string& bytes) {
      error_code error;
      asio::write(stream, asio::buffer(bytes), error);
      return !error;
    };
    Request request;
    for (int i = 0; client.read(request); ++i) {
      if (!AnswerOne(client, request, i)) return;
    }
  }

  // False: the connection is to be closed.
  bool AnswerOne(const Client& client, const Request& request, int position) {
    Note(request);
    Hold(request);
    Behaviour behaviour;
    {
      MutexLock lock(mutex_);
      behaviour = behaviour_;
    }
    switch (behaviour.fault) {
      case Fault::kStall: {
        MutexLock lock(mutex_);
        while (!stopping_ && behaviour_.fault == Fault::kStall) changed_.Wait(mutex_);
        return false;
      }
      case Fault::kGarbage:
        client.write("SSH-2.0-OpenSSH_9.2p1\r\n");
        return false;
      case Fault::kCutHead:
        client.write("HTTP/1.1 200 OK\r\nContent-Len");
        return false;
      case Fault::kCloseUnheard:
        if (position > 0) return false;
        break;
      default:
        break;
    }
    auto [head, body] = Compose(request, behaviour);
    if (!client.write(head)) return false;
    return SendBody(client, body, behaviour) && behaviour.fault != Fault::kCloseAfter;
  }

  void Note(const Request& request) {
    std::string text = absl::StrCat(std::string(request.method_string()), " ",
                                    std::string(request.target()), "\n");
    for (const auto& field : request) {
      absl::StrAppend(&text, std::string(field.name_string()), ": ", std::string(field.value()),
                      "\n");
    }
    MutexLock lock(mutex_);
    requests_.push_back(std::move(text));
  }

  // As "Prefer: wait=N" asks, until the document is another one.
  void Hold(const Request& request) {
    int64_t seconds;
    std::string prefer = HeaderOf(request, "Prefer");
    if (!absl::StartsWith(prefer, "wait=") || !absl::SimpleAtoi(prefer.substr(5), &seconds)) return;
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    MutexLock lock(mutex_);
    if (!behaviour_.hold) return;
    ++held_;
    while (!stopping_ && behaviour_.hold && Unchanged(request, behaviour_, absl::Now()) &&
           std::chrono::steady_clock::now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
    --held_;
  }

  std::string ETag(const Behaviour& behaviour) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using Validator = Behaviour::Validator;
    if (behaviour.validator == Validator::kETag) return absl::StrCat("\"", number_, "\"");
    if (behaviour.validator == Validator::kWeakETag) return absl::StrCat("W/\"", number_, "\"");
    if (behaviour.validator == Validator::kRandomETag) {
      return absl::StrCat("\"", requests_.size(), "\"");
    }
    return "";
  }
  std::string LastModified(const Behaviour& behaviour, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using Validator = Behaviour::Validator;
    // As if it had been changed long ago: by as many hours as it was changed less often.
    if (behaviour.validator == Validator::kLastModified) {
      return HttpDate(absl::FromUnixSeconds(1'700'000'000 + 3600 * number_));
    }
    if (behaviour.validator == Validator::kFreshLastModified) return HttpDate(now);
    return "";
  }
  bool Unchanged(const Request& request, const Behaviour& behaviour, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!document_) return false;
    std::string etag = ETag(behaviour), modified = LastModified(behaviour, now);
    if (!etag.empty()) return HeaderOf(request, "If-None-Match") == etag;
    return !modified.empty() && HeaderOf(request, "If-Modified-Since") == modified;
  }

  std::pair<std::string, std::string> Compose(const Request& request,
                                              const Behaviour& behaviour) const {
    MutexLock lock(mutex_);
    const absl::Time now = absl::Now();
    std::string body = document_.value_or("nothing here");
    unsigned status = document_ ? 200 : 404;
    if (Unchanged(request, behaviour, now)) status = 304;
    if (!behaviour.token.empty() &&
        HeaderOf(request, "Authorization") != "Bearer " + behaviour.token) {
      status = 401;
    }
    if (behaviour.status != 0) status = behaviour.status;
    if (status != 200) body = status == 304 ? "" : "refused";
    std::string head = absl::StrCat("HTTP/1.1 ", status, " Said\r\nDate: ", HttpDate(now), "\r\n");
    for (const std::string& line : behaviour.header_lines) absl::StrAppend(&head, line, "\r\n");
    std::string etag = ETag(behaviour), modified = LastModified(behaviour, now);
    if (!etag.empty()) absl::StrAppend(&head, "ETag: ", etag, "\r\n");
    if (!modified.empty()) absl::StrAppend(&head, "Last-Modified: ", modified, "\r\n");
    if (behaviour.fault == Fault::kLongLength) {
      absl::StrAppend(&head, "Content-Length: ", TableSource::kMaxDocumentBytes + 1, "\r\n");
    } else if (behaviour.chunked || behaviour.fault == Fault::kEndlessBody) {
      absl::StrAppend(&head, "Transfer-Encoding: chunked\r\n");
    } else if (behaviour.fault != Fault::kNoLength && status != 304) {
      absl::StrAppend(&head, "Content-Length: ", body.size(), "\r\n");
    }
    return {head + "\r\n", status == 304 ? "" : body};
  }

  bool SendBody(const Client& client, const std::string& body, const Behaviour& behaviour) {
    auto chunk = [](const std::string& bytes) {
      return absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
    };
    size_t half = body.size() / 2;
    switch (behaviour.fault) {
      case Fault::kCutBody:
        client.write(behaviour.chunked ? chunk(body.substr(0, half)) : body.substr(0, half));
        return false;
      case Fault::kNoLength:
        client.write(body);
        return false;
      case Fault::kLongLength:
        client.write(body);
        return true;
      case Fault::kEndlessBody:
        while (client.write(chunk(std::string(1 << 20, 'x')))) continue;
        return false;
      case Fault::kDrip:
        for (char c : body) {
          if (!client.write(std::string(1, c))) return false;
          MutexLock lock(mutex_);
          if (stopping_) return false;
          changed_.WaitUntil(mutex_,
                             std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
        }
        return true;
      default:
        break;
    }
    if (!behaviour.chunked || body.empty()) return client.write(body);
    return client.write(chunk(body.substr(0, half)) + chunk(body.substr(half)) + "0\r\n\r\n");
  }

  const uint16_t port_;
  asio::io_context io_;
  std::unique_ptr<asio::ssl::context> context_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::thread accepting_;
  std::vector<std::thread> threads_;  // of clients; accepting_ adds them
  std::atomic<int> held_{0}, connections_{0};

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<int> open_ ABSL_GUARDED_BY(mutex_);
  Behaviour behaviour_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> document_ ABSL_GUARDED_BY(mutex_);
  int number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
};

HttpTableServer::HttpTableServer(std::optional<Tls> tls)
    : rep_(std::make_unique<Rep>(std::move(tls))) {}

HttpTableServer::~HttpTableServer() { rep_->Kill(); }

void HttpTableServer::Start() { rep_->Start(); }
void HttpTableServer::Kill() { rep_->Kill(); }
void HttpTableServer::SetDocument(const std::string& document) { rep_->SetDocument(document); }
void HttpTableServer::RemoveDocument() { rep_->SetDocument(std::nullopt); }
void HttpTableServer::Behave(const Behaviour& behaviour) { rep_->Behave(behaviour); }
uint16_t HttpTableServer::port() const { return rep_->port(); }
int HttpTableServer::held() const { return rep_->held(); }
int HttpTableServer::connections() const { return rep_->connections(); }
std::vector<std::string> HttpTableServer::requests() const { return rep_->requests(); }

std::string HttpTableServer::url(const std::string& host) const {
  return absl::StrCat(rep_->tls() ? "https://" : "http://", host, ":", port(), "/table");
}

}  // namespace locus
