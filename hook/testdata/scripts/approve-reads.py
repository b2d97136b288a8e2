#!/usr/bin/env python3
"""Answers permission requests: reading commands are allowed, pushes denied, the rest is asked."""
import json
import sys

data = json.load(sys.stdin)
command = data.get("tool_input", {}).get("command", "")


def decide(decision):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
    sys.exit(0)


if command.startswith(("ls", "cat ", "git status", "git log")):
    decide({"behavior": "allow", "updatedInput": {"command": command}})
if command.startswith("git push"):
    decide({"behavior": "deny", "message": "Pushes are made by people.", "interrupt": True})
