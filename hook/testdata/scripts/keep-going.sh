#!/bin/bash
# Keeps Claude going once when it stops with tests that have not been run.
INPUT=$(cat)

if [ "$(echo "$INPUT" | jq -r '.stop_hook_active')" = "true" ]; then
  exit 0
fi

transcript=$(echo "$INPUT" | jq -r '.transcript_path // empty')
if [ -n "$transcript" ] && jq -se 'any(.[]; .type == "assistant" and any(.message.content[]; .type == "tool_use" and .name == "Bash" and (.input.command | test("go test"))))' "$transcript" > /dev/null; then
  exit 0
fi

echo '{"decision": "block", "reason": "The tests have not been run. Run go test ./... before you finish."}'
