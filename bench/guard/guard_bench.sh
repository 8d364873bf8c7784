#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what the fence costs a write: by guard triggers, by version triggers, by fenced SQL,
# beside the same write without a fence. On a MariaDB server of its own. `orders` (the default):
# orders of four rows are inserted, updated and deleted by one connection. `writers`: one row is
# updated by 1 writer and by 32, with durable commits and without:
#
#   bench/guard/guard_bench.sh [BIN_DIR [orders [ROUNDS]]]             default: build/release/bin orders 7
#   bench/guard/guard_bench.sh BIN_DIR writers [SECONDS [ROUNDS]]      default: 2 5
set -euo pipefail
bin=${1:-build/release/bin}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
start_mariadb log-bin=bin binlog-format=ROW binlog-row-metadata=FULL binlog-checksum=CRC32 \
  innodb-buffer-pool-size=256M server-id=1 sync-binlog=1
pid=${servers[0]}
unwaited='SET GLOBAL sync_binlog = 0; SET GLOBAL innodb_flush_log_at_trx_commit = 0'
if [ "${2:-orders}" = orders ]; then
  mariadb "${mariadb_client[@]}" -e "$unwaited"
  "$bin/guard_bench" orders "$port" "$pid" "${3:-7}"
  exit
fi
echo '== durable commits'
"$bin/guard_bench" writers "$port" "$pid" "${3:-2}" "${4:-5}" 1 32
tables=(orders_bare orders_guard orders_versions orders_both orders_fenced locus_fence locus_vnode
  locus_tombstone)
mariadb "${mariadb_client[@]}" locus_bench -e "DROP TABLE $(IFS=,; echo "${tables[*]}"); $unwaited"
echo '== commits that do not wait for the disk'
"$bin/guard_bench" writers "$port" "$pid" "${3:-2}" "${4:-5}" 1 32
