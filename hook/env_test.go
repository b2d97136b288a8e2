package hook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// environ runs env in a hook.
func (f *fixture) environOf(t *testing.T, d Definition, in Input) ([]string, string) {
	t.Helper()
	d.Command, d.Dialect = "env; true", dialectSeed
	a, err := f.do(t, d, in)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(a.Output.Message, "\n"), a.Notice
}

func TestEnvironment(t *testing.T) {
	given := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/root", "LC_ALL=C", "CODEANY_API_KEY=secret", "ANTHROPIC_API_KEY=secret", "AWS_SECRET_ACCESS_KEY=secret",
		"GITHUB_TOKEN=secret", "OTEL_EXPORTER_OTLP_HEADERS=secret", "CLAUDE_CODE_REMOTE=true", "MINE=old", "MINE=mine", "OTHER=secret", "HOOK_EVENT=forged", "LD_PRELOAD=/x",
	}
	for _, a := range []string{sandboxRead, sandboxOff} {
		t.Run(string(a), func(t *testing.T) {
			f := newFixture(t, func(o *CommandsOptions) {
				o.Environ, o.EnvFile = given, "/tmp/env.sh"
				o.EnvVars = []string{"MINE", "OTEL_EXPORTER_OTLP_HEADERS", "HOOK_EVENT"}
			})
			d := Definition{Event: PreToolUse, Sandbox: a, Env: []string{"MINE", "OTHER", "OTEL_EXPORTER_OTLP_HEADERS", "HOOK_EVENT", "NOT_THERE"},
				Vars: map[string]string{"KIT": "/kit", "CLAUDE_PROJECT_DIR": "/forged"}}
			env, notice := f.environOf(t, d, Input{Tool: ToolCall{Name: "Bash"}, SessionID: "s1"})
			for _, want := range []string{
				"HOOK_EVENT=preToolUse", "HOOK_TOOL_NAME=Bash", "HOOK_SESSION_ID=s1", "HOOK_CWD=" + f.dir, "PWD=" + f.dir, "LC_ALL=C", "MINE=mine",
				"CLAUDE_PROJECT_DIR=" + f.dir, "CLAUDE_CODE_SESSION_ID=s1", "KIT=/kit",
			} {
				if !slices.Contains(env, want) {
					t.Errorf("%s is not there: %s", want, env)
				}
			}
			for _, entry := range env {
				if strings.Contains(entry, "secret") || strings.HasPrefix(entry, "OTEL_") || strings.HasPrefix(entry, "LD_") ||
					strings.HasPrefix(entry, "CLAUDE_ENV_FILE") || strings.HasPrefix(entry, "CLAUDE_CODE_REMOTE") {
					t.Errorf("%s is there", entry)
				}
			}
			if !strings.Contains(notice, "OTHER is not passed") || !strings.Contains(notice, "OTEL_EXPORTER_OTLP_HEADERS is never passed to hooks") {
				t.Errorf("the notice is %q", notice)
			}
			env, _ = f.environOf(t, Definition{Event: SessionStart, Sandbox: a}, Input{})
			if !slices.Contains(env, "CLAUDE_ENV_FILE=/tmp/env.sh") || !slices.Contains(env, "HOOK_TOOL_NAME=") {
				t.Errorf("at the start: %s", env)
			}
		})
	}
}

func TestEventNameInTheEnvironment(t *testing.T) {
	f := newFixture(t, nil)
	for _, tt := range []struct {
		d     string
		e     Event
		wants string
	}{{dialectClaude, PreToolUse, "PreToolUse"}, {"", Stop, "Stop"}, {dialectSeed, Stop, "stop"}} {
		a, err := f.do(t, Definition{Event: tt.e, Dialect: tt.d, Command: `echo "{\"reason\":\"$HOOK_EVENT\"}"`}, Input{})
		if err != nil || a.Output.Reason != tt.wants {
			t.Errorf("%s, %s: %+v, %v", tt.d, tt.e, a.Output, err)
		}
	}
}

func TestWhereACommandStarts(t *testing.T) {
	eachSandbox(t, func(t *testing.T, f *fixture, a string) {
		sub := filepath.Join(f.dir, "sub folder")
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		d := Definition{Event: Stop, Dialect: dialectSeed, Sandbox: a, Command: "pwd -P"}
		if got, err := f.do(t, d, Input{CWD: sub}); err != nil || got.Output.Message != sub {
			t.Errorf("%+v, %v", got.Output, err)
		}
		if _, err := f.do(t, d, Input{CWD: sub + "/gone"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("in a folder that is not there: %v", err)
		}
	})
}

func TestExecForm(t *testing.T) {
	f := newFixture(t, nil)
	script := filepath.Join(f.dir, "args.sh")
	if err := os.WriteFile(script, []byte("#!/bin/bash\nprintf '%s|' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command string
		args    []string
		want    string
	}{
		{"printf", []string{"%s|", "a b", "$(id)", "'"}, "a b|$(id)|'|"},
		{"${CLAUDE_PROJECT_DIR}/args.sh", []string{"${CLAUDE_PROJECT_DIR}/x", "${CLAUDE_CODE_SESSION_ID}", "${HOME}", "$CLAUDE_PROJECT_DIR"}, f.dir + "/x|s1|${HOME}|$CLAUDE_PROJECT_DIR|"},
		{"./args.sh", []string{}, "|"},
	} {
		for _, a := range []string{sandboxRead, sandboxOff} {
			got, err := f.do(t, Definition{Event: Stop, Dialect: dialectSeed, Sandbox: a, Command: tt.command, Args: tt.args}, Input{SessionID: "s1"})
			if err != nil || got.Output.Message != tt.want {
				t.Errorf("%s %q: %+v, %v", tt.command, tt.args, got.Output, err)
			}
		}
	}
	if _, err := f.do(t, Definition{Event: Stop, Command: "no-such-program", Args: []string{}}, Input{}); err == nil || !strings.Contains(err.Error(), "could not be started") {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := f.do(t, Definition{Event: Stop, Sandbox: sandboxOff, Command: "no-such-program", Args: []string{}}, Input{}); err == nil {
		t.Error("a program that is not there is no failure without a sandbox")
	}
}

func TestCommandInputSeparate(t *testing.T) {
	f := newFixture(t, nil)
	in := Input{Tool: ToolCall{Name: "Bash", Input: []byte(`{"command":"touch pwned; $(touch pwned) '; touch pwned #"}`)}, Note: UserNotification{Body: "$(touch pwned)"}}
	a, err := f.do(t, Definition{Event: PreToolUse, Dialect: dialectSeed, Sandbox: sandboxWrite, Command: "cat >seen; cat seen"}, in)
	if err != nil || a.Output == nil {
		t.Fatal(a, err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "pwned")); err == nil {
		t.Error("the input was executed")
	}
	if b, err := os.ReadFile(filepath.Join(f.dir, "seen")); err != nil || !strings.Contains(string(b), "touch pwned") || b[len(b)-1] != '\n' {
		t.Errorf("it read %q, %v", b, err)
	}
}

func TestNoTerminal(t *testing.T) {
	eachSandbox(t, func(t *testing.T, f *fixture, a string) {
		script := `if (: </dev/tty) 2>/dev/null; then echo has one; else echo has none; fi`
		got, err := f.do(t, Definition{Event: Stop, Dialect: dialectSeed, Sandbox: a, Command: script}, Input{})
		if err != nil || got.Output.Message != "has none" {
			t.Errorf("%+v, %v", got.Output, err)
		}
	})
}
