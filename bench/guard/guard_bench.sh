#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what the fence costs a write, with 1 writer and with 32: by guard triggers, by fenced
# SQL, beside the same write without a fence. On a MariaDB server of its own, first with durable
# commits, then without:
#
#   bench/guard/guard_bench.sh [BIN_DIR [SECONDS [ROUNDS]]]      default: build/release/bin 2 5
set -euo pipefail
bin=${1:-build/release/bin}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
start_mariadb log-bin=bin binlog-format=ROW binlog-row-metadata=FULL binlog-checksum=CRC32 \
  innodb-buffer-pool-size=256M server-id=1 sync-binlog=1
echo '== durable commits'
"$bin/guard_bench" "$port" "${servers[0]}" "${2:-2}" "${3:-5}" 1 32
tables=(orders_bare orders_guard orders_versions orders_fenced locus_fence locus_vnode locus_tombstone)
mariadb "${mariadb_client[@]}" locus_bench -e "DROP TABLE $(IFS=,; echo "${tables[*]}");
  SET GLOBAL sync_binlog = 0; SET GLOBAL innodb_flush_log_at_trx_commit = 0"
echo '== commits that do not wait for the disk'
"$bin/guard_bench" "$port" "${servers[0]}" "${2:-2}" "${3:-5}" 1 32
