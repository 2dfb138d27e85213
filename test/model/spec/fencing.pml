// The fencing tokens: proposals, second rounds, nodes that forget, readers, and the resource that compares tokens.
// The properties:
//
//   F1  No two attempts that have completed have the same token.
//   F2  An attempt that begins after another one has completed gets a higher token.
//   F3  A reader that begins after a writer or a reader has completed gets no lower number.
//   H   (with LOCKS) Each holder has a higher token than all holders before it.
//   R   (with RESOURCE) The resource loses no update.
//
// There is no clock. Without LOCKS, any node may grant any attempt at any time. `check` runs this file; docs/fencing.md
// and docs/protocol.md have the protocol in words; docs/testing.md says what this file leaves out.

// ---------------------------------------------------------------- bounds

#ifndef N
#define N 3            // nodes
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2     // rounds of any clients
#endif
#ifndef READERS
#define READERS 0      // The last attempts are readers.
#endif
#ifndef NUMBERS
#define NUMBERS 2      // Proposals are 1 to NUMBERS, by any clock. Counters go higher.
#endif

// ---------------------------------------------------------------- what may happen

#ifndef LOCKS
#define LOCKS 0        // Nodes grant one attempt at a time. A key ends only after its client has stopped to believe.
#endif
#ifndef RESOURCE
#define RESOURCE 0     // Holders change a resource, also after their lock has ended: they may be paused.
#endif
#ifndef FORGETFUL
#define FORGETFUL 0    // So many nodes may forget their counters, any number of times.
#endif

// ---------------------------------------------------------------- rules: 1 in the protocol, 0 in the controls

#ifndef QUORUM
#define QUORUM (N / 2 + 1)
#endif
#ifndef TAKEN_BY_A_QUORUM
#define TAKEN_BY_A_QUORUM 1    // The proposal is the token only if a quorum has taken it, not if a quorum has granted.
#endif
#ifndef EQUAL_IS_NOT_TAKEN
#define EQUAL_IS_NOT_TAKEN 1   // A node that has this number already has not taken it for this attempt.
#endif
#ifndef COUNTER_COMPARED
#define COUNTER_COMPARED 1     // A proposal never lowers a counter.
#endif
#ifndef ADDS_ONE
#define ADDS_ONE 1             // The second round adds one to each counter; it does not only read.
#endif
#ifndef EQUAL_ANSWERS
#define EQUAL_ANSWERS 1        // The token of a second round is what a quorum has answered, not the highest answer.
#endif
#ifndef ONLY_GRANTED
#define ONLY_GRANTED 1         // A node counts only if it has granted the lock, too.
#endif
#ifndef WRITTEN_BACK
#define WRITTEN_BACK 1         // A reader raises a quorum to its number, unless a quorum has answered it.
#endif
#ifndef TOKEN_COMPARED
#define TOKEN_COMPARED 1       // The resource refuses tokens that are below its fence.
#endif
#ifndef ENTERED_FIRST
#define ENTERED_FIRST 1        // A holder enters at the resource before it reads, not when it writes.
#endif

#define IS_READER(a) ((a) >= ATTEMPTS - READERS)
#define AT(a, n) at[(a) * N + (n)]
#define ANSWER(a, n) answer[(a) * N + (n)]

// ---------------------------------------------------------------- state

// An attempt. A holder has completed and not ended; a paused client has ended, and goes on at the resource.
mtype:phase = { NEW, ASKS, SECOND, HOLDS, ENDED };
// What a node has done with the requests of an attempt, as far as the client knows. LOST: this vote does not count.
mtype:vote = { SENT, GRANTED, DENIED, LOST, NOT_TAKEN, TAKEN, ANSWERED };
mtype:work = { NOTHING, ENTERED, READ, DID_ALL };

typedef attempt_t {
    mtype:phase phase;
    byte proposal;  // of the first round
    byte hint;      // of the second round; 0: there is none
    byte token;     // 0: it has none
    byte floor;     // the highest number that was complete when it began
    mtype:work work;
    byte value      // what it has read at the resource
};

attempt_t attempt[ATTEMPTS];
mtype:vote at[ATTEMPTS * N];
byte answer[ATTEMPTS * N];
byte counter[N];
bool forgot[N];
byte key[N];         // the attempt that has the lock at this node, plus one
byte highest;        // the highest number that is complete
byte last_token;     // of the latest holder
byte fence, value;   // of the resource

byte i, count, count_equal, most, is_taken;  // used within one step; 0 between two steps
#define DONE i = 0; count = 0; count_equal = 0; most = 0; is_taken = 0

#define HAS_GRANTED(a, n) (AT(a, n) == NOT_TAKEN || AT(a, n) == TAKEN)

// ---------------------------------------------------------------- attempts

inline forget_answers(a)  // They matter no more. Requests that were not carried out do.
{
    attempt[a].floor = 0;
    for (i : 0 .. N - 1) {
        AT(a, i) = (AT(a, i) == ANSWERED || (HAS_GRANTED(a, i) && attempt[a].hint == 0) -> LOST : AT(a, i));
        ANSWER(a, i) = 0
    }
}

inline complete(a, number)
{
    printf("  attempt %d completes with %d\n", a, number);
    assert(IS_READER(a) || number > attempt[a].floor);   // F2
    assert(!IS_READER(a) || number >= attempt[a].floor); // F3
    for (i : 0 .. ATTEMPTS - 1) {
        assert(IS_READER(a) || IS_READER(i) || attempt[i].token != number)  // F1
    }
    assert(!LOCKS || number > last_token);               // H
    last_token = (LOCKS -> number : 0);
    attempt[a].token = number;
    attempt[a].phase = HOLDS;
    forget_answers(a);
    highest = (number > highest -> number : highest)
}

inline count_first_round(a)
{
    count = 0; count_equal = 0;
    for (i : 0 .. N - 1) {
        count = count + HAS_GRANTED(a, i);
        count_equal = count_equal + (AT(a, i) == TAKEN || (!TAKEN_BY_A_QUORUM && AT(a, i) == NOT_TAKEN))
    }
}

inline count_second_round(a, n)  // and what a reader has read
{
    count = 0; count_equal = 0; most = 0;
    for (i : 0 .. N - 1) {
        count = count + (AT(a, i) == ANSWERED);
        count_equal = count_equal + (AT(a, i) == ANSWERED && ANSWER(a, i) == ANSWER(a, n));
        most = (AT(a, i) == ANSWERED && ANSWER(a, i) > most -> ANSWER(a, i) : most)
    }
}

// The client counts when an answer has arrived.
inline count_answers(a, n)
{
    if
    :: attempt[a].phase == ASKS && !IS_READER(a) ->
        count_first_round(a);
        if
        :: count >= QUORUM && count_equal >= QUORUM -> complete(a, attempt[a].proposal)
        :: else
        fi
    :: attempt[a].phase == SECOND || (attempt[a].phase == ASKS && IS_READER(a)) ->
        count_second_round(a, n);
        if
        :: count_equal >= QUORUM && ANSWER(a, n) > 0 -> complete(a, ANSWER(a, n))
        :: count_equal < QUORUM && count >= QUORUM && !EQUAL_ANSWERS -> complete(a, most)
        :: else
        fi
    :: else
    fi
}

proctype Attempt(byte a)
{
    do
    :: atomic {
        attempt[a].phase == NEW ->
        attempt[a].phase = ASKS; attempt[a].floor = highest;
        if
        :: IS_READER(a)
        :: !IS_READER(a) -> select(i : 1 .. NUMBERS); attempt[a].proposal = i
        fi;
        printf("attempt %d begins; it proposes %d\n", a, attempt[a].proposal);
        DONE
    }
    :: atomic {  // A quorum has granted, but too few nodes have taken the proposal.
        attempt[a].phase == ASKS && !IS_READER(a) ->
        count_first_round(a);
        if
        :: count >= QUORUM && count_equal < QUORUM ->
            select(i : 1 .. NUMBERS);
            attempt[a].hint = i; attempt[a].phase = SECOND;
            printf("attempt %d begins its second round with %d\n", a, i)
        :: else
        fi;
        DONE
    }
#if READERS
    :: d_step {  // A quorum has answered a reader, with different numbers.
        attempt[a].phase == ASKS && IS_READER(a) ->
        count_second_round(a, 0);
        if
        :: count >= QUORUM ->
            most = (most > 0 -> most : 1);
            attempt[a].hint = most; attempt[a].phase = SECOND;
            printf("attempt %d, a reader, writes %d back\n", a, most);
            if
            :: !WRITTEN_BACK -> complete(a, most)
            :: else
            fi
        :: else
        fi;
        DONE
    }
#endif
#if LOCKS
    :: d_step {
        attempt[a].phase == ASKS || attempt[a].phase == SECOND || attempt[a].phase == HOLDS ->
        printf("attempt %d ends: by a release, its time, a crash or a pause\n", a);
        attempt[a].phase = ENDED;
        forget_answers(a);
        DONE
    }
#endif
#if RESOURCE
    :: d_step {
        attempt[a].token > 0 && attempt[a].work == NOTHING ->
        if
        :: !TOKEN_COMPARED || !ENTERED_FIRST -> attempt[a].work = ENTERED
        :: TOKEN_COMPARED && ENTERED_FIRST && attempt[a].token >= fence ->
            printf("attempt %d enters at the resource\n", a);
            fence = attempt[a].token; attempt[a].work = ENTERED
        :: else -> attempt[a].work = DID_ALL
        fi
    }
    :: d_step {
        attempt[a].work == ENTERED ->
        if
        :: !TOKEN_COMPARED || !ENTERED_FIRST || attempt[a].token == fence ->
            printf("attempt %d reads %d\n", a, value);
            attempt[a].value = value; attempt[a].work = READ
        :: else -> attempt[a].work = DID_ALL
        fi
    }
    :: d_step {
        attempt[a].work == READ ->
        if
        :: !TOKEN_COMPARED || attempt[a].token == fence || (!ENTERED_FIRST && attempt[a].token > fence) ->
            printf("attempt %d writes %d\n", a, attempt[a].value + 1);
            assert(attempt[a].value == value);  // R
            fence = attempt[a].token; value = attempt[a].value + 1
        :: else
        fi;
        attempt[a].work = DID_ALL; attempt[a].value = 0
    }
#endif
    od
}

// ---------------------------------------------------------------- nodes and messages

inline propose(n, a)
{
    printf("node %d carries out the proposal of attempt %d: it had %d\n", n, a, counter[n]);
    is_taken = attempt[a].proposal > counter[n] || (attempt[a].proposal == counter[n] && !EQUAL_IS_NOT_TAKEN) ||
               (attempt[a].proposal < counter[n] && !COUNTER_COMPARED);
    counter[n] = (attempt[a].proposal > counter[n] || !COUNTER_COMPARED -> attempt[a].proposal : counter[n])
}

inline add_one(n, a)
{
    counter[n] = (attempt[a].hint > counter[n] -> attempt[a].hint : counter[n]);
    counter[n] = counter[n] + ADDS_ONE;
    printf("node %d carries out the second round of attempt %d: %d\n", n, a, counter[n])
}

// The requests of attempt `a` to node `n`. An answer arrives at once, or is lost.
proctype Writer(byte n, a)
{
    do
#if LOCKS
    :: d_step {  // SET NX
        attempt[a].phase != NEW && AT(a, n) == SENT ->
        AT(a, n) = (key[n] == 0 -> GRANTED : DENIED);
        key[n] = (key[n] == 0 -> a + 1 : key[n]);
        printf("node %d carries out SET of attempt %d: %e\n", n, a, AT(a, n))
    }
#else
#define GRANTED SENT
#endif
    :: d_step {  // ZADD GT CH, behind it on the same connection. The answers are lost, or do not count.
        attempt[a].phase != NEW && (AT(a, n) == GRANTED || AT(a, n) == DENIED) ->
        propose(n, a);
        AT(a, n) = LOST;
        DONE
    }
    :: d_step {  // The answers arrive.
        attempt[a].phase == ASKS && (AT(a, n) == GRANTED || (AT(a, n) == DENIED && !ONLY_GRANTED)) ->
        propose(n, a);
        AT(a, n) = (is_taken -> TAKEN : NOT_TAKEN);
        count_answers(a, n);
        DONE
    }
    :: d_step {  // ZADD GT and ZINCRBY behind it
        attempt[a].hint > 0 && HAS_GRANTED(a, n) ->
        add_one(n, a);
        AT(a, n) = LOST
    }
    :: d_step {
        attempt[a].phase == SECOND && HAS_GRANTED(a, n) ->
        add_one(n, a);
        AT(a, n) = ANSWERED; ANSWER(a, n) = counter[n];
        count_answers(a, n);
        DONE
    }
    od
}

#if READERS
proctype Reader(byte n, a)
{
    do
    :: d_step {  // ZSCORE
        attempt[a].phase == ASKS && AT(a, n) == SENT ->
        AT(a, n) = ANSWERED; ANSWER(a, n) = counter[n];
        printf("node %d answers the reader, attempt %d: %d\n", n, a, counter[n]);
        count_answers(a, n);
        DONE
    }
    :: d_step {  // ZADD GT
        attempt[a].phase == SECOND && (AT(a, n) == SENT || AT(a, n) == ANSWERED) ->
        counter[n] = (attempt[a].hint > counter[n] -> attempt[a].hint : counter[n]);
        printf("node %d is raised by the reader, attempt %d: %d\n", n, a, counter[n]);
        AT(a, n) = TAKEN;
        count_first_round(a);
        if
        :: count_equal >= QUORUM -> complete(a, attempt[a].hint)
        :: else
        fi;
        DONE
    }
    od
}
#endif

#if FORGETFUL
proctype Forgets(byte n)
{
    do
    :: d_step {
        counter[n] > 0 ->
        for (i : 0 .. N - 1) { count = count + (forgot[i] && i != n) }
        if
        :: count < FORGETFUL ->
            printf("node %d forgets its counter, %d\n", n, counter[n]);
            counter[n] = 0; forgot[n] = true
        :: else
        fi;
        DONE
    }
    od
}
#endif

#if LOCKS
proctype Expires(byte n)  // or is released
{
    do
    :: d_step {
        key[n] > 0 && attempt[key[n] - 1].phase == ENDED ->
        printf("the key of attempt %d ends at node %d\n", key[n] - 1, n);
        key[n] = 0
    }
    od
}
#endif

init
{
    atomic {
        for (i : 0 .. ATTEMPTS - 1) { attempt[i].phase = NEW; attempt[i].work = NOTHING; run Attempt(i) }
        for (i : 0 .. N - 1) {
            for (count : 0 .. ATTEMPTS - 1) {
                AT(count, i) = SENT;
                if
                :: !IS_READER(count) -> run Writer(i, count)
                :: else
#if READERS
                    -> run Reader(i, count)
#endif
                fi
            }
#if FORGETFUL
            run Forgets(i);
#endif
#if LOCKS
            run Expires(i);
#endif
            skip
        }
        DONE
    }
}
