// SPDX-License-Identifier: Apache-2.0
#include "tests/lease_machine/rule_simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/raft/flaw.h"
#include "tests/linear/linearizability.h"

namespace locus::lease_machine {
namespace {

using rule_machine::Rule;

// A call about one rule, and its answer.
struct RuleOperation {
  bool is_read = false;
  rule_machine::Call change;
  bool done = false;         // of a change
  std::optional<Rule> seen;  // of a read
};

// One rule, as a sequential object.
struct RuleModel {
  using Operation = RuleOperation;
  using State = std::optional<Rule>;

  static bool Step(State& state, const Operation& operation, bool answered) {
    if (operation.is_read) return state == operation.seen;
    const bool fits = (state ? state->version : 0) == operation.change.expected;
    if (answered && fits != operation.done) return false;
    if (fits) state = operation.change.next;
    return true;
  }
  static std::string Key(const State& state) {
    return state ? absl::StrCat(state->version, "/", state->text) : "";
  }
  static bool Same(const Operation& one, const Operation& other) {
    return one.change == other.change;
  }
};
using RuleHistory = std::vector<linear::Call<RuleOperation>>;

std::string TextOf(const linear::Call<RuleOperation>& call) {
  const RuleOperation& one = call.operation;
  const std::string when = absl::StrCat("[", call.called, ", ",
                                        call.returned ? absl::StrCat(*call.returned) : "?", "] ");
  if (one.is_read) return absl::StrCat(when, "reads \"", RuleModel::Key(one.seen), "\"");
  return absl::StrCat(when, one.change.expected, " becomes \"", RuleModel::Key(one.change.next),
                      "\"", one.done ? ": done" : "");
}

// What is wrong with the calls about one rule; empty: nothing.
std::string FlawOf(const RuleHistory& history) {
  const linear::Report report = linear::Check<RuleModel>(history);
  if (report.verdict == linear::Verdict::kLinearizable) return "";
  if (report.verdict == linear::Verdict::kGaveUp) {
    return absl::StrCat("gave up after ", report.steps, " steps");
  }
  std::string text = "not linearizable; in the longest order the last ones are";
  const size_t from = report.order.size() < 6 ? 0 : report.order.size() - 6;
  for (size_t i = from; i < report.order.size(); ++i) {
    absl::StrAppend(&text, "\n  ", TextOf(history[report.order[i]]));
  }
  return absl::StrCat(text, "\nand this one does not fit:\n  ", TextOf(history[report.stuck]));
}

struct Operation {
  std::string name;  // of the rule
  RuleOperation of_rule;
  Request request;  // of a change
  int64_t called = 0;
  std::optional<int64_t> returned;  // to a client that still waited
  std::optional<Answer> answer;     // the first that is OK
};

struct Client {
  uint64_t session = 0;
  uint64_t serial = 0;
  int64_t wall_ahead = 0;
  std::optional<uint64_t> tag;                       // of the call under way
  std::map<std::string, std::optional<Rule>> known;  // what it read or wrote last, by name
};

struct Parcel {
  raft::NodeId node = 0;  // 0: an answer
  uint64_t tag = 0;
  Answer answer;
};

class Simulation : public Replicas::Listener {
 public:
  Simulation(uint64_t seed, ShellFlaw flaw, RulesCovered& covered)
      : covered_(covered), random_(seed), replicas_(random_, OptionsOf(seed, flaw), *this) {
    for (Client& client : clients_) Crash(client);
  }

  std::string Run() {
    try {
      for (int i = 0; i < 900 && failure_.empty(); ++i) Step();
    } catch (const raft::Contradiction& contradiction) {
      OnFailure(absl::StrCat("a core contradicts itself: ", contradiction.what));
    }
    for (const char* name : {"a", "b"}) {
      const std::string wrong = FlawOf(HistoryOf(name));
      if (!wrong.empty()) OnFailure(absl::StrCat("rule ", name, ": ", wrong));
    }
    const Replicas::Counts& counts = replicas_.counts();
    covered_.leaders += counts.leaders;
    covered_.crashes += counts.crashes;
    covered_.installed += counts.installed;
    covered_.restored += counts.restored;
    return failure_;
  }

  void OnApplied(int64_t, const Machine::Applied&) override {}
  void OnRead(uint64_t tag, const Machine& machine) override {
    Operation& read = operations_[tag];
    Client* const client = WhoWaitsFor(tag);
    if (client == nullptr) return;  // given up
    const auto& rules = machine.rules().all();
    const auto found = rules.find(read.name);
    if (found != rules.end()) read.of_rule.seen = found->second;
    client->known[read.name] = read.of_rule.seen;
    ++covered_.reads;
    End(*client, read);
  }
  void OnAnswer(uint64_t tag, const Answer& answer) override {
    if (parcels_.size() < 200) parcels_.push_back({0, tag, answer});
  }
  void OnFailure(const std::string& what) override {
    if (failure_.empty()) failure_ = what;
  }

 private:
  static Replicas::Options OptionsOf(uint64_t seed, ShellFlaw flaw) {
    Replicas::Options options;
    options.nodes = seed % 7 == 0 ? 1 : seed % 7 == 1 ? 5 : 3;
    options.flaw = flaw;
    return options;
  }

  void Step() {
    now_ += static_cast<int64_t>(random_.Below(60));
    if (random_.OneIn(500)) now_ += 150'000;  // requests are forgotten meanwhile
    ++moment_;
    for (int i = 0; i < 2; ++i) replicas_.Event(now_);
    Deliver();
    Client& client = clients_[random_.Below(std::size(clients_))];
    if (client.tag) return GoOn(client);
    const std::string name = random_.OneIn(3) ? "b" : "a";
    const auto known = client.known.find(name);
    if (known == client.known.end() || random_.OneIn(4)) return Read(client, name);
    Change(client, name, known->second);
  }

  // While its call is under way.
  void GoOn(Client& client) {
    if (!operations_[*client.tag].of_rule.is_read && random_.OneIn(3)) Send(*client.tag);
    if (random_.OneIn(20)) client.tag.reset();
    if (random_.OneIn(40)) Crash(client);
  }

  void Crash(Client& client) {
    client = {};
    client.session = ++sessions_;
    client.wall_ahead = static_cast<int64_t>(random_.Below(2000)) - 1000;
  }

  uint64_t Begin(Client& client, const std::string& name) {
    client.tag = operations_.size();
    Operation& operation = operations_.emplace_back();
    operation.name = name;
    operation.called = ++moment_;
    return *client.tag;
  }
  raft::NodeId SomeNode() { return random_.OneIn(5) ? replicas_.AnyNode() : replicas_.Leader(); }

  void Read(Client& client, const std::string& name) {
    const uint64_t tag = Begin(client, name);
    operations_[tag].of_rule.is_read = true;
    replicas_.Read(SomeNode(), tag);
  }

  // As SequenceTypeStore does: a new rule begins with a version that there never was.
  void Change(Client& client, const std::string& name, const std::optional<Rule>& known) {
    const uint64_t tag = Begin(client, name);
    rule_machine::Call call{name, known ? known->version : 0, std::nullopt};
    if (!known || !random_.OneIn(4)) {
      call.next = Rule{known ? known->version + 1 : ++created_ * 1'000'000, absl::StrCat("r", tag)};
    }
    const absl::Time wall = std::max(replicas_.MachineTime(), absl::FromUnixMillis(kBegin)) +
                            absl::Milliseconds(client.wall_ahead);
    Operation& operation = operations_[tag];
    operation.of_rule.change = call;
    operation.request = {RequestId{wall, 1, client.session, ++client.serial}, SpaceName(),
                         std::move(call)};
    Send(tag);
  }

  void Send(uint64_t tag) { parcels_.push_back({SomeNode(), tag, {}}); }

  void Deliver() {
    for (int i = 0; i < 3 && !parcels_.empty(); ++i) {
      const size_t at = random_.OneIn(2) ? random_.Below(parcels_.size()) : 0;
      const Parcel parcel = parcels_[at];
      if (!random_.OneIn(10)) parcels_.erase(parcels_.begin() + static_cast<ptrdiff_t>(at));
      if (random_.OneIn(12)) continue;  // lost
      if (parcel.node != 0) {
        replicas_.Submit(parcel.node, parcel.tag, operations_[parcel.tag].request);
      } else {
        Receive(parcel.tag, parcel.answer);
      }
    }
  }

  Client* WhoWaitsFor(uint64_t tag) {
    for (Client& client : clients_) {
      if (client.tag == tag) return &client;
    }
    return nullptr;
  }

  void End(Client& client, Operation& operation) {
    operation.returned = ++moment_;
    client.tag.reset();
  }

  void Receive(uint64_t tag, const Answer& answer) {
    Operation& operation = operations_[tag];
    Client* const client = WhoWaitsFor(tag);
    covered_.late += absl::IsAborted(answer.status);
    covered_.forgotten += absl::IsDeadlineExceeded(answer.status);
    if (!answer.status.ok()) {
      if (client != nullptr) client->tag.reset();  // whether it was carried out is not known
      return;
    }
    const bool done = std::get<rule_machine::Reply>(answer.reply).done;
    if (operation.answer) {
      ++covered_.repeated;
      if (!(*operation.answer == answer)) {
        OnFailure(absl::StrCat("request ", tag, " has two answers"));
      }
      return;
    }
    operation.answer = answer;
    if (client == nullptr) return;  // given up
    const rule_machine::Call& change = operation.of_rule.change;
    operation.of_rule.done = done;
    client->known.erase(operation.name);
    if (done) client->known[operation.name] = change.next;
    ++(!done                  ? covered_.refused
       : !change.next         ? covered_.dropped
       : change.expected == 0 ? covered_.created
                              : covered_.altered);
    End(*client, operation);
  }

  RuleHistory HistoryOf(const std::string& name) const {
    RuleHistory history;
    for (const Operation& one : operations_) {
      if (one.name != name || (one.of_rule.is_read && !one.returned)) continue;
      history.push_back({one.called, one.returned, one.of_rule});
    }
    return history;
  }

  static constexpr int64_t kBegin = 1'700'000'000'000;

  RulesCovered& covered_;
  Random random_;
  int64_t now_ = kBegin;  // the true time, in ms
  int64_t moment_ = 0;    // of calls and answers
  uint64_t sessions_ = 0;
  uint64_t created_ = 0;
  std::string failure_;
  std::vector<Parcel> parcels_;
  std::vector<Operation> operations_;
  Client clients_[4];
  Replicas replicas_;
};

}  // namespace

std::string SimulateRules(uint64_t seed, Flaw machine_flaw, ShellFlaw shell_flaw,
                          RulesCovered& covered) {
  flaw = machine_flaw;
  std::string failure = Simulation(seed, shell_flaw, covered).Run();
  flaw = Flaw::kNone;
  return failure;
}

}  // namespace locus::lease_machine
