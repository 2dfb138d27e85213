-- Parameters, in the order of the question marks; the fencing token of a reader is its number:
-- insert:          item, fencing token, pieces
-- enter_as_reader: fencing token, item, fencing token
-- read:            item, fencing token
-- enter_as_writer: fencing token, item, fencing token, fencing token
-- write:           pieces, item, fencing token, fencing token

-- name: schema
CREATE TABLE stock (
    item    VARCHAR(100) COLLATE utf8mb4_bin PRIMARY KEY,
    pieces  BIGINT NOT NULL,
    writer  BIGINT NOT NULL CHECK (writer > 0),
    reader  BIGINT NOT NULL DEFAULT 0,
    touched BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;

-- name: insert
INSERT INTO stock (item, writer, pieces) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE item = item;

-- name: enter_as_reader
UPDATE stock SET reader = GREATEST(reader, ?), touched = touched + 1
WHERE item = ? AND writer <= ?;

-- name: read
SELECT pieces FROM stock
WHERE item = ? AND writer <= ?;

-- name: enter_as_writer
UPDATE stock SET writer = ?, touched = touched + 1
WHERE item = ? AND writer <= ? AND reader < ?;

-- name: write
UPDATE stock SET pieces = ?, touched = touched + 1
WHERE item = ? AND writer = ? AND reader < ?;
