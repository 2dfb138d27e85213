# A fencing token in a table of MySQL or MariaDB: docs/how-to/fencing-mysql.md. It needs a server of one of them.
. "${BASH_SOURCE[0]%/*}/fencing/fresh_stock"
command -v mariadb >/dev/null || skip "the client mariadb is not installed (package mariadb-client)"
fresh_server mysql
export HOME=$work
printf '[client]\nuser=root\nsocket=%s/socket\n[mysql]\ndatabase=redlock\n' "$work" >"$work/.my.cnf"
sql "CREATE TABLE stock (item VARCHAR(100) COLLATE utf8mb4_bin PRIMARY KEY, pieces BIGINT NOT NULL)" >/dev/null
sql "INSERT INTO stock VALUES ('dryer', 10)" >/dev/null

#[table
mariadb -e 'ALTER TABLE stock ADD fence   BIGINT NOT NULL DEFAULT 1 CHECK (fence > 0),
                              ADD touched BIGINT NOT NULL DEFAULT 0'
#]

#[run
redlock run --fencing stock:dryer sell_mysql.sh sleep 0.1
#]
stock_is 9

#[late
# The lock is lost in the middle of the work, and another client sells a piece meanwhile.
late='redlock break stock:dryer --force --yes
      REDLOCK_RUNS= redlock run --fencing stock:dryer sell_mysql.sh true'
refused redlock run --fencing --on-lost warn stock:dryer sell_mysql.sh sh -c "$late"
#]
stock_is 8
