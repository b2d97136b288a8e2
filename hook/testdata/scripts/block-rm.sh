#!/bin/bash
# Blocks destructive shell commands: exit code 2, and Claude reads stderr.
command=$(jq -r '.tool_input.command // empty')

if echo "$command" | grep -qE '(^|[;&|[:space:]])rm[[:space:]]+(-[a-zA-Z]*r[a-zA-Z]*f|-[a-zA-Z]*f[a-zA-Z]*r)'; then
  echo "Blocked: rm -rf is not allowed in this project. Move files to .trash instead." >&2
  exit 2
fi

exit 0
