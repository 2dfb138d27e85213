#!/bin/bash
# Sells one piece. Run it by: redlock run --fencing stock:dryer sell_mysql.sh WORK…
set -euo pipefail
ask() { mariadb -NB <<<"SET @token = $REDLOCK_FENCE; $1"; }
stop() { echo "a newer holder has entered: nothing was sold" >&2; exit 1; }

# Enter. The count is 0 if a newer holder has entered before.
rows=$(ask "UPDATE stock SET fence = @token, touched = touched + 1 WHERE item = 'dryer' AND fence <= @token;
            SELECT ROW_COUNT()")
[ "$rows" = 1 ] || stop
left=$(ask "SELECT pieces FROM stock WHERE item = 'dryer' AND fence = @token")
[ -n "$left" ] || stop

"$@"  # the work: a request to another service, for example

# Write, only if nobody has entered since.
rows=$(ask "UPDATE stock SET pieces = $((left - 1)), touched = touched + 1 WHERE item = 'dryer' AND fence = @token;
            SELECT ROW_COUNT()")
[ "$rows" = 1 ] || stop
