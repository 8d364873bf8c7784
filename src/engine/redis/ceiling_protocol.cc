// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/ceiling_protocol.h"

#include <algorithm>

namespace locus::ceiling {
namespace {

bool Counts(const Held& held, uint64_t seen, const std::string& master) {
  return held.master == master && held.version >= seen;
}

int64_t LeftOf(const Held& held) {
  int64_t left = held.ceiling - held.value;
  return held.next ? left + (held.next->high - held.next->low) : left;
}

}  // namespace

Drawn Draw(Held& held, const DrawRequest& request, const std::string& master, uint64_t born) {
  if (!Counts(held, request.seen, master)) {
    uint64_t version = std::max({held.version, request.seen, born}) + 1;
    held = Held();
    held.master = master;
    held.life = request.new_life;
    held.version = version;
  }
  Drawn drawn;
  drawn.life = held.life;
  if (!held.begun) {
    drawn.word = Word::kLost;
    return drawn;
  }
  int64_t room = request.limit - request.span;  // the highest value that leaves room
  drawn.value = held.value;
  if (held.value > room) {
    drawn.word = Word::kMax;
    return drawn;
  }
  if (held.ceiling - held.value < request.span) {
    if (held.next && held.next->low > room) {
      drawn.word = Word::kMax;
      return drawn;
    }
    if (!held.next || held.next->high - held.next->low < request.span) {
      drawn.word = Word::kShort;
      drawn.value = 0;
      return drawn;
    }
    held.value = held.next->low;
    held.ceiling = held.next->high;
    held.next.reset();
    drawn.value = held.value;
  }
  held.value += request.span;
  drawn.version = ++held.version;
  drawn.left = LeftOf(held);
  return drawn;
}

Installed Install(Held& held, const std::string& life, const Block& block,
                  const std::string& master) {
  if (held.master != master || held.life != life) return Installed::kLate;
  if (!held.begun) {
    held.begun = true;
    held.value = block.low;
    held.ceiling = block.high;
    ++held.version;
    return Installed::kBegun;
  }
  int64_t& top = held.next ? held.next->high : held.ceiling;
  if (block.low < top) return Installed::kLate;
  if (block.low == top) {
    top = block.high;
    return Installed::kExtended;
  }
  if (held.next && block.high - block.low <= held.next->high - held.next->low) {
    return Installed::kKept;
  }
  held.next = block;
  return Installed::kNext;
}

void DrawCall::OnDrawn(const Drawn& drawn) {
  life_ = drawn.life;
  switch (drawn.word) {
    case Word::kOk:
      step_ = Step::kDone;
      return;
    case Word::kMax:
      step_ = Step::kAtLimit;
      return;
    case Word::kShort:
    case Word::kLost:
      step_ = Step::kRaise;
      return;
  }
}

void DrawCall::OnRaised(const Block& block) {
  block_ = block;
  step_ = Step::kInstall;
}

int64_t NextBlock(int64_t last, std::chrono::nanoseconds lasted, int64_t least, int64_t most) {
  if (lasted < std::chrono::seconds(1)) return last > most / 2 ? most : last * 2;
  if (lasted > std::chrono::seconds(10)) last /= 2;
  return std::clamp(last, least, most);
}

}  // namespace locus::ceiling
