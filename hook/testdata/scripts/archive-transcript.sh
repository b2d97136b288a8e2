#!/bin/bash
# Keeps the last words before a conversation is compacted; a background job tells of it.
set -euo pipefail
echo '{"async": true, "asyncTimeout": 30000}'
input=$(cat)
transcript=$(jq -r .transcript_path <<<"$input")
jq -r 'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text' "$transcript" | tail -n 1 > "$CLAUDE_PROJECT_DIR/last-words.txt"
jq -n --arg trigger "$(jq -r .trigger <<<"$input")" '{systemMessage: ("Archived before " + $trigger + " compaction")}'
