// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/shell.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/raft/core/codec.h"

namespace locus::raft {
namespace {

using std::chrono::milliseconds;

constexpr char kCommitUnknown[] = "locus/commit-unknown";

absl::Status CommitUnknown(absl::string_view why) {
  absl::Status status = absl::UnavailableError(
      absl::StrCat(why, "; whether the command is applied is not known: ask again with its id"));
  status.SetPayload(kCommitUnknown, absl::Cord());
  return status;
}

// This node's data is whole; `what` is committed.
absl::Status NotUnderstood(absl::string_view what, Index index, Term term,
                           const absl::Status& why) {
  return absl::FailedPreconditionError(absl::StrCat(
      what, " ", index, " of term ", term, " is not understood: ", why.message(),
      "; if a newer version wrote it, start this node again with that version, with its data as it "
      "is"));
}

bool IsFromLeader(const Message& message) {
  return std::holds_alternative<Append>(message) ||
         std::holds_alternative<InstallSnapshot>(message);
}

}  // namespace

bool IsCommitUnknown(const absl::Status& status) {
  return status.GetPayload(kCommitUnknown).has_value();
}

absl::StatusOr<std::unique_ptr<Shell>> Shell::Start(Remembered remembered, std::string state,
                                                    StateMachine& machine, Storage& storage,
                                                    Network& network, const ShellOptions& options,
                                                    uint64_t seed, TimePoint now) {
  const Index snapshot = remembered.snapshot.index;
  const Term term = remembered.snapshot.term;
  LOCUS_ASSIGN_OR_RETURN(Core core, Core::Restore(std::move(remembered), options.limits));
  if (snapshot != 0) LOCUS_RETURN_IF_ERROR(machine.Restore(term, state));
  std::unique_ptr<Shell> shell(
      new Shell(std::move(core), machine, storage, network, options, seed));
  shell->snapshot_ = std::make_shared<const std::string>(std::move(state));
  shell->applied_ = snapshot;
  shell->heard_leader_ = now - options.election;
  shell->election_ = shell->RandomDeadline(now);
  shell->NoteMembers();
  return shell;
}

Shell::Shell(Core core, StateMachine& machine, Storage& storage, Network& network,
             const ShellOptions& options, uint64_t seed)
    : core_(std::move(core)),
      machine_(machine),
      storage_(storage),
      network_(network),
      options_(options),
      random_(seed) {}

// SplitMix64.
TimePoint Shell::RandomDeadline(TimePoint now) {
  uint64_t word = random_ += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  word ^= word >> 31;
  const auto most = std::chrono::microseconds(options_.election).count();
  return now + options_.election + std::chrono::microseconds(word % static_cast<uint64_t>(most));
}

std::string Shell::AddressOf(NodeId id) const {
  const Member* member = FindMember(core_.members(), id);
  return member == nullptr ? std::string() : member->address;
}

absl::Status Shell::NotLeading() const {
  const NodeId leader = core_.leader();
  if (core_.role() == Role::kLeader) {
    return absl::UnavailableError("this node hands its leadership over");
  }
  if (leader == 0) return absl::UnavailableError("this node does not lead, and knows no leader");
  return absl::UnavailableError(
      absl::StrCat("this node does not lead; node ", leader, " at ", AddressOf(leader), " does"));
}

// --- What others ask for.

void Shell::Propose(std::string command, Answer answer) {
  if (!stopped_.ok()) return answer(stopped_);
  if (core_.role() != Role::kLeader || core_.transferring()) return answer(NotLeading());
  if (command.size() > kMostEntryBytes) {
    return answer(absl::InvalidArgumentError(
        absl::StrCat("a command of ", command.size(), " bytes; the most are ", kMostEntryBytes)));
  }
  if (absl::Status status = machine_.Check(command); !status.ok()) return answer(status);
  if (waiting_bytes_ + command.size() > options_.waiting_bytes) {
    return answer(absl::ResourceExhaustedError(absl::StrCat(
        "commands of ", waiting_bytes_, " bytes wait; the most are ", options_.waiting_bytes)));
  }
  waiting_bytes_ += command.size();
  waiting_.push_back({std::move(command), std::move(answer)});
}

void Shell::Read(Done done) {
  if (!stopped_.ok()) return done(stopped_);
  if (core_.role() != Role::kLeader) return done(NotLeading());
  new_reads_.push_back(std::move(done));
}

void Shell::ChangeMembers(TimePoint now, const MemberChange& change, Done done) {
  if (!stopped_.ok()) return done(stopped_);
  if (core_.role() != Role::kLeader) return done(NotLeading());
  Members members = core_.members();
  const auto at = std::lower_bound(members.begin(), members.end(), change.id,
                                   [](const Member& one, NodeId id) { return one.id < id; });
  const bool known = at != members.end() && at->id == change.id;
  switch (change.kind) {
    case MemberChange::Kind::kAddLearner:
      if (!known) {
        members.insert(at, {change.id, false, change.address});
      } else {
        at->address = change.address;
      }
      break;
    case MemberChange::Kind::kPromote:
      if (known) at->voter = true;
      break;
    case MemberChange::Kind::kRemove:
      if (known) members.erase(at);
      break;
  }
  if (!known && change.kind != MemberChange::Kind::kAddLearner) {
    return done(absl::NotFoundError(absl::StrCat("node ", change.id, " is no member")));
  }
  const bool committed = core_.members_index() <= core_.commit();
  if (members == core_.members() && committed) return done(absl::OkStatus());
  auto actions = core_.ProposeMembers(std::move(members));
  if (!actions.ok()) return done(actions.status());
  pending_.push_back(
      {core_.last_index(), core_.term(), 0,
       [done = std::move(done)](absl::StatusOr<std::string> answer) { done(answer.status()); }});
  Do(now, *std::move(actions));
}

void Shell::Transfer(TimePoint now, NodeId to, Done done) {
  if (!stopped_.ok()) return done(stopped_);
  if (core_.role() != Role::kLeader) return done(absl::OkStatus());
  if (transfer_done_) return done(absl::UnavailableError("a transfer is under way"));
  if (to == 0) {
    std::pair<bool, Index> best;
    for (const Member& member : core_.members()) {
      if (!member.voter || member.id == core_.self() || core_.HasForgotten(member.id)) continue;
      const auto heard = heard_.find(member.id);
      const bool alive = heard != heard_.end() && now - heard->second < options_.election;
      const std::pair<bool, Index> one{alive, core_.MatchOf(member.id)};
      if (to != 0 && one <= best) continue;
      to = member.id;
      best = one;
    }
    if (to == 0) return done(absl::NotFoundError("there is no other voter"));
  }
  if (to == core_.self()) return done(absl::NotFoundError("the voter is this node itself"));
  auto actions = core_.Transfer(to);
  if (!actions.ok()) return done(actions.status());
  transfer_done_ = std::move(done);
  quorum_ = now + options_.election;  // also ends the transfer
  FailWaiting(NotLeading(), false);
  Do(now, *std::move(actions));
}

// --- What happens.

void Shell::Receive(TimePoint now, NodeId from, const Message& message) {
  if (!stopped_.ok()) return;
  const bool leader_is_alive = now - heard_leader_ < options_.election;
  Actions actions = core_.Receive(from, message, leader_is_alive);
  // After core_.Receive, which may have changed members and leader.
  if (FindMember(core_.members(), from) != nullptr) heard_[from] = now;
  if (core_.leader() == from && IsFromLeader(message)) heard_leader_ = now;
  if (actions.notes > 0) {
    std::string answer = machine_.Hear(from, std::get<Note>(message).data);
    if (!answer.empty()) SendNote(from, std::move(answer));
  }
  Do(now, std::move(actions));
}

void Shell::SendNote(NodeId to, std::string data) {
  if (!stopped_.ok()) return;
  for (const Member& member : core_.members()) {
    if (member.id == core_.self() || (to != 0 && member.id != to)) continue;
    Post({member.id, Note{core_.term(), data}, 0});
  }
}

void Shell::Written(TimePoint now, uint64_t number) {
  if (!stopped_.ok()) return;
  written_ = std::max(written_, number);
  while (!held_.empty() && held_.front().after <= written_) {
    Post(held_.front());
    held_.pop_front();
  }
  Do(now, core_.Written(number));
}

void Shell::Stop(absl::Status why) {
  if (!stopped_.ok()) return;
  stopped_ = std::move(why);
  FailWaiting(stopped_, true);
  for (Done& done : std::exchange(reads_, {})) done(stopped_);
  if (transfer_done_) std::exchange(transfer_done_, nullptr)(stopped_);
  held_.clear();
}

TimePoint Shell::Tick(TimePoint now) {
  if (!stopped_.ok()) return TimePoint::max();
  if (core_.role() == Role::kLeader) {
    if (now >= quorum_) {
      quorum_ = now + options_.election;
      Do(now, core_.CheckQuorum());
    }
    if (now >= heartbeat_ && core_.role() == Role::kLeader) {
      heartbeat_ = now + options_.election / 10;
      Do(now, core_.Heartbeat());
    }
  } else if (now >= election_) {
    Do(now, core_.ElectionTimeout());
  }
  SendOff(now);
  if (!stopped_.ok()) return TimePoint::max();
  return core_.role() == Role::kLeader ? std::min(heartbeat_, quorum_) : election_;
}

void Shell::SendOff(TimePoint now) {
  // While a write is under way, commands gather: they become one write and one message to each
  // node, instead of one each.
  const bool idle = written_ == last_write_;
  if (!waiting_.empty() && (idle || waiting_bytes_ >= options_.limits.append_bytes)) {
    std::vector<std::string> commands;
    Index index = core_.last_index();
    for (Waiting& one : std::exchange(waiting_, {})) {
      pending_.push_back({++index, core_.term(), one.command.size(), std::move(one.answer)});
      commands.push_back(std::move(one.command));
    }
    auto actions = core_.ProposeAll(std::move(commands));
    LOCUS_CHECK(actions.ok());  // NoteRole and Transfer have already refused what was waiting
    Do(now, *std::move(actions));
  }
  // One round at a time: a read must be confirmed by messages that are sent after it came, so it
  // cannot join the round under way.
  if (!new_reads_.empty() && reads_.empty()) {
    reads_ = std::exchange(new_reads_, {});
    Do(now, core_.Read(++read_));
  }
}

void Shell::Do(TimePoint now, Actions actions) {
  // First: the entries behind a snapshot apply to its state, and `write` is moved away below.
  if (actions.restored) Restore(*actions.write);
  if (!stopped_.ok()) return;
  if (actions.write) {
    last_write_ = actions.write->number;
    storage_.Store(*std::move(actions.write));
  }
  NoteMembers();
  for (Send& send : actions.sends) {
    if (send.after <= written_) {
      Post(send);
    } else {
      held_.push_back(std::move(send));
    }
  }
  for (NodeId to : actions.snapshots_for) {
    auto install = core_.SnapshotFor(to);
    if (!install) continue;
    install->state = *snapshot_;
    Post({to, *std::move(install), 0});
  }
  if (actions.restart_election_timer) election_ = RandomDeadline(now);
  Apply();
  if (!stopped_.ok()) return;
  for (const ReadAnswer& answer : actions.reads) AnswerRead(answer);
  NoteRole(now);
  NoteTransfer();
  Compact();
}

void Shell::Restore(const Write& write) {
  const SnapshotMark& mark = *write.snapshot;
  const absl::Status status = machine_.Restore(mark.term, write.state);
  if (!status.ok()) return Stop(NotUnderstood("the snapshot up to", mark.index, mark.term, status));
  snapshot_ = std::make_shared<const std::string>(write.state);
  applied_ = mark.index;
  applied_bytes_ = 0;
}

void Shell::NoteMembers() {
  if (core_.members() == members_) return;
  members_ = core_.members();
  network_.NoteMembers(members_);
}

void Shell::Post(const Send& send) { network_.Send(send.to, AddressOf(send.to), send.message); }

void Shell::Apply() {
  while (applied_ < core_.commit()) {
    const Index index = applied_ + 1;
    const Entry& entry = core_.At(index);
    absl::StatusOr<std::string> said = std::string();
    if (entry.kind == Entry::Kind::kCommand) {
      said = machine_.Apply(index, entry.term, entry.data);
    }
    if (!said.ok())
      return Stop(NotUnderstood("the committed entry", index, entry.term, said.status()));
    if (entry.kind == Entry::Kind::kMembers) machine_.NoteMembers(index, entry.members);
    applied_ = index;
    applied_bytes_ += entry.data.size();
    AnswerPending(index, entry.term, std::move(said));
  }
}

// The first message of another leader may bring committed entries, or a snapshot, in place of this
// node's own proposals, before NoteRole has failed those.
void Shell::AnswerPending(Index index, Term term, absl::StatusOr<std::string> said) {
  while (!pending_.empty() && pending_.front().index <= index) {
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    waiting_bytes_ -= pending.bytes;
    if (pending.index < index) {
      pending.answer(CommitUnknown(NotLeading().message()));
    } else if (pending.term != term) {
      pending.answer(NotLeading());  // another leader's entry has replaced it: it is never applied
    } else {
      pending.answer(std::move(said));
    }
  }
}

void Shell::AnswerRead(const ReadAnswer& answer) {
  LOCUS_CHECK(answer.read == read_ && answer.index <= applied_);
  for (Done& done : std::exchange(reads_, {})) {
    done(answer.index == 0 ? NotLeading() : absl::OkStatus());
  }
}

void Shell::NoteRole(TimePoint now) {
  if (core_.role() == role_ && core_.term() == term_) return;
  const bool led = role_ == Role::kLeader;
  role_ = core_.role();
  term_ = core_.term();
  if (led) FailWaiting(NotLeading(), true);
  if (role_ != Role::kLeader) return;
  heartbeat_ = now + options_.election / 10;
  quorum_ = now + options_.election;
}

// Commands that were not proposed are refused. Those that were may still be committed by the next
// leader: their outcome is unknown.
void Shell::FailWaiting(const absl::Status& why, bool also_pending) {
  for (Waiting& one : std::exchange(waiting_, {})) {
    waiting_bytes_ -= one.command.size();
    one.answer(why);
  }
  if (!also_pending) return;
  for (Pending& one : std::exchange(pending_, {})) {
    waiting_bytes_ -= one.bytes;
    one.answer(CommitUnknown(why.message()));
  }
  for (Done& done : std::exchange(new_reads_, {})) done(why);
}

void Shell::NoteTransfer() {
  if (!transfer_done_) return;
  if (core_.role() != Role::kLeader) {
    std::exchange(transfer_done_, nullptr)(absl::OkStatus());
  } else if (!core_.transferring()) {
    std::exchange(transfer_done_, nullptr)(
        absl::UnavailableError("the other node did not take the leadership over in time"));
  }
}

// A snapshot is made from the previous one and the log, not from the machine, which keeps working
// meanwhile.
void Shell::Compact() {
  const Index entries = applied_ - std::min(applied_, core_.snapshot().index);
  const bool due = entries >= options_.compact_entries ||
                   (entries > 0 && applied_bytes_ >= options_.compact_bytes);
  if (!due || folding_ != 0 || core_.durable() < applied_ || applied_ < compact_from_) return;
  // The last entry must be a command: Restore gets the snapshot's term as that of a command.
  if (core_.At(applied_).kind != Entry::Kind::kCommand) return;
  std::vector<std::string> commands;
  for (Index index = core_.snapshot().index + 1; index <= applied_; ++index) {
    const Entry& entry = core_.At(index);
    if (entry.kind == Entry::Kind::kCommand) commands.push_back(entry.data);
  }
  folding_ = applied_;
  applied_bytes_ = 0;
  storage_.Fold([&machine = machine_, state = snapshot_, commands = std::move(commands)] {
    return machine.Fold(*state, commands);
  });
}

void Shell::Folded(absl::StatusOr<std::string> state) {
  const Index index = std::exchange(folding_, 0);
  // Another node's snapshot may have been installed meanwhile.
  if (!stopped_.ok() || index <= core_.snapshot().index) return;
  if (!state.ok() || state->size() > kMostStateBytes) {  // it could not be sent; the log stays
    compact_from_ = index + options_.compact_entries;
    return;
  }
  snapshot_ = std::make_shared<const std::string>(*std::move(state));
  storage_.StoreSnapshot(core_.Compact(index), snapshot_);
}

NodeStatus Shell::Status(TimePoint now) const {
  NodeStatus status;
  status.self = core_.self();
  status.role = core_.role();
  status.leads_for_sure = core_.LeadsForSure();
  status.transferring = core_.transferring();
  status.removed = core_.removed();
  status.term = core_.term();
  status.leader = core_.leader();
  status.leader_address = AddressOf(status.leader);
  status.commit = core_.commit();
  status.applied = applied_;
  status.last = core_.last_index();
  status.snapshot = core_.snapshot().index;
  status.waiting = waiting_.size() + pending_.size();
  status.refused = core_.refused();
  status.refused_from = core_.refused_from();
  status.failure = stopped_;
  for (const Member& member : core_.members()) {
    NodeStatus::OfMember one{member, core_.MatchOf(member.id), core_.HasForgotten(member.id),
                             std::nullopt};
    const auto heard = heard_.find(member.id);
    if (member.id == core_.self()) {
      one.silent_for = milliseconds(0);
    } else if (heard != heard_.end()) {
      one.silent_for = std::chrono::duration_cast<milliseconds>(now - heard->second);
    }
    status.members.push_back(std::move(one));
  }
  return status;
}

}  // namespace locus::raft
