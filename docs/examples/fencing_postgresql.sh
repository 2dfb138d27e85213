# A fencing token in a table of PostgreSQL: docs/how-to/fencing-postgresql.md. It needs a server of PostgreSQL.
. "${BASH_SOURCE[0]%/*}/fencing/fresh_stock"
fresh_server postgresql
export PGHOST=$work PGUSER=redlock PGDATABASE=postgres
sql "CREATE TABLE stock (item TEXT PRIMARY KEY, pieces BIGINT NOT NULL)" >/dev/null
sql "INSERT INTO stock VALUES ('dryer', 10)" >/dev/null

#[table
psql -q -c 'ALTER TABLE stock ADD fence BIGINT NOT NULL DEFAULT 1 CHECK (fence > 0)'
#]

#[run
redlock run --fencing stock:dryer sell_postgresql.sh sleep 0.1
#]
stock_is 9

#[late
# The lock is lost in the middle of the work, and another client sells a piece meanwhile.
late='redlock break stock:dryer --force --yes
      REDLOCK_RUNS= redlock run --fencing stock:dryer sell_postgresql.sh true'
refused redlock run --fencing --on-lost warn stock:dryer sell_postgresql.sh sh -c "$late"
#]
stock_is 8
