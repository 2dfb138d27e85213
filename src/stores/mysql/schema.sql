-- Locks in MySQL 8.0.29 or MariaDB 10.6, or newer, for the clients mysql and mariadb. Each procedure is one atomic
-- step, by the clock of the database. docs/stores.md lists the rights that a client needs. For another name, replace
-- "redlock" everywhere in this file, and add ?table=name to the address of the node.
--
-- A procedure answers before it commits. If a client gets an error before the answer, the procedure has changed
-- nothing. Several keys are one text: each key behind its length in four digits, sorted by their bytes. All procedures
-- lock the rows in this order, so they do not deadlock.
DELIMITER //

-- A procedure keeps the sql_mode of its creation. This mode has no ANSI_QUOTES, and values that are too long are
-- errors.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'
//
CREATE TABLE IF NOT EXISTS redlock (
    -- at most 1549 bytes: the key of the right to upgrade contains the key of its lock twice
    lock_key VARBINARY(1600) PRIMARY KEY,
    -- the value of the holder; ':=shared': redlock_reader has the values
    value VARBINARY(1024) NOT NULL DEFAULT '',
    -- the lock is taken until then, in UTC like all times here; from the year 9999 on: without an end
    expires DATETIME(6) NOT NULL DEFAULT '1000-01-01',
    -- the counter of fencing tokens
    counter BIGINT NOT NULL DEFAULT 0,
    -- until then, one process hands the lock over to its own waiters
    handovers DATETIME(6) NOT NULL DEFAULT '1000-01-01'
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
//
CREATE TABLE IF NOT EXISTS redlock_reader (lock_key VARBINARY(1600), value VARBINARY(1024), expires DATETIME(6) NOT NULL,
    PRIMARY KEY (lock_key, value)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
//
CREATE TABLE IF NOT EXISTS redlock_wish (lock_key VARBINARY(1600), contender VARBINARY(255), to_share BOOLEAN NOT NULL, expires DATETIME(6) NOT NULL,
    PRIMARY KEY (lock_key, contender)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
//
CREATE TABLE IF NOT EXISTS redlock_tombstone (lock_key VARBINARY(1600), value VARBINARY(1024), expires DATETIME(6) NOT NULL,
    PRIMARY KEY (lock_key, value)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
//
-- The servers that have taken writes, one after the other. A server gets a further row when the tables were created
-- again or emptied. mark: since then, each table has this value in a row without a key. forgot: there may have been
-- other locks before. The first row means that no client has met these tables yet. If the procedures exist without this
-- table, the table was dropped, and there were other locks before.
CREATE TABLE IF NOT EXISTS redlock_server (since DATETIME(6) PRIMARY KEY, name VARBINARY(255) NOT NULL, mark VARBINARY(36) NOT NULL, forgot BOOLEAN NOT NULL)
    ENGINE = InnoDB
    SELECT CAST('1000-01-01' AS DATETIME(6)) AS since, '' AS name, '' AS mark, FALSE AS forgot FROM DUAL
        WHERE NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_name = 'redlock_meet')
//
-- One row: the record of the server's memory. It keeps its word as long as the server is certain to have kept every
-- lock. word: empty if no client has met the tables yet. began: f: the tables were new; F: founded; r: the server has
-- restarted, or there was no such row; p: another server took its place. mark: of the tables that the record is about.
-- life: name and start of the server that has signed. state: d: the server was durable; s: its durability was switched
-- off; -: neither. till: until then the signature of durability holds.
CREATE TABLE IF NOT EXISTS redlock_record (id TINYINT PRIMARY KEY, word VARBINARY(36) NOT NULL, began BINARY(1) NOT NULL, since DATETIME(6) NOT NULL,
    mark VARBINARY(36) NOT NULL, life VARBINARY(300) NOT NULL, state BINARY(1) NOT NULL, till DATETIME(6) NOT NULL) ENGINE = InnoDB
    SELECT 1 AS id, '' AS word, 'f' AS began, since, '' AS mark, '' AS life, '-' AS state, since AS till FROM redlock_server WHERE name = ''
//

-- Locks the rows of the keys. Creates missing rows, as free locks. t: the time when all rows were locked.
CREATE PROCEDURE IF NOT EXISTS redlock_lock_rows(all_keys MEDIUMBLOB, OUT t DATETIME(6))
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE one VARBINARY(1600);
    DECLARE found INT;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        SELECT COUNT(*) INTO found FROM redlock WHERE lock_key = one FOR UPDATE;
        IF found = 0 THEN  -- not INSERT IGNORE: two clients at once would share the row lock, and deadlock
            INSERT INTO redlock (lock_key) VALUES (one) ON DUPLICATE KEY UPDATE counter = counter;
        END IF;
    END WHILE;
    IF one <> '' AND NOT EXISTS (SELECT 1 FROM redlock WHERE lock_key = '' AND value = COALESCE(@redlock_mark, value)) THEN
        SIGNAL SQLSTATE 'RL002' SET MESSAGE_TEXT = 'the tables were emptied, restored or made anew';
    END IF;
    SET t = UTC_TIMESTAMP(6);
END
//

-- Tells since when the tables have kept every lock. A replica that takes the place of its server may have forgotten
-- locks, and so may tables that were created again or emptied. Answers: since, as a growing number; its age in
-- milliseconds; whether there were locks before; the name of the first server.
CREATE PROCEDURE IF NOT EXISTS redlock_meet(server VARBINARY(255))
BEGIN
    DECLARE t, latest, made DATETIME(6);
    DECLARE last_server VARBINARY(255);
    DECLARE own VARBINARY(36);
    DECLARE marked INT;
    START TRANSACTION;
    CALL redlock_lock_rows('0000', t);  -- the row without a lock, so that one client at a time passes
    SELECT MAX(since) INTO latest FROM redlock_server;
    SELECT MAX(name), MAX(mark) INTO last_server, own FROM redlock_server WHERE since = latest;
    SELECT TIMESTAMPADD(SECOND, UNIX_TIMESTAMP(MAX(create_time)), '1970-01-01') INTO made FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name IN ('redlock', 'redlock_reader', 'redlock_tombstone');
    SELECT (SELECT COUNT(*) FROM redlock WHERE lock_key = '' AND value = own) + (SELECT COUNT(*) FROM redlock_reader WHERE lock_key = '' AND value = own)
        + (SELECT COUNT(*) FROM redlock_tombstone WHERE lock_key = '' AND value = own) INTO marked;
    IF latest IS NULL OR last_server <> server OR made > latest OR marked < 3 THEN
        SET own = UUID();
        DELETE FROM redlock_server WHERE name = '';
        INSERT INTO redlock_server VALUES (GREATEST(t, COALESCE(made, t), COALESCE(latest + INTERVAL 1 MICROSECOND, t)), server, own, ROW_COUNT() = 0);
        UPDATE redlock SET value = own, counter = 1 WHERE lock_key = '';
        DELETE FROM redlock_reader WHERE lock_key = '';
        DELETE FROM redlock_tombstone WHERE lock_key = '';
        INSERT INTO redlock_reader VALUES ('', own, '9999-12-31');
        INSERT INTO redlock_tombstone VALUES ('', own, '9999-12-31');
    END IF;
    SET @redlock_mark = own;
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(since)), GREATEST(0, TIMESTAMPDIFF(MICROSECOND, MAX(since), t) DIV 1000), MAX(forgot),
            (SELECT name FROM redlock_server ORDER BY since LIMIT 1)
        FROM redlock_server;
    COMMIT;
END
//

-- Meets the server, then signs the record. docs/protocol.md explains the rule. own_life: the server's name, a space, and
-- its start. durable: if the server were killed now, it would lose no confirmed change. holds: for how many milliseconds
-- a signature holds. verdict: on a fresh record, or nothing: its word after F (founded) or n (its set is not new). The
-- second answer: the word; how it began; its age; for how long the server must not vote, because its durability was
-- switched off while a signature holds.
CREATE PROCEDURE IF NOT EXISTS redlock_sign(server VARBINARY(255), own_life VARBINARY(300), durable BOOLEAN, holds BIGINT, verdict VARBINARY(37))
BEGIN
    DECLARE t, made, its_since, its_till, good_until DATETIME(6);
    DECLARE its_word, its_mark, own VARBINARY(36);
    DECLARE its_life VARBINARY(300);
    DECLARE its_began, its_state BINARY(1);
    CALL redlock_meet(server);
    START TRANSACTION;
    CALL redlock_lock_rows('0000', t);  -- one client at a time passes
    SET good_until = t + INTERVAL holds * 1000 MICROSECOND;
    SELECT value INTO own FROM redlock WHERE lock_key = '';
    SELECT TIMESTAMPADD(SECOND, UNIX_TIMESTAMP(MAX(create_time)), '1970-01-01') INTO made FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name = 'redlock_record';
    SELECT MAX(word), MAX(began), MAX(since), MAX(mark), MAX(life), MAX(state), MAX(till)
        INTO its_word, its_began, its_since, its_mark, its_life, its_state, its_till FROM redlock_record;
    IF its_word IS NULL THEN
        INSERT INTO redlock_record VALUES (1, '', 'r', t, '', '', '-', t);
    END IF;
    IF its_word IS NULL OR its_mark <> own OR made > its_since OR (its_life <> own_life AND (its_state = '-' OR its_till <= t OR its_till > good_until)) THEN
        SET its_began = CASE WHEN its_word = '' THEN 'f' WHEN LOCATE(CONCAT(server, ' '), its_life) <> 1 THEN 'p' ELSE 'r' END;
        SET its_word = UUID(), its_since = GREATEST(t, COALESCE(made, t)), its_state = '-', its_till = t;
    END IF;
    IF its_began = 'f' AND verdict IN (CONCAT('F', its_word), CONCAT('n', its_word)) AND t < its_since + INTERVAL holds * 1000 MICROSECOND THEN
        SET its_began = LEFT(verdict, 1);
    END IF;
    IF NOT durable THEN
        SET its_state = IF(its_state <> '-' AND its_till > t, 's', '-');
    ELSEIF its_state <> 'd' OR its_till < t + INTERVAL holds * 2000 DIV 3 MICROSECOND THEN
        SET its_state = 'd', its_till = good_until;
    END IF;
    UPDATE redlock_record SET word = its_word, began = its_began, since = its_since, mark = own, life = own_life, state = its_state, till = its_till;
    SELECT its_word, its_began, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, its_since, t) DIV 1000),
        IF(its_state = 's', TIMESTAMPDIFF(MICROSECOND, t, its_till) DIV 1000 + 1, 0);
    COMMIT;
END
//

-- Remembers a denied contender until a second after the end of the lock. A contender that asks again changes nothing,
-- so its commit costs nothing.
CREATE PROCEDURE IF NOT EXISTS redlock_note_wish(one VARBINARY(1600), ends DATETIME(6), who VARBINARY(255), shares BOOLEAN, t DATETIME(6))
BEGIN
    DECLARE remembered DATETIME(6) DEFAULT IF(ends > t AND ends < '9999-01-01', ends, t) + INTERVAL 1 SECOND;
    DELETE FROM redlock_wish WHERE lock_key = one AND expires <= t;
    INSERT INTO redlock_wish VALUES (one, who, shares, remembered) ON DUPLICATE KEY UPDATE to_share = shares, expires = GREATEST(expires, remembered);
END
//

-- Forgets that the contender was denied. others: how many other contenders want the lock.
CREATE PROCEDURE IF NOT EXISTS redlock_forget_wish(one VARBINARY(1600), who VARBINARY(255), t DATETIME(6), OUT others INT)
BEGIN
    DECLARE own INT;
    SELECT COALESCE(SUM(contender = who), 0), COALESCE(SUM(contender <> who AND expires > t), 0) INTO own, others
        FROM redlock_wish WHERE lock_key = one;
    IF own > 0 THEN
        DELETE FROM redlock_wish WHERE lock_key = one AND contender = who;
    END IF;
END
//

CREATE PROCEDURE IF NOT EXISTS redlock_bury(one VARBINARY(1600), val VARBINARY(1024), t DATETIME(6))
BEGIN
    INSERT INTO redlock_tombstone VALUES (one, val, t + INTERVAL 10 MINUTE) ON DUPLICATE KEY UPDATE expires = t + INTERVAL 10 MINUTE;
END
//

-- who: the contender, or null if it does not wait. proposal: of a fencing token, or 0. Answers: granted, counter,
-- wanted, ours, and for each taken key index:milliseconds:handed_on.
CREATE PROCEDURE IF NOT EXISTS redlock_acquire(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, proposal BIGINT, who VARBINARY(255), grows BOOLEAN,
    follows BOOLEAN)
step: BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE i, ours, found, others INT DEFAULT 0;
    DECLARE first_taken INT;
    DECLARE one, had VARBINARY(1600);
    DECLARE ends, kept, t, good_until DATETIME(6);
    DECLARE count_now, highest BIGINT DEFAULT 0;
    DECLARE granted, raises, wanted BOOLEAN DEFAULT FALSE;
    DECLARE taken MEDIUMTEXT;
    DECLARE first_key VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5, SUBSTRING(all_keys, 1, 4));
    DECLARE several BOOLEAN DEFAULT LENGTH(all_keys) > 4 + LENGTH(first_key);
    IF who IS NULL AND (several OR proposal = 0) THEN  -- a denial changes nothing, so it needs no row locks
        WHILE place < LENGTH(all_keys) DO
            SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
            SET place = place + 4 + LENGTH(one);
            SELECT COUNT(*) INTO found FROM redlock WHERE lock_key = one AND expires > UTC_TIMESTAMP(6);
            IF found > 0 THEN
                SELECT FALSE, 0, FALSE, 0, '';
                LEAVE step;
            END IF;
        END WHILE;
    END IF;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SELECT COUNT(*) INTO found FROM redlock_tombstone WHERE lock_key = first_key AND value = val AND expires > t;
    IF found > 0 THEN
        SELECT FALSE, 0, FALSE, 0, '';
        COMMIT;
        LEAVE step;
    END IF;
    SET place = 1;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        SELECT value, expires, counter, handovers INTO had, ends, count_now, kept FROM redlock WHERE lock_key = one;
        SET highest = GREATEST(highest, count_now);
        IF ends > t AND NOT (grows AND had = val) THEN
            SET first_taken = COALESCE(first_taken, i);
            SET taken = CONCAT_WS(',', taken, CONCAT(i, ':', CASE WHEN kept > t THEN TIMESTAMPDIFF(MICROSECOND, t, LEAST(ends, kept)) DIV 1000
                WHEN ends >= '9999-01-01' THEN -1 ELSE TIMESTAMPDIFF(MICROSECOND, t, ends) DIV 1000 END, ':', kept > t));
        END IF;
        SET i = i + 1;
    END WHILE;
    SET granted = taken IS NULL;
    SET ours = CASE WHEN granted THEN i WHEN grows THEN first_taken ELSE 0 END;
    SET raises = proposal > 0 AND (granted OR NOT several);
    SET good_until = t + INTERVAL ttl * 1000 MICROSECOND;
    SET place = 1, i = 0;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        IF several THEN
            SELECT value, expires, counter, handovers INTO had, ends, count_now, kept FROM redlock WHERE lock_key = one;
        END IF;
        IF i < ours THEN
            UPDATE redlock SET value = val, expires = IF(ends > t, GREATEST(ends, good_until), good_until),
                    counter = IF(raises, GREATEST(count_now, proposal), count_now),
                    handovers = CASE WHEN NOT granted OR who IS NULL THEN kept WHEN NOT follows THEN '1000-01-01'
                        WHEN kept <= t THEN t + INTERVAL 1 SECOND ELSE kept END
                WHERE lock_key = one;
        ELSEIF grows AND had = val AND ends > t THEN
            UPDATE redlock SET value = '', expires = '1000-01-01' WHERE lock_key = one;
        ELSEIF raises AND count_now < proposal THEN
            UPDATE redlock SET counter = proposal WHERE lock_key = one;
        END IF;
        IF who IS NOT NULL AND granted THEN
            CALL redlock_forget_wish(one, who, t, others);
            SET wanted = wanted OR others > 0;
        ELSEIF who IS NOT NULL AND ends > t AND (i = first_taken OR NOT grows) THEN
            CALL redlock_note_wish(one, ends, who, FALSE, t);
        END IF;
        SET i = i + 1;
    END WHILE;
    SELECT granted, IF(granted AND highest < proposal, proposal, 0), wanted, ours, COALESCE(taken, '');
    COMMIT;
END
//

-- Acquires the first free one of several keys. preferred: the same keys in the order of preference. Answers as
-- redlock_acquire, but with the index of the chosen key in preferred in the place of ours.
CREATE PROCEDURE IF NOT EXISTS redlock_acquire_any(all_keys MEDIUMBLOB, preferred MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, proposal BIGINT,
    who VARBINARY(255), follows BOOLEAN)
step: BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE i, found, others INT DEFAULT 0;
    DECLARE chosen INT;
    DECLARE one, free_key VARBINARY(1600);
    DECLARE ends, kept, t DATETIME(6);
    DECLARE count_now BIGINT DEFAULT 0;
    DECLARE wanted BOOLEAN DEFAULT FALSE;
    DECLARE taken MEDIUMTEXT;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    WHILE place < LENGTH(preferred) AND chosen IS NULL DO
        SET one = SUBSTRING(preferred, place + 4, SUBSTRING(preferred, place, 4));
        SET place = place + 4 + LENGTH(one);
        SELECT expires, counter, handovers INTO ends, count_now, kept FROM redlock WHERE lock_key = one;
        IF ends <= t THEN
            SET chosen = i, free_key = one, taken = NULL;
        ELSE
            SET taken = CONCAT_WS(',', taken, CONCAT(i, ':', CASE WHEN who IS NOT NULL AND kept > t THEN TIMESTAMPDIFF(MICROSECOND, t, LEAST(ends, kept)) DIV 1000
                WHEN ends >= '9999-01-01' THEN -1 ELSE TIMESTAMPDIFF(MICROSECOND, t, ends) DIV 1000 END, ':', who IS NOT NULL AND kept > t));
        END IF;
        SET i = i + 1;
    END WHILE;
    IF chosen IS NOT NULL THEN
        SELECT COUNT(*) INTO found FROM redlock_tombstone WHERE lock_key = free_key AND value = val AND expires > t;
        IF found > 0 THEN
            SELECT FALSE, 0, FALSE, 0, '';
            COMMIT;
            LEAVE step;
        END IF;
        UPDATE redlock SET value = val, expires = t + INTERVAL ttl * 1000 MICROSECOND, counter = GREATEST(count_now, proposal),
                handovers = CASE WHEN who IS NULL THEN kept WHEN NOT follows THEN '1000-01-01' WHEN kept <= t THEN t + INTERVAL 1 SECOND ELSE kept END
            WHERE lock_key = free_key;
    END IF;
    SET place = 1;
    WHILE who IS NOT NULL AND place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        IF chosen IS NULL THEN
            SELECT expires INTO ends FROM redlock WHERE lock_key = one;
            CALL redlock_note_wish(one, ends, who, FALSE, t);
        ELSE
            CALL redlock_forget_wish(one, who, t, others);
            SET wanted = wanted OR (one = free_key AND others > 0);
        END IF;
    END WHILE;
    SELECT chosen IS NOT NULL, IF(chosen IS NOT NULL AND count_now < proposal, proposal, 0), wanted, COALESCE(chosen, 0), COALESCE(taken, '');
    COMMIT;
END
//

-- shares: for a reader, the counter becomes at least proposal.
CREATE PROCEDURE IF NOT EXISTS redlock_raise(all_keys MEDIUMBLOB, proposal BIGINT, shares BOOLEAN)
BEGIN
    DECLARE place, pass INT DEFAULT 1;
    DECLARE one VARBINARY(1600);
    DECLARE highest BIGINT DEFAULT proposal;
    DECLARE count_now BIGINT;
    DECLARE t DATETIME(6);
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    WHILE pass <= 2 DO
        WHILE place < LENGTH(all_keys) DO
            SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
            SET place = place + 4 + LENGTH(one);
            IF shares THEN
                UPDATE redlock SET counter = GREATEST(counter, proposal) WHERE lock_key = one;
            ELSEIF pass = 1 THEN
                SELECT counter INTO count_now FROM redlock WHERE lock_key = one;
                SET highest = GREATEST(highest, count_now);
            ELSE
                UPDATE redlock SET counter = highest + 1 WHERE lock_key = one;
            END IF;
        END WHILE;
        SET place = 1, pass = pass + 1;
    END WHILE;
    SELECT IF(shares, proposal, highest + 1);
    COMMIT;
END
//

-- Answers: granted, healed.
CREATE PROCEDURE IF NOT EXISTS redlock_extend(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, heal BOOLEAN)
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE found INT;
    DECLARE one, had VARBINARY(1600);
    DECLARE ends, t, good_until DATETIME(6);
    DECLARE missing, foreigner, healed BOOLEAN DEFAULT FALSE;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
        SET missing = missing OR ends <= t, foreigner = foreigner OR (ends > t AND had <> val);
    END WHILE;
    IF missing AND heal AND NOT foreigner THEN
        SELECT COUNT(*) = 0 INTO healed FROM redlock_tombstone
            WHERE lock_key = SUBSTRING(all_keys, 5, SUBSTRING(all_keys, 1, 4)) AND value = val AND expires > t;
    END IF;
    IF healed OR NOT (missing OR foreigner) THEN
        SET place = 1, good_until = t + INTERVAL ttl * 1000 MICROSECOND;
        WHILE place < LENGTH(all_keys) DO
            SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
            SET place = place + 4 + LENGTH(one);
            UPDATE redlock SET value = val, expires = IF(expires > t, GREATEST(expires, good_until), good_until) WHERE lock_key = one;
        END WHILE;
    END IF;
    SELECT NOT (missing OR foreigner), healed;
    COMMIT;
END
//

-- Another process takes the locks over: the value takes the place of the former one. Answers: granted.
CREATE PROCEDURE IF NOT EXISTS redlock_replace(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, former VARBINARY(1024), shares BOOLEAN)
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE one, had VARBINARY(1600);
    DECLARE ends, its_end, t, good_until DATETIME(6);
    DECLARE granted BOOLEAN;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SET good_until = t + INTERVAL ttl * 1000 MICROSECOND, one = SUBSTRING(all_keys, 5, SUBSTRING(all_keys, 1, 4));
    SELECT COUNT(*) = 0 INTO granted FROM redlock_tombstone WHERE lock_key = one AND value = val AND expires > t;
    SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
    IF granted AND shares AND ends > t AND had = ':=shared' THEN
        SELECT MAX(expires) INTO its_end FROM redlock_reader WHERE lock_key = one AND value IN (former, val) AND expires > t;
        SET granted = its_end IS NOT NULL;
        IF granted THEN
            DELETE FROM redlock_reader WHERE lock_key = one AND value = former;
            CALL redlock_enter(one, val, ends, GREATEST(its_end, good_until), t);
        END IF;
    ELSEIF granted THEN
        WHILE place < LENGTH(all_keys) DO
            SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
            SET place = place + 4 + LENGTH(one);
            SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
            SET granted = granted AND ends > t AND had IN (former, val);
        END WHILE;
        SET place = IF(granted, 1, place);
        WHILE place < LENGTH(all_keys) DO
            SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
            SET place = place + 4 + LENGTH(one);
            UPDATE redlock SET value = val, expires = GREATEST(expires, good_until) WHERE lock_key = one;
        END WHILE;
    END IF;
    SELECT granted;
    COMMIT;
END
//

-- grave: the key that gets a tombstone, or null. Answers how many keys were deleted.
CREATE PROCEDURE IF NOT EXISTS redlock_release(all_keys MEDIUMBLOB, val VARBINARY(1024), grave VARBINARY(1600), ends_handovers BOOLEAN)
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE ours INT DEFAULT 0;
    DECLARE one VARBINARY(1600);
    DECLARE t DATETIME(6);
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    IF grave IS NOT NULL THEN
        CALL redlock_bury(grave, val, t);
    END IF;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        UPDATE redlock SET value = '', expires = '1000-01-01', handovers = IF(ends_handovers, '1000-01-01', handovers)
            WHERE lock_key = one AND value = val AND expires > t;
        SET ours = ours + ROW_COUNT();
    END WHILE;
    SELECT ours;
    COMMIT;
END
//

CREATE PROCEDURE IF NOT EXISTS redlock_withdraw(all_keys MEDIUMBLOB, who VARBINARY(255))
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE one VARBINARY(1600);
    START TRANSACTION;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        DELETE FROM redlock_wish WHERE lock_key = one AND contender = who;
    END WHILE;
    SELECT TRUE;
    COMMIT;
END
//

CREATE PROCEDURE IF NOT EXISTS redlock_inspect(all_keys MEDIUMBLOB)
BEGIN
    SELECT value, IF(expires >= '9999-01-01', -1, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) DIV 1000) FROM redlock
        WHERE lock_key = SUBSTRING(all_keys, 5) AND expires > UTC_TIMESTAMP(6);
END
//

-- Readers and writers of one key. Each reader has its own end, and the key lives until the last of these ends.

CREATE PROCEDURE IF NOT EXISTS redlock_enter(one VARBINARY(1600), val VARBINARY(1024), ends DATETIME(6), good_until DATETIME(6), t DATETIME(6))
BEGIN
    DELETE FROM redlock_reader WHERE lock_key = one AND (ends <= t OR expires <= t);
    INSERT INTO redlock_reader VALUES (one, val, good_until) ON DUPLICATE KEY UPDATE expires = GREATEST(expires, good_until);
    UPDATE redlock SET value = ':=shared', expires = IF(ends > t, GREATEST(ends, good_until), good_until) WHERE lock_key = one;
END
//

-- passes: waiting writers do not stop the reader. Answers: granted, counter, wanted, behind_writer, remaining,
-- handed_on.
CREATE PROCEDURE IF NOT EXISTS redlock_share(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, who VARBINARY(255), passes BOOLEAN)
step: BEGIN
    DECLARE one VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5);
    DECLARE had VARBINARY(1024);
    DECLARE ends, kept, t, wish DATETIME(6);
    DECLARE count_now BIGINT;
    DECLARE found, others INT;
    DECLARE free_to_share, writer_waits, handed_on BOOLEAN;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SELECT COUNT(*) INTO found FROM redlock_tombstone WHERE lock_key = one AND value = val AND expires > t;
    SELECT COUNT(*) > 0 INTO writer_waits FROM redlock_wish WHERE lock_key = one AND expires > t AND NOT to_share AND NOT contender <=> who;
    SELECT value, expires, counter, handovers INTO had, ends, count_now, kept FROM redlock WHERE lock_key = one;
    SET free_to_share = ends <= t OR had = ':=shared';
    IF found > 0 THEN
        SELECT FALSE, 0, FALSE, FALSE, 0, FALSE;
        COMMIT;
        LEAVE step;
    END IF;
    IF free_to_share AND (passes OR NOT writer_waits) THEN
        CALL redlock_enter(one, val, ends, t + INTERVAL ttl * 1000 MICROSECOND, t);
        IF ends <= t AND kept > '1000-01-01' THEN
            UPDATE redlock SET handovers = '1000-01-01' WHERE lock_key = one;
        END IF;
        IF who IS NOT NULL THEN
            CALL redlock_forget_wish(one, who, t, others);
        END IF;
        SELECT TRUE, count_now, writer_waits, FALSE, 0, FALSE;
        COMMIT;
        LEAVE step;
    END IF;
    SET handed_on = kept > t;
    IF free_to_share THEN
        IF ends <= t AND NOT handed_on THEN
            UPDATE redlock_wish SET expires = t + INTERVAL 1 SECOND  -- a live writer asks again within a round trip
                WHERE lock_key = one AND expires > t + INTERVAL 1 SECOND;
        END IF;
        SELECT MAX(expires) INTO wish FROM redlock_wish WHERE lock_key = one AND NOT to_share AND NOT contender <=> who;
        SET ends = IF(handed_on, LEAST(wish, kept), wish);
    ELSE
        IF who IS NOT NULL THEN
            CALL redlock_note_wish(one, ends, who, TRUE, t);
        END IF;
        SET ends = IF(handed_on, LEAST(ends, kept), ends);
    END IF;
    SELECT FALSE, 0, FALSE, free_to_share, IF(ends >= '9999-01-01', -1, TIMESTAMPDIFF(MICROSECOND, t, ends) DIV 1000), handed_on;
    COMMIT;
END
//

-- upgraded: other nodes have the value as exclusive holder, so its share here does not count. Answers: granted, healed.
CREATE PROCEDURE IF NOT EXISTS redlock_extend_shared(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, heal BOOLEAN, upgraded BOOLEAN)
BEGIN
    DECLARE one VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5);
    DECLARE had VARBINARY(1024);
    DECLARE ends, t, good_until DATETIME(6);
    DECLARE missing BOOLEAN;
    DECLARE granted, healed BOOLEAN DEFAULT FALSE;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SET good_until = t + INTERVAL ttl * 1000 MICROSECOND;
    SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
    IF ends > t AND had = val THEN  -- an exclusive holder may do what a reader may
        SET granted = TRUE;
        UPDATE redlock SET expires = GREATEST(expires, good_until) WHERE lock_key = one;
    ELSEIF ends <= t OR had = ':=shared' THEN
        SELECT ends <= t OR COUNT(*) = 0 INTO missing FROM redlock_reader WHERE lock_key = one AND value = val AND expires > t;
        SET granted = NOT missing AND NOT upgraded;
        IF missing AND heal AND NOT (ends > t AND upgraded) THEN
            SELECT COUNT(*) = 0 INTO healed FROM redlock_tombstone WHERE lock_key = one AND value = val AND expires > t;
        END IF;
        IF healed AND upgraded THEN
            UPDATE redlock SET value = val, expires = good_until WHERE lock_key = one;
        ELSEIF healed OR NOT missing THEN
            CALL redlock_enter(one, val, ends, good_until, t);
        END IF;
    END IF;
    SELECT granted, healed;
    COMMIT;
END
//

-- Answers whether the value held the key.
CREATE PROCEDURE IF NOT EXISTS redlock_release_shared(all_keys MEDIUMBLOB, val VARBINARY(1024), tombstone BOOLEAN)
BEGIN
    DECLARE one VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5);
    DECLARE had VARBINARY(1024);
    DECLARE ends, t DATETIME(6);
    DECLARE ours, readers INT DEFAULT 0;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    IF tombstone THEN
        CALL redlock_bury(one, val, t);
    END IF;
    SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
    IF ends > t AND had = val THEN
        SET ours = 1;
    ELSEIF ends > t AND had = ':=shared' THEN
        DELETE FROM redlock_reader WHERE lock_key = one AND expires <= t;
        DELETE FROM redlock_reader WHERE lock_key = one AND value = val;
        SET ours = ROW_COUNT();
        SELECT COUNT(*) INTO readers FROM redlock_reader WHERE lock_key = one;
    END IF;
    IF ends > t AND had IN (val, ':=shared') AND readers = 0 THEN
        UPDATE redlock SET value = '', expires = '1000-01-01' WHERE lock_key = one;
    END IF;
    SELECT ours;
    COMMIT;
END
//

-- Answers: granted, counter, shares (denied because there are other readers), and how long they share the key.
CREATE PROCEDURE IF NOT EXISTS redlock_upgrade(all_keys MEDIUMBLOB, val VARBINARY(1024), ttl BIGINT, proposal BIGINT, who VARBINARY(255))
BEGIN
    DECLARE one VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5);
    DECLARE had VARBINARY(1024);
    DECLARE ends, own, t, good_until DATETIME(6);
    DECLARE count_now BIGINT;
    DECLARE others INT;
    DECLARE granted, shares BOOLEAN DEFAULT FALSE;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SET good_until = t + INTERVAL ttl * 1000 MICROSECOND;
    SELECT value, expires, counter INTO had, ends, count_now FROM redlock WHERE lock_key = one;
    IF ends > t AND had = val THEN
        SET granted = TRUE;
        UPDATE redlock SET expires = GREATEST(expires, good_until) WHERE lock_key = one;
    ELSEIF ends > t AND had = ':=shared' THEN
        DELETE FROM redlock_reader WHERE lock_key = one AND expires <= t;
        SELECT MAX(IF(value = val, expires, NULL)), SUM(value <> val) INTO own, others FROM redlock_reader WHERE lock_key = one;
        SET granted = own IS NOT NULL AND others = 0, shares = own IS NOT NULL AND others > 0;
        IF granted THEN
            UPDATE redlock SET value = val, expires = GREATEST(own, good_until) WHERE lock_key = one;
            DELETE FROM redlock_reader WHERE lock_key = one;
            IF who IS NOT NULL THEN
                CALL redlock_forget_wish(one, who, t, others);
            END IF;
        ELSEIF shares AND who IS NOT NULL THEN
            CALL redlock_note_wish(one, ends, who, FALSE, t);
        END IF;
    END IF;
    IF count_now < proposal THEN
        UPDATE redlock SET counter = proposal WHERE lock_key = one;
    END IF;
    SELECT granted, IF(granted AND count_now < proposal, proposal, 0), shares,
        CASE WHEN NOT shares THEN 0 WHEN ends >= '9999-01-01' THEN -1 ELSE TIMESTAMPDIFF(MICROSECOND, t, ends) DIV 1000 END;
    COMMIT;
END
//

-- Answers whether the value is a reader now.
CREATE PROCEDURE IF NOT EXISTS redlock_downgrade(all_keys MEDIUMBLOB, val VARBINARY(1024))
BEGIN
    DECLARE one VARBINARY(1600) DEFAULT SUBSTRING(all_keys, 5);
    DECLARE had VARBINARY(1024);
    DECLARE ends, t DATETIME(6);
    DECLARE granted BOOLEAN DEFAULT FALSE;
    START TRANSACTION;
    CALL redlock_lock_rows(all_keys, t);
    SELECT value, expires INTO had, ends FROM redlock WHERE lock_key = one;
    IF ends > t AND had = ':=shared' THEN
        SELECT COUNT(*) > 0 INTO granted FROM redlock_reader WHERE lock_key = one AND value = val AND expires > t;
    ELSEIF ends > t AND had = val AND ends < '9999-01-01' THEN
        SET granted = TRUE;
        DELETE FROM redlock_reader WHERE lock_key = one;
        INSERT INTO redlock_reader VALUES (one, val, ends);
        UPDATE redlock SET value = ':=shared' WHERE lock_key = one;
    END IF;
    SELECT granted;
    COMMIT;
END
//

-- For a transaction of the user. Raises an error unless the value holds all of the keys. Nobody else can get the keys
-- until the transaction ends.
CREATE PROCEDURE IF NOT EXISTS redlock_owns(all_keys MEDIUMBLOB, val VARBINARY(1024))
BEGIN
    DECLARE place INT DEFAULT 1;
    DECLARE one VARBINARY(1600);
    DECLARE alone, shared INT DEFAULT 0;
    WHILE place < LENGTH(all_keys) DO
        SET one = SUBSTRING(all_keys, place + 4, SUBSTRING(all_keys, place, 4));
        SET place = place + 4 + LENGTH(one);
        SELECT COALESCE(SUM(value = val), 0), COALESCE(SUM(value = ':=shared'), 0) INTO alone, shared FROM redlock
            WHERE lock_key = one AND expires > UTC_TIMESTAMP(6) LOCK IN SHARE MODE;
        IF shared > 0 THEN
            SELECT COUNT(*) INTO alone FROM redlock_reader WHERE lock_key = one AND value = val AND expires > UTC_TIMESTAMP(6) LOCK IN SHARE MODE;
        END IF;
        IF alone = 0 THEN
            SIGNAL SQLSTATE 'RL001' SET MESSAGE_TEXT = 'a lock is not held any more';
        END IF;
    END WHILE;
END
//

-- Deletes rows that nobody needs any more, at most a thousand rows of each kind. Counters stay.
CREATE PROCEDURE IF NOT EXISTS redlock_clean()
BEGIN
    DECLARE at_the_end BOOLEAN DEFAULT FALSE;
    DECLARE one VARBINARY(1600);
    DECLARE long_ago DATETIME(6) DEFAULT UTC_TIMESTAMP(6) - INTERVAL 1 HOUR;
    DECLARE idle CURSOR FOR SELECT lock_key FROM redlock WHERE counter = 0 AND expires < long_ago ORDER BY lock_key LIMIT 1000;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET at_the_end = TRUE;
    DELETE FROM redlock_tombstone WHERE expires < UTC_TIMESTAMP(6) LIMIT 1000;
    DELETE FROM redlock_reader WHERE expires < long_ago LIMIT 1000;
    DELETE FROM redlock_wish WHERE expires < long_ago LIMIT 1000;
    OPEN idle;
    START TRANSACTION;
    FETCH idle INTO one;
    WHILE NOT at_the_end DO  -- the loop locks only these rows, not all rows that the cursor reads
        DELETE FROM redlock WHERE lock_key = one AND counter = 0 AND expires < long_ago;
        FETCH idle INTO one;
    END WHILE;
    COMMIT;
    CLOSE idle;
END
//

-- For people: lists the held locks.
CREATE PROCEDURE IF NOT EXISTS redlock_locks()
BEGIN
    SELECT CONVERT(l.lock_key USING utf8mb4) AS lock_key, CONVERT(COALESCE(r.value, l.value) USING utf8mb4) AS value,
            TIMEDIFF(COALESCE(r.expires, l.expires), UTC_TIMESTAMP(6)) AS remaining, l.counter
        FROM redlock l LEFT JOIN redlock_reader r ON l.value = ':=shared' AND r.lock_key = l.lock_key AND r.expires > UTC_TIMESTAMP(6)
        WHERE l.expires > UTC_TIMESTAMP(6) ORDER BY l.lock_key;
END
//

-- The last procedure: if it exists, all others exist, too, except redlock_sign and redlock_replace beside tables of
-- release 0.1. It fails if a table of that release is missing.
CREATE PROCEDURE IF NOT EXISTS redlock_version()
    SELECT 2 + (SELECT COUNT(*) FROM redlock WHERE FALSE) + (SELECT COUNT(*) FROM redlock_reader WHERE FALSE)
        + (SELECT COUNT(*) FROM redlock_wish WHERE FALSE) + (SELECT COUNT(*) FROM redlock_tombstone WHERE FALSE)
        + (SELECT COUNT(*) FROM redlock_server WHERE FALSE)
//
