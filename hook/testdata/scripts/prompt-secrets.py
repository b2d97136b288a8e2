#!/usr/bin/env python3
"""Blocks prompts that carry something like a password."""
import json
import re
import sys

try:
    input_data = json.load(sys.stdin)
except json.JSONDecodeError as e:
    print(f"Error: Invalid JSON input: {e}", file=sys.stderr)
    sys.exit(1)

prompt = input_data.get("prompt", "")

if re.search(r"(?i)\b(password|secret|token)\s*[:=]", prompt):
    output = {
        "decision": "block",
        "reason": "Security policy violation: the prompt contains a secret. Rephrase it without.",
    }
    print(json.dumps(output))
    sys.exit(0)

print("The prompt was checked for secrets.")
sys.exit(0)
