-- Locks in PostgreSQL 13 or newer. Each function is one atomic step, by the clock of the database. docs/stores.md lists
-- the rights that a client needs. For another name, replace "redlock" everywhere in this file, and add ?table=name to
-- the address of the node. The tables belong to the schema public. For another one, change its name here, and add
-- ?schema=name to the address.
BEGIN;
SET LOCAL search_path = public;
SELECT pg_advisory_xact_lock(hashtext('redlock'));  -- other clients that do this wait
SELECT set_config('redlock.tables', num_nonnulls(to_regclass('redlock'), to_regclass('redlock_reader'), to_regclass('redlock_wish'),
                                                 to_regclass('redlock_tombstone'), to_regclass('redlock_timeline'), to_regclass('redlock_record'))::text, true);

CREATE TABLE IF NOT EXISTS redlock (
    key bytea PRIMARY KEY,
    -- the value of the holder; ':=shared': redlock_reader has the values
    value bytea NOT NULL DEFAULT '',
    -- the lock is taken until then
    expires timestamptz NOT NULL DEFAULT '-infinity',
    -- the counter of fencing tokens
    counter bigint NOT NULL DEFAULT 0,
    -- until then, one process hands the lock over to its own waiters
    handovers timestamptz NOT NULL DEFAULT '-infinity',
    -- the events to notify of: 1 the end of the lock, 2 the end of hand-overs, 4 the end of a wish, 8 a reader leaves
    watched integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS redlock_reader (key bytea, value bytea, expires timestamptz NOT NULL, PRIMARY KEY (key, value));
CREATE UNLOGGED TABLE IF NOT EXISTS redlock_wish (key bytea, contender bytea, to_share boolean NOT NULL, expires timestamptz NOT NULL, PRIMARY KEY (key, contender));
CREATE TABLE IF NOT EXISTS redlock_tombstone (key bytea, value bytea, expires timestamptz NOT NULL, PRIMARY KEY (key, value));
CREATE TABLE IF NOT EXISTS redlock_timeline (
    id bigint PRIMARY KEY,                                 -- a promoted standby begins a new timeline
    since timestamptz NOT NULL,
    forgot boolean NOT NULL,                               -- there may have been other locks before
    mark bytea NOT NULL                                    -- the database, and the transaction that wrote this row
);
-- One row: the record of the server's memory. It keeps its word as long as the server is certain to have kept every lock.
CREATE TABLE IF NOT EXISTS redlock_record (
    word text PRIMARY KEY,
    -- f: the tables were new; F: founded; r: the server has restarted, or there was no such row; p: it was promoted
    began text NOT NULL,
    since timestamptz NOT NULL,
    -- the mark of the tables that the record is about
    mark bytea NOT NULL,
    -- the start of the process that has signed
    life text NOT NULL,
    -- d: the server was durable; s: its durability was switched off; -: neither
    state text NOT NULL,
    -- until then the signature of durability holds
    till timestamptz NOT NULL,
    -- the transaction that wrote this row
    writer xid NOT NULL
);

-- The row 0 means that no client has met these tables yet. If functions exist without tables, the tables were dropped,
-- and there were other locks before.
INSERT INTO redlock_timeline SELECT 0, '-infinity', false, ''
    WHERE to_regprocedure('redlock_version()') IS NULL AND current_setting('redlock.tables') = '0';

CREATE OR REPLACE FUNCTION redlock_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 3';

-- Whether clients have met these tables on this timeline. Each table has a row without a key, and one transaction wrote
-- all of them. A table that was created again or emptied has no such row. In a table that was restored from a dump,
-- the row is from another transaction than its mark says.
CREATE OR REPLACE FUNCTION redlock_remembers(line bigint) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM redlock_timeline t
        JOIN redlock l ON l.key = '' AND l.value = t.mark AND l.xmin = t.xmin
        JOIN redlock_reader r ON r.key = '' AND r.value = '' AND r.xmin = t.xmin
        JOIN redlock_tombstone d ON d.key = '' AND d.value = '' AND d.xmin = t.xmin
        WHERE t.id = line AND t.mark = convert_to((SELECT system_identifier FROM pg_control_system()) || ':' || t.xmin, 'UTF8'))
$$;

-- Tells since when the tables have kept every lock. A promoted standby may have forgotten locks, and so may tables that
-- were created again, emptied or restored.
CREATE OR REPLACE FUNCTION redlock_meet(line bigint, OUT since timestamptz, OUT age bigint, OUT forgot boolean, OUT mark bytea) LANGUAGE plpgsql AS $$
DECLARE
    own bytea;
    is_new boolean;
BEGIN
    IF NOT redlock_remembers(line) THEN
        PERFORM pg_advisory_xact_lock(hashtext('redlock'));
        IF NOT redlock_remembers(line) THEN
            own := convert_to((SELECT system_identifier FROM pg_control_system()) || ':' || pg_current_xact_id()::xid, 'UTF8');
            DELETE FROM redlock_timeline WHERE id = 0;
            is_new := FOUND;
            INSERT INTO redlock_timeline AS t VALUES (line, clock_timestamp(), NOT is_new, own)
                ON CONFLICT (id) DO UPDATE SET since = excluded.since, forgot = true, mark = own;
            INSERT INTO redlock (key, value, counter) VALUES ('', own, 1) ON CONFLICT (key) DO UPDATE SET value = own, counter = 1;
            INSERT INTO redlock_reader VALUES ('', '', 'infinity') ON CONFLICT (key, value) DO UPDATE SET expires = 'infinity';
            INSERT INTO redlock_tombstone VALUES ('', '', 'infinity') ON CONFLICT (key, value) DO UPDATE SET expires = 'infinity';
        END IF;
    END IF;
    SELECT t.since, t.forgot, t.mark INTO since, forgot, mark FROM redlock_timeline t WHERE t.id = line;
    age := greatest(0, floor(extract(epoch FROM clock_timestamp() - since) * 1000))::bigint;
END$$;

-- Meets the tables and signs the record. docs/protocol.md explains the rule. durable: if the server were killed now, it
-- would lose no confirmed change. holds: for how many milliseconds a signature holds. verdict: on a fresh record, or
-- nothing: its word after F (founded) or n (its set is not new). Answers: the word; how it began; its age; for how long
-- the server must not vote, because its durability was switched off while a signature holds; the mark of the tables.
-- While durable, it does not wait for the disk: a later lock does, and without this change the record only begins anew
-- earlier.
CREATE OR REPLACE FUNCTION redlock_sign(line bigint, life text, durable boolean, holds bigint, verdict text,
    OUT word text, OUT began text, OUT age bigint, OUT wait bigint, OUT mark bytea)
LANGUAGE plpgsql AS $$
DECLARE
    lasts constant interval := holds * interval '1 ms';
    t timestamptz;
    latest bigint;
    remembers boolean;
    before redlock_record;
    one redlock_record;
    alone boolean := false;
BEGIN
    LOOP
        SELECT max(id) INTO latest FROM redlock_timeline;
        remembers := redlock_remembers(line);
        IF alone THEN
            PERFORM redlock_meet(line);
        END IF;
        SELECT m.mark INTO mark FROM redlock_timeline m WHERE m.id = line;
        SELECT r.* INTO before FROM redlock_record r WHERE r.xmin = r.writer;  -- a restored row has another xmin
        t := clock_timestamp();
        one := before;
        IF one.word IS NULL OR one.mark <> mark OR (one.life <> life AND (one.state = '-' OR one.till <= t OR one.till > t + lasts)) THEN
            one := ROW(gen_random_uuid(), CASE WHEN latest = 0 THEN 'f' WHEN latest < line THEN 'p' ELSE 'r' END, t, mark, life, '-', '-infinity', '0');
        END IF;
        one.life := life;
        IF one.began = 'f' AND verdict IN ('F' || one.word, 'n' || one.word) AND t < one.since + lasts THEN
            one.began := left(verdict, 1);
        END IF;
        IF NOT durable THEN
            one.state := CASE WHEN one.state <> '-' AND one.till > t THEN 's' ELSE '-' END;
        ELSIF one.state <> 'd' OR one.till < t + lasts * 2 / 3 THEN
            one.state := 'd';
            one.till := t + lasts;
        END IF;
        EXIT WHEN alone OR (remembers AND one IS NOT DISTINCT FROM before);
        PERFORM pg_advisory_xact_lock(hashtext('redlock'));  -- to write, and look again
        IF durable THEN
            PERFORM redlock_need_not_last();
        END IF;
        alone := true;
    END LOOP;
    IF one IS DISTINCT FROM before THEN
        one.writer := pg_current_xact_id()::xid;
        DELETE FROM redlock_record;
        INSERT INTO redlock_record SELECT one.*;
    END IF;
    word := one.word;
    began := one.began;
    age := greatest(0, floor(extract(epoch FROM t - one.since) * 1000))::bigint;
    wait := CASE WHEN one.state = 's' THEN ceil(extract(epoch FROM one.till - t) * 1000)::bigint ELSE 0 END;
END$$;

CREATE OR REPLACE FUNCTION redlock_milliseconds(until timestamptz, t timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$SELECT CASE WHEN until = 'infinity' THEN -1 ELSE floor(extract(epoch FROM until - t) * 1000)::bigint END$$;

-- Locks the rows of the keys, sorted by their bytes. All functions use this order, so they do not deadlock. Creates
-- missing rows, as free locks. After this call the server confirms the transaction only when it is on disk, unless
-- redlock_need_not_last is called later.
CREATE OR REPLACE FUNCTION redlock_rows(keys bytea[]) RETURNS redlock[] LANGUAGE plpgsql AS $$
DECLARE
    all_of_them redlock[] := '{}';
    one redlock;
    k bytea;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'locks need the isolation level read committed, and not %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- The role or the database may have switched it off. CREATE FUNCTION … SET would end with the function, before the
    -- commit.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    FOREACH k IN ARRAY CASE WHEN cardinality(keys) = 1 THEN keys ELSE (SELECT array_agg(any_of ORDER BY any_of) FROM unnest(keys) any_of) END LOOP
        LOOP
            SELECT * INTO one FROM redlock WHERE key = k FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO redlock (key) VALUES (k) ON CONFLICT DO NOTHING;
        END LOOP;
        all_of_them := all_of_them || one;
    END LOOP;
    IF NOT EXISTS (SELECT FROM redlock WHERE key = '' AND coalesce(current_setting('redlock.mark', true), '') IN ('', encode(value, 'escape'))) THEN
        RAISE EXCEPTION 'the tables were emptied, restored or made anew' USING ERRCODE = 'RL002';
    END IF;
    RETURN CASE WHEN cardinality(keys) = 1 THEN all_of_them
        ELSE (SELECT array_agg(r ORDER BY asked.place) FROM unnest(keys) WITH ORDINALITY asked(key, place) JOIN unnest(all_of_them) r ON r.key = asked.key) END;
END$$;

-- Notifies of an event of a key, once, if a client watches it. A notification does not wait for the disk.
CREATE OR REPLACE FUNCTION redlock_tell(k bytea, what integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE redlock SET watched = watched & ~what WHERE key = k AND watched & what <> 0;
    IF FOUND THEN
        PERFORM pg_notify('redlock', what || ':' || encode(k, 'hex'));
    END IF;
END$$;

-- Does not wait for the disk: a crash may forget this step, because nobody relies on it.
CREATE OR REPLACE FUNCTION redlock_need_not_last() RETURNS void LANGUAGE sql AS $$SELECT set_config('synchronous_commit', 'off', true)$$;

CREATE OR REPLACE FUNCTION redlock_note_wish(one redlock, who bytea, shares boolean, t timestamptz) RETURNS void LANGUAGE sql AS $$
    DELETE FROM redlock_wish WHERE key = one.key AND expires <= t;
    INSERT INTO redlock_wish AS w VALUES (one.key, who, shares,
            CASE WHEN one.expires > t AND one.expires < 'infinity' THEN one.expires ELSE t END + interval '1 s')
        ON CONFLICT (key, contender) DO UPDATE SET to_share = excluded.to_share, expires = greatest(w.expires, excluded.expires)
$$;

CREATE OR REPLACE FUNCTION redlock_forget_wish(k bytea, who bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM redlock_wish WHERE key = k AND contender = who;
    IF FOUND THEN
        PERFORM redlock_tell(k, 4);
    END IF;
END$$;

CREATE OR REPLACE FUNCTION redlock_is_dead(k bytea, val bytea, t timestamptz) RETURNS boolean LANGUAGE sql AS
$$SELECT EXISTS (SELECT FROM redlock_tombstone WHERE key = k AND value = val AND expires > t)$$;

-- contender: null if it does not wait. proposal: of a fencing token, or 0. taken: indexes of the taken keys, from 0.
CREATE OR REPLACE FUNCTION redlock_acquire(keys bytea[], val bytea, ttl bigint, proposal bigint, contender bytea, grows boolean, follow boolean, watch boolean,
    OUT granted boolean, OUT counter bigint, OUT wanted boolean, OUT ours integer, OUT taken integer[], OUT remaining bigint[], OUT handed_on boolean[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    several constant boolean := cardinality(keys) > 1;
    t timestamptz;
    until timestamptz;
    lots redlock[];
    one redlock;
    free_before boolean;
    raises boolean;
    raised boolean := proposal > 0;
BEGIN
    granted := false; counter := 0; wanted := false; ours := 0; taken := '{}'; remaining := '{}'; handed_on := '{}';
    IF contender IS NULL AND (several OR proposal = 0) THEN  -- a denial changes nothing, so it needs no row locks
        PERFORM FROM redlock WHERE key = ANY (keys) AND expires > clock_timestamp();
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    lots := redlock_rows(keys);
    t := clock_timestamp();
    until := t + ttl * interval '1 ms';
    IF redlock_is_dead(keys[1], val, t) THEN
        RETURN;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        one := lots[i];
        IF one.expires > t AND NOT (grows AND one.value = val) THEN
            taken := taken || i - 1;
            handed_on := handed_on || (one.handovers > t);
            remaining := remaining || redlock_milliseconds(CASE WHEN one.handovers > t THEN least(one.expires, one.handovers) ELSE one.expires END, t);
        END IF;
    END LOOP;
    granted := taken = '{}';
    ours := CASE WHEN granted THEN cardinality(keys) WHEN grows THEN taken[1] ELSE 0 END;
    raises := proposal > 0 AND (granted OR NOT several);
    FOR i IN 1 .. cardinality(keys) LOOP
        one := lots[i];
        raised := raised AND one.counter < proposal;
        free_before := one.expires <= t;
        IF i <= ours THEN
            UPDATE redlock SET value = val, expires = CASE WHEN free_before THEN until ELSE greatest(one.expires, until) END,
                    counter = CASE WHEN raises THEN greatest(one.counter, proposal) ELSE one.counter END,
                    handovers = CASE WHEN granted AND follow AND one.handovers <= t THEN t + interval '1 s' ELSE one.handovers END
                WHERE key = one.key;
        ELSIF grows AND one.value = val AND NOT free_before THEN
            UPDATE redlock SET value = '', expires = '-infinity' WHERE key = one.key;
            PERFORM redlock_tell(one.key, 1);
        ELSIF raises AND one.counter < proposal THEN
            UPDATE redlock SET counter = proposal WHERE key = one.key;
        END IF;
    END LOOP;
    IF granted AND raised THEN
        counter := proposal;
    END IF;
    IF NOT granted AND NOT (raises AND raised) AND ours = 0 THEN
        PERFORM redlock_need_not_last();
    END IF;
    IF contender IS NULL THEN
        RETURN;
    END IF;
    IF granted THEN
        FOR i IN 1 .. cardinality(keys) LOOP
            PERFORM redlock_forget_wish(keys[i], contender);
            wanted := wanted OR EXISTS (SELECT FROM redlock_wish WHERE key = keys[i] AND expires > t);
            IF NOT follow AND (lots[i]).handovers > '-infinity' THEN
                UPDATE redlock SET handovers = '-infinity' WHERE key = keys[i];
                PERFORM redlock_tell(keys[i], 2);
            END IF;
        END LOOP;
        RETURN;
    END IF;
    FOR i IN 1 .. cardinality(taken) LOOP
        one := lots[taken[i] + 1];
        IF i = 1 OR NOT grows THEN
            PERFORM redlock_note_wish(one, contender, false, t);
        END IF;
        IF watch THEN
            UPDATE redlock SET watched = watched | CASE WHEN handed_on[i] THEN 2 ELSE 1 END WHERE key = one.key;
        END IF;
    END LOOP;
END$$;

-- Acquires the first free one of several keys. chosen: its index, from 0.
CREATE OR REPLACE FUNCTION redlock_acquire_any(keys bytea[], val bytea, ttl bigint, proposal bigint, contender bytea, follow boolean, watch boolean,
    OUT granted boolean, OUT counter bigint, OUT wanted boolean, OUT chosen integer, OUT taken integer[], OUT remaining bigint[], OUT handed_on boolean[])
LANGUAGE plpgsql AS $$
DECLARE
    lots redlock[] := redlock_rows(keys);
    t timestamptz := clock_timestamp();
    one redlock;
    won record;
BEGIN
    granted := false; counter := 0; wanted := false; chosen := 0; taken := '{}'; remaining := '{}'; handed_on := '{}';
    FOR i IN 1 .. cardinality(keys) LOOP
        one := lots[i];
        IF one.expires <= t THEN
            SELECT * INTO won FROM redlock_acquire(ARRAY[one.key], val, ttl, proposal, contender, false, follow, false);
            granted := won.granted; counter := won.counter; wanted := won.wanted; chosen := i - 1;
            taken := '{}'; remaining := '{}'; handed_on := '{}';
            IF contender IS NOT NULL THEN
                PERFORM redlock_forget_wish(k, contender) FROM unnest(keys) k WHERE k <> one.key;
            END IF;
            RETURN;
        END IF;
        taken := taken || i - 1;
        handed_on := handed_on || (contender IS NOT NULL AND one.handovers > t);
        remaining := remaining || redlock_milliseconds(CASE WHEN contender IS NOT NULL AND one.handovers > t THEN least(one.expires, one.handovers)
                                                            ELSE one.expires END, t);
    END LOOP;
    PERFORM redlock_need_not_last();
    IF contender IS NULL THEN
        RETURN;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        PERFORM redlock_note_wish(lots[i], contender, false, t);
        IF watch THEN
            UPDATE redlock SET watched = watched | CASE WHEN handed_on[i] THEN 2 ELSE 1 END WHERE key = keys[i];
        END IF;
    END LOOP;
END$$;

-- shares: for a reader, the counter becomes at least proposal.
CREATE OR REPLACE FUNCTION redlock_raise(keys bytea[], proposal bigint, shares boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    highest bigint := proposal;
    one redlock;
BEGIN
    FOREACH one IN ARRAY redlock_rows(keys) LOOP
        highest := greatest(highest, one.counter);
    END LOOP;
    UPDATE redlock SET counter = CASE WHEN shares THEN greatest(counter, proposal) ELSE highest + 1 END WHERE key = ANY (keys);
    RETURN CASE WHEN shares THEN proposal ELSE highest + 1 END;
END$$;

CREATE OR REPLACE FUNCTION redlock_extend(keys bytea[], val bytea, ttl bigint, heal boolean, OUT granted boolean, OUT healed boolean) LANGUAGE plpgsql AS $$
DECLARE
    lots redlock[] := redlock_rows(keys);
    t timestamptz := clock_timestamp();
    one redlock;
    missing boolean := false;
    foreigner boolean := false;
BEGIN
    FOREACH one IN ARRAY lots LOOP
        missing := missing OR one.expires <= t;
        foreigner := foreigner OR (one.expires > t AND one.value <> val);
    END LOOP;
    granted := NOT missing AND NOT foreigner;
    healed := missing AND NOT foreigner AND heal AND NOT redlock_is_dead(keys[1], val, t);
    IF granted OR healed THEN
        UPDATE redlock SET value = val, expires = CASE WHEN expires > t THEN greatest(expires, t + ttl * interval '1 ms') ELSE t + ttl * interval '1 ms' END
            WHERE key = ANY (keys);
    END IF;
END$$;

-- Another process takes the locks over: the value takes the place of the former one.
CREATE OR REPLACE FUNCTION redlock_replace(keys bytea[], val bytea, ttl bigint, former bytea, shares boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    lots redlock[] := redlock_rows(keys);
    t timestamptz := clock_timestamp();
    until timestamptz := t + ttl * interval '1 ms';
    one redlock;
    ends timestamptz;
BEGIN
    IF redlock_is_dead(keys[1], val, t) THEN
        RETURN false;
    END IF;
    one := lots[1];
    IF shares AND one.expires > t AND one.value = ':=shared' THEN
        SELECT max(expires) INTO ends FROM redlock_reader WHERE key = one.key AND value IN (former, val) AND expires > t;
        IF ends IS NULL THEN
            RETURN false;
        END IF;
        DELETE FROM redlock_reader WHERE key = one.key AND value = former;
        PERFORM redlock_enter(one, val, greatest(ends, until), t);
        RETURN true;
    END IF;
    FOREACH one IN ARRAY lots LOOP
        IF one.expires <= t OR one.value NOT IN (former, val) THEN
            RETURN false;
        END IF;
    END LOOP;
    UPDATE redlock SET value = val, expires = greatest(expires, until) WHERE key = ANY (keys);
    RETURN true;
END$$;

CREATE OR REPLACE FUNCTION redlock_release(keys bytea[], val bytea, tombstone boolean, ends_handovers boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    lots redlock[] := redlock_rows(keys);
    t timestamptz := clock_timestamp();
    one redlock;
    ours integer := 0;
BEGIN
    IF tombstone THEN
        INSERT INTO redlock_tombstone VALUES (keys[1], val, t + interval '10 min') ON CONFLICT (key, value) DO UPDATE SET expires = excluded.expires;
    ELSE
        PERFORM redlock_need_not_last();
    END IF;
    FOREACH one IN ARRAY lots LOOP
        CONTINUE WHEN one.expires <= t OR one.value <> val;
        ours := ours + 1;
        UPDATE redlock SET value = '', expires = '-infinity', handovers = CASE WHEN ends_handovers THEN '-infinity' ELSE handovers END WHERE key = one.key;
        PERFORM redlock_tell(one.key, 1);
        IF ends_handovers AND one.handovers > '-infinity' THEN
            PERFORM redlock_tell(one.key, 2);
        END IF;
    END LOOP;
    RETURN ours;
END$$;

CREATE OR REPLACE FUNCTION redlock_withdraw(keys bytea[], contender bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k bytea;
BEGIN
    PERFORM redlock_rows(keys);  -- first the locks, then the wishes, as in all functions
    PERFORM redlock_need_not_last();
    FOREACH k IN ARRAY keys LOOP
        PERFORM redlock_forget_wish(k, contender);
    END LOOP;
END$$;

-- Readers and writers. Each reader has its own end, and the key lives until the last of these ends.

CREATE OR REPLACE FUNCTION redlock_writer_waits(k bytea, who bytea, t timestamptz) RETURNS boolean LANGUAGE sql AS
$$SELECT EXISTS (SELECT FROM redlock_wish WHERE key = k AND expires > t AND NOT to_share AND contender IS DISTINCT FROM who)$$;

CREATE OR REPLACE FUNCTION redlock_enter(one redlock, val bytea, until timestamptz, t timestamptz) RETURNS void LANGUAGE sql AS $$
    DELETE FROM redlock_reader WHERE key = one.key AND (one.expires <= t OR expires <= t);
    INSERT INTO redlock_reader AS r VALUES (one.key, val, until) ON CONFLICT (key, value) DO UPDATE SET expires = greatest(r.expires, excluded.expires);
    UPDATE redlock SET value = ':=shared', expires = CASE WHEN one.expires > t THEN greatest(one.expires, until) ELSE until END WHERE key = one.key
$$;

-- passes: waiting writers do not stop the reader.
CREATE OR REPLACE FUNCTION redlock_share(k bytea, val bytea, ttl bigint, who bytea, passes boolean, watch boolean,
    OUT granted boolean, OUT counter bigint, OUT wanted boolean, OUT behind_writer boolean, OUT remaining bigint, OUT handed_on boolean)
LANGUAGE plpgsql AS $$
DECLARE
    one redlock := (redlock_rows(ARRAY[k]))[1];
    t timestamptz := clock_timestamp();
    free_to_share boolean := one.expires <= t OR one.value = ':=shared';
    wish timestamptz;
BEGIN
    counter := 0; wanted := redlock_writer_waits(k, who, t); behind_writer := false; remaining := 0; handed_on := false;
    IF redlock_is_dead(k, val, t) THEN
        granted := false;
        RETURN;
    END IF;
    granted := free_to_share AND (passes OR NOT wanted);
    IF granted THEN
        PERFORM redlock_enter(one, val, t + ttl * interval '1 ms', t);
        IF one.expires <= t AND one.handovers > '-infinity' THEN
            UPDATE redlock SET handovers = '-infinity' WHERE key = k;
            PERFORM redlock_tell(k, 2);
        END IF;
        IF who IS NOT NULL THEN
            PERFORM redlock_forget_wish(k, who);
        END IF;
        counter := one.counter;
        RETURN;
    END IF;
    PERFORM redlock_need_not_last();
    handed_on := one.handovers > t AND (one.expires > t OR free_to_share);
    behind_writer := free_to_share;
    IF free_to_share THEN
        IF one.expires <= t AND NOT handed_on THEN
            -- a live writer asks again within a round trip
            UPDATE redlock_wish SET expires = least(expires, t + interval '1 s') WHERE key = k;
        END IF;
        SELECT max(expires) INTO wish FROM redlock_wish WHERE key = k AND NOT to_share AND contender IS DISTINCT FROM who;
        remaining := redlock_milliseconds(CASE WHEN handed_on THEN least(wish, one.handovers) ELSE wish END, t);
    ELSE
        IF who IS NOT NULL THEN
            PERFORM redlock_note_wish(one, who, true, t);
        END IF;
        remaining := redlock_milliseconds(CASE WHEN handed_on THEN least(one.expires, one.handovers) ELSE one.expires END, t);
    END IF;
    IF watch THEN
        UPDATE redlock SET watched = watched | CASE WHEN handed_on THEN 2 ELSE 1 END | CASE WHEN behind_writer THEN 4 ELSE 0 END WHERE key = k;
    END IF;
    wanted := false;
END$$;

-- upgraded: other nodes have the value as exclusive holder, so its share here does not count.
CREATE OR REPLACE FUNCTION redlock_extend_shared(k bytea, val bytea, ttl bigint, heal boolean, upgraded boolean, OUT granted boolean, OUT healed boolean)
LANGUAGE plpgsql AS $$
DECLARE
    one redlock := (redlock_rows(ARRAY[k]))[1];
    t timestamptz := clock_timestamp();
    until timestamptz := t + ttl * interval '1 ms';
    missing boolean;
BEGIN
    granted := false;
    healed := false;
    IF one.expires > t AND one.value = val THEN  -- an exclusive holder may do what a reader may
        granted := true;
        UPDATE redlock SET expires = greatest(expires, until) WHERE key = k;
        RETURN;
    END IF;
    IF one.expires > t AND one.value <> ':=shared' THEN
        RETURN;
    END IF;
    missing := one.expires <= t OR NOT EXISTS (SELECT FROM redlock_reader WHERE key = k AND value = val AND expires > t);
    granted := NOT missing AND NOT upgraded;
    healed := missing AND heal AND NOT redlock_is_dead(k, val, t) AND NOT (one.expires > t AND upgraded);
    IF healed AND upgraded THEN
        UPDATE redlock SET value = val, expires = until WHERE key = k;
    ELSIF healed OR NOT missing THEN
        PERFORM redlock_enter(one, val, until, t);
    END IF;
END$$;

CREATE OR REPLACE FUNCTION redlock_release_shared(k bytea, val bytea, tombstone boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    one redlock := (redlock_rows(ARRAY[k]))[1];
    t timestamptz := clock_timestamp();
    ours boolean;
BEGIN
    IF tombstone THEN
        INSERT INTO redlock_tombstone VALUES (k, val, t + interval '10 min') ON CONFLICT (key, value) DO UPDATE SET expires = excluded.expires;
    ELSE
        PERFORM redlock_need_not_last();
    END IF;
    IF one.expires <= t OR one.value NOT IN (val, ':=shared') THEN
        RETURN false;
    END IF;
    IF one.value <> val THEN
        DELETE FROM redlock_reader WHERE key = k AND expires <= t;
        DELETE FROM redlock_reader WHERE key = k AND value = val;
        ours := FOUND;
        IF ours THEN
            PERFORM redlock_tell(k, 8);
        END IF;
        IF EXISTS (SELECT FROM redlock_reader WHERE key = k) THEN
            RETURN ours;
        END IF;
    END IF;
    UPDATE redlock SET value = '', expires = '-infinity' WHERE key = k;
    PERFORM redlock_tell(k, 1);
    RETURN coalesce(ours, true);
END$$;

-- shares: denied because there are other readers.
CREATE OR REPLACE FUNCTION redlock_upgrade(k bytea, val bytea, ttl bigint, proposal bigint, who bytea, watch boolean,
    OUT granted boolean, OUT counter bigint, OUT shares boolean, OUT remaining bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    one redlock := (redlock_rows(ARRAY[k]))[1];
    t timestamptz := clock_timestamp();
    until timestamptz := t + ttl * interval '1 ms';
    own timestamptz;
BEGIN
    granted := one.expires > t AND one.value = val;
    shares := false; remaining := 0;
    IF granted THEN
        UPDATE redlock SET expires = greatest(expires, until) WHERE key = k;
    ELSIF one.expires > t AND one.value = ':=shared' THEN
        DELETE FROM redlock_reader WHERE key = k AND expires <= t;
        SELECT expires INTO own FROM redlock_reader WHERE key = k AND value = val;
        IF own IS NOT NULL THEN
            shares := EXISTS (SELECT FROM redlock_reader WHERE key = k AND value <> val);
            granted := NOT shares;
        END IF;
        IF granted THEN
            UPDATE redlock SET value = val, expires = greatest(own, until) WHERE key = k;
            DELETE FROM redlock_reader WHERE key = k;
            IF who IS NOT NULL THEN
                PERFORM redlock_forget_wish(k, who);
            END IF;
        ELSIF shares THEN
            remaining := redlock_milliseconds(one.expires, t);
            IF who IS NOT NULL THEN
                PERFORM redlock_note_wish(one, who, false, t);
            END IF;
            IF watch THEN
                UPDATE redlock SET watched = watched | 9 WHERE key = k;
            END IF;
        END IF;
    END IF;
    counter := CASE WHEN granted AND one.counter < proposal THEN proposal ELSE 0 END;
    UPDATE redlock SET counter = proposal WHERE key = k AND counter < proposal;
END$$;

CREATE OR REPLACE FUNCTION redlock_downgrade(k bytea, val bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    one redlock := (redlock_rows(ARRAY[k]))[1];
    t timestamptz := clock_timestamp();
BEGIN
    IF one.expires > t AND one.value = ':=shared' THEN
        RETURN EXISTS (SELECT FROM redlock_reader WHERE key = k AND value = val AND expires > t);
    END IF;
    IF one.expires <= t OR one.value <> val OR one.expires = 'infinity' THEN
        RETURN false;
    END IF;
    DELETE FROM redlock_reader WHERE key = k;
    INSERT INTO redlock_reader VALUES (k, val, one.expires);
    UPDATE redlock SET value = ':=shared' WHERE key = k;
    PERFORM redlock_tell(k, 1);
    RETURN true;
END$$;

-- Bytes as text for people. If they are not UTF-8, some bytes become \ and three octal digits.
CREATE OR REPLACE FUNCTION redlock_text(bytes bytea) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN encode(bytes, 'escape');
END$$;

-- For a transaction of the user. Raises an error unless the value holds all of the keys. Nobody else can get the keys
-- until the transaction ends.
CREATE OR REPLACE FUNCTION redlock_owns(keys bytea[], val bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k bytea;
BEGIN
    FOREACH k IN ARRAY keys LOOP
        PERFORM FROM redlock WHERE key = k AND expires > clock_timestamp() AND value IN (val, ':=shared') FOR SHARE;
        IF NOT FOUND OR NOT EXISTS (SELECT FROM redlock WHERE key = k AND expires > clock_timestamp() AND (value = val OR EXISTS
                (SELECT FROM redlock_reader r WHERE r.key = k AND r.value = val AND r.expires > clock_timestamp()))) THEN
            RAISE EXCEPTION 'the lock % is not held any more', redlock_text(k) USING ERRCODE = 'RL001';
        END IF;
    END LOOP;
END$$;

-- Deletes rows that nobody needs any more, at most a thousand of each kind. Counters stay, and so do rows that a
-- transaction has locked.
CREATE OR REPLACE FUNCTION redlock_clean() RETURNS bigint LANGUAGE sql AS $$
    WITH rows_of AS (DELETE FROM redlock WHERE key IN (SELECT key FROM redlock WHERE counter = 0 AND expires < clock_timestamp() - interval '1 hour'
                                                       LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING 1),
        graves AS (DELETE FROM redlock_tombstone WHERE (key, value) IN (SELECT key, value FROM redlock_tombstone WHERE expires < clock_timestamp()
                                                                        LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING 1),
        readers AS (DELETE FROM redlock_reader WHERE (key, value) IN (SELECT key, value FROM redlock_reader
                        WHERE expires < clock_timestamp() - interval '1 hour' LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING 1),
        wishes AS (DELETE FROM redlock_wish WHERE (key, contender) IN (SELECT key, contender FROM redlock_wish
                       WHERE expires < clock_timestamp() - interval '1 min' LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING 1)
    SELECT (SELECT count(*) FROM rows_of) + (SELECT count(*) FROM graves) + (SELECT count(*) FROM readers) + (SELECT count(*) FROM wishes)
$$;

-- For people: lists the held locks.
CREATE OR REPLACE VIEW redlock_locks AS SELECT redlock_text(key) AS key, CASE WHEN value = ':=shared' THEN
        (SELECT string_agg(redlock_text(r.value), ' ') FROM redlock_reader r WHERE r.key = l.key AND r.expires > clock_timestamp())
        ELSE redlock_text(value) END AS value, expires - clock_timestamp() AS remaining, counter
    FROM redlock l WHERE expires > clock_timestamp();

COMMIT;
