// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/node.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/run/mutex.h"
#include "src/raft/node/inbox.h"

namespace locus::raft {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

// Any process that reaches the port can send messages that are refused, so they are not reported
// one by one.
constexpr auto kTellRefused = std::chrono::minutes(1);

TimePoint Now() { return std::chrono::steady_clock::now(); }

}  // namespace

class Node::Rep : public Storage {
 public:
  Rep(std::unique_ptr<LogStore> store, Transport& transport, NodeOptions options)
      : store_(std::move(store)), transport_(transport), options_(std::move(options)) {}

  absl::Status Start(StateMachine& machine) {
    LOCUS_ASSIGN_OR_RETURN(LogStore::Stored stored, store_->Load());
    const auto seed = internal::RandomWord();
    if (!seed) return absl::UnavailableError("no randomness for the timers of a node");
    LOCUS_ASSIGN_OR_RETURN(
        shell_, Shell::Start(std::move(stored.remembered), std::move(stored.state), machine, *this,
                             transport_, options_.shell, *seed, Now()));
    try {
      loop_ = std::thread([this] { Loop(); });
      writer_ = std::thread([this] { WriteAll(); });
    } catch (const std::system_error& error) {
      return absl::UnavailableError(std::string("a thread of a node: ") + error.what());
    }
    return transport_.Start([this](NodeId from, Message message) {
      MutexLock lock(mutex_);
      if (inbox_.Put(from, std::move(message))) wake_loop_.NotifyAll();
    });
  }

  void End() {
    transport_.Stop();
    {
      MutexLock lock(mutex_);
      ending_ = true;
      wake_loop_.NotifyAll();
      wake_writer_.NotifyAll();
    }
    if (writer_.joinable()) writer_.join();
    if (loop_.joinable()) loop_.join();
    if (folder_.joinable()) folder_.join();  // seconds, at most
  }

  // An event for the node's thread.
  using Event = std::function<void(Shell&, TimePoint)>;
  void Post(Event event) {
    {
      MutexLock lock(mutex_);
      if (!ended_) {
        events_.push_back(std::move(event));
        wake_loop_.NotifyAll();
        return;
      }
    }
    event(*shell_, Now());  // it has stopped: whatever is asked only reads
  }
  bool OnItsThread() const { return std::this_thread::get_id() == loop_id_; }
  // By the node's thread, or once it has ended.
  NodeStatus Status() {
    NodeStatus status = shell_->Status(Now());
    MutexLock lock(mutex_);
    status.dropped = inbox_.dropped();
    return status;
  }

  // --- Storage; called by the node's thread.

  void Store(Write write) override { Enqueue(std::move(write)); }
  void StoreSnapshot(SnapshotMark mark, std::shared_ptr<const std::string> state) override {
    Enqueue(Snapshot{std::move(mark), std::move(state)});
  }
  void Fold(std::function<FoldedState()> fold) override {
    if (folder_.joinable()) folder_.join();  // it has ended
    try {
      folder_ = std::thread([this, fold = std::move(fold)] { NoteFolded(fold()); });
    } catch (const std::system_error& error) {
      NoteFolded(absl::UnavailableError(std::string("a thread of a node: ") + error.what()));
    }
  }

 private:
  void NoteFolded(FoldedState state) {
    Post([state = std::move(state)](Shell& shell, TimePoint) mutable {
      shell.Folded(std::move(state));
    });
  }

  struct Snapshot {
    SnapshotMark mark;
    std::shared_ptr<const std::string> state;
  };
  using Task = std::variant<Write, Snapshot>;

  void Enqueue(Task task) {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_writer_.NotifyAll();
  }

  void Loop() {
    loop_id_ = std::this_thread::get_id();
    TimePoint due = shell_->Tick(Now());
    while (true) {
      std::vector<Event> events;
      std::deque<Inbox::Parcel> messages;
      uint64_t written = 0;
      absl::Status failure;
      {
        MutexLock lock(mutex_);
        while (!ending_ && events_.empty() && inbox_.empty() && written_ == 0 && failure_.ok() &&
               Now() < due) {
          if (due == TimePoint::max()) {
            wake_loop_.Wait(mutex_);
          } else {
            wake_loop_.WaitUntil(mutex_, due);
          }
        }
        if (ending_) break;
        events.swap(events_);
        messages = inbox_.TakeAll();
        written = std::exchange(written_, 0);
        failure = std::exchange(failure_, absl::OkStatus());
      }
      if (!failure.ok()) shell_->Stop(std::move(failure));
      if (written != 0) shell_->Written(Now(), written);
      for (const Inbox::Parcel& parcel : messages) {
        shell_->Receive(Now(), parcel.from, parcel.message);
      }
      for (Event& event : events) event(*shell_, Now());
      due = shell_->Tick(Now());
      NoteChange();
    }
    shell_->Stop(absl::UnavailableError("this node ends"));
    while (true) {  // callbacks may ask for more
      std::vector<Event> rest;
      {
        MutexLock lock(mutex_);
        rest.swap(events_);
        ended_ = rest.empty();
        if (ended_) return;
      }
      for (Event& event : rest) event(*shell_, Now());
    }
  }

  static ptrdiff_t Forgotten(const Core& core) {
    return std::count_if(core.members().begin(), core.members().end(),
                         [&](const Member& one) { return core.HasForgotten(one.id); });
  }

  void NoteChange() {
    if (!options_.on_change) return;
    const Core& core = shell_->core();
    Seen seen{core.role(),         core.term(),       core.leader(),   core.removed(),
              core.LeadsForSure(), shell_->stopped(), Forgotten(core), seen_.refused};
    if (core.refused() != seen_.refused && Now() >= tell_refused_) {
      seen.refused = core.refused();
      tell_refused_ = Now() + kTellRefused;
    }
    if (seen == seen_) return;
    seen_ = seen;
    options_.on_change(Status());
  }

  void WriteAll() {
    std::vector<Write> writes;
    while (true) {
      writes.clear();
      Snapshot snapshot;
      {
        MutexLock lock(mutex_);
        while (!ending_ && tasks_.empty()) wake_writer_.Wait(mutex_);
        if (ending_) return;
        while (!tasks_.empty() && std::holds_alternative<Write>(tasks_.front())) {
          writes.push_back(std::get<Write>(std::move(tasks_.front())));
          tasks_.pop_front();
        }
        if (writes.empty()) {
          snapshot = std::get<Snapshot>(std::move(tasks_.front()));
          tasks_.pop_front();
        }
      }
      absl::Status status =
          writes.empty() ? store_->Compact(snapshot.mark, *snapshot.state) : store_->Apply(writes);
      {
        MutexLock lock(mutex_);
        if (status.ok() && !writes.empty()) written_ = writes.back().number;
        if (!status.ok()) failure_ = status;
        wake_loop_.NotifyAll();
      }
      if (status.ok()) status = store_->Tidy();
      if (status.ok()) continue;
      MutexLock lock(mutex_);
      failure_ = status;
      wake_loop_.NotifyAll();
      return;
    }
  }

  struct Seen {
    Role role = Role::kFollower;
    Term term = 0;
    NodeId leader = 0;
    bool removed = false;
    bool leads_for_sure = false;
    bool stopped = false;
    ptrdiff_t forgotten = 0;  // members
    uint64_t refused = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  const std::unique_ptr<LogStore> store_;  // of the writer, once it runs
  Transport& transport_;
  const NodeOptions options_;
  std::unique_ptr<Shell> shell_;  // of the loop, once it runs
  Seen seen_;
  TimePoint tell_refused_;

  Mutex mutex_;
  CondVar wake_loop_, wake_writer_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // the loop takes no more events
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nothing since the loop asked
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::thread loop_, writer_;
  std::thread folder_;  // of the loop
  std::atomic<std::thread::id> loop_id_;
};

Node::Node(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Node::~Node() { rep_->End(); }

absl::StatusOr<std::unique_ptr<Node>> Node::Start(std::unique_ptr<LogStore> store,
                                                  StateMachine& machine, Transport& transport,
                                                  NodeOptions options) {
  std::unique_ptr<Node> node(
      new Node(std::make_unique<Rep>(std::move(store), transport, std::move(options))));
  LOCUS_RETURN_IF_ERROR(node->rep_->Start(machine));
  return node;
}

void Node::Propose(std::string command, Shell::Answer answer) {
  rep_->Post(
      [command = std::move(command), answer = std::move(answer)](Shell& shell, TimePoint) mutable {
        shell.Propose(std::move(command), std::move(answer));
      });
}

void Node::Read(Shell::Done done) {
  rep_->Post(
      [done = std::move(done)](Shell& shell, TimePoint) mutable { shell.Read(std::move(done)); });
}

void Node::ChangeMembers(MemberChange change, Shell::Done done) {
  rep_->Post(
      [change = std::move(change), done = std::move(done)](Shell& shell, TimePoint now) mutable {
        shell.ChangeMembers(now, change, std::move(done));
      });
}

void Node::Transfer(NodeId to, Shell::Done done) {
  rep_->Post([to, done = std::move(done)](Shell& shell, TimePoint now) mutable {
    shell.Transfer(now, to, std::move(done));
  });
}

void Node::SendNote(NodeId to, std::string data) {
  rep_->Post([to, data = std::move(data)](Shell& shell, TimePoint) mutable {
    shell.SendNote(to, std::move(data));
  });
}

NodeStatus Node::Status() {
  if (rep_->OnItsThread()) return rep_->Status();
  std::promise<NodeStatus> promise;
  rep_->Post([&](Shell&, TimePoint) { promise.set_value(rep_->Status()); });
  return promise.get_future().get();
}

}  // namespace locus::raft
