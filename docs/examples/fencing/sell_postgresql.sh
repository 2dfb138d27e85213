#!/bin/bash
# Sells one piece. Run it by: redlock run --fencing stock:dryer sell_postgresql.sh WORK…
set -euo pipefail
ask() { psql -qAtX -v ON_ERROR_STOP=1 -v token="$REDLOCK_FENCE" -v left="${left:-}"; }
stop() { echo "a newer holder has entered: nothing was sold" >&2; exit 1; }

# Enter and read in one statement.
left=$(ask <<<"UPDATE stock SET fence = :token WHERE item = 'dryer' AND fence <= :token RETURNING pieces")
[ -n "$left" ] || stop

"$@"  # the work: a request to another service, for example

# Write, only if nobody has entered since.
left=$((left - 1))
sold=$(ask <<<"UPDATE stock SET pieces = :left WHERE item = 'dryer' AND fence = :token RETURNING pieces")
[ -n "$sold" ] || stop
