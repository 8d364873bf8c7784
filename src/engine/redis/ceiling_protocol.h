// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_CEILING_PROTOCOL_H_
#define LOCUS_SRC_ENGINE_REDIS_CEILING_PROTOCOL_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

// The protocol by which Redis counts below a ceiling that a durable sequencer has stored before.
// Pure: Draw and Install decide here exactly what the scripts of ceiling_scripts.cc decide in
// Redis, and a test compares them.
//
// A block is a range of numbers taken from the durable sequencer. No other process ever gets it,
// and it lies above all blocks taken before. It is sent to Redis once. The state of a key in Redis
// is a life. A life begins when Redis holds no valid state, and a block is installed only into the
// life under which it was drawn. So whatever Redis loses or brings back,
//   - a number is given out by the one life into which its block was installed: never twice;
//   - a life gives out only numbers of blocks drawn after it began, so above all given out before.
// State is valid only for the term of the master that wrote it (its replication id, new at each
// start and each promotion): a replica that takes over brings the lives of other masters.

namespace locus::ceiling {

// Numbers above `low` up to `high`.
struct Block {
  int64_t low = 0;
  int64_t high = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

// The state of a key in Redis.
struct Held {
  std::string master;  // the term in which it was written; empty: nothing is held
  std::string life;
  uint64_t version = 0;  // of the last write
  bool begun = false;    // whether the life has a block yet; the rest is empty until then
  int64_t value = 0;     // the last number given out
  int64_t ceiling = 0;
  std::optional<Block> next;  // where numbers continue once the ceiling is reached
  friend bool operator==(const Held&, const Held&) = default;
};

enum class Word {
  kOk,     // drawn: value was the last number before
  kMax,    // the numbers would pass the limit
  kShort,  // they would pass the ceiling: a block is needed
  kLost,   // a life has begun that has no block yet
};
struct Drawn {
  Word word = Word::kOk;
  std::string life;
  int64_t value = 0;  // of kOk and kMax: the last number before
  uint64_t version = 0;
  int64_t left = 0;  // numbers below the ceiling and in the next block, after this draw
};

struct DrawRequest {
  int64_t span = 0;  // 0: only looks, and begins a life where there is none
  int64_t limit = std::numeric_limits<int64_t>::max();
  uint64_t seen = 0;  // the highest version that the process has seen of the key
  std::string new_life;
};
// `born` is the version a life begins with, if no higher one is known.
Drawn Draw(Held& held, const DrawRequest& request, const std::string& master, uint64_t born);

enum class Installed { kBegun, kExtended, kNext, kKept, kLate };
Installed Install(Held& held, const std::string& life, const Block& block,
                  const std::string& master);

// One call of a process: its next step, from the outcomes so far.
class DrawCall {
 public:
  enum class Step { kDraw, kRaise, kInstall, kDone, kAtLimit };
  Step step() const { return step_; }
  const std::string& life() const { return life_; }
  const Block& block() const { return block_; }

  void OnDrawn(const Drawn& drawn);
  void OnRaised(const Block& block);
  // Also where the answer got lost: a block is sent once.
  void OnInstalled() { step_ = Step::kDraw; }

 private:
  Step step_ = Step::kDraw;
  std::string life_;
  Block block_;
};

// How many numbers the next raise takes: twice as many where the last block lasted less than a
// second, half as many where it lasted more than ten.
int64_t NextBlock(int64_t last, std::chrono::nanoseconds lasted, int64_t least, int64_t most);

// Whether to raise ahead of use.
inline bool RunsLow(const Drawn& drawn, int64_t block) {
  return drawn.word == Word::kOk && drawn.left < block / 2;
}

}  // namespace locus::ceiling

#endif  // LOCUS_SRC_ENGINE_REDIS_CEILING_PROTOCOL_H_
