// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/codec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/fields.h"
#include "src/worker/worker_rules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::cluster_machine {
namespace {

// The last that a command may have: the ceilings of its leases, at most 25 h later, are still
// times.
const absl::Time kLastTime = absl::FromUnixMillis(253370764799999);  // of 9998

// The first byte of a request is a set of these bits.
constexpr uint8_t kHasId = 1;
constexpr uint8_t kHasTrace = 2;
constexpr uint8_t kHasSerial = 4;

// Of a command.
constexpr uint8_t kExpires = 1;
constexpr uint8_t kLeaps = 2;
constexpr uint8_t kKeepsEnds = 4;

uint8_t VersionOf(const Request& request) {
  if (std::holds_alternative<Mend>(request.action)) return kMendCodecVersion;
  if (const auto* call = std::get_if<strict_machine::Call>(&request.action)) {
    return strict_machine::IsCreateAnew(*call) ? kMendCodecVersion : kStrictCodecVersion;
  }
  const bool of_store = IsOfStore(request.action) || (request.id && request.id->serial != 0);
  return of_store ? kStoreCodecVersion : kCodecVersion;
}
uint8_t VersionOf(const Answer& answer) {
  if (std::holds_alternative<strict_machine::Reply>(answer.reply)) return kStrictCodecVersion;
  return std::holds_alternative<std::monostate>(answer.reply) ? kCodecVersion : kStoreCodecVersion;
}
// Of a command or of answers with these.
template <typename Each>
uint8_t VersionOf(const std::vector<Each>& all) {
  uint8_t version = kCodecVersion;
  for (const Each& each : all) version = std::max(version, VersionOf(each));
  return version;
}
template <typename Each>
void CheckVersion(Reader& reader, const std::vector<Each>& all) {
  const uint8_t least = VersionOf(all);
  if (reader.ok() && reader.version() > least) {
    reader.Fail(
        0, absl::StrCat("version ", reader.version(), ", where version ", least, " says the same"));
  }
}

class CommandWriter : public Writer {
 public:
  using Writer::Put;

  void Put(const Request& request) {
    const bool has_serial = request.id && request.id->serial != 0;
    Byte(static_cast<uint8_t>((request.id ? kHasId : 0) | (request.trace.empty() ? 0 : kHasTrace) |
                              (has_serial ? kHasSerial : 0)));
    if (request.id) Put(*request.id);
    if (has_serial) Number(request.id->serial);
    if (!request.trace.empty()) {
      Number(request.trace.high);
      Number(request.trace.low);
    }
    PutAsked(request.space, request.action);
  }
  void PutAsked(const SpaceName& space, const Action& action) {
    Text(space.str());
    Byte(static_cast<uint8_t>(action.index()));
    std::visit([this](const auto& one) { PutAction(one); }, action);
  }

 private:
  void PutTerm(const WorkerLeaseTerm& term) {
    Put(term.ttl, "ttl");
    Put(term.max_skew, "max_skew");
  }
  void PutHolder(const std::string& nonce, const std::string& holder) {
    Put(nonce, worker::kMostNonceBytes, "a nonce");
    Put(holder, kMostHolderBytes, "a holder");
  }
  void PutAction(const Create& one) {
    Put(one.rest, "rest");
    Put(one.caller_now, "caller_now");
  }
  void PutAction(const WorkerAcquire& one) {
    Number(one.range.first);
    Number(one.range.last);
    Byte(one.preferred.has_value());
    if (one.preferred) Number(*one.preferred);
    Number(one.start);
    PutTerm(one.term);
    PutHolder(one.nonce, one.holder);
    Put(one.caller_now, "caller_now");
  }
  void PutAction(const WorkerRenew& one) {
    Number(one.worker);
    Number(one.token);
    Put(one.ceiling, "ceiling");
    PutTerm(one.term);
    PutHolder(one.nonce, one.holder);
    Put(one.caller_now, "caller_now");
  }
  void PutAction(const WorkerRelease& one) {
    Number(one.worker);
    Number(one.token);
    Put(one.last_used + absl::Milliseconds(1) - absl::Nanoseconds(1), "last_used");
  }
  void PutAction(const Verdict& one) {
    Number(one.worker);
    Number(one.token);
    Byte(one.healthy);
    Put(one.why, kMostWhyBytes, "the why of a verdict");
  }
  void PutAction(const Delete&) {}
  void PutAction(const Mend& one) { Number(one.from); }
  void PutAction(const counter_machine::Call& one) { counter_machine::Put(*this, one); }
  void PutAction(const segment_machine::Call& one) { segment_machine::Put(*this, one); }
  void PutAction(const type_machine::Call& one) { type_machine::Put(*this, one); }
  void PutAction(const strict_machine::Call& one) { strict_machine::Put(*this, one); }
};

class CommandReader : public Reader {
 public:
  explicit CommandReader(std::string_view bytes) : Reader(bytes, "bytes of a command") {}

  Request GetRequest() {
    Request request;
    const size_t place = at();
    const uint8_t has =
        Byte(kHasId | kHasTrace | (version() >= kStoreCodecVersion ? kHasSerial : 0));
    if ((has & kHasId) != 0) request.id = GetId();
    if ((has & kHasSerial) != 0) {
      if (!request.id) return Fail(place, "a serial without an ID"), request;
      request.id->serial = Number();
      if (request.id->serial == 0) Fail(place, "a serial of 0");
    }
    if ((has & kHasTrace) != 0) request.trace = GetTrace();
    request.space = GetSpace();
    switch (Byte(LastAction())) {
      case 0:
        GetAction(request.action.emplace<Create>());
        break;
      case 1:
        GetAction(request.action.emplace<WorkerAcquire>());
        break;
      case 2:
        GetAction(request.action.emplace<WorkerRenew>());
        break;
      case 3:
        GetAction(request.action.emplace<WorkerRelease>());
        break;
      case 4:
        GetAction(request.action.emplace<Verdict>());
        break;
      case 5:
        request.action.emplace<Delete>();
        break;
      case 6:
        request.action = counter_machine::GetCall(*this);
        break;
      case 7:
        request.action = segment_machine::GetCall(*this);
        break;
      case 8:
        request.action = type_machine::GetCall(*this);
        break;
      case 9:
        request.action = strict_machine::GetCall(*this);
        if (ok() && version() < VersionOf(request)) Fail(place, "a call of a later version");
        break;
      case 10:
        request.action.emplace<Mend>().from = Number();
        break;
    }
    return request;
  }

 private:
  // Of what nodes of this version know.
  uint8_t LastAction() const {
    constexpr uint8_t kOfCluster = 5;
    constexpr uint8_t kOfStore = 8;
    constexpr uint8_t kOfStrict = 9;
    if (version() >= kMendCodecVersion) return std::variant_size_v<Action> - 1;
    if (version() >= kStrictCodecVersion) return kOfStrict;
    return version() >= kStoreCodecVersion ? kOfStore : kOfCluster;
  }

  TraceId GetTrace() {
    const size_t place = at();
    TraceId trace;
    trace.high = Number();
    trace.low = Number();
    if (ok() && trace.empty()) Fail(place, "a trace of only zeros");
    return trace;
  }
  void GetTerm(WorkerLeaseTerm& term) {
    term.ttl = GetDuration();
    term.max_skew = GetDuration();
  }
  void GetHolder(std::string& nonce, std::string& holder) {
    nonce = Text(worker::kMostNonceBytes, "a nonce");
    holder = Text(kMostHolderBytes, "a holder");
  }
  void GetAction(Create& one) {
    one.rest = GetDuration();
    one.caller_now = GetTime();
  }
  void GetAction(WorkerAcquire& one) {
    one.range.first = Number();
    one.range.last = Number();
    if (Flag()) one.preferred = Number();
    one.start = Number();
    GetTerm(one.term);
    GetHolder(one.nonce, one.holder);
    one.caller_now = GetTime();
  }
  void GetAction(WorkerRenew& one) {
    one.worker = Number();
    one.token = Number();
    one.ceiling = GetTime();
    GetTerm(one.term);
    GetHolder(one.nonce, one.holder);
    one.caller_now = GetTime();
  }
  void GetAction(WorkerRelease& one) {
    one.worker = Number();
    one.token = Number();
    one.last_used = GetTime();
  }
  void GetAction(Verdict& one) {
    one.worker = Number();
    one.token = Number();
    one.healthy = Flag();
    one.why = Text(kMostWhyBytes, "the why of a verdict");
  }
};

void ForgetClock(Create& one) { one.caller_now = absl::UnixEpoch(); }
void ForgetClock(WorkerAcquire& one) { one.caller_now = absl::UnixEpoch(); }
void ForgetClock(WorkerRenew& one) { one.caller_now = absl::UnixEpoch(); }
void ForgetClock(WorkerRelease&) {}
void ForgetClock(Verdict&) {}
void ForgetClock(Delete&) {}
void ForgetClock(Mend&) {}
void ForgetClock(counter_machine::Call&) {}
void ForgetClock(type_machine::Call&) {}
void ForgetClock(strict_machine::Call&) {}
using segment_machine::ForgetClock;

}  // namespace

bool MayBeTimeOfCommand(absl::Time time) { return time >= absl::UnixEpoch() && time <= kLastTime; }

uint64_t FingerprintOf(const Request& request) {
  Action action = request.action;
  std::visit([](auto& one) { ForgetClock(one); }, action);
  CommandWriter writer;
  writer.PutAsked(request.space, action);
  const std::string bytes = writer.Take();
  return XXH64(bytes.data(), bytes.size(), 0);
}

absl::StatusOr<std::string> Encode(const Command& command) {
  CommandWriter writer;
  const bool flagged = command.leaps || command.keeps_ends;
  writer.Byte(flagged ? kLeapCodecVersion : VersionOf(command.requests));
  if (!MayBeTimeOfCommand(command.time)) {
    writer.Fail(absl::StrCat("the time of a command is ", absl::FormatTime(command.time),
                             "; it must be between 1970 and 9998"));
  }
  writer.Put(command.time, "the time of a command");
  writer.Byte((command.expire ? kExpires : 0) | (command.leaps ? kLeaps : 0) |
              (command.keeps_ends ? kKeepsEnds : 0));
  if (command.requests.size() > kMostRequests) {
    writer.Fail(absl::StrCat("a command has ", command.requests.size(), " requests; the most are ",
                             kMostRequests));
  }
  writer.Size(command.requests.size());
  for (const Request& request : command.requests) writer.Put(request);
  return writer.Finish();
}

absl::StatusOr<std::string> Encode(const std::vector<Answer>& answers) {
  Writer writer;
  writer.Byte(VersionOf(answers));
  if (answers.size() > kMostRequests) {
    writer.Fail(absl::StrCat(answers.size(), " answers; the most are ", kMostRequests));
  }
  writer.Size(answers.size());
  for (const Answer& answer : answers) writer.Put(answer);
  return writer.Finish();
}

absl::StatusOr<Command> DecodeCommand(std::string_view bytes) {
  CommandReader reader(bytes);
  Command command;
  const size_t place = reader.at();
  command.time = reader.GetTime();
  if (reader.ok() && !MayBeTimeOfCommand(command.time)) {
    reader.Fail(place, "a time of a command that is not between 1970 and 9998");
  }
  const uint8_t flags =
      reader.Byte(reader.version() < kLeapCodecVersion ? kExpires : kExpires | kLeaps | kKeepsEnds);
  command.expire = (flags & kExpires) != 0;
  command.leaps = (flags & kLeaps) != 0;
  command.keeps_ends = (flags & kKeepsEnds) != 0;
  const size_t count = reader.Size(kMostRequests, "requests");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    command.requests.push_back(reader.GetRequest());
  }
  if (!command.leaps && !command.keeps_ends) CheckVersion(reader, command.requests);
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  return command;
}

absl::StatusOr<std::vector<Answer>> DecodeAnswers(std::string_view bytes) {
  Reader reader(bytes, "bytes of answers");
  std::vector<Answer> answers;
  const size_t count = reader.Size(kMostRequests, "answers");
  for (size_t i = 0; i < count && reader.ok(); ++i) answers.push_back(reader.GetAnswer());
  CheckVersion(reader, answers);
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  return answers;
}

}  // namespace locus::cluster_machine
