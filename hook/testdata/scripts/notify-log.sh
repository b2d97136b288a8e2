#!/bin/bash
# Writes notifications to a log in the project.
jq -r '"[" + .notification_type + "] " + .message' >> "$CLAUDE_PROJECT_DIR/notifications.log"
