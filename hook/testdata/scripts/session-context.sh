#!/bin/bash
# Loads context at the start of a session, and a variable for the commands of it.
if [ -n "$CLAUDE_ENV_FILE" ]; then
  echo 'export NODE_ENV=development' >> "$CLAUDE_ENV_FILE"
fi

source=$(jq -r '.source')
jq -n --arg source "$source" --arg todo "$(head -n 3 "$CLAUDE_PROJECT_DIR/TODO.md" 2>/dev/null)" '{
  hookSpecificOutput: {
    hookEventName: "SessionStart",
    additionalContext: ("Session source: " + $source + "\nOpen tasks:\n" + $todo)
  }
}'
