package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/policy"
)

func project(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		write(t, filepath.Join(dir, name), "v1")
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func computeDigest(t *testing.T, d Definition, dir string) string {
	t.Helper()
	if err := d.ComputeDigest(dir); err != nil {
		t.Fatal(err)
	}
	return d.Digest
}

// Whatever way a command names a script, a change of the script is a change of
// the hook.
func TestDigestCoversScripts(t *testing.T) {
	const script = ".claude/hooks/check.sh"
	dir := project(t, script, "my hooks/a b.sh", "other.txt")
	abs := filepath.Join(dir, script)
	for _, c := range []struct {
		command string
		args    []string
		file    string
	}{
		{script, nil, script},
		{"./" + script, nil, script},
		{abs, nil, script},
		{"bash " + script + " -x", nil, script},
		{"bash -c '" + script + "'", nil, script},
		{"$CLAUDE_PROJECT_DIR/" + script, nil, script},
		{"${CLAUDE_PROJECT_DIR}/" + script, nil, script},
		{`"$CLAUDE_PROJECT_DIR"/` + script, nil, script},
		{`"${CLAUDE_PROJECT_DIR:-.}/` + script + `"`, nil, script},
		{`python3 "$CLAUDE_PROJECT_DIR/my hooks/a b.sh"`, nil, "my hooks/a b.sh"},
		{`python3 my\ hooks/a\ b.sh`, nil, "my hooks/a b.sh"},
		{"cd .claude/hooks && ./check.sh", nil, script},
		{"cd $CLAUDE_PROJECT_DIR/.claude && hooks/check.sh", nil, script},
		{"cat | " + script + ">/dev/null", nil, script},
		{"test -x x && " + script + "; true", nil, script},
		{"$(git rev-parse --show-toplevel)/" + script, nil, script},
		{`"$(git rev-parse --show-toplevel)/` + script + `"`, nil, script},
		{"`pwd`/" + script, nil, script},
		{"$PWD/" + script, nil, script},
		{"ROOT=x; $ROOT/" + script, nil, script},
		{"node --import=" + script, nil, script},
		{"env CHECK=" + script + " true", nil, script},
		{"python3 - < " + script, nil, script},
		{script, []string{}, script},
		{"/usr/bin/env", []string{"bash", script}, script},
		{"bash", []string{"${CLAUDE_PROJECT_DIR}/my hooks/a b.sh"}, "my hooks/a b.sh"},
		{`"${KIT}"/check.sh`, nil, script},
		{"python3 $KIT/check.sh", nil, script},
		{"cd $KIT && ./check.sh", nil, script},
		{"${KIT}/check.sh", []string{}, script},
		{"bash", []string{"${KIT}/check.sh"}, script},
	} {
		d := Definition{Event: PreToolUse, Dialect: dialectClaude, Command: c.command, Args: c.args, Vars: map[string]string{"KIT": filepath.Join(dir, ".claude/hooks")}}
		write(t, filepath.Join(dir, c.file), "v1")
		before := computeDigest(t, d, dir)
		write(t, filepath.Join(dir, "other.txt"), time.Now().String())
		if computeDigest(t, d, dir) != before {
			t.Errorf("%s %q: a file that it does not name changes it", c.command, c.args)
		}
		write(t, filepath.Join(dir, c.file), "v2")
		if computeDigest(t, d, dir) == before {
			t.Errorf("%s %q: the script changed, the digest did not", c.command, c.args)
		}
		write(t, filepath.Join(dir, c.file), "v1")
		if computeDigest(t, d, dir) != before {
			t.Errorf("%s %q: the digest is not that of the text", c.command, c.args)
		}
	}
}

// The digest is the same in another copy of the project, and behind a link to it.
func TestDigestOfText(t *testing.T) {
	d := Definition{Event: PreToolUse, Dialect: dialectClaude, Command: `"$CLAUDE_PROJECT_DIR"/a.sh`}
	one, two := project(t, "a.sh"), project(t, "a.sh")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(one, link); err != nil {
		testneed.Need(t, "no links: %v", err)
	}
	want := computeDigest(t, d, one)
	if len(want) != len("sha256:")+64 {
		t.Errorf("%s", want)
	}
	moved := d
	moved.Origin = policy.Origin{File: "/x", Line: 3}
	for _, got := range []string{computeDigest(t, d, two), computeDigest(t, d, link), computeDigest(t, moved, one)} {
		if got != want {
			t.Errorf("%s is not %s", got, want)
		}
	}
}

func TestDigestCoversEveryField(t *testing.T) {
	dir := project(t)
	base := Definition{Event: PreToolUse, Dialect: dialectClaude, Command: "x"}
	seen := map[string]int{computeDigest(t, base, dir): -1}
	for i, change := range []func(*Definition){
		func(d *Definition) { d.Event = PostToolUse },
		func(d *Definition) { d.Dialect = dialectSeed },
		func(d *Definition) { d.Matcher = "Bash" },
		func(d *Definition) { d.If = "Bash(ls)" },
		func(d *Definition) { d.Command = "y" },
		func(d *Definition) { d.Args = []string{} },
		func(d *Definition) { d.Args = []string{"a"} },
		func(d *Definition) { d.Env = []string{"A"} },
		func(d *Definition) { d.Vars = map[string]string{"A": "b"} },
		func(d *Definition) { d.Sandbox = sandboxOff },
		func(d *Definition) { d.Command, d.URL = "", "http://localhost" },
		func(d *Definition) { d.Headers = map[string]string{"A": "b"} },
		func(d *Definition) { d.Timeout = time.Second },
		func(d *Definition) { d.OnFailure = failBlock },
		func(d *Definition) { d.Async = true },
		func(d *Definition) { d.Once = true },
	} {
		d := base
		change(&d)
		got := computeDigest(t, d, dir)
		if other, twice := seen[got]; twice {
			t.Errorf("change %d has the digest of %d", i, other)
		}
		seen[got] = i
	}
	for _, same := range []Definition{
		{Event: PreToolUse, Command: "x"}, {Event: PreToolUse, Command: "x", Sandbox: sandboxRead}, {Event: PreToolUse, Command: "x", Status: "s", Name: "n"},
	} {
		if _, ok := seen[computeDigest(t, same, dir)]; !ok {
			t.Errorf("%+v is another hook", same)
		}
	}
}

func TestDigestOutsideProject(t *testing.T) {
	dir := project(t, "sub/a.sh")
	outside := filepath.Join(t.TempDir(), "b.sh")
	for _, command := range []string{outside, "sub", ".", "..", "../x", "/bin/sh -c true", "sub/none.sh", ""} {
		d := Definition{Event: PreToolUse, Command: command}
		write(t, outside, "v1")
		before := computeDigest(t, d, dir)
		write(t, outside, "v2")
		if computeDigest(t, d, dir) != before {
			t.Errorf("%q: the digest covers what is outside", command)
		}
	}
	f := Definition{Event: PreToolUse, Func: nil, URL: "http://localhost/sub/a.sh"}
	if computeDigest(t, f, "") == "" {
		t.Error("an HTTP hook has no digest")
	}
}

// A regular file that not even root can read from its beginning.
func TestDigestOfUnreadableScript(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		testneed.Need(t, "no file that cannot be read: %v", err)
	}
	d := Definition{Event: PreToolUse, Command: "./mem"}
	err := d.ComputeDigest("/proc/self")
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.What, "the file mem cannot be read") || e.Advice == "" || d.Digest != "" {
		t.Errorf("%v, %q", err, d.Digest)
	}
}

func BenchmarkComputeDigest(b *testing.B) {
	d := Definition{Event: PreToolUse, Command: `"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh --fast`}
	dir := b.TempDir()
	for b.Loop() {
		if err := d.ComputeDigest(dir); err != nil {
			b.Fatal(err)
		}
	}
}
