package shell_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// Nothing that a command leaves behind lives on, whatever it does to get away.
func TestConfinedLeavesNothingRunning(t *testing.T) {
	b := openConfined(t, nil)
	for _, line := range []string{"sleep %s & echo done", "setsid sleep %s & setsid -f sleep %[1]s; echo done", "(trap '' TERM HUP; sleep %s) & echo done"} {
		mark := fmt.Sprintf("4711.%d", os.Getpid()) + strings.Trim(strings.Map(digits, rand.Text()), " ")
		got, r := b.run(t.Context(), fmt.Sprintf(line, mark), 0)
		if r.IsError || got != "done\n" {
			t.Errorf("%s: %q", line, got)
		}
		if pids := processesWith(t, mark); len(pids) > 0 {
			t.Errorf("%s: %v lives on", line, pids)
		}
	}
}

func digits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// processesWith lists the processes with a word in their command line.
func processesWith(t *testing.T, word string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(word)) {
			list = append(list, f)
		}
	}
	return list
}

// What was refused is told to the model and to the person.
func TestConfinedTellsWhatWasRefused(t *testing.T) {
	b := openConfined(t, nil)
	outside, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	target := filepath.Join(outside, "holdfast-"+rand.Text())
	got, r := b.run(t.Context(), "echo x > "+target, 0)
	if _, err := os.Stat(target); err == nil {
		t.Fatalf("%s was written", target)
	}
	if !strings.Contains(got, "sandbox: ") || !strings.Contains(got, target) || len(r.Notes) != 1 || !strings.Contains(got, r.Notes[0]) || *r.ExitCode == 0 {
		t.Errorf("told %q, notes %q", got, r.Notes)
	}
	if got, r = b.run(t.Context(), "cat /nonexistent; echo x > inside && cat inside", 0); strings.Contains(got, "sandbox: ") || r.Notes != nil {
		t.Errorf("an error of its own is told as ours: %q, notes %q", got, r.Notes)
	}
}

func TestConfinedHoldsLimits(t *testing.T) {
	b := openWith(t, nil, &sandbox.Settings{Limits: &sandbox.Limits{OutputBytes: 1 << 10}}, nil)
	got, _ := b.run(t.Context(), "yes | head -c 1000000", 0)
	if len(got) > 2<<10 || !strings.Contains(got, "sandbox: ") {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}

// The temporary folder of a session is one for all its commands.
func TestConfinedKeepsTheTemporaryFolder(t *testing.T) {
	temp := t.TempDir()
	b := openWith(t, nil, &sandbox.Settings{}, &sandbox.OpenOptions{Temp: temp})
	b.run(t.Context(), "echo kept > /tmp/a", 0)
	if got, _ := b.run(t.Context(), "cat $TMPDIR/a", 0); got != "kept\n" {
		t.Errorf("then %q", got)
	}
	if kept, err := os.ReadFile(filepath.Join(temp, "a")); err != nil || string(kept) != "kept\n" {
		t.Errorf("%q, %v", kept, err)
	}
}

func call(input string) *tool.Call {
	return &tool.Call{ID: "c1", Tool: "Bash", Input: json.RawMessage(input)}
}

// The model may ask for a run outside only where the settings say so, and then a
// person is asked.
func TestOutsideTheSandbox(t *testing.T) {
	const flag = "dangerouslyDisableSandbox"
	outside, ok := testneed.OutsideTmp()
	if !ok {
		testneed.Root(t, "writing a file that sandboxed commands cannot write")
	}
	target := filepath.Join(outside, "holdfast-"+rand.Text())
	t.Cleanup(func() { os.Remove(target) })
	in, _ := json.Marshal(map[string]any{"command": "echo x > " + target, flag: true})
	for _, c := range []struct {
		name    string
		bench   *shellEnv
		offered bool
		refused string // "": it is a request to run outside
	}{
		{"no sandbox", open(t, nil), false, "do not run in a sandbox"},
		{"not allowed", openConfined(t, nil), false, "allowUnsandboxedCommands"},
		{"allowed", openWith(t, nil, &sandbox.Settings{AllowUnsandboxedCommands: new(true)}, nil), true, ""},
	} {
		bash := c.bench.bash
		if offered := strings.Contains(string(bash.Spec().Input), flag); offered != c.offered || !json.Valid(bash.Spec().Input) {
			t.Errorf("%s: offered %v: %s", c.name, offered, bash.Spec().Input)
		}
		if list, err := bash.Requests(call(`{"command":"ls","` + flag + `":false}`)); err != nil || list[0].Unsandboxed || list[0].Confined != (c.name != "no sandbox") {
			t.Errorf("%s, not asked for: %+v, %v", c.name, list, err)
		}
		list, err := bash.Requests(call(string(in)))
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %+v, %v", c.name, list, err)
			}
			if r, err := bash.Run(t.Context(), call(string(in))); err != nil || !r.IsError || !strings.Contains(textOf(r), c.refused) {
				t.Errorf("%s: it ran: %q, %v", c.name, textOf(r), err)
			}
			continue
		}
		if err != nil || !list[0].Unsandboxed || list[0].Confined {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
		t.Setenv("HOLDFAST_TEST_API_KEY", "made-up")
		if r, err := bash.Run(t.Context(), call(string(in))); err != nil || r.IsError {
			t.Errorf("%s: %q, %v", c.name, textOf(r), err)
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: it ran inside: %v", c.name, err)
		}
		if r, _ := bash.Run(t.Context(), call(`{"command":"env","`+flag+`":true}`)); strings.Contains(textOf(r), "made-up") {
			t.Error("a secret of ours reached a command")
		}
	}
}

// Excluded commands run outside, which is the same question.
func TestExcludedCommands(t *testing.T) {
	b := openWith(t, nil, &sandbox.Settings{ExcludedCommands: []string{"docker"}}, nil)
	for line, outside := range map[string]bool{"docker ps": true, "docker ps && ls": false, "ls": false, "dockerx": false} {
		in, _ := json.Marshal(map[string]any{"command": line})
		list, err := b.bash.Requests(call(string(in)))
		if err != nil || list[0].Unsandboxed != outside || list[0].Confined == outside {
			t.Errorf("%s: %+v, %v", line, list, err)
		}
	}
}

// A command that wants a host of no list waits until somebody has decided.
func TestConfinedAsksAboutHosts(t *testing.T) {
	box := &sandbox.Settings{Network: &sandbox.Network{AllowedDomains: []string{"listed.test"}, Ask: new(true)}}
	b := openWith(t, nil, box, &sandbox.OpenOptions{Ask: shell.AskHost})
	const line = `at=${http_proxy#http://}; exec 3<>/dev/tcp/${at%:*}/${at#*:}; printf 'CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n' >&3; head -n 1 <&3`
	in, _ := json.Marshal(map[string]any{"command": line, "timeout": 10000})
	for name, says := range map[string]error{"no": errors.New("permission denied by the user"), "nobody": nil} {
		var asked []policy.Request
		c := call(string(in))
		if says != nil {
			c.Ask = func(_ context.Context, r policy.Request) error {
				asked = append(asked, r)
				return says
			}
		}
		r, err := b.bash.Run(t.Context(), c)
		if err != nil || !strings.Contains(textOf(r), " 403 ") {
			t.Errorf("%s: %q, %v", name, textOf(r), err)
		}
		if says == nil {
			continue
		}
		if len(asked) != 1 || asked[0].Tool != "WebFetch" || asked[0].Resource != "other.test:443" || !asked[0].Confined || !strings.Contains(string(asked[0].Input), "CONNECT") {
			t.Errorf("%s: asked %+v", name, asked)
		}
	}
}
