# Locks of other libraries on the same servers: docs/how-to/migrating.md.
export REDLOCK_NODE_TIMEOUT=5s REDLOCK_CONNECT_TIMEOUT=20s REDLOCK_TTL=60s  # the machine may be busy

on_each() {  # WORD…: a command for each server
    for url in ${REDLOCK_URLS//,/ }; do redis-cli -s "${url#unix://}" "$@"; done
}
says() {  # TEXT COMMAND…: succeeds if each server says this
    local wanted=$1
    shift
    [ "$("$@" 2>&1 | sort -u)" = "$wanted" ] || { echo "expected \"$wanted\" of each server: $*" >&2; exit 1; }
}
ends_with() {  # STATUS COMMAND…
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    [ $status = "$wanted" ] || { echo "expected status $wanted, not $status: $*" >&2; exit 1; }
}
export -f on_each says
unlock="if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
export unlock

#[plain
# An old client holds its lock "stock:dryer". The new client uses the same key, "stock:" and "dryer", and is kept out.
says OK on_each SET stock:dryer 6b1f09 NX PX 60000
ends_with 75 redlock run -n --prefix stock: dryer true

# A new client holds the lock. An old one can neither acquire nor release it.
on_each DEL stock:dryer
redlock run --prefix stock: dryer bash -c '
    says "" on_each SET stock:dryer 6b1f09 NX PX 60000
    says 0 on_each EVAL "$unlock" 1 stock:dryer 6b1f09'

# With the default prefix, "lock:", the key is another one. Then both would hold "the lock".
says OK on_each SET stock:dryer 6b1f09 NX PX 60000
redlock run -n stock:dryer true
#]
on_each DEL stock:dryer

# The lock of the ThinkPHP articles: its value is the second in which it ends.
take="if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('expire', KEYS[1], ARGV[2]) return 1 end
      if tonumber(redis.call('get', KEYS[1])) < tonumber(ARGV[3]) then
          redis.call('getset', KEYS[1], ARGV[1]) return 1
      end return 0"
free="if tonumber(redis.call('get', KEYS[1])) < tonumber(ARGV[1]) then return redis.call('del', KEYS[1]) end return 0"
now=$(date +%s)
export take free now

#[thinkphp
# A new client holds the lock. Both scripts of the old one end with an error on each server.
redlock run --prefix stock: dryer bash -c '
    on_each EVAL "$take" 1 stock:dryer $((now + 60)) 60 $now
    on_each EVAL "$free" 1 stock:dryer $now' 2>&1 | grep -c "attempt to compare nil with number" | grep -qx 6

# An old client holds the lock. Its release leaves the key, which keeps the new client out until the 60 s are over.
says 1 on_each EVAL "$take" 1 stock:dryer $((now + 60)) 60 $now
says 0 on_each EVAL "$free" 1 stock:dryer $now
ends_with 75 redlock run -n --prefix stock: dryer true

# An old client whose clock is ahead takes it over by GETSET. The key then has no ttl: it may stay for ever.
says 1 on_each EVAL "$take" 1 stock:dryer $((now + 180)) 60 $((now + 120))
says -1 on_each PTTL stock:dryer
#]
on_each DEL stock:dryer

#[redisson
# Redisson holds the key as a hash. The new client cannot use this key, and says so.
says 1 on_each HSET stock:dryer 8743c9c0:1 1
ends_with 78 redlock run -w 1m --prefix stock: dryer true

# A new client holds the key. The first command of Redisson that reads the hash fails, so it does not get the lock.
on_each DEL stock:dryer
redlock run --prefix stock: dryer bash -c 'on_each HEXISTS stock:dryer 8743c9c0:1' | grep -c WRONGTYPE | grep -qx 3
#]
