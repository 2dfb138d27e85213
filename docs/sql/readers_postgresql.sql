-- Parameters: $1 item, $2 fencing token (of a reader: its number), $3 pieces.

-- name: schema
CREATE TABLE stock (
    item   TEXT PRIMARY KEY,
    pieces BIGINT NOT NULL,
    writer BIGINT NOT NULL CHECK (writer > 0),
    reader BIGINT NOT NULL DEFAULT 0
);

-- name: insert
INSERT INTO stock (item, writer, pieces) VALUES ($1, $2, $3)
ON CONFLICT (item) DO NOTHING;

-- name: enter_as_reader
UPDATE stock SET reader = GREATEST(reader, $2)
WHERE item = $1 AND writer <= $2;

-- name: read
SELECT pieces FROM stock
WHERE item = $1 AND writer <= $2;

-- name: enter_as_writer
UPDATE stock SET writer = $2
WHERE item = $1 AND writer <= $2 AND reader < $2;

-- name: write
UPDATE stock SET pieces = $3
WHERE item = $1 AND writer = $2 AND reader < $2;
