// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/type_simulation.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/proof/linear/linearizability.h"
#include "tests/cluster/machine/session_simulation.h"

namespace locus::cluster_machine {
namespace {

using type_machine::Type;

// A call about one type, and its answer.
struct TypeOperation {
  bool is_read = false;
  type_machine::Call change;
  bool done = false;         // of a change
  std::optional<Type> seen;  // of a read
};

// One type, as a sequential object.
struct TypeModel {
  using Operation = TypeOperation;
  using State = std::optional<Type>;

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
using TypeHistory = std::vector<linear::Call<TypeOperation>>;

std::string TextOf(const linear::Call<TypeOperation>& call) {
  const TypeOperation& one = call.operation;
  const std::string when = absl::StrCat("[", call.called, ", ",
                                        call.returned ? absl::StrCat(*call.returned) : "?", "] ");
  if (one.is_read) return absl::StrCat(when, "reads \"", TypeModel::Key(one.seen), "\"");
  return absl::StrCat(when, one.change.expected, " becomes \"", TypeModel::Key(one.change.next),
                      "\"", one.done ? ": done" : "");
}

// The flaw of the calls about one type; empty: none.
std::string FlawOf(const TypeHistory& history) {
  const linear::Report report = linear::Check<TypeModel>(history);
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

struct Operation : SessionCall {
  std::string name;  // of the type
  TypeOperation of_type;
};

struct Client : SessionClient {
  std::map<std::string, std::optional<Type>> known;  // what it read or wrote last, by name
};

class Simulation final : public SessionSimulation<Client, Operation> {
 public:
  Simulation(uint64_t seed, const Flaws& flaws, TypesCovered& covered)
      : SessionSimulation(seed, flaws, /*steady=*/false, covered), covered_(covered) {}

  void OnRead(uint64_t tag, const Machine& machine) override {
    Operation& read = operations_[tag];
    Client* const client = WhoWaitsFor(tag);
    if (client == nullptr) return;  // given up
    const auto& types = machine.types().all();
    const auto found = types.find(read.name);
    if (found != types.end()) read.of_type.seen = found->second;
    End(*client, read);
  }

 private:
  void CheckHistories() override {
    for (const char* name : {"a", "b"}) {
      const std::string wrong = FlawOf(HistoryOf(name));
      if (!wrong.empty()) OnFailure(absl::StrCat("sequence type ", name, ": ", wrong));
    }
  }

  void StepClients() override {
    Client& client = AnyClient();
    if (client.tag) return GoOn(client);
    const std::string name = random_.OneIn(3) ? "b" : "a";
    const auto known = client.known.find(name);
    if (known == client.known.end() || random_.OneIn(4)) return Read(client, name);
    Change(client, name, known->second);
  }

  void Read(Client& client, const std::string& name) {
    Operation& operation = Begin(client);
    operation.name = name;
    operation.of_type.is_read = true;
    replicas_.Read(SomeNode(), *client.tag);
  }

  // As SequenceTypeStore does: a new type begins with a version that there never was.
  void Change(Client& client, const std::string& name, const std::optional<Type>& known) {
    Operation& operation = Begin(client);
    operation.name = name;
    type_machine::Call call{name, known ? known->version : 0, std::nullopt};
    if (!known || !random_.OneIn(4)) {
      call.next =
          Type{known ? known->version + 1 : ++created_ * 1'000'000, absl::StrCat("r", *client.tag)};
    }
    operation.of_type.change = call;
    operation.request = {NextId(client), SpaceName(), std::move(call)};
    Send(client);
  }

  void Learn(Client& client, Operation& operation) override {
    TypeOperation& of_type = operation.of_type;
    if (of_type.is_read) {
      client.known[operation.name] = of_type.seen;
      ++covered_.reads;
      return;
    }
    const type_machine::Call& change = of_type.change;
    of_type.done = std::get<type_machine::Reply>(operation.answer->reply).done;
    client.known.erase(operation.name);
    if (of_type.done) client.known[operation.name] = change.next;
    ++(!of_type.done          ? covered_.refused
       : !change.next         ? covered_.dropped
       : change.expected == 0 ? covered_.created
                              : covered_.altered);
  }

  TypeHistory HistoryOf(const std::string& name) const {
    TypeHistory history;
    for (const Operation& one : operations_) {
      if (one.name != name || (one.of_type.is_read && !one.returned)) continue;
      history.push_back({one.called, one.returned, one.of_type});
    }
    return history;
  }

  TypesCovered& covered_;
  uint64_t created_ = 0;
};

}  // namespace

std::string SimulateTypes(uint64_t seed, const Flaws& flaws, TypesCovered& covered) {
  return Simulation(seed, flaws, covered).Run();
}

}  // namespace locus::cluster_machine
