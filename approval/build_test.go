package approval_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestNew(t *testing.T) {
	r := policy.Request{
		Session: "s", Agent: "reviewer", Tool: "Bash", Operation: policy.OpCommand, Resource: "git push origin main", Cwd: "/w/sub",
		Input: json.RawMessage(`{"command":"git push origin main"}`),
	}
	rule := &policy.Origin{Rule: "Bash(git push:*)", Layer: layernames.Project, File: "settings.json", Line: 4}
	d := policy.Decision{
		Use: "u", Agent: "main", Tool: "Bash", Effect: policy.Ask, By: "rules", Reason: "rule Bash(git push:*) asks", Rule: rule,
		Mode: policy.ModeAcceptEdits, AskReason: record.ReasonAsk,
	}
	got := approval.New([]policy.Request{r}, d, approval.RequestOptions{
		ID: "q", Cwd: "/w", Sandbox: "workspace only", At: start.Add(1500 * time.Microsecond).Local(), Timeout: 10 * time.Minute,
	})
	sum := sha256.Sum256([]byte(r.Digest() + "\n"))
	expires := start.Add(10*time.Minute + time.Millisecond)
	want := approval.Request{
		ID: "q", Session: "s", Agent: "main", Use: "u", Tool: "Bash", Requests: []policy.Request{r}, Digest: hex.EncodeToString(sum[:]),
		Reason: record.ReasonAsk, ReasonText: "rule Bash(git push:*) asks", AskedBy: "rules", Rule: rule, Mode: policy.ModeAcceptEdits, Cwd: "/w",
		Sandbox: "workspace only", AskedAt: start.Add(time.Millisecond), Expires: &expires,
		Scopes: []approval.Scope{
			{Text: "exactly this command in /w/sub"}, {Rule: "Bash(git push:*)", Text: `every command that begins with "git push"`},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var again approval.Request
	if err := json.Unmarshal(must(json.Marshal(got))(t), &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("it is different after decoding (-want +got)\n%s", d)
	}
}

func TestNewDefaults(t *testing.T) {
	r := command("ls")
	r.Agent = "child"
	q := approval.New([]policy.Request{r}, policy.Decision{By: "mode plan"}, approval.RequestOptions{})
	if q.Reason != record.ReasonAsk || q.ReasonText != "mode plan asks" || q.Sandbox != "none" || q.Agent != "child" || q.Expires != nil {
		t.Errorf("%+v", q)
	}
	if q := approval.New([]policy.Request{r}, policy.Decision{Agent: "b"}, approval.RequestOptions{Agent: "a"}); q.Agent != "a" {
		t.Errorf("agent %q", q.Agent)
	}
	q = approval.New([]policy.Request{r}, policy.Decision{AskReason: record.ReasonOverride}, approval.RequestOptions{})
	if q.Reason != record.ReasonOverride || q.Scopes != nil {
		t.Errorf("an override applies once, got: %+v", q)
	}
	outside := command("ls -l")
	outside.Unsandboxed = true
	if q := approval.New([]policy.Request{outside}, policy.Decision{}, approval.RequestOptions{}); !q.OnceOnly() || q.Scopes != nil {
		t.Errorf("a call outside the sandbox applies once, got: %+v", q)
	}
	if r.Display != "" || q.Requests[0].Resource != "ls" {
		t.Errorf("%+v", q)
	}
}

func TestNewCutsShownText(t *testing.T) {
	for name, c := range map[string]struct {
		shown string
		rest  int // bytes before the cut; all of them if it is not cut
	}{
		"nothing":             {"", 0},
		"as much as fits":     {strings.Repeat("x", approval.MaxShown), approval.MaxShown},
		"a byte more":         {strings.Repeat("x", approval.MaxShown+1), approval.MaxShown},
		"5 MB":                {strings.Repeat("0123456789", 500_000), approval.MaxShown},
		"between two letters": {strings.Repeat("é", approval.MaxShown), approval.MaxShown},
		"not within a letter": {"x" + strings.Repeat("é", approval.MaxShown), approval.MaxShown - 1},
		"what is not text":    {strings.Repeat("\x80", 2*approval.MaxShown), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a", Display: c.shown}
			requests := []policy.Request{r}
			q := approval.New(requests, asked("u", "Write"), approval.RequestOptions{ID: "q"})
			got := q.Requests[0].Display
			if len(c.shown) <= approval.MaxShown {
				if got != c.shown {
					t.Errorf("%d bytes became %d", len(c.shown), len(got))
				}
				return
			}
			want := fmt.Sprintf("%s\n[cut here: %d of %d bytes are shown, sha256 of all %x]", c.shown[:c.rest], c.rest, len(c.shown), sha256.Sum256([]byte(c.shown)))
			if got != want || utf8.ValidString(c.shown) && !utf8.ValidString(got) {
				t.Errorf("%d bytes end in %q", len(got), got[max(0, len(got)-150):])
			}
			if !q.Matches(requests) || requests[0].Display != c.shown {
				t.Error("the digest, or the caller's request, changed")
			}
		})
	}
}

// A request that consists of questions only has no sandbox.
func TestNewQuestion(t *testing.T) {
	ask := policy.Request{Tool: forms.AskTool, Resource: forms.AskTool, Person: true}
	call := policy.Request{Tool: "mcp__s__t", Operation: policy.OpMCP, Resource: "s/t", Person: true}
	for _, c := range []struct {
		requests []policy.Request
		want     string
	}{{[]policy.Request{ask}, ""}, {[]policy.Request{call}, "none"}, {[]policy.Request{ask, call}, "none"}, {nil, "none"}} {
		if q := approval.New(c.requests, policy.Decision{}, approval.RequestOptions{}); q.Sandbox != c.want {
			t.Errorf("%v: %q", c.requests, q.Sandbox)
		}
	}
}
