# shellcheck shell=bash
# An S3 server for the tests of session/object: versitygw, built from its module, on
# a folder. It supports If-Match and If-None-Match as Amazon does.

versitygw_version=v1.8.0

s3_env() {
  local program=$cache/versitygw-$versitygw_version/versitygw
  if [ ! -x "$program" ]; then
    say "building versitygw $versitygw_version"
    GOBIN=$(dirname "$program") CGO_ENABLED=0 go install "github.com/versity/versitygw/cmd/versitygw@$versitygw_version" >&2 || return 1
  fi
  give HOLDFAST_VERSITYGW "$program"
}

# versitygw cannot report a port chosen by the kernel, so several ports are tried.
s3_start() {
  local settings bucket=holdfast-test port try _
  settings=$(s3_env) || return 1
  eval "$settings"
  for try in 1 2 3 4 5; do
    stop s3
    mkdir -p "$state/s3/data/$bucket"
    port=$(free_port) || return 1
    background s3 env ROOT_ACCESS_KEY=holdfast-key ROOT_SECRET_KEY=holdfast-made-up \
      "$HOLDFAST_VERSITYGW" --quiet --keep-alive --port "127.0.0.1:$port" posix "$state/s3/data"
    for _ in $(seq 600); do
      kill -0 "$(cat "$state/s3/pid")" 2>/dev/null || break
      if curl -s -o /dev/null "http://127.0.0.1:$port/" && kill -0 "$(cat "$state/s3/pid")" 2>/dev/null; then
        say "versitygw answers on http://127.0.0.1:$port (process $(cat "$state/s3/pid"), try $try)"
        echo "$settings"
        give HOLDFAST_TEST_S3 "s3://holdfast-key:holdfast-made-up@$bucket?endpoint=http://127.0.0.1:$port"
        return 0
      fi
      sleep 0.1
    done
  done
  fail "versitygw did not start: $(tail -n 3 "$state/s3/log")"
}
