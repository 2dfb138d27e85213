-- name: schema
CREATE TABLE jobs (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    printer  TEXT NOT NULL,
    label    TEXT NOT NULL,
    run_at   TIMESTAMPTZ DEFAULT now(),  -- NULL: set aside
    attempts INT NOT NULL DEFAULT 0,
    why      TEXT                        -- it was set aside
);
CREATE INDEX jobs_by_time ON jobs (run_at);

-- name: put        Parameters: $1 printer, $2 label.
INSERT INTO jobs (printer, label) VALUES ($1, $2);

-- name: take
UPDATE jobs SET run_at = now() + INTERVAL '1 minute', attempts = attempts + 1
WHERE id = (SELECT id FROM jobs WHERE run_at <= now()
            ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, printer, label, attempts;

-- name: postpone   Parameters, here and below: $1 id, $2 attempts. Here: $3 milliseconds.
UPDATE jobs SET run_at = now() + $3 * INTERVAL '1 millisecond'
WHERE id = $1 AND attempts = $2;

-- name: set_aside  Here: $3 the reason.
UPDATE jobs SET run_at = NULL, why = $3
WHERE id = $1 AND attempts = $2;

-- name: done       Run it in the transaction of the result. If it deletes no row, roll back.
DELETE FROM jobs
WHERE id = $1 AND attempts = $2;
