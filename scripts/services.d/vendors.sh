# The packages of Claude Code and Codex, from npm, in the versions that holdfast was
# tested with, for images with these agents. They are downloaded, not installed.
#
# HOLDFAST_TEST_VENDORS is a folder with them, named as internal/workspace/image expects.

claude_version=2.1.197
codex_version=0.169.0

# npm_file PACKAGE@VERSION FILE downloads a package as npm publishes it.
npm_file() {
  local dir
  [ -f "$2" ] && return 0
  command -v npm >/dev/null || packages node:nodejs npm:npm || return 1
  say "downloading with npm: $1"
  mkdir -p "$(dirname "$2")"
  dir=$(mktemp -d "$2.XXXXXX")
  (cd "$dir" && npm pack --loglevel=error --ignore-scripts -- "$1" >&2) && mv "$dir"/*.tgz "$2"
  rm -rf "$dir"
  [ -f "$2" ] || fail "npm did not download $1"
}

vendors_env() {
  local dir=$cache/vendors arch=amd64 cpu=x64
  [ "$(uname -m)" != aarch64 ] || arch=arm64 cpu=arm64
  npm_file "@anthropic-ai/claude-code-linux-$cpu@$claude_version" "$dir/claude-$claude_version-linux-$arch.tgz" || return 1
  npm_file "@openai/codex@$codex_version-linux-$cpu" "$dir/codex-$codex_version-linux-$arch.tgz" || return 1
  give HOLDFAST_TEST_VENDORS "$dir"
}
vendors_start() { vendors_env; }
