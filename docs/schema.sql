-- SPDX-License-Identifier: Apache-2.0
--
-- Tables of orders, for MariaDB 10.5 and later. A test runs every statement between "begin" and
-- "end" on a server (tests/engine/mysql/schema_test.cc, schema_widen_test.cc). Pick one of
--
--   orders          order_id 64 bits, order_no 128 bits (siv): take this one unless you know better
--   orders_bigint   order_id 64 bits, order_no 64 bits (ff1)
--   orders_wide     order_id 64 or 128 bits, order_no 128 bits
--
-- add your columns behind `version`, and call it as you like. The last part turns the first into
-- the third while it is written.
--
-- What is the same in all of them:
--
-- * Byte order of order_id is (gene, sequence) order, so the primary key keeps the orders of a
--   vnode together, and those of a buyer nearly so; new orders append at the end of their vnode.
-- * VARBINARY, not BINARY: a row event of the binary log leaves trailing zero bytes of BINARY out,
--   and one in 256 numbers ends with one. No character set is involved.
-- * buyer_uid is the buyer key that the gene was computed from (a text key: VARBINARY). It is what
--   a buyer's orders are found by: a gene alone belongs to many buyers.
-- * version is raised by every UPDATE. Whoever changes an order names the version he read; moving
--   orders between shards (and a change stream) goes by it.
-- * shard_gene is STORED, not VIRTUAL: the column is indexed, and of an indexed VIRTUAL column the
--   server has to compute the old values whenever it purges; a row event then holds it as it holds
--   any other. It costs 2 bytes a row. Adding it to a table that exists rebuilds that table; the
--   primary key alone serves too: gene g is order_id >= g << 47 AND order_id < (g + 1) << 47.
-- * Run servers with binlog_format = ROW and binlog_row_image = FULL, sql_mode strict.

-- begin orders
CREATE TABLE orders (
  order_id    BIGINT UNSIGNED   NOT NULL,            -- 0 | gene 16 | sequence 47: below 2^63
  order_no    VARBINARY(16)     NOT NULL,            -- the number that customers see, 16 bytes
  order_no_kv TINYINT UNSIGNED  NOT NULL,            -- the version of the key it was made with
  buyer_uid   BIGINT UNSIGNED   NOT NULL,
  version     BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  shard_gene  SMALLINT UNSIGNED AS (order_id >> 47 & 65535) STORED,
  PRIMARY KEY (order_id),
  UNIQUE KEY orders_by_no (order_no),                -- a number holds its key's version
  KEY orders_by_buyer (buyer_uid, order_id),         -- a buyer's orders, by age
  KEY orders_by_gene (shard_gene, order_id),         -- counting and moving vnodes
  CONSTRAINT orders_id_is_narrow CHECK (order_id < 9223372036854775808),
  CONSTRAINT orders_no_is_whole CHECK (OCTET_LENGTH(order_no) = 16)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- end orders

-- A 64-bit number says nothing of its key: two keys may make one number of two orders, so the pair
-- is what is unique, and a row found by it counts only if decoding gives its order_id.

-- begin orders_bigint
CREATE TABLE orders_bigint (
  order_id    BIGINT UNSIGNED   NOT NULL,
  order_no    BIGINT UNSIGNED   NOT NULL,            -- 0 | gene 16 | ciphertext 47
  order_no_kv TINYINT UNSIGNED  NOT NULL,
  buyer_uid   BIGINT UNSIGNED   NOT NULL,
  version     BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  shard_gene  SMALLINT UNSIGNED AS (order_id >> 47 & 65535) STORED,
  PRIMARY KEY (order_id),
  UNIQUE KEY orders_by_no (order_no, order_no_kv),
  KEY orders_by_buyer (buyer_uid, order_id),
  KEY orders_by_gene (shard_gene, order_id),
  CONSTRAINT orders_id_is_narrow CHECK (order_id < 9223372036854775808),
  CONSTRAINT orders_no_is_positive CHECK (order_no < 9223372036854775808)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- end orders_bigint

-- Order IDs of 8 bytes (narrow) and 16 bytes (wide) in one column. The gene is that of the first 3
-- bytes >> 7 & 0xFFFF in either, written with ASCII(), which knows no character set. The check
-- refuses decimal text: what somebody inserts who still thinks the column is a number.

-- begin orders_wide
CREATE TABLE orders_wide (
  order_id    VARBINARY(16)     NOT NULL,            -- big-endian
  order_no    VARBINARY(16)     NOT NULL,
  order_no_kv TINYINT UNSIGNED  NOT NULL,
  buyer_uid   BIGINT UNSIGNED   NOT NULL,
  version     BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  shard_gene  SMALLINT UNSIGNED AS ((ASCII(order_id) << 9 | ASCII(SUBSTR(order_id, 2, 1)) << 1 |
                                     ASCII(SUBSTR(order_id, 3, 1)) >> 7) & 65535) STORED,
  PRIMARY KEY (order_id),
  UNIQUE KEY orders_by_no (order_no),
  KEY orders_by_buyer (buyer_uid, order_id),
  KEY orders_by_gene (shard_gene, order_id),
  CONSTRAINT orders_id_is_an_id CHECK
    (ASCII(order_id) < 128 AND (OCTET_LENGTH(order_id) = 8 OR
     (OCTET_LENGTH(order_id) = 16 AND SUBSTR(order_id, 4, 6) = UNHEX('FFFFFFFFFF00')))),
  CONSTRAINT orders_no_is_whole CHECK (OCTET_LENGTH(order_no) = 16)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- end orders_wide

-- Adopting locus for a table that holds order IDs of this layout already
-- ======================================================================
--
-- Stop what made them. The statement answers N for `locus store raise URI --to N`: no sequence below
-- it is leased any more. Of an empty table it is 1. IDs of another layout (Snowflake, say) give
-- an N far above the floor, which the command refuses: they cannot share a column with order IDs.

-- begin adopt
SELECT COALESCE(MAX(order_id & 140737488355327), 0) + 1 AS N FROM orders;
-- end adopt

-- Of bytes, the last 47 bits of a narrow ID and the last 56 of a wide one:

-- begin adopt_wide
SELECT COALESCE(MAX(IF(OCTET_LENGTH(order_id) = 8,
                       CAST(CONV(HEX(order_id), 16, 10) AS UNSIGNED) & 140737488355327,
                       CAST(CONV(HEX(SUBSTR(order_id, 10)), 16, 10) AS UNSIGNED))), 0) + 1 AS N
FROM orders_wide;
-- end adopt_wide

-- A column that was AUTO_INCREMENT: drop the attribute before the first order ID of locus is
-- inserted. The server lifts its counter above every value that is inserted, so that the next value
-- it makes by itself is the order ID that locus makes next in that vnode.

-- begin adopt_auto_increment
ALTER TABLE orders MODIFY order_id BIGINT UNSIGNED NOT NULL;
-- end adopt_auto_increment

-- From `orders` with 64-bit IDs to 128 bits, while orders are written
-- ==================================================================
--
-- ALTER TABLE orders MODIFY order_id VARBINARY(16) is wrong: it stores the decimal text of each
-- number (or fails, where that has more than 16 digits). So: a second table, kept in step by
-- triggers, filled in chunks, compared, and renamed into place.
--
-- First teach every client to write order IDs as 0x literals of 16 hex digits:
--
--   SELECT ... FROM orders WHERE order_id = 0x1F0F8000000012AB
--
-- To a BIGINT column such a literal is a number, to a VARBINARY column it is 8 bytes: the same
-- statement is right on both tables, by the primary key, for INSERT and IN lists too (x'1F0F...' is
-- not: it is always bytes). A client that binds parameters binds bytes once the table is renamed.
-- Of clients that still send numbers then, INSERT and UPDATE are refused, SELECT and DELETE find
-- nothing.
--
-- Until the end a write costs two rows. Writers must try again on 1213 (deadlock), which the copy
-- makes likelier. SET SESSION lock_wait_timeout = 2 before steps 2, 5 and 6: behind a long
-- transaction they would wait, and everybody else behind them; repeat a step that timed out. No ID
-- beyond 64 bits may be made before step 5.

-- Step 1: create `orders_wide` as above, with your columns.
-- Step 2: from now on every write goes to both. Two triggers for UPDATE: one is for a key that
-- changes, the other for everything else. In this order: orders are written between one statement
-- and the next, and what a trigger has brought to orders_wide must be deleted there with the order.

-- begin widen_follow
CREATE TRIGGER orders_widen_delete AFTER DELETE ON orders FOR EACH ROW
  DELETE FROM orders_wide WHERE order_id = UNHEX(LPAD(HEX(OLD.order_id), 16, '0'));
CREATE TRIGGER orders_widen_rekey AFTER UPDATE ON orders FOR EACH ROW
  DELETE FROM orders_wide
  WHERE OLD.order_id <> NEW.order_id AND order_id = UNHEX(LPAD(HEX(OLD.order_id), 16, '0'));
CREATE TRIGGER orders_widen_update AFTER UPDATE ON orders FOR EACH ROW FOLLOWS orders_widen_rekey
  REPLACE INTO orders_wide (order_id, order_no, order_no_kv, buyer_uid, version)
  VALUES (UNHEX(LPAD(HEX(NEW.order_id), 16, '0')), NEW.order_no, NEW.order_no_kv, NEW.buyer_uid,
          NEW.version);
CREATE TRIGGER orders_widen_insert AFTER INSERT ON orders FOR EACH ROW
  REPLACE INTO orders_wide (order_id, order_no, order_no_kv, buyer_uid, version)
  VALUES (UNHEX(LPAD(HEX(NEW.order_id), 16, '0')), NEW.order_no, NEW.order_no_kv, NEW.buyer_uid,
          NEW.version);
-- end widen_follow

-- Step 3: copy what was there before, 1,000 rows at a time. Begin with SET @done = NULL; repeat the
-- statements below, each chunk a transaction of its own (autocommit), until @chunk_end is NULL. A
-- row that a trigger wrote already is newer or the same, and stays. The shared lock is what keeps a
-- row from changing between being read and being written; it also makes the chunk wait for a
-- writer.

-- begin widen_copy_chunk
SELECT MAX(order_id) INTO @chunk_end FROM
  (SELECT order_id FROM orders WHERE @done IS NULL OR order_id > @done
   ORDER BY order_id LIMIT 1000) AS chunk;
INSERT IGNORE INTO orders_wide (order_id, order_no, order_no_kv, buyer_uid, version)
  SELECT UNHEX(LPAD(HEX(order_id), 16, '0')), order_no, order_no_kv, buyer_uid, version
  FROM orders FORCE INDEX (PRIMARY)
  WHERE (@done IS NULL OR order_id > @done) AND order_id <= @chunk_end
  ORDER BY order_id LOCK IN SHARE MODE;
SET @done = @chunk_end;
-- end widen_copy_chunk

-- Step 4: compare. One statement, so one snapshot: it holds while orders are written. Both rows of
-- the answer must be equal. Add your columns to both lists.

-- begin widen_compare
SELECT COUNT(*) AS orders, BIT_XOR(CAST(CONV(LEFT(MD5(CONCAT_WS('#',
         LPAD(HEX(order_id), 16, '0'), HEX(order_no), order_no_kv, buyer_uid, version, shard_gene)),
       16), 16, 10) AS UNSIGNED)) AS checksum
FROM orders
UNION ALL
SELECT COUNT(*), BIT_XOR(CAST(CONV(LEFT(MD5(CONCAT_WS('#',
         HEX(order_id), HEX(order_no), order_no_kv, buyer_uid, version, shard_gene)),
       16), 16, 10) AS UNSIGNED))
FROM orders_wide;
-- end widen_compare

-- Where they differ, this names up to ten of the orders:

-- begin widen_differences
SELECT o.order_id FROM orders o
LEFT JOIN orders_wide w ON w.order_id = UNHEX(LPAD(HEX(o.order_id), 16, '0'))
WHERE w.order_id IS NULL OR w.order_no <> o.order_no OR w.order_no_kv <> o.order_no_kv OR
      w.buyer_uid <> o.buyer_uid OR w.version <> o.version OR w.shard_gene <> o.shard_gene
LIMIT 10;
-- end widen_differences

-- Step 5: change places, at one instant. From here on wide IDs may be made. The triggers went with
-- the old table, and refuse whoever still writes it.

-- begin widen_swap
RENAME TABLE orders TO orders_narrow, orders_wide TO orders;
-- end widen_swap

-- Step 6: when nobody wants the old table back any more.

-- begin widen_finish
DROP TABLE orders_narrow;
-- end widen_finish
