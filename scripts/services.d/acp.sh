# An independent agent with the Agent Client Protocol: Claude Code with the adapter that
# editors use, from npm.
#
# HOLDFAST_TEST_ACP is the script that node runs.

claude_acp_version=0.16.2

acp_env() {
  local dir=$cache/claude-code-acp-$claude_acp_version
  local cli=$dir/node_modules/@zed-industries/claude-code-acp/dist/index.js
  [ -f "$cli" ] || npm_packages "$dir" "@zed-industries/claude-code-acp@$claude_acp_version" || return 1
  give HOLDFAST_TEST_ACP "$cli"
}
acp_start() { acp_env; }
