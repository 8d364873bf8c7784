-- SPDX-License-Identifier: Apache-2.0
--
-- Gene, cohort, width and shard of a column, in SQL, for MariaDB 10.5 and later: for reports, and
-- for finding out by hand where an order is. A test runs every statement between "begin" and "end"
-- on a server, and compares the answers with those of the command (tests/cli/cli_table_sql_test.cc).
--
--   locus table sql table.json | mariadb shop      the routing table, as the tables that the shard
--                                                  of a column is read from; TABLE may be a URI
--   mariadb shop < docs/schema.sql                 the tables of orders, if you have none
--   mariadb shop < docs/views.sql                  functions and views; load it again at will
--
-- The tables that `locus table sql` makes are a copy: load them again after each publication (from
-- cron, say). A later table replaces an earlier one in one transaction; an older one, and one with
-- another table_id, is refused. While orders move, the fence inside the shard is the truth.
--
-- 1. Expressions
-- ==============
--
-- They need no rights, can be indexed as generated columns, and are faster than the functions.
-- Write your column instead of order_id. A column must hold order IDs only; the CHECKs of schema.sql
-- see to it.

-- A BIGINT column (signed or not) of order IDs. Their width is 64.

-- begin expressions_bigint
SELECT order_id,
       order_id >> 47 AS gene,
       order_id & 140737488355327 AS sequence,
       ((order_id & 140737488355327) % 10000 * 6181 + (order_id >> 47) * 2531) % 10000 AS cohort
FROM orders;
-- end expressions_bigint

-- A VARBINARY(16) column of order IDs, 8 or 16 bytes. CONV reads 64 bits; a wide ID's sequence is in
-- its last 7 bytes.

-- begin expressions_bytes
SELECT order_id, gene, sequence, (sequence % 10000 * 6181 + gene * 2531) % 10000 AS cohort, width
FROM (
  SELECT order_id,
         (ASCII(order_id) << 9 | ASCII(SUBSTR(order_id, 2, 1)) << 1 |
          ASCII(SUBSTR(order_id, 3, 1)) >> 7) & 65535 AS gene,
         IF(OCTET_LENGTH(order_id) = 8,
            CAST(CONV(HEX(order_id), 16, 10) AS UNSIGNED) & 140737488355327,
            CAST(CONV(HEX(SUBSTR(order_id, 10)), 16, 10) AS UNSIGNED)) AS sequence,
         OCTET_LENGTH(order_id) * 8 AS width
  FROM orders_wide) AS parts;
-- end expressions_bytes

-- A VARBINARY(16) column of order_nos. The cohort cannot be known without the key. A BIGINT column
-- of order_nos (ff1) has its gene where an order ID has it: order_no >> 47.

-- begin expressions_order_no
SELECT order_no,
       (ASCII(order_no) << 9 | ASCII(SUBSTR(order_no, 2, 1)) << 1 |
        ASCII(SUBSTR(order_no, 3, 1)) >> 7) & 65535 AS gene,
       IF((ASCII(SUBSTR(order_no, 3, 1)) >> 3 & 15) = 2, 64, 128) AS width,
       (ASCII(SUBSTR(order_no, 3, 1)) & 7) << 4 | ASCII(SUBSTR(order_no, 4, 1)) >> 4
         AS key_version
FROM orders_wide;
-- end expressions_order_no

-- 2. Functions
-- ============
--
-- The same, short to write, and NULL for what is no order ID or order_no. They are slower, about a
-- microsecond a call. Where the binary log is on, making them needs SUPER, or
-- log_bin_trust_function_creators = 1.
--
--   locus_gene(id), locus_sequence(id), locus_cohort(id)            id: BIGINT
--   locus_bytes_gene(id), locus_bytes_sequence(id),
--   locus_bytes_cohort(id), locus_bytes_width(id)                   id: 8 or 16 bytes
--   locus_no_gene(number), locus_no_width(number),
--   locus_no_key_version(number)                                    number: 16 bytes of an order_no
--   locus_shard(gene, cohort)                                       the shard's id

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
          WHERE v.last >= gene ORDER BY v.last LIMIT 1);
-- end functions

-- 3. Views
-- ========
--
-- One for each kind of column, over the tables of schema.sql: write your table and column instead.
-- An order's row is found by its key through them. A table in use need not have all three.

-- A BIGINT column of order IDs.

-- begin view_bigint
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_located AS
SELECT o.order_id, o.order_id >> 47 AS gene,
       ((o.order_id & 140737488355327) % 10000 * 6181 + (o.order_id >> 47) * 2531) % 10000
         AS cohort,
       64 AS width, s.id AS shard_id, s.name AS shard, s.endpoint
FROM orders o
JOIN locus_vnodes v ON v.last >= o.order_id >> 47 AND v.first <= o.order_id >> 47
JOIN locus_shards s ON s.id = IF(
  ((o.order_id & 140737488355327) % 10000 * 6181 + (o.order_id >> 47) * 2531) % 10000
    < v.permyriad, v.target, v.owner);
-- end view_bigint

-- A VARBINARY(16) column of order IDs. The generated column shard_gene spares the long expression.

-- begin view_bytes
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_wide_located AS
SELECT o.order_id, o.shard_gene AS gene,
       (IF(OCTET_LENGTH(o.order_id) = 8,
           CAST(CONV(HEX(o.order_id), 16, 10) AS UNSIGNED) & 140737488355327,
           CAST(CONV(HEX(SUBSTR(o.order_id, 10)), 16, 10) AS UNSIGNED))
        % 10000 * 6181 + o.shard_gene * 2531) % 10000 AS cohort,
       OCTET_LENGTH(o.order_id) * 8 AS width, s.id AS shard_id, s.name AS shard, s.endpoint
FROM orders_wide o
JOIN locus_vnodes v ON v.last >= o.shard_gene AND v.first <= o.shard_gene
JOIN locus_shards s ON s.id = IF(
  (IF(OCTET_LENGTH(o.order_id) = 8,
      CAST(CONV(HEX(o.order_id), 16, 10) AS UNSIGNED) & 140737488355327,
      CAST(CONV(HEX(SUBSTR(o.order_id, 10)), 16, 10) AS UNSIGNED))
   % 10000 * 6181 + o.shard_gene * 2531) % 10000 < v.permyriad, v.target, v.owner);
-- end view_bytes

-- A VARBINARY(16) column of order_nos. Without the key the cohort is unknown: while its vnode moves,
-- an order may also be on the shard `target`.

-- begin view_order_no
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_by_no_located AS
SELECT o.order_no,
       (ASCII(o.order_no) << 9 | ASCII(SUBSTR(o.order_no, 2, 1)) << 1 |
        ASCII(SUBSTR(o.order_no, 3, 1)) >> 7) & 65535 AS gene,
       IF((ASCII(SUBSTR(o.order_no, 3, 1)) >> 3 & 15) = 2, 64, 128) AS width,
       s.name AS shard, t.name AS target
FROM orders_wide o
JOIN locus_vnodes v
  ON v.last >= ((ASCII(o.order_no) << 9 | ASCII(SUBSTR(o.order_no, 2, 1)) << 1 |
                 ASCII(SUBSTR(o.order_no, 3, 1)) >> 7) & 65535) AND
     v.first <= ((ASCII(o.order_no) << 9 | ASCII(SUBSTR(o.order_no, 2, 1)) << 1 |
                  ASCII(SUBSTR(o.order_no, 3, 1)) >> 7) & 65535)
JOIN locus_shards s ON s.id = IF(v.permyriad = 10000, v.target, v.owner)
LEFT JOIN locus_shards t ON t.id = v.target AND v.permyriad BETWEEN 1 AND 9999;
-- end view_order_no

-- A BIGINT column of order_nos (ff1).

-- begin view_order_no_bigint
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_bigint_by_no_located AS
SELECT o.order_no, o.order_no >> 47 AS gene, s.name AS shard, t.name AS target
FROM orders_bigint o
JOIN locus_vnodes v ON v.last >= o.order_no >> 47 AND v.first <= o.order_no >> 47
JOIN locus_shards s ON s.id = IF(v.permyriad = 10000, v.target, v.owner)
LEFT JOIN locus_shards t ON t.id = v.target AND v.permyriad BETWEEN 1 AND 9999;
-- end view_order_no_bigint

-- What a shard has by the table, for capacity: cohorts of its vnodes, in ten thousandths of the ring.

-- begin view_shards
CREATE OR REPLACE SQL SECURITY INVOKER VIEW locus_shard_shares AS
SELECT s.id, s.name,
       SUM((v.last - v.first + 1) * (IF(s.id = v.owner, 10000 - v.permyriad, 0) +
                                     IF(s.id <=> v.target, v.permyriad, 0))) / 65536
         AS permyriad_of_ring
FROM locus_shards s JOIN locus_vnodes v ON s.id = v.owner OR s.id <=> v.target
GROUP BY s.id, s.name;
-- end view_shards
