# PostgreSQL, Debian's, with separate data and port: never the system's cluster.
# HOLDFAST_TEST_POSTGRES is the URL of a database in which tests create and drop
# schemas. HOLDFAST_POSTGRES_BIN is the folder with initdb and postgres, for tests that
# run separate servers.

postgres_bin() { find /usr/lib/postgresql -maxdepth 3 -name initdb 2>/dev/null | sort -V | tail -n 1 | xargs -r dirname; }

postgres_env() {
  local bin
  bin=$(postgres_bin)
  [ -n "$bin" ] || packages "holdfast-no-initdb:postgresql" || return 1
  bin=$(postgres_bin)
  [ -n "$bin" ] || fail "postgres: no initdb below /usr/lib/postgresql" || return 1
  give HOLDFAST_POSTGRES_BIN "$bin"
}

# The server refuses to run as root, so it runs as the user postgres, who cannot read root's
# cache. So the data is in the folder for temporary files. A background process removes that
# folder when the server ends.
postgres_start() {
  local settings _
  settings=$(postgres_env) || return 1
  eval "$settings"
  for _ in 1 2 3 4 5; do
    if postgres_try; then
      echo "$settings"
      return 0
    fi
    taken postgres || return 1
  done
  return 1
}

postgres_try() {
  local dir port password as=()
  stop postgres
  [ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  password=$(od -An -tx1 -N12 /dev/urandom | tr -d ' \n')
  port=$(free_port) || return 1
  dir=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-postgres.XXXXXX")
  printf '%s' "$password" >"$dir/password"
  [ "$(id -u)" -ne 0 ] || chown -R postgres "$dir"
  if ! (cd "$dir" && "${as[@]}" "$HOLDFAST_POSTGRES_BIN/initdb" -D "$dir/data" -U holdfast -A scram-sha-256 \
    --pwfile="$dir/password" -E UTF8 --locale=C -N >"$dir/initdb.log" 2>&1); then
    fail "postgres: $(tail -n 3 "$dir/initdb.log")"
    rm -rf "$dir"
    return 1
  fi
  # PostgreSQL's fast shutdown is SIGINT; here SIGTERM has to end it.
  background postgres bash -c '
    dir=$1; shift; cd "$dir"
    "$@" &
    trap "kill -INT $!" TERM INT
    until wait $!; [ $? -lt 128 ]; do kill -0 $! 2>/dev/null || break; done
    rm -rf "$dir"' postgres "$dir" "${as[@]}" "$HOLDFAST_POSTGRES_BIN/postgres" -D "$dir/data" -p "$port" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories="$dir" -c max_connections=300
  wait_line postgres '(ready to accept connections)' >/dev/null || return 1
  say "postgres answers on 127.0.0.1:$port (process $(cat "$state/postgres/pid"), data in $dir)"
  give HOLDFAST_TEST_POSTGRES "postgres://holdfast:$password@127.0.0.1:$port/postgres"
}
