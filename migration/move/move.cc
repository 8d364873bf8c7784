// SPDX-License-Identifier: Apache-2.0
#include "locus/migration/move.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::Quoted;

namespace {

constexpr size_t kMostRanges = 1024;
constexpr uint32_t kMostVnode = 65535;

absl::Status Refuse(absl::string_view what, absl::string_view value, absl::string_view limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("move: ", what, " is ", value, "; it must be ", limit));
}

absl::Status CheckDuration(absl::string_view what, absl::Duration value, absl::Duration least,
                           absl::Duration most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Refuse(what, absl::FormatDuration(value),
                absl::StrCat(absl::FormatDuration(least), " to ", absl::FormatDuration(most)));
}

absl::Status CheckRanges(const std::vector<FencedRange>& ranges) {
  if (ranges.empty() || ranges.size() > kMostRanges) {
    return Refuse("the number of ranges", absl::StrCat(ranges.size()),
                  absl::StrCat("1 to ", kMostRanges));
  }
  uint32_t least = 0;
  for (const FencedRange& range : ranges) {
    if (range.lo < least || range.hi < range.lo || range.hi > kMostVnode) {
      return Refuse("a range of vnodes", absl::StrCat(range.lo, "-", range.hi),
                    "ascending, apart from its neighbours and at most 65535");
    }
    least = range.hi + 2;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Move::Check() const {
  const bool is_name =
      !name.empty() && name.size() <= 64 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.>") == std::string::npos;
  if (!is_name) return Refuse("its name", Quoted(name), "1 to 64 bytes of a-z, 0-9, - _ . and >");
  for (const MoveShard* shard : {&source, &target}) {
    if (shard->id == 0) return Refuse("the id of a shard", "0", "at least 1");
    if (shard->name.empty() || shard->name.size() > RoutingTable::kMaxNameBytes) {
      return Refuse("the name of a shard", Quoted(shard->name), "1 to 64 bytes");
    }
    LOCUS_RETURN_IF_ERROR(shard->server.Check());
  }
  if (source.id == target.id) {
    return Refuse("the target", absl::StrCat("shard ", target.id), "another shard than the source");
  }
  LOCUS_RETURN_IF_ERROR(CheckRanges(ranges));
  FenceOptions fence;
  fence.movers = movers;
  for (const MovedTable& table : tables) {
    LOCUS_RETURN_IF_ERROR(table.Check());
    fence.tables.push_back(table.guard);
  }
  return fence.Check();
}

absl::Status MovePace::Check() const {
  if (by < 1 || by > RoutingTable::kMaxPermyriad) {
    return Refuse("its step", absl::StrCat(by), "1 to 10000 permyriad");
  }
  using absl::Hours, absl::Milliseconds, absl::Minutes, absl::Seconds, absl::ZeroDuration;
  LOCUS_RETURN_IF_ERROR(CheckDuration("dwell", dwell, ZeroDuration(), Hours(24)));
  LOCUS_RETURN_IF_ERROR(
      CheckDuration("accept_within", accept_within, Milliseconds(100), Minutes(1)));
  LOCUS_RETURN_IF_ERROR(CheckDuration("fence_wait", fence_wait, Milliseconds(10), Seconds(5)));
  return CheckDuration("chunk_time", chunk_time, Milliseconds(1), Minutes(1));
}

absl::Status MoveGates::Check() const {
  using absl::Hours, absl::Milliseconds, absl::Minutes;
  LOCUS_RETURN_IF_ERROR(CheckDuration("gate lag", lag, Milliseconds(10), Minutes(10)));
  LOCUS_RETURN_IF_ERROR(
      CheckDuration("gate oldest_transaction", oldest_transaction, Milliseconds(10), Hours(1)));
  if (command.find('\0') != std::string::npos) {
    return Refuse("gate command", Quoted(command), "without zero bytes");
  }
  return CheckDuration("gate patience", patience, Milliseconds(100), Hours(24));
}

absl::StatusOr<std::vector<MoveLeg>> MoveLegsOf(const RoutingTable& table,
                                                const std::vector<FencedRange>& without) {
  auto left_out = [&](uint32_t vnode) {
    return std::any_of(without.begin(), without.end(), [&](const FencedRange& range) {
      return vnode >= range.lo && vnode <= range.hi;
    });
  };
  std::map<std::pair<uint32_t, uint32_t>, MoveLeg> legs;
  std::map<std::pair<uint32_t, uint32_t>, const VnodeMove*> first_of;
  for (const VnodeMove& move : table.moves()) {
    for (uint32_t vnode = move.first; vnode <= move.last; ++vnode) {
      if (left_out(vnode)) continue;
      const uint32_t source = table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id;
      const std::pair<uint32_t, uint32_t> pair(source, move.to);
      const VnodeMove*& first = first_of.emplace(pair, &move).first->second;
      if (first->permyriad != move.permyriad || first->step != move.step) {
        return absl::FailedPreconditionError(
            absl::StrCat("epoch ", table.epoch(), ": the moves of vnodes ", first->first, "-",
                         first->last, " and ", move.first, "-", move.last, " go from shard ",
                         source, " to shard ", move.to, " and stand at different shares or steps (",
                         first->permyriad, " at step ", first->step, ", ", move.permyriad,
                         " at step ", move.step, "); end one of them before the other begins"));
      }
      MoveLeg& leg = legs[pair];
      leg.source = source;
      leg.target = move.to;
      if (!leg.ranges.empty() && leg.ranges.back().hi + 1 == vnode) {
        leg.ranges.back().hi = vnode;
      } else {
        leg.ranges.push_back({vnode, vnode});
      }
    }
  }
  std::vector<MoveLeg> result;
  for (auto& [pair, leg] : legs) result.push_back(std::move(leg));
  return result;
}

}  // namespace locus
