// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/records.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::proof {
namespace {

using internal::MutexLock;

int OpenToAppend(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  LOCUS_CHECK(fd >= 0);
  return fd;
}

void WriteWhole(int fd, const void* bytes, size_t size) {
  LOCUS_CHECK(write(fd, bytes, size) == static_cast<ssize_t>(size));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::UnavailableError(absl::StrCat(path, " cannot be read"));
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

int64_t Monotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Infinite times are the ends of int64_t.
int64_t Number(absl::Time time) { return absl::ToUnixMillis(time); }
absl::Time ReadMillis(int64_t number) {
  if (number == INT64_MIN) return absl::InfinitePast();
  if (number == INT64_MAX) return absl::InfiniteFuture();
  return absl::FromUnixMillis(number);
}
// A word of a line is never empty.
std::string Word(const std::string& text) { return text.empty() ? "-" : text; }
std::string TextOf(const std::string& word) { return word == "-" ? "" : word; }

std::istream& operator>>(std::istream& in, absl::Time& time) {
  int64_t number = 0;
  in >> number;
  time = ReadMillis(number);
  return in;
}

RecordedCall ReadCall(std::istream& in) {
  RecordedCall call;
  int kind = 0;
  in >> call.called >> kind >> call.space >> call.range.first >> call.range.last >> call.worker >>
      call.token >> call.nonce >> call.last_used;
  call.kind = static_cast<RecordedCall::Kind>(kind);
  call.nonce = TextOf(call.nonce);
  return call;
}

RecordedAnswer ReadAnswer(std::istream& in) {
  RecordedAnswer answer;
  int code = 0;
  std::string what;
  in >> answer.returned >> code >> answer.lost >> what;
  answer.code = static_cast<absl::StatusCode>(code);
  if (what == "grant") {
    WorkerGrant& grant = answer.grant.emplace();
    in >> grant.worker >> grant.token >> grant.floor >> grant.ceiling >> grant.granted_at >>
        grant.loss_noticed;
  } else if (what == "view") {
    WorkerSpaceView& view = answer.view.emplace();
    size_t workers = 0;
    in >> view.now >> view.losses >> workers;
    for (size_t i = 0; i < workers && in; ++i) {
      WorkerRecord& record = view.workers.emplace_back();
      in >> record.worker >> record.token >> record.floor >> record.ceiling >> record.nonce;
      record.nonce = TextOf(record.nonce);
    }
  } else if (what != "nothing") {
    in.setstate(std::ios::failbit);
  }
  return answer;
}

}  // namespace

IdLog::IdLog(const std::string& path) : fd_(OpenToAppend(path)) {}
IdLog::~IdLog() { close(fd_); }

void IdLog::Add(std::span<const int64_t> ids, uint64_t token) {
  constexpr int64_t kInAMillisecond = 1 << 12;  // of a millisecond and a worker
  std::vector<IdRun> runs;
  for (const int64_t id : ids) {
    if (runs.empty() || id != runs.back().first + static_cast<int64_t>(runs.back().count) ||
        id % kInAMillisecond == 0) {
      runs.push_back({id, token, 0});
    }
    ++runs.back().count;
  }
  WriteWhole(fd_, runs.data(), runs.size() * sizeof(IdRun));
}

absl::StatusOr<std::vector<IdRun>> ReadIds(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  std::vector<IdRun> runs(bytes.size() / sizeof(IdRun));
  std::memcpy(runs.data(), bytes.data(), runs.size() * sizeof(IdRun));
  return runs;
}

CallLog::CallLog(const std::string& path) : fd_(OpenToAppend(path)) {}
CallLog::~CallLog() { close(fd_); }

uint64_t CallLog::Begin(RecordedCall call) {
  uint64_t number;
  {
    MutexLock lock(mutex_);
    number = ++calls_;
  }
  Write(absl::StrCat("call ", number, " ", Monotonic(), " ", static_cast<int>(call.kind), " ",
                     call.space, " ", call.range.first, " ", call.range.last, " ", call.worker, " ",
                     call.token, " ", Word(call.nonce), " ", Number(call.last_used)));
  return number;
}

void CallLog::End(uint64_t number, RecordedAnswer answer) {
  std::string line = absl::StrCat("end ", number, " ", Monotonic(), " ",
                                  static_cast<int>(answer.code), " ", answer.lost);
  if (answer.grant) {
    const WorkerGrant& grant = *answer.grant;
    absl::StrAppend(&line, " grant ", grant.worker, " ", grant.token, " ", Number(grant.floor), " ",
                    Number(grant.ceiling), " ", Number(grant.granted_at), " ",
                    grant.loss_noticed ? 1 : 0);
  } else if (answer.view) {
    const WorkerSpaceView& view = *answer.view;
    absl::StrAppend(&line, " view ", Number(view.now), " ", view.losses, " ", view.workers.size());
    for (const WorkerRecord& record : view.workers) {
      absl::StrAppend(&line, " ", record.worker, " ", record.token, " ", Number(record.floor), " ",
                      Number(record.ceiling), " ", Word(record.nonce));
    }
  } else {
    line += " nothing";
  }
  Write(line);
}

void CallLog::Write(const std::string& line) {
  const std::string whole = line + "\n";
  WriteWhole(fd_, whole.data(), whole.size());
}

absl::StatusOr<std::vector<RecordedCall>> ReadCalls(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  std::istringstream lines(text);
  std::string line;
  std::vector<RecordedCall> calls;
  std::map<uint64_t, size_t> by_number;
  for (size_t at = 1; std::getline(lines, line); ++at) {
    std::istringstream in(line);
    std::string what;
    uint64_t number = 0;
    in >> what >> number;
    bool good = false;
    if (what == "call") {
      good = by_number.emplace(number, calls.size()).second;
      calls.push_back(ReadCall(in));
    } else if (const auto found = by_number.find(number);
               what == "end" && found != by_number.end()) {
      good = !calls[found->second].answer.has_value();
      calls[found->second].answer = ReadAnswer(in);
    }
    if (!good || in.fail() || !(in >> std::ws).eof()) {
      return absl::DataLossError(absl::StrCat(path, " line ", at, " is no record: ", line));
    }
  }
  return calls;
}

}  // namespace locus::proof
