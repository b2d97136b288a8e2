package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// checkShell runs the command of a case for real.
func checkShell(t *testing.T, c corpus.Case) {
	settings, input, expect := fieldsOf(t, c.Settings()), fieldsOf(t, c.Input()), fieldsOf(t, c.Expect())
	switch {
	case expect.has("effective_ms"):
		checkTimeout(t, settings["timeout_ms"], expect["effective_ms"])
		return
	case !settings.has("command") && !settings.has("stdout") && !settings.has("env") && !settings.has("cwd"):
		checkInputFields(t, input, expect)
		return
	}
	f := newFixture(t, func(o *CommandsOptions) {
		env, _ := settings["env"].(map[string]any)
		for name, value := range env {
			o.Environ = append(o.Environ, fmt.Sprintf("%s=%v", name, value))
		}
	})
	in := inputOf(t, input.event(t), input)
	in.SessionID = cmp.Or(in.SessionID, fmt.Sprintf("%s-%d", c.ID, os.Getpid()))
	if _, err := os.Stat(in.CWD); err != nil {
		in.CWD = "" // the project
	}
	d := Definition{Event: in.Event, Dialect: dialectSeed, Command: shellLine(t, settings, expect)}
	if ms, ok := settings["timeout_ms"].(float64); ok {
		d.Timeout = time.Duration(ms) * time.Millisecond
	}
	began := time.Now()
	a, err := f.do(t, d, in)
	took := time.Since(began)
	if string(c.Expect()) == "null" {
		if a.Output != nil {
			t.Errorf("%+v, %v; want nothing", a.Output, err)
		}
		return
	}
	for key, want := range expect {
		switch key {
		case "orphans":
			waitGone(t, "HOOK_SESSION_ID="+in.SessionID)
		case "elapsed_ms_max":
			if ms := float64(took.Milliseconds()); ms > want.(float64) {
				t.Errorf("it took %v ms, want at most %v", ms, want)
			}
		case "message_len":
			if a.Output == nil || float64(len(a.Output.Message)) != want {
				t.Errorf("%v, want a message of %v bytes", err, want)
			}
		case "executed_input":
			if a.Output == nil {
				t.Fatal(err)
			}
			if strings.Contains(a.Output.Message, "\npwned") {
				t.Errorf("the input was run: %q", a.Output.Message)
			}
		case "hook_sees_key", "process_cwd":
			if a.Output == nil {
				t.Fatal(err)
			}
			if key == "process_cwd" {
				want = f.dir
			} else {
				want = map[bool]string{true: "seen", false: "not seen"}[want == true]
			}
			if a.Output.Message != want {
				t.Errorf("%q, want %q", a.Output.Message, want)
			}
		default:
			if a.Output == nil {
				t.Fatalf("it says nothing: %v", err)
			}
			if d := gocmp.Diff(want, sdkFields(t, a.Output)[key]); d != "" {
				t.Errorf("%s: %s", key, d)
			}
		}
	}
}

// prose is a command that a case describes instead of giving it.
var prose = regexp.MustCompile(`^read stdin JSON, echo \.(\w+)$`)

// shellLine is the command of a case.
func shellLine(t *testing.T, settings, expect fields) string {
	line := settings.text("command")
	m := prose.FindStringSubmatch(line)
	switch {
	case settings.has("env"):
		env, _ := settings["env"].(map[string]any)
		for name := range env {
			return fmt.Sprintf(`if [ -n "${%s+x}" ]; then echo seen; else echo not seen; fi`, name)
		}
	case expect.has("process_cwd"):
		return "pwd"
	case settings.has("stdout"):
		if text, ok := settings["stdout"].(string); ok {
			return "printf %s " + quoted(text)
		}
		return "printf %s " + quoted(toJSON(t, settings["stdout"]))
	case m != nil:
		said, _, _ := strings.Cut(expect.text("message"), ":")
		return fmt.Sprintf(`in=$(cat); in=${in#*\"%s\":\"}; printf '%%s: %%s' %s "${in%%%%\"*}"`, m[1], quoted(said))
	}
	return line
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// sdkFields are the fields of an output, by their names in the Open Agent SDK's JSON.
func sdkFields(t *testing.T, o *Output) fields {
	f := fields{
		"message": o.Message, "block": o.Block, "reason": o.Reason, "systemMessage": o.SystemMessage,
		"additionalContext": o.Context, "permissionDecision": o.Permission, "decision": o.Decision,
	}
	for key, raw := range map[string]json.RawMessage{"updatedInput": o.Input, "updatedMCPToolOutput": o.ToolOutput} {
		if raw == nil {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		f[key] = v
	}
	if n := o.Notification; n != nil {
		f["notification"] = map[string]any{"title": n.Title, "body": n.Body, "level": n.Level}
	}
	if len(o.Updates) == 1 {
		f["permissionUpdate"] = map[string]any{"tool": o.Updates[0].Rules[0], "behavior": o.Updates[0].Behavior}
	}
	for key, v := range f {
		if v == "" {
			f[key] = nil
		}
	}
	return f
}
