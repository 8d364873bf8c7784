-- Reads and writes of clients that do not use locus, on a shard with a fence. Run by tests as they stand here.
-- orders(order_id BIGINT UNSIGNED): order IDs of 8 bytes. @order_id, @value: the client's. Needs SELECT on locus_fence
-- and locus_vnode. Other keys: the guard triggers of your table show the expressions of vnode and cohort.

-- Fenced read. No row: the order is not on this shard: ask the other one. A row of NULLs: there is no such order.
-- On a replica there is never a row, since it cannot know the fence of now: ask the primaries.
-- In a transaction it keeps the order here until COMMIT; it reads what is committed, also under an older snapshot.
SELECT o.*
FROM locus_vnode v
JOIN locus_fence f ON f.lo = v.fence
LEFT JOIN orders o ON o.order_id = @order_id
WHERE v.vnode = (@order_id >> 47 & 65535)
  AND f.server_id = @@server_id
  AND ((@order_id & 140737488355327) % 10000 * 6181 + (@order_id >> 47 & 65535) * 2531) % 10000 >= f.own_lo
  AND ((@order_id & 140737488355327) % 10000 * 6181 + (@order_id >> 47 & 65535) * 2531) % 10000 < f.own_hi
LOCK IN SHARE MODE;

-- Checked UPDATE (DELETE likewise): where the order is not on this shard, it fails as the guards do, with SQLSTATE 45000
-- and LOCUS_FENCED, the step, and the shard that had the order. 0 rows: there is no such order. A transaction of its own:
-- inside one of yours it is refused. One statement of MariaDB; the command-line client needs another DELIMITER.
BEGIN NOT ATOMIC
  DECLARE accepted BOOL;
  DECLARE why VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT 'LOCUS_FENCED 0 ';
  IF @@in_transaction THEN
    SIGNAL SQLSTATE '25000' SET MESSAGE_TEXT = 'end your transaction first: this would commit it';
  END IF;
  BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT f.server_id = @@server_id
           AND ((@order_id & 140737488355327) % 10000 * 6181 + (@order_id >> 47 & 65535) * 2531) % 10000 >= f.own_lo
           AND ((@order_id & 140737488355327) % 10000 * 6181 + (@order_id >> 47 & 65535) * 2531) % 10000 < f.own_hi,
           CONCAT('LOCUS_FENCED ', f.step, ' ', COALESCE(f.other, ''))
    INTO accepted, why
    FROM locus_vnode v
    JOIN locus_fence f ON f.lo = v.fence
    WHERE v.vnode = (@order_id >> 47 & 65535)
    LOCK IN SHARE MODE;
    IF accepted IS NOT TRUE THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
    END IF;
    UPDATE orders SET value = @value WHERE order_id = @order_id;
    COMMIT;
  END;
END;
