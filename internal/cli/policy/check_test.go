package policy

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/jsonlines"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// everydayCommands are simple commands as agents run them.
var everydayCommands = []string{
	"ls -la", "git status", "git log --oneline -10", "go test ./...", "npm run build", "cat README.md", "grep -rn TODO src",
	"make test", "python3 script.py --flag", "cargo build --release", "mkdir -p a/b/c", "docker ps -a", "echo hello world",
	"find . -name '*.go'", "sed -n 1,10p file.txt",
}

func checkBatchOf(t testing.TB, text string) *checkBatch {
	t.Helper()
	s, err := settings.Load(&settings.Options{Cwd: t.TempDir(), FlagsOnly: true, Files: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	return &checkBatch{judge: policycheck.New(s, "/home/u", "")}
}

type checkAnswer struct {
	ID      json.RawMessage
	Verdict policy.Effect
	Reason  string
	By      string
	Trace   []policy.Contribution
}

// Every line gets one answer in order, also if the other program waits for it before it writes the next line.
func TestCheckAnswersPerLine(t *testing.T) {
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	p := &command.Program{Stdin: in, Stdout: out, Getwd: func() (string, error) { return t.TempDir(), nil }}
	p.SetDefaults()
	b := checkBatchOf(t, `{"permissions": {"deny": ["Bash(rm:*)"]}}`)
	done := make(chan error, 1)
	go func() {
		done <- b.run(t.Context(), p, "-")
		_ = out.Close()
	}()
	dec := json.NewDecoder(answers)
	for i, line := range []string{
		`{"id":0,"tool":"Bash","input":{"command":"rm x"}}`, `nonsense`, `{"id":2,"tool":"Read","input":{"file_path":"x"}}`,
	} {
		if _, err := io.WriteString(calls, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var a checkAnswer
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		if want := []policy.Effect{policy.Deny, policy.Deny, policy.Allow}[i]; a.Verdict != want {
			t.Errorf("line %d: %+v", i, a)
		}
	}
	_ = calls.Close()
	if err := <-done; err != nil || b.lines != 3 || b.bad != 1 || b.firstError != 2 {
		t.Errorf("%v %+v", err, b)
	}
}

// A line that is too long is denied, and the next one is read.
func TestCheckLongLine(t *testing.T) {
	b := checkBatchOf(t, "{}")
	var out bytes.Buffer
	long := `{"id":1,"tool":"Bash","input":{"command":"` + strings.Repeat("x", jsonlines.MaxLine) + `"}}`
	p := &command.Program{Stdin: strings.NewReader(long + "\n" + `{"id":2,"tool":"Read","input":{"file_path":"x"}}`), Stdout: &out}
	p.SetDefaults()
	if err := b.run(t.Context(), p, "-"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"verdict":"deny","reason":"line 1: the line is longer`) || !strings.Contains(lines[1], `"id":2,"verdict":"allow"`) {
		t.Errorf("%.300s", out.String())
	}
}

// The handwritten encoder writes what encoding/json would write.
func TestAppendVerdict(t *testing.T) {
	origin := &policy.Origin{Rule: `Bash(echo "ü":*)`, Layer: layernames.User, File: "/a b/s.json", Line: 3, Col: 4}
	for _, d := range []policy.Decision{
		{Effect: policy.Deny, By: "input", Reason: "line 1: \x1b[31m \u202e \"quoted\" \\ \n <b>"},
		{Effect: policy.Ask, By: "rules", Contributions: []policy.Contribution{
			{Policy: "limits"},
			{Policy: "rules", Resource: "/w/\xff", Verdict: policy.Verdict{Effect: policy.Ask, Reason: "because", Rule: origin}},
			{Policy: "flags", Verdict: policy.Verdict{Effect: policy.Deny, Rule: &policy.Origin{Rule: "x", File: "--disallowed-tools"}}},
		}},
	} {
		got := appendVerdict(nil, []byte(`"a\u0062"`), &d)
		var a checkAnswer
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		if bytes.ContainsAny(got[:len(got)-1], "\x1b\u202e\n") {
			t.Errorf("something steers: %q", got)
		}
		b, err := json.Marshal(append([]policy.Contribution{}, d.Contributions...))
		if err != nil {
			t.Fatal(err)
		}
		var want []policy.Contribution
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		if a.Verdict != d.Effect || a.By != d.By || a.Reason != d.Reason || !reflect.DeepEqual(a.Trace, want) || string(a.ID) != `"a\u0062"` {
			t.Errorf("%s\nis not %+v", got, d)
		}
	}
}

// FuzzCheckLine: for any line, the answer is one line of JSON, and a line that is not a call is denied.
func FuzzCheckLine(f *testing.F) {
	for _, s := range []string{
		"", "{}", "[]", "null", `{"id":1,"tool":"Bash","input":{"command":"ls"}}`, `{"id":"\u202e","tool":"Read","input":{"file_path":"~/x"}}`,
		`{"tool":"Bash","input":{"command":"rm x","command":"ls"}}`, `{"tool":"mcp__a__b"}`, `{"tool":"WebFetch","input":{"url":"http://[::1]:80/"}}`,
		`{"tool":"Bash","input":{"command":"a"},"cwd":"../..","mode":"plan"}`, `{"t\u006fol":"Glob"}`, `{"tool":"Bash","input":{"command":"\ud800"}}`,
	} {
		f.Add([]byte(s))
	}
	b := checkBatchOf(f, `{"permissions": {"deny": ["Bash(rm:*)"], "defaultMode": "auto"}}`)
	f.Fuzz(func(t *testing.T, line []byte) {
		bad := b.bad
		got := b.line(t.Context(), nil, 1, line, nil)
		var a checkAnswer
		if err := json.Unmarshal(got, &a); err != nil || bytes.Count(got, []byte("\n")) != 1 {
			t.Fatalf("%v in %q", err, got)
		}
		if b.bad > bad && a.Verdict != policy.Deny || !json.Valid(line) && b.bad == bad {
			t.Errorf("%q: %s", line, got)
		}
	})
}

// BenchmarkPolicyCheck measures one simple command, from the JSON of the line to that of the answer: 50,000 a
// second on one core are 20 µs each.
func BenchmarkPolicyCheck(b *testing.B) {
	for _, bb := range []struct{ name, settings string }{
		{"no-rules", `{}`},
		{"rules", `{"permissions": {"allow": ["Bash(git log:*)", "Read", "Bash(npm run test:*)"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)", "Read(.env)"]}}`},
		{"sandbox", `{"permissions": {"deny": ["Bash(rm:*)"]}, "sandbox": {"deniedCommands": ["rm", "sudo", "curl"]}}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := checkBatchOf(b, bb.settings)
			var lines [][]byte
			for i, command := range everydayCommands {
				line, err := json.Marshal(map[string]any{"id": i, "tool": "Bash", "input": map[string]string{"command": command}, "cwd": "/w", "mode": "default"})
				if err != nil {
					b.Fatal(err)
				}
				lines = append(lines, line)
			}
			var out []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				out = c.line(b.Context(), out[:0], i, lines[i%len(lines)], nil)
			}
			if c.bad > 0 {
				b.Errorf("%d bad lines: %s", c.bad, out)
			}
		})
	}
}
