// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/plan/shard_sample.h"

#include <openssl/crypto.h>

#include "absl/strings/str_cat.h"
#include "apps/locus/place/password.h"
#include "locus/shard_gene.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/pool.h"
#include "src/open/fill.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;
using internal::StoreUri;

namespace {

absl::Status About(const std::string& shard, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("shard ", Quoted(shard), ": ", status.message()));
}

absl::StatusOr<std::unique_ptr<mysql::Pool>> MakePool(const Shard& shard,
                                                      const ShardAccess& access) {
  LOCUS_ASSIGN_OR_RETURN(StoreUri uri, StoreUri::Parse(shard.endpoint));
  if (uri.engine->name != "mysql") {
    return absl::InvalidArgumentError("its endpoint is not mysql://HOST:PORT/DB");
  }
  MysqlOptions options;
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(PasswordFor::kShard));
  internal::Fill(uri, password, options);
  options.user = access.user;
  options.timeout = access.timeout;
  options.max_connections = 1;
  options.accept_weak_durability = true;  // only reads
  auto pool = mysql::Pool::Make(options, mysql::Pool::Schema::kNotLookedAt);
  OPENSSL_cleanse(options.password.data(), options.password.size());
  return pool;
}

absl::Status Fill(const std::vector<mysql::Result::Row>& rows, std::vector<uint64_t>& counts) {
  for (const mysql::Result::Row& row : rows) {
    std::optional<uint64_t> gene;
    std::optional<uint64_t> count;
    if (row[0]) gene = ParseDecimal(*row[0], ShardGene::kCount - 1);
    if (row[1]) count = ParseDecimal(*row[1], UINT64_MAX);
    if (!gene) {
      return absl::DataLossError(absl::StrCat(
          "a row has shard_gene ", row[0] ? Quoted(*row[0]) : "NULL", ", which is not 0..65535"));
    }
    if (!count) {
      return absl::DataLossError(absl::StrCat("the versions of gene ", *gene, " sum to ",
                                              row[1] ? Quoted(*row[1]) : "NULL"));
    }
    counts[*gene] = *count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SampledShard> SampledShard::Open(const Shard& shard, const ShardAccess& access) {
  absl::StatusOr<std::unique_ptr<mysql::Pool>> pool = MakePool(shard, access);
  if (!pool.ok()) return About(shard.name, pool.status());
  return SampledShard(shard, access, *std::move(pool));
}

absl::StatusOr<ShardSample> SampledShard::Count(Counted counted) const {
  std::string statement =
      absl::StrCat("SELECT shard_gene, ", counted == Counted::kRows ? "COUNT(*)" : "SUM(version)",
                   " FROM `", table_name_, "` GROUP BY shard_gene");
  ShardSample sample;
  absl::Status status = pool_->Use([&](mysql::Connection& connection) -> absl::Status {
    sample.counts.assign(ShardGene::kCount, 0);
    auto begin = std::chrono::steady_clock::now();
    LOCUS_ASSIGN_OR_RETURN(std::vector<mysql::Result> results,
                           connection.Run(statement, {mysql::Rows(2, ShardGene::kCount + 1)}));
    sample.taken_at = begin + (std::chrono::steady_clock::now() - begin) / 2;
    return Fill(results[0].rows, sample.counts);
  });
  if (!status.ok()) return About(name_, status);
  return sample;
}

}  // namespace locus::cli
