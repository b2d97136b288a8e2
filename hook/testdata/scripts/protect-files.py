#!/usr/bin/env python3
"""Denies edits of protected files with a JSON permission decision."""
import json
import sys

PROTECTED = (".env", "package-lock.json", ".git/")

data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")

for pattern in PROTECTED:
    if pattern in path:
        print(json.dumps({
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": f"{path} is protected ({pattern})",
            }
        }))
        break

sys.exit(0)
