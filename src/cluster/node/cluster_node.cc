// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/cluster_node.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/node/arrivals.h"
#include "src/cluster/node/batch.h"
#include "src/cluster/node/cluster_time.h"
#include "src/cluster/node/views.h"
#include "src/raft/node/state_machine.h"

namespace locus::cluster_node {

using cluster_machine::Answer;
using cluster_machine::Command;
using cluster_machine::Machine;
using cluster_machine::Request;
using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {
// Requests that wait for a command.
constexpr size_t kMostWaiting = 65'536;
// Renewals are not gathered when so many requests wait, or came at about the same time: these meet
// anyway.
constexpr size_t kBusy = 16;
// Between commands of the leader's own.
constexpr absl::Duration kLeastPause = absl::Milliseconds(50);
}  // namespace
class ClusterNode::Rep : public raft::StateMachine {
 public:
  explicit Rep(const ClusterNodeOptions& options) : options_(options) {}

  absl::Status Start(std::unique_ptr<raft::LogStore> store, raft::Transport& transport) {
    raft::NodeOptions of_node;
    of_node.shell = options_.shell;
    of_node.on_change = [this](const raft::NodeStatus& status) { OnChange(status); };
    LOCUS_ASSIGN_OR_RETURN(owned_node_,
                           raft::Node::Start(std::move(store), *this, transport, of_node));
    node_ = owned_node_.get();
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      leads_ = ready_ = false;
      wake_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
    // A callback may still ask the node for its status, so owned_node_ remains set while callbacks
    // run: here for what waits in this class, and in the node's destructor for what waits there.
    FailWaiting(absl::UnavailableError("this node is ending"));
    owned_node_.reset();
  }

  // --- raft::StateMachine, by the node's thread.
  absl::Status Check(std::string_view bytes) const override {
    return cluster_machine::DecodeCommand(bytes).status();
  }

  absl::StatusOr<std::string> Apply(raft::Index index, raft::Term term,
                                    std::string_view bytes) override {
    // A newer version's, for example: the node ends here, and again at each start until it
    // understands its log.
    LOCUS_ASSIGN_OR_RETURN(const Command command, cluster_machine::DecodeCommand(bytes));
    Machine::Applied applied;
    {
      MutexLock lock(machine_mutex_);
      applied = machine_.Apply(command);
    }
    TellMembers();
    bool leads;
    {
      MutexLock lock(mutex_);
      leads = leads_;
      NoteMachine(term);
    }
    if (options_.on_fact) {
      for (size_t i = 0; i < applied.facts.size(); ++i) {
        options_.on_fact(index, i, applied.facts[i], leads);
      }
    }
    absl::StatusOr<std::string> answers = cluster_machine::Encode(applied.answers);
    LOCUS_CHECK(answers.ok());  // the machine keeps within the limits of answers
    return answers;
  }

  void NoteMembers(raft::Index index, const raft::Members& members) override {
    {
      MutexLock lock(mutex_);
      time_.SetVoters(members);
    }
    early_members_.emplace_back(index, members);
    if (machine_.now() > absl::UnixEpoch()) TellMembers();
  }

  absl::StatusOr<std::string> Fold(std::string_view state,
                                   const std::vector<std::string>& commands) const override {
    return Machine::Fold(state, commands);
  }

  absl::Status Restore(raft::Term term, std::string_view state) override {
    LOCUS_ASSIGN_OR_RETURN(Machine restored, Machine::Restore(state));
    {
      MutexLock lock(machine_mutex_);
      machine_ = std::move(restored);
    }
    MutexLock lock(mutex_);
    NoteMachine(term);
    return absl::OkStatus();
  }

  std::string Hear(raft::NodeId from, std::string_view note) override {
    MutexLock lock(mutex_);
    wake_.NotifyAll();  // a leader may have waited for it
    return time_.Hear(from, note, term_, leads_ && ready_);
  }

  // --- Callers.
  void Submit(Request request, Answered answered) {
    absl::Status refused;
    {
      MutexLock lock(mutex_);
      if (!leads_ || stopping_) {
        refused = absl::UnavailableError("this node does not lead");
      } else if (waiting_.size() >= kMostWaiting) {
        refused = absl::ResourceExhaustedError(
            absl::StrCat("too many requests wait for the cluster; at most ", kMostWaiting));
      } else {
        arrivals_.Note(std::chrono::steady_clock::now());
        const bool may_wait = std::holds_alternative<WorkerRenew>(request.action);
        // No caller waits for a renewal, so it may wait for other requests.
        if (!may_wait) hurry_ = true;
        waiting_.push_back({std::move(request), std::move(answered)});
        if (Gathers()) {
          if (waiting_.size() == 1) wake_.NotifyAll();  // to propose it when its time has come
          return;
        }
      }
    }
    if (!refused.ok()) return answered({refused, {}, {}});
    Propose();
  }

  // By the node's thread.
  void Read(ReadMachine of) {
    node_->Read([this, of = std::move(of)](const absl::Status& status) {
      of(status, machine_, status.ok() ? Now() : absl::Time());
    });
  }

  TimeView ViewOfTime(const Machine& machine, absl::Time now) {
    MutexLock lock(mutex_);
    const auto agreed = leads_ && ready_ ? time_.Agreed() : std::nullopt;
    return {now, agreed, agreed ? machine.EndingBetween(now, *agreed) : 0};
  }

  // By a command, so that all nodes have it once this is answered.
  void AdvanceTime(absl::Duration most, Showed<TimeView> answered) {
    node_->Read([this, most, answered = std::move(answered)](const absl::Status& status) mutable {
      const TimeView view = status.ok() ? ViewOfTime(machine_, Now()) : TimeView();
      const absl::Status may = status.ok() ? CheckAdvance(view, most) : status;
      if (!may.ok()) return answered(may);
      if (!IsBehind(view)) return answered(view);
      Command command;
      {
        MutexLock lock(mutex_);
        time_.Advance();
        command = CommandOfNow();
        ++stats_.commands;
      }
      command.expire = true;
      node_->Propose(
          cluster_machine::Encode(command).value(),
          [view, answered = std::move(answered)](const absl::StatusOr<std::string>& said) {
            if (!said.ok()) return answered(said.status());
            answered(view);
          });
    });
  }

  // First proposes a command with the present time: the next leader may have started so late that
  // it has no other source of it.
  void Transfer(raft::NodeId to, raft::Shell::Done done) {
    absl::StatusOr<std::string> bytes;
    {
      MutexLock lock(mutex_);
      if (leads_ && ready_) {
        bytes = cluster_machine::Encode(CommandOfNow());
        ++stats_.commands;
      }
    }
    if (!bytes.ok()) return node_->Transfer(to, std::move(done));
    node_->Propose(*std::move(bytes),
                   [this, to, done = std::move(done)](const absl::StatusOr<std::string>&) mutable {
                     node_->Transfer(to, std::move(done));
                   });
  }

  raft::Node& node() { return *node_; }
  Stats stats() const {
    MutexLock lock(mutex_);
    Stats stats = stats_;
    stats.clock_off = time_.Off(leads_);
    return stats;
  }

 private:
  void TellMembers() {
    for (const auto& [index, members] : std::exchange(early_members_, {})) {
      if (options_.on_members) options_.on_members(index, machine_.now(), members);
    }
  }

  // Of the node's thread. `term`: of the machine's last command.
  void NoteMachine(raft::Term term) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    time_.Applied(term, machine_.now());
    next_expiry_ = machine_.NextExpiry();
    leap_matters_ = machine_.counters().forgets() || !machine_.strict_sets().empty();
    Count(machine_, stats_);
    if (next_expiry_ < watched_expiry_) wake_.NotifyAll();
  }

  // Whether what waits may wait for more.
  bool Gathers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !hurry_ && std::max(waiting_.size(), arrivals_.most()) < kBusy &&
           GatheredAt() > std::chrono::steady_clock::now();
  }
  std::chrono::steady_clock::time_point GatheredAt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return last_command_ + absl::ToChronoNanoseconds(options_.gather);
  }

  void OnChange(const raft::NodeStatus& status) {
    bool lost = false;
    {
      MutexLock lock(mutex_);
      time_.Note(status);
      const bool leads = status.role == raft::Role::kLeader && status.failure.ok() && !stopping_;
      if (leads && (!leads_ || term_ != status.term)) {
        ready_ = false;
        ask_ = true;  // its thread asks: this callback must not call the node
        time_.Lead(status.term);
      }
      lost = leads_ && !leads;
      leads_ = leads;
      if (lost) ready_ = false;
      term_ = status.term;
      wake_.NotifyAll();
    }
    if (lost) FailWaiting(absl::UnavailableError("this node leads no more"));
    if (options_.on_change) options_.on_change(status);
  }

  void FailWaiting(const absl::Status& why) {
    std::deque<Waiting> failed;
    {
      MutexLock lock(mutex_);
      failed.swap(waiting_);
      hurry_ = false;
    }
    for (Waiting& each : failed) each.answered({why, {}, {}});
  }

  // Puts waiting requests into commands and proposes them, while the pipeline has room.
  void Propose(bool even_if_empty = false) {
    while (true) {
      Batch batch;
      absl::StatusOr<std::string> bytes;
      {
        MutexLock lock(mutex_);
        if (!leads_ || !ready_ || deletes_ || under_way_ >= options_.pipeline) return;
        if (!even_if_empty && (waiting_.empty() || Gathers())) return;
        even_if_empty = false;
        bytes = cluster_machine::Encode(NextCommand(batch));
        ++under_way_;
        ++stats_.commands;
        stats_.requests += batch.answered.size();
      }
      for (auto& [answered, answer] : batch.known) answered(std::move(answer));
      if (!bytes.ok()) {
        Answer(std::move(batch.answered), bytes.status());
        continue;
      }
      node_->Propose(*std::move(bytes), [this, answered = std::move(batch.answered)](
                                            absl::StatusOr<std::string> said) mutable {
        Answer(std::move(answered), std::move(said));
        Propose();
      });
    }
  }

  // By the node's thread, while this node leads: the time that a command would have now.
  absl::Time Now() {
    MutexLock lock(mutex_);
    return leads_ && ready_ ? time_.OfCommand() : machine_.now();
  }

  // A leap is marked only if it matters, to counters with a ttl or strict sets: nodes of earlier
  // versions cannot read a command with the mark.
  Command CommandOfNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Command command;
    command.time = time_.OfCommand();
    command.leaps = time_.Leaps() && (leap_matters_ || leap_matters_under_way_);
    return command;
  }

  Command NextCommand(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Command command = CommandOfNow();
    command.expire = next_expiry_ < command.time;
    {
      MutexLock lock(machine_mutex_);
      batch = NextBatch(waiting_, machine_);
      command.keeps_ends = ttls_.Add(batch.requests, machine_, command.time);
    }
    command.requests = std::move(batch.requests);
    for (const Request& request : command.requests) {
      const auto* call = std::get_if<counter_machine::Call>(&request.action);
      leap_matters_under_way_ |= (call != nullptr && call->ttl > absl::ZeroDuration()) ||
                                 std::holds_alternative<strict_machine::Call>(request.action);
    }
    deletes_ = batch.deletes;
    if (waiting_.empty()) hurry_ = false;
    last_proposal_ = options_.clock->SinceBoot();
    last_command_ = std::chrono::steady_clock::now();
    return command;
  }

  void Answer(std::vector<Answered> answered, absl::StatusOr<std::string> said) {
    {
      MutexLock lock(mutex_);
      if (--under_way_ == 0) {
        deletes_ = leap_matters_under_way_ = false;
        ttls_.Clear();
      }
    }
    auto answers = said.ok() ? cluster_machine::DecodeAnswers(*said)
                             : absl::StatusOr<std::vector<cluster_machine::Answer>>(said.status());
    if (answers.ok() && answers->size() != answered.size()) {
      answers = absl::InternalError(absl::StrCat("a command of ", answered.size(), " requests has ",
                                                 answers->size(), " answers"));
    }
    for (size_t i = 0; i < answered.size(); ++i) {
      answered[i](answers.ok() ? std::move((*answers)[i])
                               : cluster_machine::Answer{answers.status(), {}, {}});
    }
  }

  // A leader's own work: commands that no client asked for.
  void Run() {
    while (true) {
      bool ask = false, propose = false, transfer = false;
      std::string ask_clocks;
      {
        MutexLock lock(mutex_);
        const auto now = [] { return std::chrono::steady_clock::now(); };
        while (!stopping_ && !MayPrepare() && !IsDue() && now() < time_.next_ask()) {
          watched_expiry_ = next_expiry_;
          wake_.WaitUntil(
              mutex_, std::min(time_.next_ask(), now() + absl::ToChronoNanoseconds(UntilDue())));
        }
        if (stopping_) return;
        if (now() >= time_.next_ask()) ask_clocks = time_.Ask();
        ask = MayPrepare();
        if (ask) ask_ = false;
        propose = !ask && IsDue();
        transfer = leads_ && ready_ && time_.ShouldHandOver();
      }
      if (!ask_clocks.empty()) node_->SendNote(0, std::move(ask_clocks));
      if (ask) Prepare();
      if (propose) Propose(true);
      if (transfer) Transfer(0, [](const absl::Status&) {});
    }
  }

  bool MayPrepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ask_ && time_.MayBegin(); }

  // The Read returns once this node has applied all entries of earlier terms, as a leader must have
  // before its first command.
  void Prepare() {
    node_->Read([this](const absl::Status& status) {
      bool yields = false;
      raft::Term term = 0;
      {
        MutexLock lock(mutex_);
        if (!leads_) return;
        if (!status.ok()) {
          ask_ = true;  // it still leads: once more
          wake_.NotifyAll();
          return;
        }
        yields = time_.ShouldYield();
        term = term_;
        for (Request& mend : machine_.Mends()) {
          waiting_.push_front({std::move(mend), [](const cluster_machine::Answer&) {}});
        }
      }
      if (!yields) return Begin(term);
      node_->Transfer(0, [this, term](const absl::Status& handed_over) {
        if (!handed_over.ok()) Begin(term);
      });
    });
  }
  void Begin(raft::Term term) {
    {
      MutexLock lock(mutex_);
      if (!leads_ || term_ != term) return;
      ready_ = true;
      wake_.NotifyAll();
    }
    Propose(true);
  }

  bool IsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return UntilDue() <= absl::ZeroDuration();
  }
  // Until the leader's next own command is due.
  absl::Duration UntilDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    constexpr absl::Duration kLongest = absl::Seconds(1);
    if (!leads_ || !ready_) return kLongest;
    if (!waiting_.empty()) {
      const absl::Duration gathered =
          absl::FromChrono(GatheredAt() - std::chrono::steady_clock::now());
      // Behind a full pipeline they are proposed as it empties.
      return under_way_ < options_.pipeline ? gathered : std::max(gathered, kLeastPause);
    }
    if (under_way_ > 0) return kLongest;
    const absl::Duration boot = options_.clock->SinceBoot();
    absl::Duration until = last_proposal_ + options_.tick - boot;
    if (next_expiry_ != absl::InfiniteFuture()) {
      // Estimates the time now: the machine's, plus the time that has passed since its last
      // command.
      until = std::min(
          until, next_expiry_ - time_.machine() - (boot - last_proposal_) + absl::Milliseconds(1));
    }
    // A proposal that was refused is not repeated at once.
    until = std::max(until, last_proposal_ + kLeastPause - boot);
    return std::min(until, kLongest);
  }

  const ClusterNodeOptions options_;
  std::unique_ptr<raft::Node> owned_node_;
  // The same node, but not yet null while it ends, as owned_node_ is.
  raft::Node* node_ = nullptr;
  // The node's thread alone changes the machine, under this lock; other threads read it under the
  // lock. Lock order: after mutex_.
  Mutex machine_mutex_;
  Machine machine_;
  // Of the node's thread: the members that the cluster had before it had a time.
  std::vector<std::pair<raft::Index, raft::Members>> early_members_;

  mutable Mutex mutex_;
  CondVar wake_;
  ClusterTime time_ ABSL_GUARDED_BY(mutex_){*options_.clock};
  absl::Time next_expiry_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // That the thread knew when it began to wait.
  absl::Time watched_expiry_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool hurry_ ABSL_GUARDED_BY(mutex_) = false;  // some of them must not wait for others
  Arrivals arrivals_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point last_command_ ABSL_GUARDED_BY(mutex_);
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  TtlsUnderWay ttls_ ABSL_GUARDED_BY(mutex_);                    // of these
  bool deletes_ ABSL_GUARDED_BY(mutex_) = false;                 // one of these deletes a space
  bool leap_matters_ ABSL_GUARDED_BY(mutex_) = false;            // to the machine
  bool leap_matters_under_way_ ABSL_GUARDED_BY(mutex_) = false;  // to one of these
  bool leads_ ABSL_GUARDED_BY(mutex_) = false;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;  // may propose
  bool ask_ ABSL_GUARDED_BY(mutex_) = false;    // Prepare is to be called
  raft::Term term_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration last_proposal_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

ClusterNode::ClusterNode(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
ClusterNode::~ClusterNode() { rep_->Stop(); }

absl::StatusOr<std::unique_ptr<ClusterNode>> ClusterNode::Start(
    std::unique_ptr<raft::LogStore> store, raft::Transport& transport,
    const ClusterNodeOptions& options) {
  auto rep = std::make_unique<Rep>(options);
  LOCUS_RETURN_IF_ERROR(rep->Start(std::move(store), transport));
  return std::unique_ptr<ClusterNode>(new ClusterNode(std::move(rep)));
}

void ClusterNode::Submit(Request request, Answered answered) {
  rep_->Submit(std::move(request), std::move(answered));
}
void ClusterNode::Read(ReadMachine of) { rep_->Read(std::move(of)); }
void ClusterNode::ShowTime(Showed<TimeView> answered) {
  rep_->Read([this, answered = std::move(answered)](const absl::Status& status,
                                                    const Machine& machine, absl::Time now) {
    if (!status.ok()) return answered(status);
    answered(rep_->ViewOfTime(machine, now));
  });
}
void ClusterNode::AdvanceTime(absl::Duration most, Showed<TimeView> answered) {
  rep_->AdvanceTime(most, std::move(answered));
}
void ClusterNode::ChangeMembers(raft::MemberChange change, raft::Shell::Done done) {
  rep_->node().ChangeMembers(std::move(change), std::move(done));
}
void ClusterNode::Transfer(raft::NodeId to, raft::Shell::Done done) {
  rep_->Transfer(to, std::move(done));
}
raft::NodeStatus ClusterNode::Status() { return rep_->node().Status(); }
ClusterNode::Stats ClusterNode::stats() const { return rep_->stats(); }

}  // namespace locus::cluster_node
