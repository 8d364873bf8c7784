#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures BinlogReader beside mariadb-binlog -v, which prints the same rows, on a MariaDB server of
# its own with orders of nine columns, 1,000 and then 1 in a transaction:
#
#   bench/stream/stream_bench.sh [BIN_DIR [TRANSACTIONS [ROUNDS]]]      default: build/release/bin 300 5
set -euo pipefail
bin=${1:-build/release/bin}
transactions=${2:-300}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
start_mariadb log-bin=bin binlog-format=ROW binlog-row-metadata=FULL binlog-checksum=CRC32 \
  server-id=1 sync-binlog=0

# fill ROWS: transactions of that many rows each, alone in the log.
fill() {
  {
    echo 'SET sql_log_bin=0; DROP TABLE IF EXISTS orders; SET sql_log_bin=1; RESET MASTER;
      CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, order_no VARBINARY(16),
        buyer_id BIGINT UNSIGNED, status TINYINT, amount DECIMAL(12,2),
        note VARCHAR(200) CHARACTER SET utf8mb4, created_at TIMESTAMP(6), paid_at DATETIME(3) NULL,
        version BIGINT UNSIGNED);'
    for i in $(seq "$transactions"); do
      echo "INSERT INTO orders SELECT $i * 100000 + seq, UNHEX(MD5(seq)), seq * 7919, seq % 5,
        seq / 100, CONCAT('order ', seq), NOW(6), IF(seq % 3, NOW(3), NULL), 1 FROM seq_1_to_$1;"
    done
  } | mariadb "${mariadb_client[@]}" locus_bench
  echo "== $1 rows a transaction"
}

# peer ROWS: what mariadb-binlog -v takes for them.
peer() {
  local start end
  start=$(date +%s%N)
  mariadb-binlog -v --base64-output=DECODE-ROWS "$work"/mariadb/bin.0* > /dev/null
  end=$(date +%s%N)
  echo "mariadb-binlog -v of the file: $(($1 * 1000000000 / (end - start))) rows/s"
}

fill 1000
"$bin/stream_bench" "$port" "${3:-5}"
peer $((transactions * 1000))
transactions=$((transactions * 50))
fill 1
"$bin/stream_bench" "$port" "${3:-5}"
peer "$transactions"
