#!/bin/bash
# Adds flags to npm install, so that nothing asks and nothing is audited over the network.
input=$(cat)
command=$(jq -r '.tool_input.command' <<<"$input")

case "$command" in
  "npm install"*)
    jq '{
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "allow",
        permissionDecisionReason: "npm install with safe flags",
        updatedInput: (.tool_input + {command: (.tool_input.command + " --no-audit --no-fund")})
      }
    }' <<<"$input"
    ;;
esac
