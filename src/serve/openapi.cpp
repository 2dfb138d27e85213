#include "serve/openapi.hpp"

namespace redlock::serve {

std::string_view openapi_document() noexcept
{
    return R"json({
"openapi": "3.1.0",
"info": {
  "title": "redlock serve",
  "version": "1",
  "summary": "Distributed locks over HTTP.",
  "description": "To hold a lock, acquire it, extend it before `valid_for_ms` is over, and release it. Or open a session: the service renews the locks of the session as long as its stream of events lives. Count `valid_for_ms` from when you sent the request, or `waited_ms` later, and stop the work before it is over. Everybody who knows the id of a lock can release it: do not log ids. Errors are problems of RFC 9457. A path with another method is answered with 405, and `Allow` lists the methods.",
  "license": {"name": "BSL-1.0", "identifier": "BSL-1.0"}
},
"servers": [{"url": "/"}],
"security": [{}, {"bearer": []}],
"tags": [
  {"name": "locks", "description": "Acquire, extend, release and break locks, and see who holds them."},
  {"name": "sessions", "description": "Let the service renew locks, and hear before a lock is lost."},
  {"name": "service", "description": "Watch the service itself."}
],
"paths": {
  "/v1/locks": {
    "post": {
      "tags": ["locks"],
      "operationId": "acquireLock",
      "summary": "Acquire a lock, or several at once.",
      "description": "With `wait_ms`, the answer comes when the lock is acquired, or the wait is over. If the client closes the connection, it does not wait any more.",
      "parameters": [
        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}, "example": "7c6d9f3e", "description": "A fresh text for each lock. A repeated request with this key to the same instance gets the same lock."}
      ],
      "requestBody": {
        "required": true,
        "content": {"application/json": {
          "schema": {"$ref": "#/components/schemas/acquisition"},
          "example": {"resources": ["jobs/7"], "ttl_ms": 30000, "wait_ms": 5000, "mode": "exclusive", "note": "nightly report"}
        }}
      },
      "responses": {
        "201": {
          "description": "The lock is acquired.",
          "headers": {"ETag": {"$ref": "#/components/headers/ETag"}, "Location": {"$ref": "#/components/headers/Location"}},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/lock"}}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "404": {"$ref": "#/components/responses/unknown_session"},
        "409": {"$ref": "#/components/responses/conflict"},
        "422": {"$ref": "#/components/responses/key_reused"},
        "429": {"$ref": "#/components/responses/too_many"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    },
    "get": {
      "tags": ["locks"],
      "operationId": "listLocks",
      "summary": "List locks in pages.",
      "parameters": [
        {"name": "prefix", "in": "query", "schema": {"type": "string", "maxLength": 511}, "example": "jobs/", "description": "The names of the locks begin with it. It has at most 511 bytes, in which each of `*?[\\` counts twice."},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}, "example": 20, "description": "The page ends when it has this many locks. It may have a few more."},
        {"name": "from", "in": "query", "schema": {"type": "string"}, "description": "The field `next` of the page before."}
      ],
      "responses": {
        "200": {
          "description": "A page. It may have no locks although more pages follow.",
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/page"}}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/v1/locks/{lock}": {
    "get": {
      "tags": ["locks"],
      "operationId": "inspectLock",
      "summary": "See who holds a lock, and who waits for it.",
      "parameters": [{"$ref": "#/components/parameters/name"}],
      "responses": {
        "200": {
          "description": "The state of the lock. It may be outdated at once: acquire the lock before you work.",
          "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/lock_state"}}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    },
    "patch": {
      "tags": ["locks"],
      "operationId": "extendLock",
      "summary": "Extend a lock, or move it into a session.",
      "description": "Each instance of the service can extend the locks of the others.",
      "parameters": [{"$ref": "#/components/parameters/id"}, {"$ref": "#/components/parameters/condition"}],
      "requestBody": {
        "content": {"application/json": {
          "schema": {"$ref": "#/components/schemas/extension"},
          "example": {"ttl_ms": 30000}
        }}
      },
      "responses": {
        "200": {
          "description": "The lock is valid for the new time.",
          "headers": {"ETag": {"$ref": "#/components/headers/ETag"}, "Location": {"$ref": "#/components/headers/Location"}},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/lock"}}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "404": {"$ref": "#/components/responses/not_held"},
        "412": {"$ref": "#/components/responses/changed"},
        "429": {"$ref": "#/components/responses/too_many"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    },
    "delete": {
      "tags": ["locks"],
      "operationId": "releaseLock",
      "summary": "Release a lock.",
      "description": "Each instance of the service can release the locks of the others.",
      "parameters": [{"$ref": "#/components/parameters/id"}, {"$ref": "#/components/parameters/condition"}],
      "responses": {
        "204": {"description": "The lock is released."},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "404": {"$ref": "#/components/responses/not_held"},
        "412": {"$ref": "#/components/responses/changed"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/v1/locks/{lock}/break": {
    "post": {
      "tags": ["locks"],
      "operationId": "breakLock",
      "summary": "Take a lock away from its holder.",
      "description": "The holder continues until it notices. Break a lock only if its holder does not work any more.",
      "parameters": [
        {"$ref": "#/components/parameters/name"},
        {"name": "If-Match", "in": "header", "required": true, "schema": {"type": "string"}, "description": "The `ETag` of the lock that was inspected, so that only what was seen is broken."}
      ],
      "responses": {
        "200": {
          "description": "The lock is broken.",
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/broken"}}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "403": {"$ref": "#/components/responses/forbidden"},
        "404": {"$ref": "#/components/responses/not_held"},
        "412": {"$ref": "#/components/responses/changed"},
        "428": {"$ref": "#/components/responses/no_condition"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/v1/sessions": {
    "get": {
      "tags": ["sessions"],
      "operationId": "openSession",
      "summary": "Open a session, or continue one.",
      "description": "The answer is a stream of server-sent events. The service renews the locks of the session as long as the stream lives, and releases them when it ends. A comment comes every 5 s: a stream without a byte for 15 s is dead. The session belongs to this instance and to this bearer token.",
      "parameters": [
        {"name": "grace_ms", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 60000, "default": 0}, "example": 20000, "description": "How long the session keeps its locks without a stream, so that the client can connect again."},
        {"name": "wanted", "in": "query", "schema": {"type": "boolean", "default": false}, "example": true, "description": "Whether to send the events `wanted`."},
        {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}, "description": "The `id` of the last event that was received. It continues the session of the event, and missed events are repeated."}
      ],
      "responses": {
        "200": {
          "description": "The events of the session. The first one is `session`.",
          "content": {"text/event-stream": {"schema": {
            "type": "string",
            "contentMediaType": "text/event-stream",
            "contentSchema": {"type": "array", "items": {"$ref": "#/components/schemas/event"}}
          }}}
        },
        "400": {"$ref": "#/components/responses/bad_request"},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "404": {"$ref": "#/components/responses/unknown_session"},
        "429": {"$ref": "#/components/responses/too_many"},
        "503": {"$ref": "#/components/responses/unavailable"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/v1/sessions/{session}": {
    "get": {
      "tags": ["sessions"],
      "operationId": "inspectSession",
      "summary": "List the locks of a session.",
      "description": "The service asks no node, so this is cheap. It tells for how long each lock is valid.",
      "parameters": [{"$ref": "#/components/parameters/session"}],
      "responses": {
        "200": {
          "description": "The locks that the session holds.",
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/session_state"}}}
        },
        "401": {"$ref": "#/components/responses/unauthorized"},
        "404": {"$ref": "#/components/responses/unknown_session"},
        "default": {"$ref": "#/components/responses/other"}
      }
    },
    "delete": {
      "tags": ["sessions"],
      "operationId": "endSession",
      "summary": "Release all locks of a session, and end its stream.",
      "parameters": [{"$ref": "#/components/parameters/session"}],
      "responses": {
        "204": {"description": "The session has ended."},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "404": {"$ref": "#/components/responses/unknown_session"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/healthz": {
    "get": {
      "tags": ["service"],
      "operationId": "getHealth",
      "summary": "Whether a majority of the nodes is connected.",
      "security": [],
      "responses": {
        "200": {"$ref": "#/components/responses/healthy"},
        "503": {"$ref": "#/components/responses/unhealthy"},
        "4XX": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/readyz": {
    "get": {
      "tags": ["service"],
      "operationId": "getReadiness",
      "summary": "Whether the service can grant locks, and does not end.",
      "security": [],
      "responses": {
        "200": {"$ref": "#/components/responses/healthy"},
        "503": {"$ref": "#/components/responses/unhealthy"},
        "4XX": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/metrics": {
    "get": {
      "tags": ["service"],
      "operationId": "getMetrics",
      "summary": "The metrics of the service for Prometheus.",
      "responses": {
        "200": {"description": "The text format of Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        "401": {"$ref": "#/components/responses/unauthorized"},
        "default": {"$ref": "#/components/responses/other"}
      }
    }
  },
  "/openapi.json": {
    "get": {
      "tags": ["service"],
      "operationId": "getDescription",
      "summary": "This document.",
      "security": [],
      "responses": {
        "200": {"description": "An OpenAPI 3.1 document.", "content": {"application/json": {"schema": {"type": "object"}}}},
        "4XX": {"$ref": "#/components/responses/other"}
      }
    }
  }
},
"components": {
  "securitySchemes": {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token of the file of `--token-file`. Without such a file, the service needs no token."}
  },
  "parameters": {
    "name": {"name": "lock", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1, "maxLength": 512}, "description": "The name of the lock, percent-encoded."},
    "id": {"name": "lock", "in": "path", "required": true, "schema": {"type": "string"}, "description": "The `id` of the lock."},
    "session": {"name": "session", "in": "path", "required": true, "schema": {"type": "string"}, "description": "The field `session` of the first event of the session."},
    "condition": {"name": "If-Match", "in": "header", "schema": {"type": "string"}, "description": "The request works only on the lock with this `ETag`."}
  },
  "headers": {
    "ETag": {"required": true, "schema": {"type": "string", "pattern": "^\"[^\"]+\"$"}, "description": "It is the same as long as the lock has the same holders. `If-Match` takes it."},
    "Location": {"required": true, "schema": {"type": "string", "format": "uri-reference"}, "description": "The path of the lock."},
    "Allow": {"schema": {"type": "string"}, "description": "The methods of the path."},
    "Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "The seconds after which to try again."},
    "WWW-Authenticate": {"required": true, "schema": {"type": "string"}, "description": "The scheme `Bearer`."}
  },
  "schemas": {
    "name": {"type": "string", "minLength": 1, "maxLength": 512, "description": "The name of a lock: at most 512 bytes."},
    "mode": {"type": "string", "enum": ["exclusive", "shared"], "description": "Whether one client holds the lock, or readers share it. Requests without it are exclusive."},
    "ttl": {"type": "integer", "format": "int64", "minimum": 20, "maximum": 86400000, "default": 10000, "description": "The time to live in milliseconds: more than `--node-timeout`, and at most `--max-ttl`, one minute by default."},
    "wait": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 86400000, "default": 0, "description": "How long to wait for the lock in milliseconds: at most `--max-wait`, ten minutes by default."},
    "session_id": {"type": "string", "minLength": 1, "description": "The session that holds the lock: the service renews it as long as the stream of the session lives."},
    "acquisition": {
      "type": "object",
      "required": ["resources"],
      "additionalProperties": false,
      "properties": {
        "resources": {
          "oneOf": [
            {"$ref": "#/components/schemas/name"},
            {"type": "array", "minItems": 1, "maxItems": 256, "items": {"$ref": "#/components/schemas/name"}}
          ],
          "description": "The names of the locks. The service acquires all or none. Readers share one lock only."
        },
        "ttl_ms": {"$ref": "#/components/schemas/ttl"},
        "wait_ms": {"$ref": "#/components/schemas/wait"},
        "mode": {"$ref": "#/components/schemas/mode"},
        "note": {"type": "string", "maxLength": 200, "description": "The purpose of the lock, for people: at most 200 bytes without control characters. Everybody who may read the lock can read it."},
        "session": {"$ref": "#/components/schemas/session_id"}
      }
    },
    "extension": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "ttl_ms": {"$ref": "#/components/schemas/ttl"},
        "session": {"$ref": "#/components/schemas/session_id"}
      }
    },
    "lock": {
      "type": "object",
      "required": ["id", "resources", "mode", "valid_for_ms", "fencing_token"],
      "properties": {
        "id": {"$ref": "#/components/schemas/lock_id"},
        "resources": {"type": "array", "items": {"type": "string"}},
        "mode": {"$ref": "#/components/schemas/mode"},
        "valid_for_ms": {"$ref": "#/components/schemas/validity"},
        "waited_ms": {"type": "integer", "format": "int64", "minimum": 0, "description": "Only of a new lock: how long the request waited for it, in milliseconds. Count `valid_for_ms` from this time after you sent the request."},
        "fencing_token": {"$ref": "#/components/schemas/fencing_token"}
      }
    },
    "lock_id": {"type": "string", "description": "The ticket of the lock. Everybody who knows it can release the lock."},
    "fencing_token": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9007199254740991, "description": "It increases with each acquisition. 0: the service runs without `--fencing`."},
    "validity": {"type": "integer", "format": "int64", "minimum": 0, "description": "For how long the lock is valid, in milliseconds. Count it from when you sent the request, or `waited_ms` later."},
    "lock_state": {
      "type": "object",
      "required": ["resource", "locked", "mode", "owner", "note", "since_ms", "remaining_ms", "readers", "knows_readers", "waiters", "knows_waiters", "nodes"],
      "properties": {
        "resource": {"type": "string", "description": "The name of the lock."},
        "locked": {"type": "boolean", "description": "Whether a majority of the nodes names the same holder, or says that the lock is shared."},
        "mode": {"$ref": "#/components/schemas/mode"},
        "owner": {"$ref": "#/components/schemas/owner"},
        "note": {"$ref": "#/components/schemas/note"},
        "since_ms": {"$ref": "#/components/schemas/since"},
        "remaining_ms": {"type": ["integer", "null"], "format": "int64", "description": "How long a majority will continue to name the holder. Null: the lock is free, or never expires."},
        "readers": {"type": "array", "items": {"$ref": "#/components/schemas/reader"}},
        "knows_readers": {"type": "boolean", "description": "Whether some node lists the readers."},
        "waiters": {"type": "array", "items": {"$ref": "#/components/schemas/waiter"}},
        "knows_waiters": {"type": "boolean", "description": "Whether some node lists waiting clients."},
        "nodes": {"type": "array", "items": {"$ref": "#/components/schemas/node"}}
      }
    },
    "owner": {"type": ["string", "null"], "description": "The label of the client. Null: unknown."},
    "note": {"type": ["string", "null"], "description": "The purpose of the lock, in the words of the client."},
    "since": {"type": ["integer", "null"], "format": "int64", "description": "The start of the hold in milliseconds since 1970, by the clock of the holder, which may be wrong."},
    "reader": {
      "type": "object",
      "required": ["owner", "note", "since_ms", "remaining_ms", "votes"],
      "properties": {
        "owner": {"$ref": "#/components/schemas/owner"},
        "note": {"$ref": "#/components/schemas/note"},
        "since_ms": {"$ref": "#/components/schemas/since"},
        "remaining_ms": {"type": "integer", "format": "int64", "description": "How long it still shares the lock."},
        "votes": {"type": "integer", "minimum": 0, "description": "How many nodes name this reader."}
      }
    },
    "waiter": {
      "type": "object",
      "required": ["owner", "note", "mode"],
      "properties": {
        "owner": {"$ref": "#/components/schemas/owner"},
        "note": {"$ref": "#/components/schemas/note"},
        "mode": {"$ref": "#/components/schemas/mode"}
      }
    },
    "node": {
      "type": "object",
      "required": ["name", "locked", "state"],
      "properties": {
        "name": {"$ref": "#/components/schemas/node_name"},
        "locked": {"type": "boolean"},
        "state": {"enum": ["free", "held", "shared", "foreign", "unknown"], "description": "What the node has. Foreign: a key that no lock client has written."},
        "owner": {"$ref": "#/components/schemas/owner"},
        "note": {"$ref": "#/components/schemas/note"},
        "remaining_ms": {"type": ["integer", "null"], "format": "int64", "description": "How long the node keeps the key. Null: it never expires."},
        "holder": {"type": "string", "pattern": "^[0-9a-f]{16}$", "description": "The same for all nodes that name the same holder."},
        "error": {"$ref": "#/components/schemas/node_error"},
        "code": {"$ref": "#/components/schemas/node_code"}
      }
    },
    "node_name": {"type": "string", "description": "The address of the node, without user and password."},
    "node_error": {"type": "string", "description": "The reason why the node did not answer."},
    "node_code": {"enum": ["refused", "unsupported", "wrong-type", "unavailable"], "description": "The kind of the error."},
    "page": {
      "type": "object",
      "required": ["locks", "next", "nodes"],
      "properties": {
        "locks": {"type": "array", "items": {"$ref": "#/components/schemas/lock_state"}},
        "next": {"type": ["string", "null"], "description": "The parameter `from` of the next page. Null: this is the last page."},
        "nodes": {"type": "array", "items": {
          "type": "object",
          "required": ["name", "complete"],
          "properties": {
            "name": {"$ref": "#/components/schemas/node_name"},
            "complete": {"type": "boolean", "description": "Whether the node has listed its locks so far."},
            "error": {"$ref": "#/components/schemas/node_error"},
            "code": {"$ref": "#/components/schemas/node_code"}
          }
        }}
      }
    },
    "broken": {
      "type": "object",
      "required": ["resource", "deleted", "of", "nodes"],
      "properties": {
        "resource": {"type": "string"},
        "deleted": {"type": "integer", "minimum": 0, "description": "How many nodes have deleted the lock."},
        "of": {"type": "integer", "minimum": 1, "description": "How many nodes there are."},
        "nodes": {"type": "array", "items": {
          "type": "object",
          "required": ["name", "deleted"],
          "properties": {
            "name": {"$ref": "#/components/schemas/node_name"},
            "deleted": {"type": "boolean"},
            "error": {"$ref": "#/components/schemas/node_error"},
            "code": {"$ref": "#/components/schemas/node_code"}
          }
        }}
      }
    },
    "session_state": {
      "type": "object",
      "required": ["session", "locks"],
      "properties": {
        "session": {"type": "string"},
        "locks": {"type": "array", "items": {"$ref": "#/components/schemas/lock"}}
      }
    },
    "event": {
      "description": "An event of a session: its fields `id`, `event`, and `data` as JSON.",
      "oneOf": [
        {"$ref": "#/components/schemas/session_event"},
        {"$ref": "#/components/schemas/expiring_event"},
        {"$ref": "#/components/schemas/lost_event"},
        {"$ref": "#/components/schemas/wanted_event"},
        {"$ref": "#/components/schemas/stopping_event"}
      ]
    },
    "session_event": {
      "description": "The session is open.",
      "type": "object",
      "required": ["id", "event", "data"],
      "properties": {
        "id": {"$ref": "#/components/schemas/event_id"},
        "event": {"type": "string", "enum": ["session"]},
        "data": {
          "type": "object",
          "required": ["session", "grace_ms"],
          "properties": {
            "session": {"type": "string", "description": "Name it in requests that acquire or extend locks."},
            "grace_ms": {"type": "integer", "minimum": 0, "maximum": 60000}
          }
        }
      }
    },
    "expiring_event": {
      "description": "The service cannot renew the lock, and half of its time to live is over.",
      "type": "object",
      "required": ["id", "event", "data"],
      "properties": {
        "id": {"$ref": "#/components/schemas/event_id"},
        "event": {"type": "string", "enum": ["expiring"]},
        "data": {"$ref": "#/components/schemas/lock"}
      }
    },
    "lost_event": {
      "description": "The lock is lost: stop the work. It comes before the validity ends, if it can.",
      "type": "object",
      "required": ["id", "event", "data"],
      "properties": {
        "id": {"$ref": "#/components/schemas/event_id"},
        "event": {"type": "string", "enum": ["lost"]},
        "data": {"$ref": "#/components/schemas/lock"}
      }
    },
    "wanted_event": {
      "description": "Other clients wait for the lock.",
      "type": "object",
      "required": ["id", "event", "data"],
      "properties": {
        "id": {"$ref": "#/components/schemas/event_id"},
        "event": {"type": "string", "enum": ["wanted"]},
        "data": {
          "type": "object",
          "required": ["id", "resources", "mode", "fencing_token", "waiters"],
          "properties": {
            "id": {"$ref": "#/components/schemas/lock_id"},
            "resources": {"type": "array", "items": {"type": "string"}},
            "mode": {"$ref": "#/components/schemas/mode"},
            "fencing_token": {"$ref": "#/components/schemas/fencing_token"},
            "waiters": {"type": "array", "items": {"$ref": "#/components/schemas/waiter"}}
          }
        }
      }
    },
    "stopping_event": {
      "description": "The service ends. Locks stay until their time to live is over: move them to another instance.",
      "type": "object",
      "required": ["id", "event", "data"],
      "properties": {
        "id": {"$ref": "#/components/schemas/event_id"},
        "event": {"type": "string", "enum": ["stopping"]},
        "data": {"type": "object"}
      }
    },
    "event_id": {"type": "string", "description": "The place of the event, for the header field `Last-Event-ID`."},
    "health": {
      "type": "object",
      "required": ["nodes", "connected", "voting", "stopping"],
      "properties": {
        "nodes": {"type": "integer", "minimum": 1},
        "connected": {"type": "integer", "minimum": 0},
        "voting": {"type": "integer", "minimum": 0, "description": "How many nodes vote: those that are connected, and are not in quarantine because they are new or have restarted."},
        "stopping": {"type": "boolean", "description": "Whether the service ends."},
        "detail": {"type": "string", "description": "Why no lock can be granted yet, for people. Missing: a majority votes."}
      }
    },
    "problem": {
      "type": "object",
      "required": ["type", "title", "status", "detail"],
      "properties": {
        "type": {"type": "string", "format": "uri", "pattern": "^urn:redlock:[a-z-]+$", "description": "The kind of the problem, for programs."},
        "title": {"type": "string", "description": "The kind of the problem, for people."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "The reason. It names the field that is wrong, its value and the limit."},
        "retry_after_ms": {"type": "integer", "format": "int64", "minimum": 1, "description": "The milliseconds after which to try again."}
      }
    }
  },
  "responses": {
    "bad_request": {
      "description": "A field or a parameter is wrong.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "bad-request": {"value": {"type": "urn:redlock:bad-request", "title": "The request is wrong", "status": 400, "detail": "mode is \"both\", but must be exclusive or shared"}}
      }}}
    },
    "unauthorized": {
      "description": "The service does not know the bearer token.",
      "headers": {"WWW-Authenticate": {"$ref": "#/components/headers/WWW-Authenticate"}},
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "unauthorized": {"value": {"type": "urn:redlock:unauthorized", "title": "A bearer token is needed", "status": 401, "detail": "The header field Authorization has no token that the service knows."}}
      }}}
    },
    "forbidden": {
      "description": "The bearer token does not permit this.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "forbidden": {"value": {"type": "urn:redlock:forbidden", "title": "The token does not permit this", "status": 403, "detail": "The bearer token does not permit to lock \"jobs/7\"."}}
      }}}
    },
    "not_held": {
      "description": "The lock is not held any more: acquire it again. Or there is no such lock or session.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "not-held": {"value": {"type": "urn:redlock:not-held", "title": "The lock is not held", "status": 404, "detail": "It was released, has expired, or was lost. Acquire it again."}},
        "unknown-lock": {"value": {"type": "urn:redlock:unknown-lock", "title": "There is no such lock", "status": 404, "detail": "The id is not one that the service has returned."}},
        "unknown-session": {"value": {"type": "urn:redlock:unknown-session", "title": "There is no such session", "status": 404, "detail": "It has ended, or belongs to another instance or another client. Open a session, and acquire its locks again, or move them by PATCH."}}
      }}}
    },
    "unknown_session": {
      "description": "There is no such session on this instance.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "unknown-session": {"value": {"type": "urn:redlock:unknown-session", "title": "There is no such session", "status": 404, "detail": "It has ended, or belongs to another instance or another client. Open a session, and acquire its locks again, or move them by PATCH."}}
      }}}
    },
    "conflict": {
      "description": "Another client holds the lock, and the request did not wait. Or the first request with this key is still under way.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "busy": {"value": {"type": "urn:redlock:busy", "title": "Somebody else is at it", "status": 409, "detail": "Another request works on the same thing. Try again in a moment.", "retry_after_ms": 1100}},
        "in-progress": {"value": {"type": "urn:redlock:in-progress", "title": "The first request is under way", "status": 409, "detail": "The request with this Idempotency-Key has not ended yet."}}
      }}}
    },
    "changed": {
      "description": "The lock has another `ETag`: inspect it again.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "changed": {"value": {"type": "urn:redlock:changed", "title": "The lock has changed", "status": 412, "detail": "Its entity tag is not the one of If-Match. Inspect it again."}}
      }}}
    },
    "key_reused": {
      "description": "The `Idempotency-Key` belongs to another request.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "key-reused": {"value": {"type": "urn:redlock:key-reused", "title": "The key was used before", "status": 422, "detail": "Another request had the same Idempotency-Key."}}
      }}}
    },
    "no_condition": {
      "description": "`If-Match` is missing.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "no-condition": {"value": {"type": "urn:redlock:no-condition", "title": "If-Match is missing", "status": 428, "detail": "Inspect the lock, and send its entity tag in If-Match, to break only what you have seen."}}
      }}}
    },
    "too_many": {
      "description": "This client has reached a limit of the service.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "too-many-waiting": {"value": {"type": "urn:redlock:too-many-waiting", "title": "A limit of the client is reached", "status": 429, "detail": "This client may have 1000 requests that wait for a lock at a time on this instance. Let some of them end, or raise --max-waiting."}},
        "too-many-bytes": {"value": {"type": "urn:redlock:too-many-bytes", "title": "A limit of the client is reached", "status": 429, "detail": "This client may have 16777216 bytes of requests that wait for a lock at a time on this instance. Let some of them end, or raise --max-bytes."}},
        "too-many-locks": {"value": {"type": "urn:redlock:too-many-locks", "title": "A limit of the client is reached", "status": 429, "detail": "This client may have 10000 locks at a time on this instance. Let some of them end, or raise --max-locks."}},
        "too-many-sessions": {"value": {"type": "urn:redlock:too-many-sessions", "title": "A limit of the client is reached", "status": 429, "detail": "This client may have 1000 sessions at a time on this instance. Let some of them end, or raise --max-sessions."}}
      }}}
    },
    "unavailable": {
      "description": "Try again later. `busy`: the wait is over. `unavailable`: too few nodes answer. `stopping`: the service ends.",
      "headers": {"Retry-After": {"$ref": "#/components/headers/Retry-After"}},
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "busy": {"value": {"type": "urn:redlock:busy", "title": "Somebody else is at it", "status": 503, "detail": "Other requests work on the same thing, and the wait is over.", "retry_after_ms": 1100}},
        "unavailable": {"value": {"type": "urn:redlock:unavailable", "title": "Locks are out of order", "status": 503, "detail": "Too few lock servers answer in time.", "retry_after_ms": 1100}},
        "lost": {"value": {"type": "urn:redlock:lost", "title": "The lock was lost", "status": 503, "detail": "The work was stopped, because its lock could not be kept.", "retry_after_ms": 1100}},
        "stopping": {"value": {"type": "urn:redlock:stopping", "title": "The server shuts down", "status": 503, "detail": "The work was stopped, because the server shuts down.", "retry_after_ms": 1100}},
        "too-many-keys": {"value": {"type": "urn:redlock:too-many-keys", "title": "Too many keys are remembered", "status": 503, "detail": "The service remembers no further Idempotency-Key until locks have expired."}}
      }}}
    },
    "healthy": {
      "description": "It is so.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/health"}}}
    },
    "unhealthy": {
      "description": "It is not so.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/health"}}}
    },
    "other": {
      "description": "400: this is no HTTP request. 404: there is no such path. 405: the path has other methods. 413: the body is too long. 431: the header is too long. 500: the service is at fault.",
      "headers": {"Allow": {"$ref": "#/components/headers/Allow"}},
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}, "examples": {
        "bad-request": {"value": {"type": "urn:redlock:bad-request", "title": "The request is wrong", "status": 413, "detail": "body limit exceeded"}},
        "unknown-path": {"value": {"type": "urn:redlock:unknown-path", "title": "There is no such path", "status": 404, "detail": "/openapi.json lists the paths and their methods."}},
        "wrong-method": {"value": {"type": "urn:redlock:wrong-method", "title": "The path has no such method", "status": 405, "detail": "The path has the methods GET, POST."}},
        "fault": {"value": {"type": "urn:redlock:fault", "title": "The server is at fault", "status": 500, "detail": "The work could not be begun."}}
      }}}
    }
  }
}
})json";
}

}  // namespace redlock::serve
