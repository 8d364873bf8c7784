// SPDX-License-Identifier: Apache-2.0
#include "src/engine/zookeeper/session.h"

#define THREADED 1
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/base/os/signals_blocked.h"

namespace locus::zookeeper {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

Znode ZnodeOf(const char* value, int size, const Stat& stat) {
  Znode znode;
  if (value != nullptr && size > 0) znode.value.assign(value, static_cast<size_t>(size));
  znode.version = stat.version;
  znode.zxid = stat.mzxid;
  znode.mtime = absl::FromUnixMillis(stat.mtime);
  znode.owner = stat.ephemeralOwner;
  return znode;
}

}  // namespace

// A handle of the client library, and the state of its session as its threads report it.
class Session::Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (zh_ != nullptr) zookeeper_close(zh_);
  }

  // False: errno says why.
  bool Begin(const std::string& hosts, absl::Duration session_timeout,
             std::string_view credentials) {
    session_timeout_ = absl::ToChronoNanoseconds(session_timeout);
    const internal::SignalsBlocked blocked;  // for the threads of the client
    zh_ = zookeeper_init2(hosts.c_str(), &OnEvent,
                          static_cast<int>(absl::ToInt64Milliseconds(session_timeout)), nullptr,
                          this, ZOO_NO_LOG_CLIENTENV, [](const char*) {});
    if (zh_ == nullptr) return false;
    return credentials.empty() ||
           zoo_add_auth(zh_, "digest", credentials.data(), static_cast<int>(credentials.size()),
                        nullptr, nullptr) == ZOK;
  }

  zhandle_t* get() const { return zh_; }
  int64_t id() {
    MutexLock lock(mutex_);
    return state_ == ZOO_CONNECTED_STATE ? id_ : 0;
  }
  // No request of this handle will ever be answered again; or it was not connected for so long that
  // the ensemble has ended its session. The latter is not reported to a client that no server
  // accepts: one whose ensemble went back to an earlier transaction.
  bool ended() {
    MutexLock lock(mutex_);
    return Ended() ||
           (state_ != ZOO_CONNECTED_STATE && std::chrono::steady_clock::now() >= HopelessAt());
  }
  bool refused() {
    MutexLock lock(mutex_);
    return state_ == ZOO_AUTH_FAILED_STATE;
  }
  // Whether it is connected, by `until` at the latest.
  bool WaitUntilConnected(TimePoint until) {
    MutexLock lock(mutex_);
    const TimePoint given_up = std::min(until, HopelessAt());
    while (state_ != ZOO_CONNECTED_STATE && !Ended()) {
      if (std::chrono::steady_clock::now() >= given_up) return false;
      changed_.WaitUntil(mutex_, given_up);
    }
    return !Ended();
  }

 private:
  bool Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_ == ZOO_EXPIRED_SESSION_STATE || state_ == ZOO_AUTH_FAILED_STATE;
  }
  TimePoint HopelessAt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return connected_until_ + 2 * session_timeout_;
  }
  static void OnEvent(zhandle_t* zh, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto& handle = *static_cast<Handle*>(context);
    MutexLock lock(handle.mutex_);
    if (handle.state_ == ZOO_CONNECTED_STATE) {
      handle.connected_until_ = std::chrono::steady_clock::now();
    }
    handle.state_ = state;
    if (state == ZOO_CONNECTED_STATE) handle.id_ = zoo_client_id(zh)->client_id;
    handle.changed_.NotifyAll();
  }

  zhandle_t* zh_ = nullptr;
  std::chrono::nanoseconds session_timeout_{};
  Mutex mutex_;
  CondVar changed_;
  int state_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: connecting for the first time
  int64_t id_ ABSL_GUARDED_BY(mutex_) = 0;
  // When it was connected last, or begun.
  TimePoint connected_until_ ABSL_GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
};

// Requests that wait for their answers together. The caller may give up; the answers, if they come
// after all, find the object alive.
class Session::Call : public std::enable_shared_from_this<Call> {
 public:
  explicit Call(size_t requests = 1) : left_(requests) {
    answers_.codes.resize(requests);
    answers_.znodes.resize(requests);
  }

  struct Answers {
    std::vector<int> codes;
    std::vector<Znode> znodes;
    std::vector<std::string> names;  // of the one request that asks for names
  };
  // The context that the library returns with the answer. Freed by the answer, or by Unsent.
  struct Ticket {
    std::shared_ptr<Call> call;
    size_t request;
  };
  const Ticket* NewTicket(size_t request = 0) { return new Ticket{shared_from_this(), request}; }
  static void Unsent(const Ticket* ticket) { delete ticket; }

  static void OnData(int code, const char* value, int size, const Stat* stat, const void* data) {
    Znode znode;
    if (code == ZOK && stat != nullptr) znode = ZnodeOf(value, size, *stat);
    Finish(code, data, [&](Answers& answers, size_t i) { answers.znodes[i] = std::move(znode); });
  }
  static void OnStat(int code, const Stat* stat, const void* data) {
    OnData(code, nullptr, 0, stat, data);
  }
  static void OnStrings(int code, const String_vector* strings, const void* data) {
    std::vector<std::string> names;
    for (int32_t i = 0; code == ZOK && strings != nullptr && i < strings->count; ++i) {
      names.emplace_back(strings->data[i]);
    }
    Finish(code, data, [&](Answers& answers, size_t) { answers.names = std::move(names); });
  }
  static void OnString(int code, const char*, const void* data) { OnVoid(code, data); }
  static void OnVoid(int code, const void* data) {
    Finish(code, data, [](Answers&, size_t) {});
  }

  // False: not all answers came.
  bool Wait(TimePoint deadline) {
    MutexLock lock(mutex_);
    while (left_ > 0) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      answered_.WaitUntil(mutex_, deadline);
    }
    return true;
  }
  // Of request i, once Wait was true.
  int CodeOf(size_t i) {
    MutexLock lock(mutex_);
    return answers_.codes[i];
  }
  Znode TakeZnode(size_t i) {
    MutexLock lock(mutex_);
    return std::move(answers_.znodes[i]);
  }
  std::vector<std::string> TakeNames() {
    MutexLock lock(mutex_);
    return std::move(answers_.names);
  }

  // Of a transaction: what the library reads and writes until the answer.
  std::vector<Change> changes;
  std::vector<zoo_op_t> ops;
  std::vector<zoo_op_result_t> results;
  std::vector<Stat> stats;

 private:
  template <typename Store>
  static void Finish(int code, const void* data, const Store& store) {
    const std::unique_ptr<const Ticket> ticket(static_cast<const Ticket*>(data));
    Call& call = *ticket->call;
    MutexLock lock(call.mutex_);
    call.answers_.codes[ticket->request] = code;
    store(call.answers_, ticket->request);
    --call.left_;
    call.answered_.NotifyAll();
  }

  Mutex mutex_;
  CondVar answered_;
  Answers answers_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

Session::Session(const ZookeeperOptions& options, internal::SecretBytes credentials)
    : hosts_(absl::StrJoin(options.hosts, ",")),
      place_("zookeeper " + hosts_),
      credentials_(std::move(credentials)),
      session_timeout_(options.session_timeout),
      connect_timeout_(absl::ToChronoNanoseconds(options.connect_timeout)),
      timeout_(absl::ToChronoNanoseconds(options.timeout)) {}

Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const ZookeeperOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  internal::SecretBytes credentials;
  if (!options.user.empty()) {
    const size_t user = options.user.size();
    LOCUS_ASSIGN_OR_RETURN(credentials,
                           internal::SecretBytes::Allocate(user + 1 + options.password.size()));
    std::copy(options.user.begin(), options.user.end(), credentials.data());
    credentials.data()[user] = ':';
    internal::CopySecret(options.password.data(), credentials.data() + user + 1,
                         options.password.size());
  }
  return std::unique_ptr<Session>(new Session(options, std::move(credentials)));
}

absl::Status Session::RefuseFork() const {
  if (!forked()) return absl::OkStatus();
  return internal::ForkGuard::Refusal(absl::StrCat("the session with ", place_));
}

absl::StatusOr<std::shared_ptr<Session::Handle>> Session::Begin() {
  std::shared_ptr<Handle> ended;  // closed without the lock: that waits for the library's threads
  MutexLock lock(mutex_);
  if (handle_ != nullptr && !handle_->ended()) return handle_;
  ended = std::exchange(handle_, nullptr);
  auto handle = std::make_shared<Handle>();
  if (!handle->Begin(hosts_, session_timeout_, credentials_.view())) {
    return absl::UnavailableError(
        absl::StrCat(place_, ": no session could be begun; does the name of a host not resolve?"));
  }
  ++sessions_;
  handle_ = handle;
  return handle;
}

absl::StatusOr<std::shared_ptr<Session::Handle>> Session::Connected(TimePoint deadline) {
  const TimePoint until = std::min(deadline, std::chrono::steady_clock::now() + connect_timeout_);
  for (int i = 0; i < 2; ++i) {  // a session that expired is replaced, once
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Begin());
    if (handle->WaitUntilConnected(until)) return handle;
    if (handle->refused()) return StatusOf(ZAUTHFAILED);
    if (!handle->ended()) break;
  }
  ++failures_;
  return absl::UnavailableError(absl::StrCat(place_, ": the session is not connected"));
}

absl::Status Session::StatusOf(int code) const {
  const std::string message = absl::StrCat(place_, ": ", zerror(code));
  switch (code) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZCLOSING:
    case ZTHROTTLEDOP:
    case ZNOTREADONLY:
      return absl::UnavailableError(message);
    case ZNOAUTH:
    case ZAUTHFAILED:
      return absl::FailedPreconditionError(
          message + "; the znodes belong to another user, or the password is wrong");
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::StatusOr<int> Session::Ask(const std::shared_ptr<Call>& call, int started, TimePoint deadline,
                                 std::initializer_list<int> expected) {
  ++requests_;
  int code = started;
  if (started == ZOK) {
    if (!call->Wait(deadline)) {
      ++failures_;
      return absl::UnavailableError(absl::StrCat(place_, ": no answer in time"));
    }
    code = call->CodeOf(0);
  }
  if (std::find(expected.begin(), expected.end(), code) != expected.end()) return code;
  ++failures_;
  return StatusOf(code);
}

absl::StatusOr<std::vector<std::optional<Znode>>> Session::GetEach(
    std::span<const std::string> paths, TimePoint deadline) {
  std::vector<std::optional<Znode>> found(paths.size());
  if (paths.empty()) return found;
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Connected(deadline));
  auto call = std::make_shared<Call>(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const Call::Ticket* ticket = call->NewTicket(i);
    const int started = zoo_aget(handle->get(), paths[i].c_str(), 0, &Call::OnData, ticket);
    if (started != ZOK) Call::OnData(started, nullptr, 0, nullptr, ticket);
  }
  requests_ += paths.size() - 1;
  LOCUS_RETURN_IF_ERROR(Ask(call, ZOK, deadline, {ZOK, ZNONODE}).status());
  for (size_t i = 0; i < paths.size(); ++i) {
    const int code = call->CodeOf(i);
    if (code == ZOK) found[i] = call->TakeZnode(i);
    if (code != ZOK && code != ZNONODE) return StatusOf(code);
  }
  return found;
}

absl::StatusOr<std::optional<Znode>> Session::Get(const std::string& path, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::optional<Znode>> found, GetEach({&path, 1}, deadline));
  return std::move(found[0]);
}

absl::StatusOr<std::optional<std::vector<std::string>>> Session::Children(const std::string& path,
                                                                          TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Connected(deadline));
  auto call = std::make_shared<Call>();
  const Call::Ticket* ticket = call->NewTicket();
  const int started = zoo_aget_children(handle->get(), path.c_str(), 0, &Call::OnStrings, ticket);
  if (started != ZOK) Call::Unsent(ticket);
  LOCUS_ASSIGN_OR_RETURN(int code, Ask(call, started, deadline, {ZOK, ZNONODE}));
  if (code == ZNONODE) return std::nullopt;
  std::vector<std::string> names = call->TakeNames();
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::optional<Znode>> Session::Touch(const std::string& path, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Connected(deadline));
  auto call = std::make_shared<Call>();
  const Call::Ticket* ticket = call->NewTicket();
  const int started = zoo_aset(handle->get(), path.c_str(), "", 0, -1, &Call::OnStat, ticket);
  if (started != ZOK) Call::Unsent(ticket);
  LOCUS_ASSIGN_OR_RETURN(int code, Ask(call, started, deadline, {ZOK, ZNONODE}));
  if (code == ZNONODE) return std::nullopt;
  return call->TakeZnode(0);
}

absl::Status Session::Make(const std::string& path, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Connected(deadline));
  const ACL_vector* acl = credentials_.size() > 0 ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  auto call = std::make_shared<Call>();
  const Call::Ticket* ticket = call->NewTicket();
  const int started =
      zoo_acreate(handle->get(), path.c_str(), "", 0, acl, ZOO_PERSISTENT, &Call::OnString, ticket);
  if (started != ZOK) Call::Unsent(ticket);
  return Ask(call, started, deadline, {ZOK, ZNODEEXISTS}).status();
}

absl::StatusOr<bool> Session::Commit(std::span<const Change> changes, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Connected(deadline));
  const ACL_vector* acl = credentials_.size() > 0 ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  auto call = std::make_shared<Call>();
  call->changes.assign(changes.begin(), changes.end());
  const size_t count = changes.size();
  call->ops.resize(count);
  call->results.resize(count);
  call->stats.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const Change& change = call->changes[i];
    const auto size = static_cast<int>(change.value.size());
    zoo_op_t* op = &call->ops[i];
    switch (change.kind) {
      case Change::Kind::kCreate:
      case Change::Kind::kCreateEphemeral:
        zoo_create_op_init(op, change.path.c_str(), change.value.data(), size, acl,
                           change.kind == Change::Kind::kCreate ? ZOO_PERSISTENT : ZOO_EPHEMERAL,
                           nullptr, 0);
        break;
      case Change::Kind::kSet:
        zoo_set_op_init(op, change.path.c_str(), change.value.data(), size, change.version,
                        &call->stats[i]);
        break;
      case Change::Kind::kDelete:
        zoo_delete_op_init(op, change.path.c_str(), change.version);
        break;
      case Change::Kind::kCheck:
        zoo_check_op_init(op, change.path.c_str(), change.version);
        break;
    }
  }
  const Call::Ticket* ticket = call->NewTicket();
  const int started = zoo_amulti(handle->get(), static_cast<int>(count), call->ops.data(),
                                 call->results.data(), &Call::OnVoid, ticket);
  if (started != ZOK) Call::Unsent(ticket);
  LOCUS_ASSIGN_OR_RETURN(int code,
                         Ask(call, started, deadline, {ZOK, ZBADVERSION, ZNONODE, ZNODEEXISTS}));
  return code == ZOK;
}

int64_t Session::id() const {
  std::shared_ptr<Handle> handle;
  {
    MutexLock lock(mutex_);
    handle = handle_;
  }
  return handle == nullptr ? 0 : handle->id();
}

ZookeeperStats Session::Stats() const {
  return {requests_.load(), failures_.load(), conflicts_.load(), sessions_.load()};
}

}  // namespace locus::zookeeper
