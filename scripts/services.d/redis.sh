# Redis, Debian's, on a separate port with separate data: never the system's instance.
# HOLDFAST_TEST_REDIS is the URL of the server, which syncs appends before it
# answers. HOLDFAST_TEST_REDIS_SERVER is the program, for tests that run and stop
# separate servers.

redis_env() {
  packages redis-server:redis-server || return 1
  give HOLDFAST_TEST_REDIS_SERVER "$(PATH=$PATH:/usr/sbin command -v redis-server)"
}

redis_start() {
  local settings port dir=$state/redis _
  settings=$(redis_env) || return 1
  eval "$settings"
  for _ in $(seq 10); do # until the port is free
    stop redis
    mkdir -p "$dir"
    port=$(free_port) || return 1
    background redis "$HOLDFAST_TEST_REDIS_SERVER" --bind 127.0.0.1 --port "$port" --dir "$dir" \
      --appendonly yes --appendfsync always --save '' --daemonize no --loglevel notice
    if wait_line redis '(Ready to accept connections)' >/dev/null 2>&1; then
      say "redis answers on 127.0.0.1:$port (process $(cat "$dir/pid"))"
      echo "$settings"
      give HOLDFAST_TEST_REDIS "redis://127.0.0.1:$port"
      return 0
    fi
    taken redis || break
  done
  fail "redis did not start: $(tail -n 3 "$dir/log")"
}
