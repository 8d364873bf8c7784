-- SPDX-License-Identifier: Apache-2.0
--
-- Gene, cohort, width and shard of a column, for MariaDB 10.5 and later: expressions and views to be
-- copied. Do not load this file as a whole: pick what fits your column, and write the names of your
-- table and column. Those here are of the tables of schema.sql. A test runs every statement between
-- "begin" and "end" on a server, and compares the answers with those of the command
-- (tests/cli/cli_table_sql_test.cc). functions.sql has the same as functions.
--
-- 1. Expressions
-- ==============
--
-- They need no rights, and can be indexed as generated columns. The column must hold nothing but
-- order IDs: the CHECKs of schema.sql see to it.

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

-- 2. Views
-- ========
--
-- They read the tables that `locus table sql` makes of a routing table (functions.sql says how to
-- keep them up to date). A row is found by its key through them.

-- A BIGINT column of order IDs.

-- begin view_bigint
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_located AS
SELECT o.order_id, o.order_id >> 47 AS gene,
       ((o.order_id & 140737488355327) % 10000 * 6181 + (o.order_id >> 47) * 2531) % 10000
         AS cohort,
       64 AS width, s.id AS shard_id, s.name AS shard, s.endpoint
FROM orders o
JOIN locus_vnodes v ON v.vnode = o.order_id >> 47
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
JOIN locus_vnodes v ON v.vnode = o.shard_gene
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
  ON v.vnode = ((ASCII(o.order_no) << 9 | ASCII(SUBSTR(o.order_no, 2, 1)) << 1 |
                 ASCII(SUBSTR(o.order_no, 3, 1)) >> 7) & 65535)
JOIN locus_shards s ON s.id = IF(v.permyriad = 10000, v.target, v.owner)
LEFT JOIN locus_shards t ON t.id = v.target AND v.permyriad BETWEEN 1 AND 9999;
-- end view_order_no

-- A BIGINT column of order_nos (ff1).

-- begin view_order_no_bigint
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orders_bigint_by_no_located AS
SELECT o.order_no, o.order_no >> 47 AS gene, s.name AS shard, t.name AS target
FROM orders_bigint o
JOIN locus_vnodes v ON v.vnode = o.order_no >> 47
JOIN locus_shards s ON s.id = IF(v.permyriad = 10000, v.target, v.owner)
LEFT JOIN locus_shards t ON t.id = v.target AND v.permyriad BETWEEN 1 AND 9999;
-- end view_order_no_bigint
