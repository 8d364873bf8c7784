// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/peer_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locusd/strict/section_list.h"
#include "apps/locusd/strict/strict_table.h"
#include "locus/internal/deadline.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/run/mutex.h"
#include "src/base/text/json_text.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"
#include "src/http/connection.h"
#include "src/http/endpoint.h"

namespace locus::locusd {

using http::FetchRequest;
using http::HttpAnswer;

namespace {

// Loads of 2^20 sections.
constexpr size_t kMostAnswer = size_t{32} << 20;
constexpr size_t kMostTokenBytes = 1024;

std::string MemberOf(std::span<const uint32_t> sections) {
  return absl::StrCat("\"sections\":[\"", absl::StrJoin(SectionTexts(sections), "\",\""), "\"]");
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerCalls>> PeerCalls::Make(const StrictSettings& settings,
                                                           bool tls) {
  std::unique_ptr<PeerCalls> calls(new PeerCalls);
  if (tls) {
    LOCUS_ASSIGN_OR_RETURN(calls->tls_, http::TlsContext::Load({settings.authority, "", ""}));
  }
  if (!settings.token_file.empty()) {
    LOCUS_ASSIGN_OR_RETURN(calls->token_,
                           internal::ReadPrivateFile(settings.token_file, kMostTokenBytes + 2));
    const size_t end = calls->token_.view().find_first_of("\r\n");
    if (end != std::string_view::npos) calls->token_.size = end;
  }
  LOCUS_ASSIGN_OR_RETURN(calls->fetcher_, http::Fetcher::Start());
  return calls;
}

absl::StatusOr<FetchRequest> PeerCalls::RequestOf(const std::string& address, const char* target,
                                                  std::string body, absl::Duration timeout) const {
  FetchRequest request;
  LOCUS_ASSIGN_OR_RETURN(request.endpoint, http::Endpoint::Parse(address));
  request.tls = tls_.get();
  request.method = "POST";
  request.target = target;
  request.body = std::move(body);
  request.timeout = timeout;
  request.most_body_bytes = kMostAnswer;
  request.headers.emplace_back("Content-Type", "application/json");
  if (token_.size == 0) return request;
  if (tls_ == nullptr && !internal::IsLoopback(request.endpoint.host)) {
    return absl::FailedPreconditionError(
        absl::StrCat("strict.token_file: the token would go to ", address, " in plain text"));
  }
  request.headers.emplace_back("Authorization",
                               absl::StrCat("Bearer ", internal::ToAbsl(token_.view())));
  return request;
}

std::vector<absl::StatusOr<HttpAnswer>> PeerCalls::FetchAll(
    std::vector<absl::StatusOr<FetchRequest>> requests) {
  struct Round {
    internal::Mutex mutex;
    internal::CondVar done;
    size_t left ABSL_GUARDED_BY(mutex) = 0;
    std::vector<absl::StatusOr<HttpAnswer>> answers ABSL_GUARDED_BY(mutex);
  };
  auto round = std::make_shared<Round>();
  {
    internal::MutexLock lock(round->mutex);
    round->answers.assign(requests.size(), absl::UnavailableError("no answer"));
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].ok()) {
        ++round->left;
      } else {
        round->answers[i] = requests[i].status();
      }
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].ok()) continue;
    fetcher_->Fetch(*std::move(requests[i]), [round, i](absl::StatusOr<HttpAnswer> answer) {
      internal::MutexLock lock(round->mutex);
      round->answers[i] = std::move(answer);
      if (--round->left == 0) round->done.NotifyAll();
    });
  }
  // Each has a time limit.
  internal::MutexLock lock(round->mutex);
  while (round->left > 0) round->done.Wait(round->mutex);
  return std::move(round->answers);
}

absl::Status PeerCalls::Greet(const std::string& address, absl::Duration timeout) const {
  LOCUS_ASSIGN_OR_RETURN(const http::Endpoint endpoint, http::Endpoint::Parse(address));
  return http::HttpConnection::Connect(endpoint, tls_.get(), internal::DeadlineAfter(timeout))
      .status();
}

std::vector<absl::StatusOr<StrictNews>> PeerCalls::Tell(const StrictNews& news,
                                                        std::span<const std::string> addresses,
                                                        absl::Duration timeout) {
  std::vector<absl::StatusOr<FetchRequest>> requests;
  const std::string body = ToJson(news);
  for (const std::string& address : addresses) {
    requests.push_back(RequestOf(address, "/v1/strict/nodes", body, timeout));
  }
  std::vector<absl::StatusOr<StrictNews>> heard;
  for (const absl::StatusOr<HttpAnswer>& answer : FetchAll(std::move(requests))) {
    if (!answer.ok()) {
      heard.emplace_back(answer.status());
    } else if (answer->status != 200) {
      heard.emplace_back(cluster_api::ParseProblem(answer->status, answer->body));
    } else {
      heard.push_back(ParseStrictNews(answer->body));
    }
  }
  return heard;
}

absl::StatusOr<PeerCalls::Taken> PeerCalls::Take(const std::string& address,
                                                 std::span<const uint32_t> sections,
                                                 absl::Duration timeout) {
  return Change(address, "/v1/strict/sections:take", absl::StrCat("{", MemberOf(sections), "}"),
                timeout);
}

absl::StatusOr<PeerCalls::Taken> PeerCalls::AskFor(const std::string& address,
                                                   std::span<const uint32_t> sections,
                                                   const std::string& to, absl::Duration timeout) {
  return Change(address, "/v1/strict/sections:hand_over",
                absl::StrCat("{", MemberOf(sections), ",\"to\":", internal::JsonQuoted(to), "}"),
                timeout);
}

absl::StatusOr<PeerCalls::Taken> PeerCalls::Change(const std::string& address, const char* target,
                                                   std::string body, absl::Duration timeout) {
  std::vector<absl::StatusOr<FetchRequest>> requests;
  requests.push_back(RequestOf(address, target, std::move(body), timeout));
  const std::vector<absl::StatusOr<HttpAnswer>> answers = FetchAll(std::move(requests));
  LOCUS_RETURN_IF_ERROR(answers[0].status());
  if (answers[0]->status != 200) {
    return cluster_api::ParseProblem(answers[0]->status, answers[0]->body);
  }
  cluster_api::Members members(answers[0]->body);
  members.AllowOthers();
  Taken taken;
  taken.table_version = TableVersionOf(members);
  taken.sections = members.Number("sections");
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return taken;
}

}  // namespace locus::locusd
