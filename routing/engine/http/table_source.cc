// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/http.h"
#include "locus/version.h"
#include "routing/engine/http/answer.h"
#include "routing/engine/http/bearer.h"
#include "routing/engine/http/url.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/http/connection.h"

namespace locus {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

using http::Bearer;
using http::HttpAnswer;
using http::HttpConnection;
using http::Url;
using std::chrono::steady_clock;

class HttpTableSource::Rep {
 public:
  static absl::StatusOr<std::unique_ptr<Rep>> Make(const HttpTableOptions& options) {
    LOCUS_RETURN_IF_ERROR(options.Check());
    auto rep = std::make_unique<Rep>();
    LOCUS_ASSIGN_OR_RETURN(rep->url_, Url::Parse(options.url));
    if (rep->url_.tls) {
      LOCUS_ASSIGN_OR_RETURN(
          rep->tls_, http::TlsContext::Load({options.tls.ca_file, options.tls.certificate_file,
                                             options.tls.key_file}));
    }
    rep->token_file_ = options.token_file;
    if (!options.token.empty()) {
      LOCUS_ASSIGN_OR_RETURN(rep->token_, Bearer::Of(options.token));
    } else if (!options.token_file.empty()) {
      LOCUS_RETURN_IF_ERROR(Bearer::Read(options.token_file).status());
    }
    rep->request_timeout_ = absl::ToChronoNanoseconds(options.request_timeout);
    rep->wait_ = absl::ToChronoNanoseconds(options.wait);
    rep->poll_every_ = absl::ToChronoNanoseconds(options.poll_every);
    return rep;
  }

  bool forked() const { return process_.forked(); }
  const std::string& place() const { return url_.shown; }
  HttpTableStats Stats() const { return {requests_, connects_, unchanged_, documents_}; }

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known, TimePoint deadline) {
    while (true) {
      bool hurried = TakeLookNow();
      TimePoint asked = steady_clock::now();
      std::optional<SourcedTable> news;
      absl::Status status = Ask(known, hurried ? 0 : HoldFor(deadline - asked), news);
      if (absl::IsCancelled(status)) continue;  // LookNow
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(url_.shown, ": ", status.message()));
      }
      if (news || hurried) return news;
      WaitUntil(std::min(deadline, asked + poll_every_));
      if (steady_clock::now() >= deadline) return std::nullopt;
    }
  }

  void LookNow() {
    MutexLock lock(mutex_);
    look_now_ = true;
    wake_.NotifyAll();
    if (held_ != nullptr) held_->Interrupt();
  }

 private:
  // For how many whole seconds the server may hold a request.
  int64_t HoldFor(std::chrono::nanoseconds left) const {
    auto hold = std::chrono::duration_cast<std::chrono::seconds>(std::min(left, wait_));
    return std::max<int64_t>(0, hold.count());
  }

  bool TakeLookNow() {
    MutexLock lock(mutex_);
    return std::exchange(look_now_, false);
  }
  bool LookNowPending() {
    MutexLock lock(mutex_);
    return look_now_;
  }
  void WaitUntil(TimePoint until) {
    MutexLock lock(mutex_);
    while (!look_now_ && steady_clock::now() < until) wake_.WaitUntil(mutex_, until);
  }

  // Sends one request, and a second one if the server had closed the kept connection. CANCELLED: by
  // LookNow, while the server held the request.
  absl::Status Ask(const std::string& known, int64_t hold, std::optional<SourcedTable>& news) {
    Bearer read;
    if (!token_file_.empty()) {
      LOCUS_ASSIGN_OR_RETURN(read, Bearer::Read(token_file_));
    }
    std::string_view token = token_file_.empty() ? token_.view() : read.view();
    while (true) {
      TimePoint start = steady_clock::now();
      bool reused = connection_ != nullptr && connection_->StillOpen();
      if (!reused) {
        connection_.reset();
        LOCUS_ASSIGN_OR_RETURN(connection_, HttpConnection::Connect(url_.endpoint, tls_.get(),
                                                                    start + request_timeout_));
        ++connects_;
      }
      absl::Status status = Exchange(known, hold, token, start, news);
      if (status.ok()) return status;
      if (!connection_->StillOpen()) connection_.reset();
      bool went = reused && absl::IsUnavailable(status) && !answered_ &&
                  steady_clock::now() < start + request_timeout_;
      if (!went) return status;
    }
  }

  absl::Status Exchange(const std::string& known, int64_t hold, std::string_view token,
                        TimePoint start, std::optional<SourcedTable>& news) {
    answered_ = false;
    bool conditional = !validators_.empty() && validated_version_ == known;
    if (!conditional) hold = 0;  // any document is an answer
    std::string agent = absl::StrCat("locus/", Version());
    std::string prefer = absl::StrCat("wait=", hold);
    http::HttpRequest request{"GET", url_.target, {}, ""};
    request.headers = {{"User-Agent", agent},
                       {"Accept", "application/json, */*"},
                       {"Accept-Encoding", "identity"},
                       {"Cache-Control", "no-cache"}};
    if (!token.empty()) request.headers.emplace_back("Authorization", token);
    if (conditional && !validators_.etag.empty()) {
      request.headers.emplace_back("If-None-Match", validators_.etag);
    } else if (conditional) {
      request.headers.emplace_back("If-Modified-Since", validators_.last_modified);
    }
    if (hold > 0) request.headers.emplace_back("Prefer", prefer);
    ++requests_;
    LOCUS_RETURN_IF_ERROR(connection_->Begin(request, start + request_timeout_));
    TimePoint limit = start + std::chrono::seconds(hold) + request_timeout_;
    LOCUS_ASSIGN_OR_RETURN(HttpAnswer head, ReadHead(hold > 0, limit));
    answered_ = true;
    limit = std::min(limit, steady_clock::now() + request_timeout_);
    absl::Status fits = http::CheckHead(head, conditional);
    size_t longest = fits.ok() ? kMaxDocumentBytes : kLongestRefusal;
    absl::StatusOr<std::string> body = ReadBody(longest, limit);
    LOCUS_RETURN_IF_ERROR(fits);
    LOCUS_RETURN_IF_ERROR(body.status());
    if (head.status == 304) {
      ++unchanged_;
      return absl::OkStatus();
    }
    ++documents_;
    std::string version = http::VersionOf(*body);
    validators_ = http::ValidatorsOf(head);
    validated_version_ = version;
    if (version != known) news = SourcedTable{*std::move(body), version};
    return absl::OkStatus();
  }

  absl::StatusOr<HttpAnswer> ReadHead(bool held, TimePoint limit) {
    if (held) {
      MutexLock lock(mutex_);
      held_ = connection_.get();
    }
    while (true) {
      if (held && LookNowPending()) {
        LetGo();
        return absl::CancelledError("");
      }
      absl::StatusOr<HttpAnswer> head = connection_->ReadHead(limit);
      // The interrupt may have been meant for an earlier request.
      if (absl::IsCancelled(head.status())) continue;
      LetGo();
      if (absl::IsDeadlineExceeded(head.status())) return NoAnswer();
      return head;
    }
  }

  void LetGo() {
    MutexLock lock(mutex_);
    held_ = nullptr;
  }

  absl::StatusOr<std::string> ReadBody(size_t longest, TimePoint limit) {
    absl::StatusOr<std::string> body;
    do {
      body = connection_->ReadBody(longest, limit);
    } while (absl::IsCancelled(body.status()));
    if (absl::IsOutOfRange(body.status())) {
      return absl::FailedPreconditionError(body.status().message());
    }
    if (absl::IsDeadlineExceeded(body.status())) return NoAnswer();
    return body;
  }

  absl::Status NoAnswer() const {
    return absl::UnavailableError(absl::StrCat(
        "no complete answer within ", absl::FormatDuration(absl::FromChrono(request_timeout_))));
  }

  // The body of an error is not shown; it is read so that the connection can be used again.
  static constexpr size_t kLongestRefusal = 64 << 10;

  Url url_;
  std::unique_ptr<http::TlsContext> tls_;
  Bearer token_;
  std::string token_file_;
  std::chrono::nanoseconds request_timeout_{};
  std::chrono::nanoseconds wait_{};
  std::chrono::nanoseconds poll_every_{};
  const internal::ForkGuard process_;

  // Used only by the thread that calls Next.
  std::unique_ptr<HttpConnection> connection_;
  bool answered_ = false;          // the last request got the head of an answer
  http::Validators validators_;    // of the last document read
  std::string validated_version_;  // its version

  Mutex mutex_;
  CondVar wake_;
  bool look_now_ ABSL_GUARDED_BY(mutex_) = false;
  // The connection on which a request is held; it is not destroyed before this is nullptr.
  HttpConnection* held_ ABSL_GUARDED_BY(mutex_) = nullptr;

  std::atomic<uint64_t> requests_{0}, connects_{0}, unchanged_{0}, documents_{0};  // counts only
};

absl::StatusOr<std::unique_ptr<HttpTableSource>> HttpTableSource::Open(
    const HttpTableOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto rep, Rep::Make(options));
  return std::unique_ptr<HttpTableSource>(new HttpTableSource(std::move(rep)));
}

HttpTableSource::HttpTableSource(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

HttpTableSource::~HttpTableSource() {
  // In a forked child the socket is its parent's.
  internal::AbandonIfForked(rep_);
}

absl::StatusOr<std::optional<SourcedTable>> HttpTableSource::Next(const std::string& known,
                                                                  TimePoint deadline) {
  if (rep_->forked()) {
    return internal::ForkGuard::Refusal(absl::StrCat("the source of ", rep_->place()));
  }
  return rep_->Next(known, deadline);
}

void HttpTableSource::LookNow() { rep_->LookNow(); }

std::string HttpTableSource::place() const { return rep_->place(); }

HttpTableStats HttpTableSource::Stats() const { return rep_->Stats(); }

}  // namespace locus
