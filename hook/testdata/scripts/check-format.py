#!/usr/bin/env python3
"""Feedback after an edit: Claude reads the reason of a block."""
import json
import sys

data = json.load(sys.stdin)
path = data["tool_input"]["file_path"]
if not path.endswith(".py"):
    sys.exit(0)

with open(path) as f:
    bad = [str(n) for n, line in enumerate(f, 1) if line.rstrip("\n") != line.rstrip("\n").rstrip()]

if bad:
    print(json.dumps({
        "decision": "block",
        "reason": f"{path} has trailing whitespace in line " + ", ".join(bad),
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "additionalContext": "The formatter strips trailing whitespace.",
        },
    }))
