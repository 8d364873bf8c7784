#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Moves half of the orders of a large table to a second MariaDB server by `locus move run`, and
# prints how fast they were copied, how far the target is behind while 10,000 moved rows a second are
# written, how long its bands waited, and the most memory that the process had (VmHWM). Two durable
# servers of its own; orders of about 150 bytes:
#
#   bench/run/move_bench.sh [BIN_DIR [ROWS]]      default: build/release/bin 2000000
set -euo pipefail
bin=$(cd "${1:-build/release/bin}" && pwd)
rows=${2:-2000000}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
both=$work
trap 'work=$both; stop_servers' EXIT INT TERM
ports=()
for side in source target; do
  work=$both/$side
  mkdir "$work"
  mariadb_client=(--no-defaults -h127.0.0.1 "-P$port" -uroot)
  start_mariadb innodb-buffer-pool-size=512M log-bin=bin binlog-format=ROW binlog-row-image=FULL \
    binlog-row-metadata=FULL binlog-checksum=CRC32 gtid-strict-mode=ON sync-binlog=1 \
    log-bin-trust-function-creators=1 "server-id=$((${#ports[@]} + 1))"
  mariadb "${mariadb_client[@]}" locus_bench -e "
    CREATE USER locus_mover@'127.0.0.1' IDENTIFIED BY 'bench';
    GRANT ALL ON *.* TO locus_mover@'127.0.0.1';
    CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, order_no VARBINARY(16),
      buyer_id BIGINT UNSIGNED, status TINYINT, amount DECIMAL(12,2),
      note VARCHAR(200) CHARACTER SET utf8mb4, created_at TIMESTAMP(6),
      version BIGINT UNSIGNED NOT NULL)"
  ports+=("$port")
  port=$((port + 1))
done
work=$both
mariadb --no-defaults -h127.0.0.1 "-P${ports[0]}" -uroot locus_bench -e "
  INSERT INTO orders SELECT ((seq * 40503 & 65535) << 47) + seq, UNHEX(MD5(seq)), seq * 7919,
    seq % 5, seq / 100, CONCAT('order ', seq, ' ', REPEAT('n', 80)), NOW(6), 1
    FROM seq_1_to_$rows ORDER BY 1; ANALYZE TABLE orders" > /dev/null

url() { echo "mysql://127.0.0.1:$1/locus_bench"; }
cd "$work"
printf bench > password
chmod 600 password
"$bin/locus" table new --shard "a=$(url "${ports[0]}")" > first.json
"$bin/locus" table publish --quiet file:table.json first.json
"$bin/locus" plan --table file:table.json --add "b=$(url "${ports[1]}")" --json > plan.json
"$bin/locus" plan apply --table file:table.json --plan plan.json --out second.json
"$bin/locus" table publish --quiet file:table.json second.json
"$bin/locus" move new --table "file:$work/table.json" --name bench --out draft.toml
sed -e 's/^movers = .*/movers = ["locus_mover@127.0.0.1"]/' \
  -e "s#^password_file = .*#password_file = \"$work/password\"#" draft.toml > bench.toml
"$bin/locus" move start bench.toml
"$bin/locus" move run bench.toml > run.log 2>&1 &
runner=$!
servers+=("$runner")

status() { "$bin/locus" move status bench.toml; }
# until_state STATE
until_state() {
  until status | grep -q "^  state *$1"; do
    kill -0 "$runner" 2> /dev/null || { cat run.log >&2; exit 1; }
    sleep 0.2
  done
}
until_state READY
status

# write: 10,000 rows a second for 10 s, 20 a transaction, of vnodes that move; says how long it took.
write() {
  local done=0 due begun=${EPOCHREALTIME/./} values
  values="UNHEX(MD5(seq)), seq * 7919, seq % 5, seq / 100, CONCAT('order ', seq, ' ',
    REPEAT('n', 80)), NOW(6), 1"
  while [ "$done" -lt 100000 ]; do
    due=$(((${EPOCHREALTIME/./} - begun) / 100))
    for (( ; done < due && done < 100000; done += 20)); do
      echo "INSERT INTO orders SELECT ((seq * 40503 & 32767) << 47) + seq, $values
        FROM seq_$((rows + done + 1))_to_$((rows + done + 20));"
    done
    sleep 0.01
  done | mariadb --no-defaults -h127.0.0.1 "-P${ports[0]}" -uroot locus_bench
  echo "wrote 100,000 rows in $(((${EPOCHREALTIME/./} - begun) / 1000)) ms"
}
write > written &
writer=$!
while kill -0 "$writer" 2> /dev/null; do
  status | sed -n 's/^  lag *from the source \([0-9]*\) ms.*/\1/p'
  sleep 0.2
done > lags
wait "$writer"
cat written
sort -n lags | awk '{ lag[NR] = $1 } END {
  printf "lag of %d looks meanwhile: median %d ms, most %d ms\n", NR, lag[int((NR + 1) / 2)], lag[NR] }'
"$bin/locus" move auto bench.toml --by 1000 --dwell 200ms
until_state SWITCHED
"$bin/locus" move finalize bench.toml
until_state FINALIZED
"$bin/locus" move cleanup bench.toml
status
grep VmHWM "/proc/$runner/status"
until_state DONE || true
