// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/redis/ceiling_simulation.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/engine/redis/ceiling_protocol.h"

namespace locus {
namespace {

using ceiling::Block;
using ceiling::DrawCall;
using ceiling::Drawn;
using ceiling::Held;
using ceiling::Installed;
using ceiling::Word;

CeilingCoverage coverage;

struct Server {
  Held held;
  Held dump;  // what a restart brings back
  std::string term;
  bool master = false;
  uint64_t run = 0;  // connections of an earlier run are gone
};

// A request on its way, or its answer on the way back.
struct Message {
  enum Kind { kDraw, kRaise, kWriteRaise, kInstall } kind = kDraw;
  size_t activity = 0;
  uint64_t attempt = 0;  // of the activity; an answer to an earlier one is ignored
  size_t server = 0;
  uint64_t run = 0;
  std::string term_of_connection;
  ceiling::DrawRequest draw;
  std::string life;
  Block block;
  int64_t size = 0;
  bool executed = false;
  bool refused = false;
  Drawn drawn;
};

class World {
 public:
  World(uint64_t seed, CeilingFault fault)
      : random_(seed), fault_(fault), splits_(OneIn(2)), activities_(2 + Below(4)) {
    servers_[0].master = true;
    for (Server& server : servers_) NewTerm(server);
    for (size_t i = 0; i < activities_.size(); ++i) activities_[i].process = i / 2;
    processes_.resize((activities_.size() + 1) / 2);
  }

  std::string Run() {
    for (uint64_t events = 300 + Below(900); events > 0 && violation_.empty(); --events) {
      if (OneIn(20)) {
        ServerEvent();
      } else if (OneIn(3) && !messages_.empty()) {
        MoveAMessage();
      } else {
        Advance(Below(activities_.size()));
      }
    }
    return violation_;
  }

 private:
  struct Process {
    uint64_t seen = 0;
    size_t server = 0;
    uint64_t run = UINT64_MAX;  // not connected
    std::string term;
  };
  struct Activity {
    size_t process = 0;
    bool busy = false;     // a call is under way
    bool waiting = false;  // for an answer
    uint64_t attempt = 0;
    DrawCall call;
    int64_t span = 1;
    bool ahead = false;  // raises ahead of use: ends with the block installed
    Block unanswered;    // of an install whose answer got lost
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  void NewTerm(Server& server) { server.term = absl::StrCat("term", ++terms_); }
  size_t Master() const {
    return servers_[0].master && !(servers_[1].master && newer_ == 1) ? 0 : 1;
  }

  void ServerEvent() {
    Server& master = servers_[Master()];
    Server& other = servers_[1 - Master()];
    switch (Below(12)) {
      case 0:
        return Failover();
      case 1:
        ++coverage.restarts;
        master.held = OneIn(2) ? Held() : master.dump;
        NewTerm(master);
        ++master.run;
        return;
      case 2:
        ++coverage.flushes;
        master.held = Held();
        return;
      case 3:
        master.dump = master.held;
        return;
      case 4:
        if (other.master) Demote(other, master);
        return;
      default:
        if (!other.master) other.held = master.held;  // replication catches up
    }
  }

  void Failover() {
    ++coverage.failovers;
    size_t from = Master();
    Server &old = servers_[from], &next = servers_[1 - from];
    if (next.master) Demote(next, old);  // one split at a time
    next.master = true;
    newer_ = 1 - from;
    NewTerm(next);
    if (splits_ && OneIn(3)) {
      split_ = true;
      ++coverage.splits;
    } else {
      Demote(old, next);
    }
  }
  void Demote(Server& server, const Server& master) {
    server.master = false;
    server.held = master.held;
    server.term = master.term;
  }

  // The activity's next step.
  void Advance(size_t i) {
    Activity& activity = activities_[i];
    if (activity.waiting) {
      if (OneIn(8)) GiveUp(activity);
      return;
    }
    Process& process = processes_[activity.process];
    if (!activity.busy) {
      activity.busy = true;
      activity.ahead = false;
      activity.call = DrawCall();
      activity.span = static_cast<int64_t>(1 + Below(OneIn(4) ? 15 : 3));
    }
    Message message;
    message.activity = i;
    message.attempt = ++activity.attempt;
    if (process.run != servers_[process.server].run || !servers_[process.server].master) {
      if (OneIn(2) || process.run != servers_[process.server].run) Connect(process);
    }
    message.server = process.server;
    message.run = process.run;
    message.term_of_connection = process.term;
    message.size = static_cast<int64_t>(std::max<uint64_t>(5 + Below(20), 1));
    message.size = std::max(message.size, activity.span);
    message.life = activity.call.life();
    switch (activity.call.step()) {
      case DrawCall::Step::kRaise:
        if (fault_ == CeilingFault::kInstallAgain && activity.unanswered.high > 0) {
          activity.call.OnRaised(activity.unanswered);
          activity.unanswered = Block();
          return;
        }
        message.kind = Message::kRaise;
        break;
      case DrawCall::Step::kInstall:
        message.kind = Message::kInstall;
        message.block = activity.call.block();
        break;
      default:
        message.kind = Message::kDraw;
        message.draw.span = activity.span;
        message.draw.seen = process.seen;
        message.draw.new_life = absl::StrCat("life", ++lives_);
    }
    activity.waiting = true;
    messages_.push_back(std::move(message));
  }

  void Connect(Process& process) {
    // Mostly the newest master; while there are two, possibly the old one.
    process.server = servers_[0].master && servers_[1].master ? Below(2) : Master();
    process.run = servers_[process.server].run;
    process.term = servers_[process.server].term;
  }

  // The call ends UNAVAILABLE; the message may still be executed. A block that was being sent is
  // gone.
  void GiveUp(Activity& activity) {
    ++activity.attempt;
    activity.waiting = false;
    if (activity.call.step() == DrawCall::Step::kInstall) {
      activity.unanswered = activity.call.block();
      activity.call.OnInstalled();
    }
    if (OneIn(2)) activity.busy = false;
  }

  void MoveAMessage() {
    size_t i = Below(messages_.size());
    Message& message = messages_[i];
    Activity& activity = activities_[message.activity];
    bool awaited = activity.waiting && activity.attempt == message.attempt;
    if (!message.executed) {
      bool gone = message.kind != Message::kRaise && message.kind != Message::kWriteRaise &&
                  message.run != servers_[message.server].run;
      if (gone || OneIn(15)) {
        if (awaited) GiveUp(activity);
        return Remove(i);
      }
      coverage.late_executions += !awaited;
      message.executed = true;
      return Execute(message);
    }
    Message answer = message;
    Remove(i);
    if (awaited) Deliver(activity, answer);
  }
  void Remove(size_t i) { messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(i)); }

  void Execute(Message& message) {
    if (message.kind == Message::kRaise) {
      message.block = {durable_, durable_ + message.size};
      ++coverage.blocks;
      if (fault_ == CeilingFault::kReadThenWriteRaise) {
        message.kind = Message::kWriteRaise;
        message.executed = false;
      } else {
        durable_ = message.block.high;
      }
      return;
    }
    if (message.kind == Message::kWriteRaise) {
      durable_ = message.block.high;
      return;
    }
    Server& server = servers_[message.server];
    message.refused = !server.master;
    if (message.refused) return;
    std::string term =
        fault_ == CeilingFault::kTermOfConnection ? message.term_of_connection : server.term;
    if (fault_ == CeilingFault::kTrustAfterFailover && !server.held.master.empty()) {
      server.held.master = term;
    }
    if (message.kind == Message::kInstall) {
      InstallAt(server.held, message, term);
    } else {
      DrawAt(server.held, message, term);
    }
  }

  void InstallAt(Held& held, const Message& message, const std::string& term) {
    if (fault_ == CeilingFault::kInstallOverwrites && held.begun && held.master == term) {
      held.value = message.block.low;
      held.ceiling = message.block.high;
      return;
    }
    bool any = fault_ == CeilingFault::kInstallIntoAnyLife;
    Installed installed =
        ceiling::Install(held, any ? held.life : message.life, message.block, term);
    coverage.late_blocks += installed == Installed::kLate;
  }

  void DrawAt(Held& held, Message& message, const std::string& term) {
    std::string life = held.life;
    message.drawn = ceiling::Draw(held, message.draw, term, Below(1000));
    coverage.lives += held.life != life;
    if (fault_ == CeilingFault::kRaiseAfterUse && message.drawn.word == Word::kShort &&
        held.value < held.ceiling + 50) {
      message.drawn.word = Word::kOk;
      message.drawn.value = held.value;
      held.value += message.draw.span;
      held.ceiling = std::max(held.ceiling, held.value);
      message.drawn.version = ++held.version;
    }
    if (message.drawn.word != Word::kOk) return;
    for (int64_t n = 1; n <= message.draw.span; ++n) Given(message.drawn.value + n);
    highest_ = std::max(highest_, message.drawn.value + message.draw.span);
  }

  void Given(int64_t number) {
    ++coverage.numbers;
    if (!given_.insert(number).second) {
      violation_ = absl::StrCat("number ", number, " was given out twice");
    } else if (number <= highest_ && !split_) {
      violation_ = absl::StrCat("number ", number, " came after ", highest_);
    }
  }

  void Deliver(Activity& activity, const Message& message) {
    activity.waiting = false;
    Process& process = processes_[activity.process];
    if (message.refused) {
      process.run = UINT64_MAX;
      if (message.kind == Message::kInstall) activity.call.OnInstalled();
      return;
    }
    switch (message.kind) {
      case Message::kRaise:
      case Message::kWriteRaise:
        activity.call.OnRaised(message.block);
        return;
      case Message::kInstall:
        activity.call.OnInstalled();
        if (activity.ahead) activity.busy = false;
        return;
      case Message::kDraw:
        process.seen = std::max(process.seen, message.drawn.version);
        activity.call.OnDrawn(message.drawn);
        if (activity.call.step() != DrawCall::Step::kDone) return;
        activity.busy = false;
        if (ceiling::RunsLow(message.drawn, 20)) RaiseAhead(activity, message.drawn);
    }
  }

  // As the thread does that raises ahead, for the life in which numbers ran low.
  void RaiseAhead(Activity& activity, Drawn drawn) {
    drawn.word = Word::kShort;
    activity.call = DrawCall();
    activity.call.OnDrawn(drawn);
    activity.busy = true;
    activity.ahead = true;
  }

  std::mt19937_64 random_;
  const CeilingFault fault_;
  const bool splits_;
  bool split_ = false;  // there have been two masters: unique is all that numbers are
  std::string violation_;
  Server servers_[2];
  size_t newer_ = 0;  // the server that became master last
  uint64_t terms_ = 0;
  uint64_t lives_ = 0;
  int64_t durable_ = 0;
  int64_t highest_ = 0;
  std::set<int64_t> given_;
  std::vector<Activity> activities_;
  std::vector<Process> processes_;
  std::vector<Message> messages_;
};

}  // namespace

std::string SimulateCeiling(uint64_t seed, CeilingFault fault) { return World(seed, fault).Run(); }

const CeilingCoverage& CoverageOfCeilings() { return coverage; }

}  // namespace locus
