-- Parameters: ?1 item, ?2 fencing token, ?3 pieces.

-- name: schema
CREATE TABLE stock (
    item   TEXT PRIMARY KEY NOT NULL,
    pieces INTEGER NOT NULL,
    fence  INTEGER NOT NULL CHECK (fence > 0)
);

-- name: insert
INSERT INTO stock (item, fence, pieces) VALUES (?1, ?2, ?3)
ON CONFLICT (item) DO NOTHING;

-- name: enter
UPDATE stock SET fence = ?2
WHERE item = ?1 AND fence <= ?2;

-- name: read
SELECT pieces FROM stock
WHERE item = ?1 AND fence = ?2;

-- name: write
UPDATE stock SET pieces = ?3
WHERE item = ?1 AND fence = ?2;
