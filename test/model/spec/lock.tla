-------------------------------- MODULE lock --------------------------------
(* The quorum lock of lock.pml in TLA+, for readers who prefer it.

   NOT CHECKED HERE: no tool of this project reads this file. Only lock.pml is
   checked (docs/testing.md, "A specification in Promela"). If the two differ,
   believe lock.pml.

   It has late and lost messages, releases, extensions, slow clocks, crashes of
   clients, restarts of nodes without memory, and the record of memory. It has
   no founding: an operator has founded the set. To try it with TLC, bound
   Values and choose small constants, such as Nodes = {n1, n2, n3},
   Clients = {c1, c2}, Ttl = 2, Drift = 1.                                    *)
EXTENDS Integers, FiniteSets

CONSTANTS Nodes, Clients,
          Values,     \* fresh values of rounds; each is used once
          Ttl,        \* in ticks; it is max_ttl, too
          Drift,      \* the clock of a client misses up to so many ticks of a ttl
          None        \* no value

VARIABLES key,        \* of each node: the value, or None
          left,       \* of each node: ticks until its key expires
          age,        \* of each node: ticks since its memory began, up to Ttl
          phase,      \* of each client: "idle", "asks", "holds"
          value,      \* of each client: of its round
          spent,      \* of each client: ticks since its round began, by its clock
          missed,     \* of each client: ticks that its clock has missed since then
          granted,    \* of each client: the nodes whose votes count
          extending,  \* of each client: whether an extension is under way
          extSpent, extMissed, extended,  \* as above, of this extension
          used,       \* the values that some round has had
          messages    \* the requests under way; each is carried out once, or never

lockVars == <<key, left, age>>
extVars  == <<extending, extSpent, extMissed, extended>>
vars     == <<lockVars, phase, value, spent, missed, granted, extVars, used, messages>>

Majority == Cardinality(Nodes) \div 2 + 1
Valid    == Ttl - Drift             \* counted from before the first byte
Votes(n) == age[n] = Ttl            \* a node that has lost its memory waits for max_ttl

Request(kind, v, n, c) == [kind |-> kind, value |-> v, node |-> n, client |-> c]
ToAll(kind, v, c)      == {Request(kind, v, n, c) : n \in Nodes}

Init ==
    /\ key = [n \in Nodes |-> None]
    /\ left = [n \in Nodes |-> 0]
    /\ age = [n \in Nodes |-> Ttl]
    /\ phase = [c \in Clients |-> "idle"]
    /\ value = [c \in Clients |-> None]
    /\ spent = [c \in Clients |-> 0]
    /\ missed = [c \in Clients |-> 0]
    /\ granted = [c \in Clients |-> {}]
    /\ extending = [c \in Clients |-> FALSE]
    /\ extSpent = [c \in Clients |-> 0]
    /\ extMissed = [c \in Clients |-> 0]
    /\ extended = [c \in Clients |-> {}]
    /\ used = {}
    /\ messages = {}

-----------------------------------------------------------------------------
(* Clients *)

NoExtension(c) ==
    /\ extending' = [extending EXCEPT ![c] = FALSE]
    /\ extSpent' = [extSpent EXCEPT ![c] = 0]
    /\ extMissed' = [extMissed EXCEPT ![c] = 0]
    /\ extended' = [extended EXCEPT ![c] = {}]

Begin(c) ==
    /\ phase[c] = "idle"
    /\ \E v \in Values \ used :
        /\ used' = used \cup {v}
        /\ value' = [value EXCEPT ![c] = v]
        /\ messages' = messages \cup ToAll("set", v, c)
    /\ phase' = [phase EXCEPT ![c] = "asks"]
    /\ spent' = [spent EXCEPT ![c] = 0]
    /\ missed' = [missed EXCEPT ![c] = 0]
    /\ granted' = [granted EXCEPT ![c] = {}]
    /\ UNCHANGED <<lockVars, extVars>>

\* A crash of the client is a round that ends without a release. It may also be
\* a release whose messages are never carried out.
End(c) ==
    /\ phase[c] # "idle"
    /\ phase' = [phase EXCEPT ![c] = "idle"]
    /\ messages' = messages \cup ToAll("delete", value[c], c)
    /\ NoExtension(c)
    /\ UNCHANGED <<lockVars, value, spent, missed, granted, used>>

\* Requests of an earlier extension with this value may still arrive. They are
\* other messages, and their votes do not count: see Extend.
BeginExtension(c) ==
    /\ phase[c] = "holds"
    /\ extending' = [extending EXCEPT ![c] = TRUE]
    /\ extSpent' = [extSpent EXCEPT ![c] = 0]
    /\ extMissed' = [extMissed EXCEPT ![c] = 0]
    /\ extended' = [extended EXCEPT ![c] = {}]
    /\ messages' =
        {IF m.kind = "extend" /\ m.value = value[c] THEN [m EXCEPT !.kind = "late extend"] ELSE m : m \in messages}
        \cup ToAll("extend", value[c], c)
    /\ UNCHANGED <<lockVars, phase, value, spent, missed, granted, used>>

-----------------------------------------------------------------------------
(* Nodes. An answer counts at once, or is lost. *)

IsAsking(m) == phase[m.client] = "asks" /\ value[m.client] = m.value

Set(m) ==
    /\ m.kind = "set" /\ key[m.node] = None
    /\ key' = [key EXCEPT ![m.node] = m.value]
    /\ left' = [left EXCEPT ![m.node] = Ttl]
    /\ messages' = messages \ {m}
    /\ \/ /\ IsAsking(m) /\ Votes(m.node)
          /\ LET all == granted[m.client] \cup {m.node}
             IN /\ granted' = [granted EXCEPT ![m.client] = all]
                /\ phase' = IF Cardinality(all) >= Majority
                            THEN [phase EXCEPT ![m.client] = "holds"] ELSE phase
       \/ UNCHANGED <<granted, phase>>
    /\ UNCHANGED <<age, value, spent, missed, extVars, used>>

Delete(m) ==
    /\ m.kind = "delete"
    /\ messages' = messages \ {m}
    /\ IF key[m.node] = m.value
       THEN /\ key' = [key EXCEPT ![m.node] = None]
            /\ left' = [left EXCEPT ![m.node] = 0]
       ELSE UNCHANGED <<key, left>>
    /\ UNCHANGED <<age, phase, value, spent, missed, granted, extVars, used>>

Extend(m) ==
    /\ m.kind \in {"extend", "late extend"} /\ key[m.node] = m.value
    /\ left' = [left EXCEPT ![m.node] = Ttl]
    /\ messages' = messages \ {m}
    /\ \/ /\ m.kind = "extend" /\ extending[m.client] /\ value[m.client] = m.value
          /\ phase[m.client] = "holds" /\ Votes(m.node)
          /\ LET all == extended[m.client] \cup {m.node}
             IN IF Cardinality(all) >= Majority
                THEN /\ spent' = [spent EXCEPT ![m.client] = extSpent[m.client]]
                     /\ missed' = [missed EXCEPT ![m.client] = extMissed[m.client]]
                     /\ NoExtension(m.client)
                ELSE /\ extended' = [extended EXCEPT ![m.client] = all]
                     /\ UNCHANGED <<spent, missed, extending, extSpent, extMissed>>
       \/ UNCHANGED <<spent, missed, extVars>>
    /\ UNCHANGED <<key, age, phase, value, granted, used>>

Lose(m) ==
    /\ messages' = messages \ {m}
    /\ UNCHANGED <<lockVars, phase, value, spent, missed, granted, extVars, used>>

Restart(n) ==
    /\ key' = [key EXCEPT ![n] = None]
    /\ left' = [left EXCEPT ![n] = 0]
    /\ age' = [age EXCEPT ![n] = 0]
    /\ UNCHANGED <<phase, value, spent, missed, granted, extVars, used, messages>>

-----------------------------------------------------------------------------
(* Time. The clocks in `slow` miss this tick. *)

Tick ==
    \E slow \in SUBSET {c \in Clients : phase[c] # "idle" /\ missed[c] < Drift /\ extMissed[c] < Drift} :
        LET advances(c) == phase[c] # "idle" /\ c \notin slow
            isOver(c) == advances(c) /\ spent[c] + 1 >= Valid
        IN
        /\ left' = [n \in Nodes |-> IF left[n] > 0 THEN left[n] - 1 ELSE 0]
        /\ key' = [n \in Nodes |-> IF left[n] > 1 THEN key[n] ELSE None]
        /\ age' = [n \in Nodes |-> IF age[n] < Ttl THEN age[n] + 1 ELSE Ttl]
        /\ spent' = [c \in Clients |-> IF advances(c) THEN spent[c] + 1 ELSE spent[c]]
        /\ missed' = [c \in Clients |-> IF c \in slow THEN missed[c] + 1 ELSE missed[c]]
        /\ extSpent' = [c \in Clients |->
            IF isOver(c) THEN 0 ELSE IF advances(c) /\ extending[c] THEN extSpent[c] + 1 ELSE extSpent[c]]
        /\ extMissed' = [c \in Clients |->
            IF isOver(c) THEN 0 ELSE IF c \in slow /\ extending[c] THEN extMissed[c] + 1 ELSE extMissed[c]]
        /\ extending' = [c \in Clients |-> extending[c] /\ ~isOver(c)]
        /\ extended' = [c \in Clients |-> IF isOver(c) THEN {} ELSE extended[c]]
        /\ phase' = [c \in Clients |-> IF isOver(c) THEN "idle" ELSE phase[c]]
        /\ messages' = messages \cup UNION {ToAll("delete", value[c], c) : c \in {d \in Clients : isOver(d)}}
        /\ UNCHANGED <<value, granted, used>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients : Begin(c) \/ End(c) \/ BeginExtension(c)
    \/ \E m \in messages : Set(m) \/ Delete(m) \/ Extend(m) \/ Lose(m)
    \/ \E n \in Nodes : Restart(n)
    \/ Tick

Spec == Init /\ [][Next]_vars

\* There are never two clients that both believe to hold the lock.
Exclusion == \A c, d \in Clients : phase[c] = "holds" /\ phase[d] = "holds" => c = d
=============================================================================
