#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how fast rows come to a shard with guards and version triggers: by the change stream, of
# transactions of 1 and of 1,000 rows, and by the copy: of all vnodes, and of 1,000 vnodes that lie
# apart. Beside the copy, in turns with it, mariadb-dump | mariadb of the same table, to the same
# target and to a table without triggers. Two durable MariaDB servers of its own; orders of eight
# columns, about 150 bytes; ten times ROWS in transactions of 1,000 and in the copies:
#
#   bench/apply/apply_bench.sh [BIN_DIR [ROWS [ROUNDS [copy]]]]      default: build/release/bin 30000 3
#
# `copy`: only the copies.
set -euo pipefail
bin=${1:-build/release/bin}
rows=${2:-30000}
rounds=${3:-3}
only=${4:-}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
logging=(log-bin=bin binlog-format=ROW binlog-row-metadata=FULL binlog-checksum=CRC32
  innodb-buffer-pool-size=256M)
source=$port
target=$((port + 1))
# The source only holds what is read: it is filled without waiting for the disk.
start_mariadb "${logging[@]}" server-id=1 sync-binlog=0 innodb-flush-log-at-trx-commit=0
start_target() {
  local work=$work/target port=$target
  local mariadb_client=("${to_target[@]}")
  mkdir "$work"
  start_mariadb "${logging[@]}" server-id=2 sync-binlog=1
}
to_source=("${mariadb_client[@]}" locus_bench)
to_target=(--no-defaults -h127.0.0.1 "-P$target" -uroot)
start_target
to_target+=(locus_bench)

create='CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, order_no VARBINARY(16),
  buyer_id BIGINT UNSIGNED, status TINYINT, amount DECIMAL(12,2),
  note VARCHAR(200) CHARACTER SET utf8mb4, created_at TIMESTAMP(6),
  version BIGINT UNSIGNED NOT NULL)'
values="UNHEX(MD5(seq)), seq * 7919, seq % 5, seq / 100, CONCAT('order ', seq, ' ', REPEAT('n', 80)),
  NOW(6), 1"

# A target without rows; `bare`: and without triggers.
empty() {
  mariadb "${to_target[@]}" -e 'DROP TABLE IF EXISTS orders, locus_fence, locus_vnode, locus_tombstone,
    locus_checkpoint, locus_copy, locus_run'
  mariadb "${to_target[@]}" -e "$create"
  [ "${1:-}" = bare ] || "$bin/apply_bench" setup "$target"
}
# fill ROWS_A_TRANSACTION [ID]: an empty table on the source, then all rows; position is what lies between.
fill() {
  mariadb "${to_source[@]}" -e "DROP TABLE IF EXISTS orders; $create"
  position=$(mariadb "${to_source[@]}" -BNe 'SELECT @@GLOBAL.gtid_binlog_pos')
  for i in $(seq 0 "$1" $((rows - 1))); do
    echo "INSERT INTO orders SELECT ${2:-seq << 33}, $values FROM seq_$((i + 1))_to_$((i + $1));"
  done | mariadb "${to_source[@]}"
}
update() {
  position=$(mariadb "${to_source[@]}" -BNe 'SELECT @@GLOBAL.gtid_binlog_pos')
  for i in $(seq "$rows"); do
    echo "UPDATE orders SET status = status + 1, version = version + 1 WHERE order_id = $i << 33;"
  done | mariadb "${to_source[@]}"
}

# measured COMMAND...: runs it, and prints the processor time of the target's server for $rows rows.
measured() {
  local before
  before=$(ticks)
  "$@"
  echo "         of the target's server $((($(ticks) - before) * 1000000 / $(getconf CLK_TCK) / rows)) us" \
    "of processor time a row"
}
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/${servers[1]}/stat"; }
dump_and_load() {
  local start end
  start=$(date +%s%N)
  mariadb-dump "${to_source[@]}" --single-transaction --no-create-info orders | mariadb "${to_target[@]}"
  end=$(date +%s%N)
  echo "mariadb-dump | mariadb$1: $((rows * 1000000000 / (end - start))) rows/s"
}

for round in $(seq "$rounds"); do
  echo "== round $round"
  if [ "$only" != copy ]; then
    echo 'inserts, 1 row a transaction'
    fill 1
    empty
    measured "$bin/apply_bench" stream "$source" "$target" "$position"
    echo 'updates, 1 row a transaction'
    update
    measured "$bin/apply_bench" stream "$source" "$target" "$position"
  fi
  rows=$((rows * 10))
  if [ "$only" != copy ]; then
    echo 'inserts, 1,000 rows a transaction'
    fill 1000
    empty
    measured "$bin/apply_bench" stream "$source" "$target" "$position"
  fi
  if [ "$only" != copy ] || [ "$round" = 1 ]; then fill 1000 '((seq % 1000 * 2) << 47) + seq'; fi
  empty
  measured "$bin/apply_bench" copy "$source" "$target"
  empty
  measured dump_and_load ''
  empty
  echo 'of 1,000 vnodes that lie apart'
  measured "$bin/apply_bench" copy "$source" "$target" 1000
  empty bare
  measured dump_and_load ', without triggers'
  rows=$((rows / 10))
done
