// SPDX-License-Identifier: Apache-2.0
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "locus/routing/ring_view.h"
#include "locus/routing/router.h"
#include "locus/routing/table_change.h"
#include "src/base/os/check.h"

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

// What the allocator gave and did not take back; the fuzzer runs on one thread. Counted by hooks of
// the sanitizer: with operators new and delete of our own, libFuzzer's would no longer be a pair.
size_t bytes_now = 0, bytes_peak = 0;

void CountGiven(const volatile void* memory, size_t) {
  bytes_now += __sanitizer_get_allocated_size(memory);
  bytes_peak = std::max(bytes_peak, bytes_now);
}
void CountTaken(const volatile void* memory) {
  if (memory != nullptr) bytes_now -= __sanitizer_get_allocated_size(memory);
}

// A byte of a document makes at most this much: "{}," of a shard's 128 bytes in a vector that
// grows, and the tables of ids, names and endpoints. Beyond it a small document costs a fixed
// amount.
constexpr size_t kMostPerByte = 200, kMostFixed = 1 << 20;

absl::StatusOr<RoutingTable> ParseCounted(std::string_view text) {
  // Memory from before the hooks may be freed meanwhile: the count starts again.
  bytes_now = size_t{1} << 40;
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const bool counting =
      __sanitizer_install_malloc_and_free_hooks(locus::CountGiven, locus::CountTaken) > 0;
  LOCUS_CHECK(counting);
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  absl::StatusOr<locus::RoutingTable> table = locus::ParseCounted(text);
  if (table.ok()) {
    locus::CheckAccepted(*table);
  } else {
    locus::CheckRefusal(table.status());
  }
  return 0;
}
