package cli

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
)

// An approval request of a run in the daemon is shown in the terminal, and answered like that of a local run.
func TestRemoteAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		keys []string
		code int
		made bool
		want string
	}{
		"yes once":   {[]string{"y"}, 0, true, `it ended`},
		"no":         {[]string{"n"}, 0, false, `it ended: permission denied by the user`},
		"no and why": {[]string{"m", "not this way\r"}, 0, false, `it ended: permission denied: not this way`},
		"stop":       {[]string{"s"}, 3, false, `interrupted`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, oneCommand)
			env = withShortHome(t, env)
			serve(t, dir, env)
			c := startTerminal(t, env, dir, "run", "--session-id", "s", "go")
			c.expect(`exact    touch made`)
			for _, k := range tt.keys {
				c.expect(`: $`)
				c.press(k)
			}
			c.expect(tt.want)
			if code := c.exit(); code != tt.code || made(dir) != tt.made {
				t.Errorf("exit code %d, the command ran: %v; want %d, %v\n%s", code, made(dir), tt.code, tt.made, c.screen())
			}
			if strings.Contains(c.screen(), "answered:") {
				t.Errorf("the user's own answer is printed: %s", c.screen())
			}
		})
	}
}

// withShortHome sets a home whose path is short enough for a socket.
func withShortHome(t *testing.T, env []string) []string {
	t.Helper()
	return append(slices.Clone(env), "HOLDFAST_HOME="+filepath.Join(shortDir(t), "hf"))
}

// An approval request that is answered elsewhere is removed from the screen.
func TestAnsweredElsewhere(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	env = withShortHome(t, env)
	d, _ := serve(t, dir, env)
	c := startTerminal(t, env, dir, "run", "--session-id", "s", "go")
	c.expect(`and stop: $`)
	page, err := d.Approvals(t.Context(), client.ListOptions{Session: "s"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v: %v", page, err)
	}
	if _, err := d.Decide(t.Context(), page.Items[0].ID, api.Decision{Decision: approval.Deny, Message: "not today"}); err != nil {
		t.Fatal(err)
	}
	c.expect(`answered: deny by .*not today`)
	c.expect(`it ended: permission denied: not today`)
	if code := c.exit(); code != 0 || made(dir) {
		t.Errorf("exit code %d, the command ran: %v", code, made(dir))
	}
}

// A session with an open approval request of a local run continues in the daemon with an answer.
func TestRemoteRequestStaysOpen(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	env = withShortHome(t, env)
	d, stop := serve(t, dir, env)
	p, _, errs := newProgram(dir, env, "run", "--session-id", "s", "--on-ask", "fail", "go")
	if code := Run(t.Context(), p); code != outcome.Approval.Exit {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if r, err := d.Run(t.Context(), "s"); err != nil || r.Status != api.StatusWaiting {
		t.Fatalf("%+v: %v", r, err)
	}
	stop()
	serve(t, dir, env)
	c := startTerminal(t, env, dir, "run", "--resume", "s")
	c.expect(`exact    touch made`)
	c.expect(`and stop: $`)
	c.press("y")
	c.expect(`it ended`)
	if code := c.exit(); code != 0 || !made(dir) {
		t.Errorf("exit code %d, the command ran: %v\n%s", code, made(dir), c.screen())
	}
}

// The daemon accepts every call of the client.
func TestEveryCall(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	env = withShortHome(t, env)
	d, _ := serve(t, dir, env)
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	start := false
	run, err := d.CreateRun(ctx, &api.NewRun{SessionID: "s", Spec: runspec.Spec{Cwd: dir}, Title: "work", Start: &start})
	must("create", err)
	run, err = d.StartRun(ctx, run.RunID, "go")
	must("start", err)
	waitFor(t, func() bool { r, err := d.Run(ctx, "s"); return err == nil && r.Status == api.StatusWaiting })
	page, err := d.Approvals(ctx, client.ListOptions{State: "pending", Session: "s", Limit: 5})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	q := page.Items[0]
	_, err = d.SetMode(ctx, "s", policy.ModePlan)
	must("mode", err)
	_, err = d.Approval(ctx, q.ID)
	must("approval", err)
	if got, err := d.Decide(ctx, q.ID, api.Decision{Decision: approval.Deny, Digest: q.Digest}); err != nil || got.Answer == nil {
		t.Errorf("decide: %+v, %v", got, err)
	}
	if _, err := d.Decide(ctx, q.ID, api.Decision{Decision: approval.Allow}); !errors.Is(err, approval.ErrAnswered) {
		t.Errorf("decided twice: %v", err)
	}
	waitFor(t, func() bool { r, err := d.Run(ctx, run.RunID); return err == nil && r.Status.Ended() })
	_, err = d.SteerRun(ctx, "s", "x")
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Status != 409 {
		t.Errorf("steer: %v", err)
	}
	_, err = d.Sessions(ctx, client.ListOptions{Run: "*", Text: "work", Limit: 1})
	must("sessions", err)
	title := "other"
	if s, err := d.PatchSession(ctx, "s", api.SessionPatch{Title: &title}); err != nil || s.Title != title {
		t.Errorf("patch: %+v, %v", s, err)
	}
	fork, err := d.ForkSession(ctx, "s", api.Fork{Title: "fork", SessionID: "f"})
	must("fork", err)
	must("delete", d.DeleteSession(ctx, fork.ID))
	if r, err := d.Records(ctx, "s", 0, 3, ""); err != nil || len(r.Items) != 3 || r.Head < 3 {
		t.Errorf("records: %+v, %v", r, err)
	}
	out, err := d.Export(ctx, "s", "jsonl")
	if err == nil {
		b, _ := io.ReadAll(out)
		_ = out.Close()
		if !strings.Contains(string(b), "session.opened") {
			t.Errorf("export: %s", b)
		}
	}
	must("export", err)
	pol, err := d.Policy(ctx, "s")
	must("policy", err)
	if pol != nil {
		_, err = d.ChangePolicy(ctx, "s", pol.Version, api.PolicyChange{Mode: policy.ModeAcceptEdits})
		must("change", err)
	}
	_, err = d.Grants(ctx, "s")
	must("grants", err)
	if err := d.Revoke(ctx, "s", "nothing"); outcome.FromError(err) != outcome.NotFound {
		t.Errorf("revoke: %v", err)
	}
	everyDocument(t, d, dir)
}

// everyDocument requests every document that the program writes for the daemon.
func everyDocument(t *testing.T, d *client.Client, dir string) {
	t.Helper()
	ctx := t.Context()
	for what, ask := range map[string]func() (json.RawMessage, error){
		`"chains"`: func() (json.RawMessage, error) { return d.FolderPolicy(ctx, dir) },
		`"verdict"`: func() (json.RawMessage, error) {
			return d.TestPolicy(ctx, api.PolicyTest{Cwd: dir, Session: "s", Tool: "Bash", Input: []byte(`{"command":"ls"}`)})
		},
		`"leaves"`:   func() (json.RawMessage, error) { return d.VerifyAudit(ctx, "s") },
		`"ok":true`:  func() (json.RawMessage, error) { return d.VerifyAudit(ctx, "") },
		`"checks"`:   func() (json.RawMessage, error) { return d.Doctor(ctx) },
		`"openapi"`:  func() (json.RawMessage, error) { return d.OpenAPI(ctx) },
		`"start_run`: func() (json.RawMessage, error) { return d.SocketSchema(ctx) },
	} {
		if b, err := ask(); err != nil || !strings.Contains(string(b), what) {
			t.Errorf("%s: %.300s, %v", what, b, err)
		}
	}
	for _, bad := range []api.PolicyTest{
		{Cwd: dir, Tool: "Bash"},
		{Cwd: dir, Tool: "Bash", Input: []byte(`{"command":"ls"}`), Session: "nowhere"},
		{Cwd: dir, Tool: "Bash", Input: []byte(`{"command":"ls"}`), Mode: "fast"},
		{Cwd: dir, Tool: "Bash", Input: []byte(`{"nothing":1}`)},
	} {
		if _, err := d.TestPolicy(ctx, bad); err == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	seen, cursor := 0, ""
	for {
		page, err := d.Audit(ctx, client.ListOptions{Limit: 2, Cursor: cursor})
		if err != nil || len(page.Items) > 2 {
			t.Fatalf("audit: %+v, %v", page, err)
		}
		seen += len(page.Items)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if all, err := d.Audit(ctx, client.ListOptions{Session: "s", Limit: 100}); err != nil || len(all.Items) != seen || seen < 3 {
		t.Errorf("%d entries in pages, %d at once: %v", seen, len(all.Items), err)
	}
	if err := d.Ready(ctx); err != nil {
		t.Error(err)
	}
	if h, err := d.Health(ctx); err != nil || h.Status != "ok" {
		t.Errorf("%+v, %v", h, err)
	}
	made, err := d.MakeToken(ctx, api.NewToken{Name: "ci", Scopes: []api.Scope{api.ScopeRead}, Expires: 3600})
	if err != nil || !strings.HasPrefix(made.Secret, "hf_") {
		t.Fatalf("%+v, %v", made, err)
	}
	if list, err := d.Tokens(ctx); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := d.RevokeToken(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := d.LoginLink(ctx); err != nil {
		t.Error(err)
	}
}
