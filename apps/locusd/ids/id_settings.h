// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_SETTINGS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "locus/space.h"

namespace locus::locusd {

// A place by its URI (locus/open.h, locus/routing/open.h).
struct PlaceSettings {
  std::string uri;
  std::string password_file = {};  // mode 0600, its first line; empty: no password

  friend bool operator==(const PlaceSettings&, const PlaceSettings&) = default;
};

// [ids.orders]
struct OrderSettings {
  struct Member {
    PlaceSettings place;
    std::string name;           // "": the only store, which is no set
    uint16_t last_section = 0;  // of a set: its first one follows the last one of the member before
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;  // one, or those of a set
  uint32_t layout = 1;          // of a set
  // Whether a missing file, missing tables and the space are made. False: NOT_FOUND, until somebody
  // makes them.
  bool create = false;
  // As OrderIdGenerator::Options.
  bool wide = false;
  absl::Duration horizon = absl::Minutes(10);

  friend bool operator==(const OrderSettings&, const OrderSettings&) = default;
};

// [ids.sequences]
struct SequenceSettings {
  PlaceSettings place;
  PlaceSettings ceiling;           // of redis; empty: none
  bool create = false;             // as OrderSettings::create
  std::vector<std::string> names;  // the only ones there are; empty: any
  // Each costs a counter in the store for good, and 16 KiB of memory.
  uint64_t most = 1000;
  absl::Duration horizon = absl::Minutes(10);

  friend bool operator==(const SequenceSettings&, const SequenceSettings&) = default;
};

// [ids.snowflake]
struct SnowflakeSettings {
  PlaceSettings leases;
  SpaceName space;  // of worker leases
  // Whether a missing file and missing tables are made, and a missing space is waited for. It is
  // never made: what WorkerSpacePast asks is a fact of one day, and a file would repeat it after
  // each loss.
  bool create = false;
  absl::Duration ttl = absl::Minutes(10);
  absl::Duration max_skew = absl::Seconds(10);
  std::optional<uint64_t> datacenter;

  friend bool operator==(const SnowflakeSettings&, const SnowflakeSettings&) = default;
};

// [ids.table]
struct TableSettings {
  PlaceSettings place;
  std::string last_good_file = {};  // empty: none
  absl::Duration confirm_every = absl::Seconds(5);

  friend bool operator==(const TableSettings&, const TableSettings&) = default;
};

// [ids]: what an ID service offers, and from where. What has no section is not offered.
struct IdSettings {
  bool text_buyers = false;  // false: uint64
  // Of the order IDs, and of the keys of their order_nos.
  SpaceName space;
  std::string keys = {};  // the key ring's file; empty: no order_nos
  // As IdApiOptions.
  absl::Duration wait = absl::Seconds(2);
  uint64_t waiters = 4;
  uint64_t waiting = 256;
  absl::Duration remember = absl::Minutes(10);
  uint64_t remember_bytes = uint64_t{64} << 20;

  std::optional<OrderSettings> orders;
  std::optional<SequenceSettings> sequences;
  std::optional<SnowflakeSettings> snowflake;
  std::optional<TableSettings> table;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_SETTINGS_H_
