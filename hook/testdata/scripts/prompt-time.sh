#!/bin/bash
# Plain text on stdout is added to the context of the prompt.
cat > /dev/null
echo "Current branch: main"
echo "Working directory: $(pwd -P)"
