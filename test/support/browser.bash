# Tests of pages source this file. It changes to folder $1, sets CHROMIUM and NODE_PATH, and installs what is missing if it may.
# The exit status is 77 if the browser or Node.js is not available.
skip() { echo "skipped: $*"; exit 77; }

mkdir -p "$1"
cd "$1"
command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
if [ -z "$CHROMIUM" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || true
    CHROMIUM=$(command -v chromium || true)
fi
[ -n "$CHROMIUM" ] || skip "Chromium is not installed; CHROMIUM names another browser"
if [ ! -d node_modules/playwright-core ]; then
    npm install --silent --no-audit --no-fund --prefix . playwright-core >npm.log 2>&1 || skip "npm cannot install playwright-core: $PWD/npm.log"
fi
export NODE_PATH=$PWD/node_modules
