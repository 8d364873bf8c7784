// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/replicas.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/clock_note.h"
#include "src/cluster/machine/codec.h"

namespace locus::cluster_machine {

using raft::Actions;
using raft::Core;
using raft::Entry;
using raft::Index;
using raft::NodeId;

namespace {

constexpr int64_t kHour = 3'600'000;
// Of the cluster's time, where all clocks are right: a node that has started is behind by
// CommandClock::kMostPassed at most, and some of them may lead one after the other.
constexpr int64_t kMostAhead = 6000;

size_t HashOf(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    absl::StrAppend(&text, static_cast<int>(fact.kind), "/", absl::ToUnixMillis(fact.time), "/",
                    fact.worker, "/", fact.token, "/", absl::ToUnixMillis(fact.ceiling), "/",
                    fact.nonce, "/", fact.status.message(), ";");
  }
  return std::hash<std::string>()(text);
}

}  // namespace

Replicas::Replicas(Random& random, const Options& options, Listener& listener)
    : random_(random), options_(options), listener_(listener) {
  raft::Members members;
  for (NodeId id = 1; id <= options.nodes; ++id) members.push_back({id, true, ""});
  for (const raft::Member& member : members) {
    Node& node = nodes_[member.id];
    const raft::Remembered first = raft::FirstNode(member.id, members);
    node.disk.vote = first.vote;
    node.disk.entries = first.entries;
    node.wall_ahead = static_cast<int64_t>(random_.Below(1000)) - 500;
    node.boot_ahead = static_cast<int64_t>(random_.Below(kHour));
    node.boot_drift = static_cast<int64_t>(random_.Below(600)) - 300;
  }
  for (auto& [id, node] : nodes_) {
    Start(id, node);
    node.restarted = false;
  }
  if (options.true_clocks && options.nodes > 2) nodes_.at(1).wall_ahead = kHour;
}

absl::Duration Replicas::Boot(const Node& node) const {
  const int64_t since = now_ - 1'700'000'000'000;
  return absl::Milliseconds(node.boot_ahead + since) +
         absl::Microseconds(since * node.boot_drift / 1000);
}

bool Replicas::Ready(const Node& node) const {
  return node.core && node.core->LeadsForSure() && node.ready_in == node.core->term();
}

bool Replicas::MayCrash(const Node& node) const {
  if (!options_.steady || !node.core) return true;
  return options_.nodes > 1 && std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
           return &one.second == &node || (one.second.core && MayStand(one.second));
         });
}

NodeId Replicas::Leader() {
  NodeId leader = AnyNode();
  raft::Term term = 0;
  for (const auto& [id, node] : nodes_) {
    if (!node.core || node.core->role() != raft::Role::kLeader || node.core->term() < term) {
      continue;
    }
    leader = id;
    term = node.core->term();
  }
  return leader;
}

absl::Time Replicas::MachineTime() const {
  absl::Time time = absl::UnixEpoch();
  for (const auto& [id, node] : nodes_) time = std::max(time, node.machine.now());
  return time;
}

void Replicas::Event(int64_t now) {
  now_ = now;
  Node& node = nodes_.at(AnyNode());
  Node& leader = nodes_.at(Leader());
  const uint64_t kind = random_.Below(100);
  if (kind < 42) {
    for (uint64_t i = 1 + random_.Below(4); i > 0; --i) Deliver();
  } else if (kind < 62) {
    Sync(node);
  } else if (kind < 78) {
    Propose(random_.OneIn(8) ? node : leader);
  } else if (kind < 84) {
    if (leader.core) Do(leader, leader.core->Heartbeat());
  } else if (kind < 87) {
    Compact(node);
  } else if (kind < 90) {
    if (!network_.empty()) {
      network_.erase(network_.begin() + static_cast<ptrdiff_t>(random_.Below(network_.size())));
    }
  } else if (kind < 94) {
    const bool led = leader.core && leader.core->role() == raft::Role::kLeader;
    const bool may = node.core && (!options_.steady || MayStand(node));
    if (may && (!led || random_.OneIn(10))) Do(node, node.core->ElectionTimeout());
  } else {
    Disturb(node);
  }
  if (random_.OneIn(4)) AskClocks(nodes_.at(AnyNode()));
}

void Replicas::AskClocks(Node& node) {
  if (!node.core) return;
  for (const auto& [id, other] : nodes_) {
    if (id != node.core->self()) Post(node, {id, raft::Note{0, Encode(ClockAsk{Boot(node)})}, 0});
  }
}

void Replicas::Hear(Node& node, NodeId from, const raft::Note& note) {
  const absl::StatusOr<ClockNote> read = DecodeClockNote(note.data);
  if (!read.ok()) return listener_.OnFailure(std::string(read.status().message()));
  if (const auto* told = std::get_if<ClockTold>(&*read)) {
    const bool trusts = node.restarted && options_.flaw == ShellFlaw::kTrustsItsClockAfterARestart;
    if (!trusts) node.clock.Told(from, *told, Boot(node));
    return;
  }
  ClockTold told;
  told.asked = std::get<ClockAsk>(*read).asked;
  told.term = node.core->term();
  told.leads = Ready(node);
  told.wall = Wall(node);
  told.time = told.leads ? node.clock.Now(node.machine.now(), Wall(node), Boot(node))
                         : node.clock.Known(node.machine.now(), Boot(node));
  if (node.clock.Leaps(node.machine.now())) told.time.reset();
  Post(node, {from, raft::Note{0, Encode(told)}, 0});
}

void Replicas::Disturb(Node& node) {
  const uint64_t kind = random_.Below(8);
  if (kind < 2) {
    if (MayCrash(node) && (!node.core || random_.OneIn(3))) Crash(node);
  } else if (kind < 3) {
    const std::pair<NodeId, NodeId> wire{AnyNode(), AnyNode()};
    if (!cut_.erase(wire) && random_.OneIn(3)) cut_.insert(wire);
  } else if (kind < 4) {
    if (node.core) Do(node, node.core->CheckQuorum());
  } else if (kind < 5 && !options_.true_clocks && random_.OneIn(3) &&
             (!options_.steady || node.core == std::nullopt || node.core->self() == 1)) {
    ++counts_.jumps;
    const int64_t jump = random_.OneIn(2) ? kHour : static_cast<int64_t>(random_.Below(20'000));
    node.wall_ahead = random_.OneIn(3) ? 0 : random_.OneIn(2) ? jump : -jump;
  } else if (kind < 7 && options_.flaw == ShellFlaw::kExpiresByLocalClock) {
    if (node.core) node.machine.Apply({Wall(node), true, {}});
  }
}

void Replicas::Deliver() {
  if (network_.empty()) return;
  const size_t at = random_.OneIn(3) ? random_.Below(network_.size()) : 0;
  const Parcel parcel = network_[at];
  if (!random_.OneIn(20)) network_.erase(network_.begin() + static_cast<ptrdiff_t>(at));
  Node& to = nodes_.at(parcel.to);
  if (!to.core || cut_.contains({parcel.from, parcel.to})) return;
  if (const auto* note = std::get_if<raft::Note>(&parcel.message)) {
    return Hear(to, parcel.from, *note);
  }
  Do(to, to.core->Receive(parcel.from, parcel.message, random_.OneIn(4)));
}

void Replicas::NoteLeader(Node& node) {
  const raft::Term term = node.core->term();
  const NodeId leader = node.core->leader();
  if (leader == node.core->self()) return node.clock.Lead(term, Boot(node));
  if (leader == 0) return;
  if (node.restarted && options_.flaw == ShellFlaw::kTrustsItsClockAfterARestart) return;
  node.clock.Hear(term);
}

void Replicas::NoteCommandOf(Node& node, raft::Term term) {
  node.clock.Applied(term, node.machine.now(), Boot(node));
}

void Replicas::Do(Node& node, Actions actions) {
  NoteLeader(node);
  if (actions.restored) {
    absl::StatusOr<Machine> machine = Machine::Restore(actions.write->state);
    if (!machine.ok()) return listener_.OnFailure(std::string(machine.status().message()));
    node.machine = *std::move(machine);
    node.applied = actions.write->snapshot->index;
    NoteCommandOf(node, actions.write->snapshot->term);
    ++counts_.installed;
    Agree(node, truth_.at(node.applied).facts, 0, nullptr);
  }
  if (actions.write) node.unsynced.push_back(*std::move(actions.write));
  for (const raft::Send& send : actions.sends) {
    const bool now =
        send.after == 0 || node.unsynced.empty() || send.after < node.unsynced.front().number;
    if (now) {
      Post(node, send);
    } else {
      node.held.push_back(send);
    }
  }
  for (NodeId to : actions.snapshots_for) {
    auto install = node.core->SnapshotFor(to);
    if (!install) continue;
    install->state = node.disk.state;
    Post(node, {to, *std::move(install), 0});
  }
  for (const raft::ReadAnswer& answer : actions.reads) {
    if (answer.index != 0) node.confirmed.push_back({answer.index, answer.read});
  }
  if (node.core->role() == raft::Role::kLeader && node.led != node.core->term()) {
    node.led = node.core->term();
    node.waiting.clear();
    ++counts_.leaders;
  }
  Apply(node);
}

void Replicas::Post(Node& node, const raft::Send& send) {
  if (cut_.contains({node.core->self(), send.to})) return;
  if (network_.size() < 100) network_.push_back({node.core->self(), send.to, send.message});
}

void Replicas::Sync(Node& node) {
  if (!node.core || node.unsynced.empty()) return;
  uint64_t number = 0;
  for (size_t writes = 1 + random_.Below(node.unsynced.size()); writes > 0; --writes) {
    node.disk.Do(node.unsynced.front());
    number = node.unsynced.front().number;
    node.unsynced.pop_front();
  }
  while (!node.held.empty() && node.held.front().after <= number) {
    Post(node, node.held.front());
    node.held.pop_front();
  }
  Do(node, node.core->Written(number));
}

// Or it starts, if it was down.
void Replicas::Crash(Node& node) {
  if (!node.core) {
    for (auto& [id, one] : nodes_) {
      if (&one == &node) Start(id, node);
    }
    return;
  }
  ++counts_.crashes;
  for (size_t kept = random_.Below(node.unsynced.size() + 1); kept > 0; --kept) {
    node.disk.Do(node.unsynced.front());
    node.unsynced.pop_front();
  }
  node.core.reset();
  node.unsynced.clear();
  node.held.clear();
  node.waiting.clear();
  node.proposed.clear();
  node.reads.clear();
  node.confirmed.clear();
}

void Replicas::Start(NodeId id, Node& node) {
  auto core = Core::Restore({id, node.disk.vote, node.disk.snapshot, node.disk.entries},
                            {.append_bytes = 400, .window = 8, .snapshot_patience = 1, .kept = 1});
  if (!core.ok()) return listener_.OnFailure(std::string(core.status().message()));
  node.core = *std::move(core);
  node.machine = Machine();
  node.clock = CommandClock();
  std::vector<uint64_t> voters;
  for (const auto& [one, other] : nodes_) voters.push_back(one);
  const bool trusts = now_ > 0 && options_.flaw == ShellFlaw::kTrustsItsClockAfterARestart;
  if (!trusts) node.clock.SetVoters(id, std::move(voters));
  node.applied = node.disk.snapshot.index;
  node.restarted = true;
  if (node.applied > 0) {
    ++counts_.restored;
    node.machine = Machine::Restore(node.disk.state).value();
    NoteCommandOf(node, node.disk.snapshot.term);
    Agree(node, truth_.at(node.applied).facts, 0, nullptr);
  }
}

void Replicas::Submit(NodeId id, uint64_t tag, const Request& request) {
  Node& node = nodes_.at(id);
  if (Ready(node) && node.waiting.size() < kMostRequests) node.waiting.push_back({tag, request});
}

void Replicas::Read(NodeId id, uint64_t tag) {
  Node& node = nodes_.at(options_.flaw == ShellFlaw::kReadsFromAnyNode ? AnyNode() : id);
  if (!node.core) return;
  node.reads.insert(tag);
  if (options_.flaw == ShellFlaw::kReadsFromAnyNode) {
    node.confirmed.push_back({node.applied, tag});
    return AnswerReads(node);
  }
  Do(node, node.core->Read(tag));
}

// A leader's first command only sets the clock. Some leaders propose it before they have applied
// the entries of earlier terms: even then the machine's time does not fall.
void Replicas::Propose(Node& node) {
  if (!node.core || node.core->role() != raft::Role::kLeader) return;
  if (options_.steady && !node.core->LeadsForSure()) return;
  if (!node.clock.MayBegin(Wall(node), Boot(node))) return;
  const raft::Term term = node.core->term();
  Command command;
  command.time = node.clock.Now(node.machine.now(), Wall(node), Boot(node));
  command.leaps = node.clock.Leaps(node.machine.now());
  std::vector<uint64_t> tags;
  std::map<uint64_t, absl::Status> refusals;
  if (node.proposed_in == term) {
    command.expire = node.machine.NextExpiry() < command.time;
    if (!Ready(node) || (node.waiting.empty() && !command.expire)) return;
    for (auto& [tag, request] : node.waiting) {
      const Machine::Screened screened = node.machine.Screen(request);
      if (screened.answer) {
        listener_.OnAnswer(tag, *screened.answer);
        continue;
      }
      if (screened.refusal) refusals[tag] = *screened.refusal;
      tags.push_back(tag);
      command.requests.push_back(std::move(request));
    }
    node.waiting.clear();
  }
  // Also where all were down, and node 1 is ahead by an hour.
  if (options_.true_clocks && absl::ToUnixMillis(command.time) > now_ + kMostAhead) {
    listener_.OnFailure("one clock alone has set the cluster's time ahead");
  }
  // It follows a command whose age it cannot know.
  guessed_ = guessed_ || (!node.clock.exact() && node.machine.now() > absl::UnixEpoch());
  const int64_t ahead = absl::ToUnixMillis(command.time) - now_;
  if (options_.steady && options_.true_clocks && !guessed_ && std::abs(ahead) > kMostAhead) {
    listener_.OnFailure(
        absl::StrCat("all clocks are right, and the cluster's time is ahead by ", ahead, " ms"));
  }
  absl::StatusOr<std::string> bytes = Encode(command);
  if (!bytes.ok()) return listener_.OnFailure(std::string(bytes.status().message()));
  absl::StatusOr<Actions> actions = node.core->Propose(*std::move(bytes));
  if (!actions.ok()) return;
  const Index index = node.core->last_index();
  proposed_[{index, term}] = now_;
  if (options_.flaw == ShellFlaw::kAnswersBeforeCommit) {
    Machine guess = node.machine;
    const Machine::Applied applied = guess.Apply(command);
    for (size_t i = 0; i < tags.size(); ++i) listener_.OnAnswer(tags[i], applied.answers[i]);
    tags.clear();
  }
  node.proposed_in = term;
  node.proposed[index] = {term, std::move(tags), std::move(refusals)};
  Do(node, *std::move(actions));
}

void Replicas::Apply(Node& node) {
  while (node.applied < node.core->commit()) ApplyOne(node, node.applied + 1);
  AnswerReads(node);
}

void Replicas::ApplyOne(Node& node, Index index) {
  if (index < node.core->first_index()) {
    listener_.OnFailure("committed entries are gone before they are applied");
    node.applied = node.core->commit();
    return;
  }
  const Entry& entry = node.core->At(index);
  node.applied = index;
  ++counts_.applied;
  const auto mine = node.proposed.extract(index);
  const bool own = !mine.empty() && mine.mapped().term == entry.term;
  if (entry.kind != Entry::Kind::kCommand) return Agree(node, 0, 0, nullptr);
  absl::StatusOr<Command> command = DecodeCommand(entry.data);
  if (!command.ok()) return listener_.OnFailure(std::string(command.status().message()));
  if (options_.flaw == ShellFlaw::kAppliesWithLocalTime) command->time = Wall(node);
  const absl::Time before = node.machine.now();
  const Machine::Applied applied = node.machine.Apply(*command);
  if (node.machine.now() < before) listener_.OnFailure("the machine's time has fallen");
  NoteCommandOf(node, entry.term);
  Agree(node, HashOf(applied.facts), proposed_[{index, entry.term}], &applied);
  if (!own) return;
  node.ready_in = std::max(node.ready_in, entry.term);
  const std::vector<uint64_t>& tags = mine.mapped().tags;
  const std::map<uint64_t, absl::Status>& refusals = mine.mapped().refusals;
  for (size_t i = 0; i < tags.size(); ++i) {
    const auto refused = refusals.find(tags[i]);
    listener_.OnAnswer(tags[i], refused == refusals.end()
                                    ? applied.answers[i]
                                    : Answer{refused->second, std::nullopt, {}});
  }
}

void Replicas::AnswerReads(Node& node) {
  for (size_t i = 0; i < node.confirmed.size();) {
    const auto [index, tag] = node.confirmed[i];
    if (index > node.applied) {
      ++i;
      continue;
    }
    node.confirmed.erase(node.confirmed.begin() + static_cast<ptrdiff_t>(i));
    if (node.reads.erase(tag) > 0) listener_.OnRead(tag, node.machine);
  }
}

void Replicas::Compact(Node& node) {
  if (!node.core) return;
  const Index index = node.applied;
  const Index before = node.disk.snapshot.index;
  if (index <= before || index > node.core->durable() || !node.unsynced.empty()) return;
  std::vector<std::string> commands;
  for (Index at = before + 1; at <= index; ++at) {
    const Entry& entry = node.core->At(at);
    if (entry.kind == Entry::Kind::kCommand) commands.push_back(entry.data);
  }
  const absl::StatusOr<std::string> folded =
      Machine::Fold(before == 0 ? "" : node.disk.state, commands);
  if (!folded.ok() || *folded != node.machine.Snapshot()) {
    if (options_.flaw == ShellFlaw::kNone && flaw == Flaw::kNone) {
      listener_.OnFailure("a snapshot that is made of the log differs from the machine");
    }
  }
  node.disk.snapshot = node.core->Compact(index);
  node.disk.state = node.machine.Snapshot();
  node.disk.entries.erase(node.disk.entries.begin(),
                          node.disk.entries.begin() + static_cast<ptrdiff_t>(index - before));
}

// The first node that has applied up to an index says what is true of it.
void Replicas::Agree(Node& node, size_t facts, int64_t proposed, const Machine::Applied* applied) {
  Truth here;
  // States that differ once stay different, so comparing each fourth one is enough.
  if (node.applied % 4 == 0) here.state = std::hash<std::string>()(node.machine.Snapshot());
  here.facts = facts;
  if (node.applied == truth_.size()) {
    truth_.push_back(here);
    if (applied != nullptr) listener_.OnApplied(proposed, *applied);
    return;
  }
  const Truth& there = truth_.at(node.applied);
  if (here.state != there.state || here.facts != there.facts) {
    listener_.OnFailure(absl::StrCat("node ", node.core->self(),
                                     " differs from the others after entry ", node.applied));
  }
}

}  // namespace locus::cluster_machine
