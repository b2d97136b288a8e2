package hook

import (
	"path/filepath"
	"testing"
)

// What a script runs is a part of the hook, and so is what a program such as make
// takes its commands from. What is only mentioned is not.
func TestDigestScriptFiles(t *testing.T) {
	const lib = "the hook's"
	for _, c := range []struct{ command, script, text, file string }{
		{"hooks/a.sh", "hooks/a.sh", "source ./lib.sh\n", "hooks/lib.sh"},
		{"hooks/a.sh", "hooks/a.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\n", "hooks/lib.sh"},
		{"hooks/a.sh", "hooks/a.sh", "DIR=x\nsource \"${DIR}/lib/common\" || exit 1\n", "hooks/lib/common"},
		{"hooks/a.sh", "hooks/a.sh", "if true; then . hooks/lib.sh; fi", "hooks/lib.sh"},
		{"hooks/a.sh", "hooks/a.sh", "./hooks/b.sh \"$@\"", "hooks/b.sh"},
		{"hooks/a.sh", "hooks/a.sh", "out=$(\"$CLAUDE_PROJECT_DIR\"/hooks/b.sh)", "hooks/b.sh"},
		{"hooks/a.sh", "hooks/a.sh", "exec python3 -u \"$CLAUDE_PROJECT_DIR/hooks/b.py\"", "hooks/b.py"},
		{"hooks/a.sh", "hooks/a.sh", "cat - | node hooks/b.js", "hooks/b.js"},
		{"python3 hooks/a.py", "hooks/a.py", "import os, lib.check as c\n", "hooks/lib/check.py"},
		{"python3 hooks/a.py", "hooks/a.py", "from lib import check, x\n", "hooks/lib/check.py"},
		{"python3 hooks/a.py", "hooks/a.py", "from .lib import check\n", "hooks/lib.py"},
		{"python3 hooks/a.py", "hooks/a.py", "import lib\n", "hooks/lib/__init__.py"},
		{"node hooks/a.js", "hooks/a.js", "const x = require('./lib')\n", "hooks/lib.js"},
		{"node hooks/a.mjs", "hooks/a.mjs", "import { x } from \"../lib/x.mjs\"\n", "lib/x.mjs"},
		{"node hooks/a.mjs", "hooks/a.mjs", "import './lib'\n", "hooks/lib/index.js"},
		{"ruby hooks/a.rb", "hooks/a.rb", "require_relative 'lib'\n", "hooks/lib.rb"},
		{"make check", "Makefile", lib, "Makefile"},
		{"make -C sub check", "Makefile", lib, "sub/Makefile"},
		{"cd sub && make", "Makefile", lib, "sub/makefile"},
		{"npm run -s check", "a.js", lib, "package.json"},
		{"just check", "a.js", lib, "justfile"},
		{"python3 -m hooks.check", "a.js", lib, "hooks/check.py"},
		{"python3 hooks", "a.js", lib, "hooks/__main__.py"},
	} {
		dir := project(t, c.file, "other.sh", "hooks/src/main.py", "hooks/other.py", "package-lock.json", "sub/x")
		write(t, filepath.Join(dir, c.script), c.text+"\n# ./other.sh\nguarded='package-lock.json hooks/src/main.py'; other=1\n")
		d := Definition{Event: PreToolUse, Dialect: dialectClaude, Command: c.command}
		before := computeDigest(t, d, dir)
		for _, name := range []string{"other.sh", "hooks/src/main.py", "hooks/other.py", "package-lock.json"} {
			write(t, filepath.Join(dir, name), "v2")
			if computeDigest(t, d, dir) != before {
				t.Errorf("%s, %q: %s changes it", c.command, c.text, name)
			}
		}
		write(t, filepath.Join(dir, c.file), "v2")
		if computeDigest(t, d, dir) == before {
			t.Errorf("%s, %q: %s does not change it", c.command, c.text, c.file)
		}
	}
}

// Files are followed from one to the next, in circles as well.
func TestDigestFollowsReferences(t *testing.T) {
	dir := project(t, "d.sh")
	write(t, filepath.Join(dir, "a.sh"), ". ./b.sh")
	write(t, filepath.Join(dir, "b.sh"), "source c.sh")
	write(t, filepath.Join(dir, "c.sh"), "bash a.sh; bash d.sh")
	d := Definition{Event: PreToolUse, Dialect: dialectClaude, Command: "./a.sh"}
	before := computeDigest(t, d, dir)
	write(t, filepath.Join(dir, "d.sh"), "v2")
	if computeDigest(t, d, dir) == before {
		t.Error("what a script runs indirectly is not covered")
	}
}

// A hook that writes a log is the same hook afterwards; one that runs what it has
// written is not.
func TestDigestExcludesLogs(t *testing.T) {
	for _, c := range []struct {
		command string
		changes bool
	}{
		{"date >> hooks/log.txt", false},
		{`jq -r .tool_input.command >> "$CLAUDE_PROJECT_DIR/hooks/log.txt"`, false},
		{"date | tee -a hooks/log.txt", false},
		{"date 2>hooks/log.txt", false},
		{"date > hooks/log.txt; sh hooks/log.txt", true},
		{"date > hooks/log.txt; cd hooks; sh log.txt", true},
		{"sh < hooks/log.txt", true},
		{"tee hooks/log.txt", true},
	} {
		dir := project(t, "hooks/other.txt")
		d := Definition{Event: PostToolUse, Dialect: dialectClaude, Command: c.command}
		before := computeDigest(t, d, dir)
		write(t, filepath.Join(dir, "hooks/log.txt"), "v1")
		if got := computeDigest(t, d, dir) != before; got != c.changes {
			t.Errorf("%s: changes %v", c.command, got)
		}
	}
}
