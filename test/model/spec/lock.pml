// The quorum lock: late and lost messages, slow clocks, extensions, restarts without memory, founding.
// The property E: there are never two clients that both believe to hold the lock.
//
//   ./check            runs this file with all rules on, and with one rule off after the other
//   ./check --trace X  tells the steps to what Spin finds if rule X is off
//
// docs/protocol.md has the protocol in words; docs/testing.md says what this file leaves out.

// ---------------------------------------------------------------- bounds

#ifndef N
#define N 3        // nodes
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef VALUES
#define VALUES 1   // So many values of one client may be known anywhere at once. The number of rounds has no limit.
#endif
#ifndef LATE
#define LATE 1     // So many requests of rounds that have ended may be under way at once.
#endif
#ifndef TTL
#define TTL 2      // in ticks; it is max_ttl, too
#endif
#ifndef DRIFT
#define DRIFT 1    // The clock of client 0 may miss so many ticks in each ttl. So the others gain so much on it.
#endif

// ---------------------------------------------------------------- what may happen

#ifndef EXTENSIONS
#define EXTENSIONS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0     // Nodes restart, and lose all keys and the record of their memory.
#endif
#ifndef FOUNDING
#define FOUNDING 0     // Any client may found a set of new nodes. 0: an operator has founded them.
#endif
#ifndef NEW_AT_FIRST
#define NEW_AT_FIRST FOUNDING  // 0: the set votes at first.
#endif
#ifndef POWER_CUTS
#define POWER_CUTS 0   // 1: all nodes may lose their keys before any client has looked at one of them.
#endif
#ifndef FOUNDER_READS
#define FOUNDER_READS 0  // 0: all records in one moment. 1: one after the other. 2: as 1, and then all once more.
#endif

// ---------------------------------------------------------------- rules: 1 in the protocol, 0 in the controls

#ifndef FROM_FIRST_BYTE
#define FROM_FIRST_BYTE 1         // Validity counts from before the first byte, not from the last answer.
#endif
#ifndef DRIFT_MARGIN
#define DRIFT_MARGIN 1            // Validity is the ttl less the drift.
#endif
#ifndef WHOLE_MAJORITY
#define WHOLE_MAJORITY 1          // More than half of all nodes must grant, not one less.
#endif
#ifndef SET_IF_FREE
#define SET_IF_FREE 1             // A node sets a key only if there is none.
#endif
#ifndef COMPARED_RELEASE
#define COMPARED_RELEASE 1        // A release deletes the key only if it has the value of the client.
#endif
#ifndef COMPARED_EXTENSION
#define COMPARED_EXTENSION 1      // An extension prolongs and counts only if the key has the value of the client.
#endif
#ifndef FRESH_VALUES
#define FRESH_VALUES 1            // Each round has a value of its own.
#endif
#ifndef EXTENSION_IN_TIME
#define EXTENSION_IN_TIME 1       // Validity after an extension counts from before its first byte.
#endif
#ifndef QUARANTINE
#define QUARANTINE 1              // A node that has lost its keys does not vote for max_ttl.
#endif
#ifndef QUARANTINE_IN_EXTENSIONS
#define QUARANTINE_IN_EXTENSIONS 1
#endif
#ifndef ALL_ANSWER
#define ALL_ANSWER 1              // A set is founded only if all nodes answer that they are new, not if a majority does.
#endif
#ifndef WORD_COMPARED
#define WORD_COMPARED 1           // "Founded" is only for the memory that the founder has read.
#endif
#ifndef OLD_SET_NOTED
#define OLD_SET_NOTED 1           // A client tells a new node that its set is not new. Nobody founds this node later.
#endif

#define MAJORITY (N / 2 + WHOLE_MAJORITY)
#define VALID (TTL - DRIFT * DRIFT_MARGIN)
#define LAST (CLIENTS * VALUES)  // Values are 1 to LAST.
#define CLIENT_OF(v) (((v) - 1) / VALUES)
#define ALL ((1 << N) - 1)       // Sets of nodes are bits.
#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) >> (n)) & 1)

// ---------------------------------------------------------------- state

mtype:phase = { IDLE, ASKS, HOLDS, OVER };
mtype:memory = { FRESH, NOT_NEW, LOOKED_AT, VOTES };

typedef node_t {
    byte key;             // the value; 0: there is no key
    byte left;            // ticks until the key expires
    mtype:memory memory;  // what its record says. VOTES: it was founded, or the record is max_ttl old
    byte age              // of the record in ticks, before it votes
};

typedef client_t {
    mtype:phase phase;
    byte value;
    byte spent;    // ticks since the round began, by the clock of the client
    byte missed;   // ticks that this clock has missed since then
    byte granted;  // the nodes whose votes count
    byte asked;    // the nodes to which the present extension is under way
    byte extended, extension_spent, extension_missed  // as above, of the present extension
};

node_t node[N];
client_t client[CLIENTS];

// Under way: for each value, the nodes that may still carry out this request.
byte sets[LAST + 1], deletes[LAST + 1], extends[LAST + 1];
byte verdicts;             // the nodes to which "founded" is under way
#if FOUNDER_READS
byte read_once[CLIENTS], read_twice[CLIENTS];  // the nodes that a founder has read as new
#endif

byte i, j, count, old, rest;  // used within one step; 0 between two steps
#define DONE i = 0; j = 0; count = 0; old = 0; rest = 0

#define IS_NEW(n) (node[n].memory == FRESH || node[n].memory == LOOKED_AT)
#define COUNTS(n) (node[n].memory == VOTES || !QUARANTINE)

inline forget_reading(n)  // The node has another word, or one that is not new.
{
#if FOUNDER_READS
    for (j : 0 .. CLIENTS - 1) { read_once[j] = read_once[j] & ~BIT(n); read_twice[j] = 0 }
#else
    skip
#endif
}

// ---------------------------------------------------------------- clients

inline count_nodes(set)  // into `count`
{
    count = 0;
    for (j : 0 .. N - 1) { count = count + HAS(set, j) }
}

inline count_late()  // into `count`: the requests under way of rounds and extensions that have ended
{
    d_step {
        count = 0;
        for (i : 1 .. LAST) {
            for (j : 0 .. N - 1) {
                count = count + HAS(deletes[i], j) + HAS(extends[i], j) +
                        (HAS(sets[i], j) && client[CLIENT_OF(i)].value != i)
            }
        }
    }
}

inline end(set, way)  // The requests to the nodes in `set` are late or lost from now on.
{
    for (i : 0 .. N - 1) {
        if
        :: HAS(set, i) && count < LATE -> way = way | BIT(i); count++
        :: true
        fi
    }
}

inline delete(n, v)
{
    if
    :: node[n].key == v || (!COMPARED_RELEASE && node[n].key != 0) -> node[n].key = 0; node[n].left = 0
    :: else
    fi
}

inline forget_extension(c)
{
    client[c].asked = 0; client[c].extended = 0; client[c].extension_spent = 0; client[c].extension_missed = 0
}

// The round is over. Each node hears of the release now, later or never. If the client has crashed, it is "never".
inline leave(c)
{
    old = client[c].value; client[c].value = 0;
    count_late();
    rest = sets[old]; sets[old] = 0;
    end(rest, sets[old]);
    end(client[c].asked, extends[old]);
    for (i : 0 .. N - 1) {
        if
        :: node[i].key != 0 -> delete(i, old)
        :: count < LATE -> deletes[old] = deletes[old] | BIT(i); count++
        :: true
        fi
    }
    client[c].phase = IDLE; client[c].spent = 0; client[c].missed = 0; client[c].granted = 0;
    forget_extension(c)
}

inline vote(c, n)
{
    d_step {
        client[c].granted = client[c].granted | BIT(n);
        count_nodes(client[c].granted);
        if
        :: count >= MAJORITY ->
            printf("  client %d holds the lock\n", c);
            client[c].phase = HOLDS; client[c].granted = 0;
            if
            :: !FROM_FIRST_BYTE -> client[c].spent = 0; client[c].missed = 0
            :: else
            fi;
            count = 0;
            for (j : 0 .. CLIENTS - 1) { count = count + (client[j].phase == HOLDS) }
            assert(count == 1)  // E
        :: else
        fi
    }
}

inline vote_for_extension(c, n)
{
    client[c].extended = client[c].extended | BIT(n);
    count_nodes(client[c].extended);
    if
    :: count >= MAJORITY ->
        printf("  client %d holds the lock for longer\n", c);
        client[c].spent = (EXTENSION_IN_TIME -> client[c].extension_spent : 0);
        client[c].missed = (EXTENSION_IN_TIME -> client[c].extension_missed : 0);
        count_late();
        end(client[c].asked, extends[client[c].value]);
        forget_extension(c)
    :: else
    fi
}

proctype Client(byte c)
{
    do
    :: d_step {  // A round begins: it asks all nodes, with a value that no node and no request has.
        client[c].phase == IDLE ->
        for (i : c * VALUES + 1 .. (c + 1) * VALUES) {
            old = sets[i] | deletes[i] | extends[i];
            for (j : 0 .. N - 1) { old = old | (node[j].key == i) }
            if
            :: (old == 0 || !FRESH_VALUES) && client[c].value == 0 -> client[c].value = i
            :: else
            fi
        }
        if
        :: client[c].value != 0 ->
            printf("client %d asks, with value %d\n", c, client[c].value);
            sets[client[c].value] = ALL; client[c].phase = ASKS
        :: else
        fi;
        DONE
    }
    :: atomic {
        client[c].phase != IDLE ->
        printf("client %d releases, gives up or crashes\n", c);
        leave(c);
        DONE
    }
#if EXTENSIONS
    :: atomic {
        client[c].phase == HOLDS && client[c].spent > 0 && (client[c].asked == 0 || client[c].extension_spent > 0) ->
        printf("client %d begins to extend\n", c);
        count_late();
        end(client[c].asked, extends[client[c].value]);
        forget_extension(c);
        client[c].asked = ALL;
        DONE
    }
#endif
    od
}

// ---------------------------------------------------------------- nodes and messages

#define ASKS_WITH(c, v) (client[c].phase == ASKS && client[c].value == v)

// The requests with value `v` to node `n`. They are carried out in any order. An answer counts at once, or is lost.
proctype Requests(byte n, v)
{
    do
    :: atomic {
        HAS(sets[v], n) && (node[n].key == 0 || !SET_IF_FREE) ->
        printf("node %d sets value %d\n", n, v);
        sets[v] = sets[v] & ~BIT(n);
        node[n].key = v; node[n].left = TTL;
        if
        :: ASKS_WITH(CLIENT_OF(v), v) && COUNTS(n) -> vote(CLIENT_OF(v), n)
        :: true
        fi;
        DONE
    }
    :: d_step {
        HAS(deletes[v], n) ->
        printf("node %d carries out a late release of value %d\n", n, v);
        deletes[v] = deletes[v] & ~BIT(n);
        delete(n, v)
    }
    // A late request is lost, or the node denies it.
    :: d_step { HAS(sets[v], n) && client[CLIENT_OF(v)].value != v -> sets[v] = sets[v] & ~BIT(n) }
    :: d_step { HAS(deletes[v], n) -> deletes[v] = deletes[v] & ~BIT(n) }
#if EXTENSIONS
    :: atomic {
        client[CLIENT_OF(v)].value == v && HAS(client[CLIENT_OF(v)].asked, n) &&
        (node[n].key == v || (!COMPARED_EXTENSION && node[n].key != 0)) ->
        printf("node %d extends value %d\n", n, node[n].key);
        client[CLIENT_OF(v)].asked = client[CLIENT_OF(v)].asked & ~BIT(n);
        node[n].left = TTL;
        if
        :: client[CLIENT_OF(v)].phase == HOLDS && (COUNTS(n) || !QUARANTINE_IN_EXTENSIONS) ->
            vote_for_extension(CLIENT_OF(v), n)
        :: true
        fi;
        DONE
    }
    :: d_step {
        HAS(extends[v], n) && (node[n].key == v || (!COMPARED_EXTENSION && node[n].key != 0)) ->
        printf("node %d carries out a late extension of value %d\n", n, v);
        extends[v] = extends[v] & ~BIT(n);
        node[n].left = TTL
    }
    :: d_step { HAS(extends[v], n) -> extends[v] = extends[v] & ~BIT(n) }
#endif
    od
}

// ---------------------------------------------------------------- restarts and founding

#if RESTARTS
// A node restarts without its memory. Unless there are power cuts, another node shows that the set is not new.
proctype Restarts(byte n)
{
    do
    :: d_step {
        count = 0;
        for (i : 0 .. N - 1) { count = count + (i != n && node[i].memory != FRESH) }
        if
        :: POWER_CUTS || count > 0 ->
            printf("node %d restarts without its memory\n", n);
            node[n].key = 0; node[n].left = 0; node[n].memory = FRESH; node[n].age = 0;
            verdicts = (WORD_COMPARED -> verdicts & ~BIT(n) : verdicts);
            forget_reading(n)
        :: else
        fi;
        DONE
    }
    od
}
#endif

#if FOUNDING
inline count_new()  // into `count`
{
    count = 0;
    for (j : 0 .. N - 1) { count = count + IS_NEW(j) }
}

proctype Founding(byte n)
{
    do
    :: d_step {
        HAS(verdicts, n) && IS_NEW(n) ->
        printf("node %d is founded\n", n);
        verdicts = verdicts & ~BIT(n);
        node[n].memory = VOTES; node[n].age = 0
    }
    :: d_step {  // Some client looks at a new node beside one that is not new.
        node[n].memory == FRESH ->
        count_new();
        if
        :: count < N ->
            printf("a client tells node %d that its set is not new\n", n);
            node[n].memory = (OLD_SET_NOTED -> NOT_NEW : LOOKED_AT)
        :: else
        fi;
        DONE
    }
    od
}

// A client sends to new nodes that they are founded.
#if FOUNDER_READS == 0
proctype Founder()
{
    do
    :: d_step {
        verdicts != ALL ->
        count_new();
        if
        :: count == N || (!ALL_ANSWER && count >= MAJORITY) ->
            printf("a client has read %d nodes as new, and founds them\n", count);
            for (j : 0 .. N - 1) { verdicts = verdicts | (IS_NEW(j) << j) }
        :: else
        fi;
        DONE
    }
    od
}
#else
proctype Founder(byte c, n)  // of client `c`, what it does with node `n`
{
    do
    :: d_step {
        IS_NEW(n) && !HAS(read_once[c], n) ->
        printf("client %d reads the record of node %d: new\n", c, n);
        read_once[c] = read_once[c] | BIT(n)
    }
#if FOUNDER_READS == 2
    :: d_step {
        IS_NEW(n) && read_once[c] == ALL && !HAS(read_twice[c], n) ->
        printf("client %d reads the record of node %d once more: new\n", c, n);
        read_twice[c] = read_twice[c] | BIT(n)
    }
#endif
    :: d_step {
        (FOUNDER_READS == 1 -> read_once[c] : read_twice[c]) == ALL ->
        printf("client %d founds all nodes\n", c);
        verdicts = ALL; read_once[c] = 0; read_twice[c] = 0
    }
    od
}
#endif
#endif

// ---------------------------------------------------------------- time

proctype Clock()
{
    do
    :: atomic {
        d_step {
            printf("a tick passes\n");
            for (i : 0 .. N - 1) {
                node[i].left = (node[i].left > 0 -> node[i].left - 1 : 0);
                node[i].key = (node[i].left > 0 -> node[i].key : 0);
                node[i].age = (node[i].memory != VOTES -> node[i].age + 1 : 0);
                if
                :: node[i].age == TTL -> node[i].memory = VOTES; node[i].age = 0; forget_reading(i)
                :: else
                fi
            }
        }
        for (i : 0 .. CLIENTS - 1) {
            if
            :: client[i].phase == IDLE || client[i].phase == OVER
            :: (client[i].phase == ASKS || client[i].phase == HOLDS) && i == 0 && client[i].missed < DRIFT &&
               client[i].extension_missed < DRIFT ->
                printf("  the clock of client %d misses it\n", i);
                client[i].missed++;
                client[i].extension_missed = client[i].extension_missed + (client[i].asked != 0)
            :: client[i].phase == ASKS || client[i].phase == HOLDS ->
                client[i].spent++;
                client[i].extension_spent = client[i].extension_spent + (client[i].asked != 0);
                if
                :: client[i].spent >= VALID ->
                    printf("  the time of client %d is over\n", i);
                    client[i].phase = OVER; client[i].spent = 0; client[i].missed = 0; client[i].granted = 0
                :: else
                fi
            fi
        }
        DONE
    }
    od
}

init
{
    atomic {
        for (i : 0 .. N - 1) { node[i].memory = (NEW_AT_FIRST -> FRESH : VOTES) }
        for (i : 0 .. CLIENTS - 1) { client[i].phase = IDLE }
        run Clock();
        for (i : 0 .. CLIENTS - 1) { run Client(i) }
        for (i : 0 .. N - 1) {
            for (j : 1 .. LAST) { run Requests(i, j) }
        }
#if RESTARTS
        for (i : 0 .. N - 1) { run Restarts(i) }
#endif
#if FOUNDING
        for (i : 0 .. N - 1) { run Founding(i) }
#if FOUNDER_READS
        for (i : 0 .. CLIENTS - 1) {
            for (j : 0 .. N - 1) { run Founder(i, j) }
        }
#else
        run Founder();
#endif
#endif
        DONE
    }
}
