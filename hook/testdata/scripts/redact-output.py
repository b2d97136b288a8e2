#!/usr/bin/env python3
"""Replaces what Claude reads of a tool's output."""
import json
import re
import sys

data = json.load(sys.stdin)
response = data["tool_response"]
text = response if isinstance(response, str) else response.get("stdout", "")
clean = re.sub(r"\b\d{3}-\d{2}-\d{4}\b", "[SSN]", text)
if clean != text:
    if not isinstance(response, str):
        response["stdout"] = clean
        clean = response
    print(json.dumps({
        "systemMessage": "A social security number was taken out.",
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": clean},
    }))
