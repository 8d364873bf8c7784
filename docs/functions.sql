-- SPDX-License-Identifier: Apache-2.0
--
-- Gene, sequence, cohort, width and shard as functions of MariaDB 10.5 and later: for reports, and for
-- finding out by hand where an order is. A test runs this file on a server, and compares the answers
-- with those of the command (tests/cli/cli_table_sql_test.cc).
--
--   locus table sql table.json | mariadb shop      the routing table, as the tables that locus_shard
--                                                  reads; instead of the file, the URI of a place
--   mariadb shop < functions.sql                   this file; load it again at will
--
--   SELECT locus_gene(order_id), locus_shard(locus_gene(order_id), locus_cohort(order_id)) FROM orders;
--
-- The tables that `locus table sql` makes are a copy: load them again after each publication (from
-- cron, say). A later table replaces an earlier one in one transaction; an older one, and one with
-- another table_id, is refused: let your client stop at the first error, as `mariadb` does without
-- --force. While orders move, the fence inside the shard is the truth.
--
--   locus_gene(id), locus_sequence(id), locus_cohort(id)            id: BIGINT
--   locus_bytes_gene(id), locus_bytes_sequence(id),
--   locus_bytes_cohort(id), locus_bytes_width(id)                   id: 8 or 16 bytes
--   locus_no_gene(number), locus_no_width(number),
--   locus_no_key_version(number)                                    number: 16 bytes of an order_no
--   locus_shard(gene, cohort)                                       the shard's id
--
-- They answer NULL for what is no order ID or order_no but fits the argument's type; a negative
-- number, or more than 16 bytes, is an error of a strict sql_mode (1264, 1406), which ends the whole
-- query. Without strict mode a negative number is taken for 0, and its gene is wrong: keep it strict.
-- The gene of a BIGINT order_no (ff1) is locus_gene(order_no); the cohort of an order_no is not
-- known without its key. A call takes about ten microseconds, ten times an expression, and one of
-- locus_shard, which reads a table, a tenth of a millisecond: for many rows take the expressions
-- and views of views.sql. Where the binary log is on, making functions needs SUPER, or
-- log_bin_trust_function_creators = 1.

-- begin functions
CREATE OR REPLACE FUNCTION locus_gene(id BIGINT UNSIGNED) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(id < 9223372036854775808, id >> 47, NULL);
CREATE OR REPLACE FUNCTION locus_sequence(id BIGINT UNSIGNED) RETURNS BIGINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(id < 9223372036854775808, id & 140737488355327, NULL);
CREATE OR REPLACE FUNCTION locus_cohort(id BIGINT UNSIGNED) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(id < 9223372036854775808,
            ((id & 140737488355327) % 10000 * 6181 + (id >> 47) * 2531) % 10000, NULL);
CREATE OR REPLACE FUNCTION locus_bytes_width(id VARBINARY(16)) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(ASCII(id) < 128 AND
            (OCTET_LENGTH(id) = 8 OR
             (OCTET_LENGTH(id) = 16 AND ASCII(SUBSTR(id, 3, 1)) & 127 = 127 AND
              SUBSTR(id, 4, 6) = X'FFFFFFFFFF00' AND SUBSTR(id, 10) >= X'00800000000000')),
            OCTET_LENGTH(id) * 8, NULL);
CREATE OR REPLACE FUNCTION locus_bytes_gene(id VARBINARY(16)) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(locus_bytes_width(id) IS NULL, NULL,
            (ASCII(id) << 9 | ASCII(SUBSTR(id, 2, 1)) << 1 | ASCII(SUBSTR(id, 3, 1)) >> 7) & 65535);
CREATE OR REPLACE FUNCTION locus_bytes_sequence(id VARBINARY(16)) RETURNS BIGINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN CASE locus_bytes_width(id)
         WHEN 64 THEN CAST(CONV(HEX(id), 16, 10) AS UNSIGNED) & 140737488355327
         WHEN 128 THEN CAST(CONV(HEX(SUBSTR(id, 10)), 16, 10) AS UNSIGNED) END;
CREATE OR REPLACE FUNCTION locus_bytes_cohort(id VARBINARY(16)) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN (locus_bytes_sequence(id) % 10000 * 6181 + locus_bytes_gene(id) * 2531) % 10000;
CREATE OR REPLACE FUNCTION locus_no_width(number VARBINARY(16)) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(OCTET_LENGTH(number) = 16 AND ASCII(number) < 128,
            CASE ASCII(SUBSTR(number, 3, 1)) >> 3 & 15 WHEN 2 THEN 64 WHEN 3 THEN 128 END, NULL);
CREATE OR REPLACE FUNCTION locus_no_gene(number VARBINARY(16)) RETURNS SMALLINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(locus_no_width(number) IS NULL, NULL,
            (ASCII(number) << 9 | ASCII(SUBSTR(number, 2, 1)) << 1 |
             ASCII(SUBSTR(number, 3, 1)) >> 7) & 65535);
CREATE OR REPLACE FUNCTION locus_no_key_version(number VARBINARY(16)) RETURNS TINYINT UNSIGNED
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(locus_no_width(number) IS NULL, NULL,
            (ASCII(SUBSTR(number, 3, 1)) & 7) << 4 | ASCII(SUBSTR(number, 4, 1)) >> 4);
CREATE OR REPLACE FUNCTION locus_shard(gene SMALLINT UNSIGNED, cohort SMALLINT UNSIGNED)
  RETURNS INT UNSIGNED
  NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
  RETURN (SELECT IF(cohort < v.permyriad, v.target, v.owner) FROM locus_vnodes v
          WHERE v.vnode = gene);
-- end functions

-- What each shard has by the table, in ten thousandths of the ring.

-- begin view_shards
CREATE OR REPLACE SQL SECURITY INVOKER VIEW locus_shard_portions AS
SELECT s.id, s.name,
       SUM(IF(s.id = v.owner, 10000 - v.permyriad, 0) + IF(s.id <=> v.target, v.permyriad, 0))
         / 65536 AS permyriad_of_ring
FROM locus_shards s JOIN locus_vnodes v ON s.id = v.owner OR s.id <=> v.target
GROUP BY s.id, s.name;
-- end view_shards
