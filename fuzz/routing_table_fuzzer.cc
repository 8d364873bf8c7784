// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "locus/routing/ring_view.h"
#include "locus/routing/router.h"
#include "locus/routing/table_change.h"
#include "src/base/check.h"

// Any bytes are refused with a JSON Pointer, or make a table that survives its JSON form and that a
// Router answers from as the table itself does. Either costs memory in proportion to the bytes: a
// refusal stops at the byte that is at fault.

namespace locus {
namespace {

void CheckVnode(const RoutingTable& table, const Router& router, uint16_t vnode) {
  auto gene = ShardGene::FromUint16(vnode);
  GeneRoute route = router.Route(gene);
  const VnodeMove* move = table.MoveOf(gene);
  LOCUS_CHECK(*route.owner == table.OwnerOf(gene));
  LOCUS_CHECK((route.target == nullptr) == (move == nullptr));
  if (move != nullptr) {
    LOCUS_CHECK(*route.target == *table.FindShard(move->to));
    LOCUS_CHECK(route.permyriad == move->permyriad);
  }
  OrderId id = OrderId::FromParts(gene, vnode * uint64_t{7919}).value();
  bool moved = move != nullptr && id.cohort() < move->permyriad;
  LOCUS_CHECK(&router.Route(id) == (moved ? route.target : route.owner));
}

void CheckAccepted(const RoutingTable& table) {
  absl::StatusOr<RoutingTable> again = RoutingTable::Parse(table.ToJson());
  LOCUS_CHECK(again.ok());
  LOCUS_CHECK(*again == table);
  LOCUS_CHECK(GuardedChangesBetween(&table, *again).empty());
  LOCUS_CHECK(RingAsSvg(table).size() < 1 << 20);

  Router router(table);
  constexpr uint16_t kStep = 257;
  for (uint32_t vnode = 0; vnode < 65536; vnode += kStep) {
    CheckVnode(table, router, static_cast<uint16_t>(vnode));
  }
  auto check_edges = [&](uint16_t vnode) {
    CheckVnode(table, router, vnode);
    CheckVnode(table, router, static_cast<uint16_t>(vnode + 1));
    CheckVnode(table, router, static_cast<uint16_t>(vnode - 1));
  };
  for (const VnodeRange& range : table.ranges()) check_edges(range.last);
  for (const VnodeMove& move : table.moves()) {
    check_edges(move.first);
    check_edges(move.last);
  }
}

// What operator new gave and did not take back; the fuzzer runs on one thread.
size_t bytes_now = 0, bytes_peak = 0;

// A byte of a document makes at most this much: "{}," of a shard's 128 bytes in a vector that
// grows, and the tables of ids, names and endpoints. Beyond it a small document costs a fixed
// amount.
constexpr size_t kMostPerByte = 200, kMostFixed = 1 << 20;

absl::StatusOr<RoutingTable> ParseCounted(std::string_view text) {
  size_t before = bytes_now;
  bytes_peak = bytes_now;
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(text);
  LOCUS_CHECK(bytes_peak - before <= kMostPerByte * text.size() + kMostFixed);
  return table;
}

void CheckRefusal(const absl::Status& status) {
  LOCUS_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  absl::string_view message = status.message();
  // A pointer and the reason, or of the whole document the reason alone.
  LOCUS_CHECK(!message.empty() && message[0] != ':');
  LOCUS_CHECK(message[0] != '/' || message.find(": ") != absl::string_view::npos);
}

}  // namespace
}  // namespace locus

void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  locus::bytes_now += malloc_usable_size(memory);
  locus::bytes_peak = std::max(locus::bytes_peak, locus::bytes_now);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) locus::bytes_now -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  absl::StatusOr<locus::RoutingTable> table = locus::ParseCounted(text);
  if (table.ok()) {
    locus::CheckAccepted(*table);
  } else {
    locus::CheckRefusal(table.status());
  }
  return 0;
}
