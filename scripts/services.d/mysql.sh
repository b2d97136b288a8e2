# MariaDB, Debian's, with separate data, socket and port: never the system's instance.
# HOLDFAST_TEST_MYSQL is the URL of a server, without a database: its user may create
# and drop databases whose name begins with holdfast_.

mysql_env() { packages mariadbd:mariadb-server mariadb-install-db:mariadb-server; }

# For root, the server runs as the user mysql, who cannot read root's cache, so the data is
# in the folder for temporary files. A background process removes that folder when the
# server ends.
mysql_start() {
  local _
  mysql_env || return 1
  for _ in 1 2 3 4 5; do
    mysql_try && return 0
    taken mysql || return 1
  done
  return 1
}

mysql_try() {
  local dir port password program
  stop mysql
  program=$(PATH=$PATH:/usr/sbin command -v mariadbd)
  password=$(od -An -tx1 -N12 /dev/urandom | tr -d ' \n')
  dir=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-mysql.XXXXXX")
  mysql_data "$dir" "$password" || { rm -rf "$dir"; return 1; }
  port=$(free_port) || return 1
  background mysql bash -c '
    "$1" --no-defaults --datadir="$2/data" --socket="$2/socket" --pid-file="$2/pid" --tmpdir="$2" \
      --bind-address=127.0.0.1 --port="$3" --init-file="$2/init.sql" --skip-name-resolve --skip-log-bin \
      --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=256M --max-connections=500 $4 &
    trap "kill $!" TERM INT
    until wait $!; [ $? -lt 128 ]; do kill -0 $! 2>/dev/null || break; done
    rm -rf "$2"' mysql "$program" "$dir" "$port" "$(mysql_user)"
  wait_line mysql '(ready for connections)' >/dev/null || return 1
  say "mysql answers on 127.0.0.1:$port (process $(cat "$state/mysql/pid"), data in $dir)"
  give HOLDFAST_TEST_MYSQL "mysql://holdfast:$password@127.0.0.1:$port/"
}

# mysql_user prints the option that makes the server drop root's rights.
mysql_user() { [ "$(id -u)" -ne 0 ] || echo --user=mysql; }

# mysql_data creates an empty server and the user of the tests in folder $1.
mysql_data() {
  cat >"$1/init.sql" <<SQL
CREATE USER IF NOT EXISTS 'holdfast'@'%' IDENTIFIED BY '$2';
GRANT ALL ON \`holdfast\\_%\`.* TO 'holdfast'@'%';
SQL
  chmod 755 "$1"
  chmod 644 "$1/init.sql"
  [ "$(id -u)" -ne 0 ] || chown -R mysql "$1"
  # The user mysql may not have access to root's TMPDIR.
  # shellcheck disable=SC2046
  TMPDIR=$1 mariadb-install-db --no-defaults --datadir="$1/data" --skip-test-db --auth-root-authentication-method=normal \
    $(mysql_user) >"$1/install.log" 2>&1 || fail "mysql: $(grep -m 3 ERROR "$1/install.log" || tail -n 3 "$1/install.log")"
}
