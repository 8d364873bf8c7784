#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures RowVerifier on two MariaDB servers of its own with orders of eight columns, about 150
# bytes, beside checksums of whole tables by hand:
#
#   bench/verify/verify_bench.sh [BIN_DIR [ROWS [ROUNDS]]]      default: build/release/bin 1000000 5
set -euo pipefail
bin=${1:-build/release/bin}
rows=${2:-1000000}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"

both=$work
trap "work=\$both; stop_servers" EXIT INT TERM
ports=()
for side in source target; do
  work=$both/$side
  mkdir "$work"
  mariadb_client=(--no-defaults -h127.0.0.1 "-P$port" -uroot)
  start_mariadb innodb-buffer-pool-size=512M
  mariadb "${mariadb_client[@]}" locus_bench -e "
    SET time_zone = '+00:00';
    CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, buyer_id BIGINT UNSIGNED NOT NULL,
      status TINYINT NOT NULL, amount DECIMAL(12,2) NOT NULL,
      note VARCHAR(200) CHARACTER SET utf8mb4 NULL, created_at TIMESTAMP(6) NOT NULL,
      paid_at DATETIME(3) NULL, version BIGINT UNSIGNED NOT NULL);
    INSERT INTO orders SELECT ((seq * 40503 & 65535) << 47) + seq, seq * 7919, seq % 5, seq / 100,
      REPEAT(CONCAT('order ', seq, ' '), 7), '2026-01-01 00:00:00.123456' + INTERVAL seq SECOND,
      IF(seq % 3, '2026-01-02 00:00:00.123', NULL), 1 + seq % 9 FROM seq_1_to_$rows
      ORDER BY 1;
    ANALYZE TABLE orders" > /dev/null
  ports+=("$port")
  port=$((port + 1))
done
work=$both
"$bin/verify_bench" "${ports[@]}" "${3:-5}"
mariadb "${mariadb_client[@]}" locus_bench -e \
  "UPDATE orders SET note = UPPER(note) WHERE buyer_id % 10007 = 0"
echo "== one row in 10,007 differs"
"$bin/verify_bench" "${ports[@]}" "${3:-5}"
