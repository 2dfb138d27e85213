-- Parameters, in the order of the question marks:
-- insert: item, fencing token, pieces
-- enter:  fencing token, item, fencing token
-- read:   item, fencing token
-- write:  pieces, item, fencing token

-- name: schema
CREATE TABLE stock (
    item    VARCHAR(100) COLLATE utf8mb4_bin PRIMARY KEY,
    pieces  BIGINT NOT NULL,
    fence   BIGINT NOT NULL CHECK (fence > 0),
    touched BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;

-- name: insert
INSERT INTO stock (item, fence, pieces) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE item = item;

-- name: enter
UPDATE stock SET fence = ?, touched = touched + 1
WHERE item = ? AND fence <= ?;

-- name: read
SELECT pieces FROM stock
WHERE item = ? AND fence = ?;

-- name: write
UPDATE stock SET pieces = ?, touched = touched + 1
WHERE item = ? AND fence = ?;
