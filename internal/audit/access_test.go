package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
)

// accesses is a log of logins and tokens in a folder, as one program has it.
func accesses(t *testing.T, dir string) (*audit.AccessLog, *session.Sessions) {
	t.Helper()
	store, err := file.Open(filepath.Join(dir, "log"), nil)
	if err != nil {
		t.Fatal(err)
	}
	trail, err := audit.OpenTrail(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), trail.Close()); err != nil {
			t.Error(err)
		}
	})
	s := session.New(store, &session.Options{AppendObserver: trail})
	return audit.NewAccessLog(s, "ann"), s
}

func read(t *testing.T, s *session.Sessions, o *audit.ReadOptions) (list []audit.Entry) {
	t.Helper()
	for e, err := range audit.Read(t.Context(), s, audit.AccessID, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestAccessEntries(t *testing.T) {
	dir := t.TempDir()
	l, s := accesses(t, dir)
	for _, x := range []audit.Access{
		{Action: audit.ActionToken, By: "ann", Via: "cli", From: "uid 0 pid 7", Token: "tok_1", Name: "ci", Scopes: []string{"read"}},
		{Action: audit.ActionLogin, By: "ann", Via: "link", From: "192.0.2.7", Login: "login_1"},
		{Action: audit.ActionRefuse, Via: "token", From: "192.0.2.8", Reason: "wrong", Omitted: 12},
		{Action: audit.ActionLogout, By: "ann", Via: "cookie", From: "192.0.2.7", Login: "login_1"},
		{Action: audit.ActionRevoke, By: "bob", Via: "unix", Token: "tok_1", Name: "ci"},
	} {
		if err := l.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	only := &audit.ReadOptions{Kinds: []string{audit.KindAccess}}
	list := read(t, s, only)
	if len(list) != 5 {
		t.Fatalf("%d entries", len(list))
	}
	if e := list[2]; e.Actor.Kind != "unknown" || e.Outcome != "error" || !strings.Contains(e.Reason, "12 more") || e.From != "192.0.2.8" {
		t.Errorf("a refusal: %+v", e)
	}
	want := []string{"3004 Create", "3002 Logon", "3002 Logon", "3002 Logoff", "3004 Delete"}
	var b bytes.Buffer
	if err := audit.Export(&b, "ocsf", audit.Read(t.Context(), s, audit.AccessID, only)); err != nil {
		t.Fatal(err)
	}
	for i, ev := range objects(t, b.String()) {
		if got := jsonText(t, ev["class_uid"]) + " " + ev["activity_name"].(string); got != want[i] {
			t.Errorf("event %d is %s, want %s", i, got, want[i])
		}
		for _, name := range map[float64][]string{3004: {"entity", "actor"}, 3002: {"user", "service", "actor"}}[ev["class_uid"].(float64)] {
			if ev[name] == nil {
				t.Errorf("event %d has no %s", i, name)
			}
		}
	}
	for _, f := range audit.Formats() {
		b.Reset()
		if err := audit.Export(&b, f, audit.Read(t.Context(), s, audit.AccessID, only)); err != nil || !strings.Contains(b.String(), "192.0.2.7") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestVerifyFindsChangedAccesses(t *testing.T) {
	dir := t.TempDir()
	l, s := accesses(t, dir)
	for _, name := range []string{"one", "two", "three"} {
		if err := l.Add(t.Context(), audit.Access{Action: audit.ActionToken, By: "ann", Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() []audit.Finding {
		r, err := audit.Verify(t.Context(), s, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Findings
	}
	if list := verify(); len(list) != 0 {
		t.Fatal(list)
	}
	path := filepath.Join(dir, "log", audit.AccessID, "log.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if err := os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := verify(); len(list) == 0 {
		t.Error("an access was cut off, and nothing is found")
	}
}

// Several programs record accesses at the same time: the daemon, and the command that creates
// tokens.
func TestProgramsShareAnAccessLog(t *testing.T) {
	dir := t.TempDir()
	var logs []*audit.AccessLog
	var s *session.Sessions
	for range 3 {
		l, in := accesses(t, dir)
		logs, s = append(logs, l), in
	}
	var wait sync.WaitGroup
	for _, l := range logs {
		wait.Go(func() {
			for range 10 {
				if err := l.Add(t.Context(), audit.Access{Action: audit.ActionRefuse, From: "192.0.2.7"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if list := read(t, s, &audit.ReadOptions{Kinds: []string{audit.KindAccess}}); len(list) != 30 {
		t.Errorf("%d entries", len(list))
	}
	if r, err := audit.Verify(t.Context(), s, dir, nil); err != nil || len(r.Findings) > 0 {
		t.Errorf("%v %v", r.Findings, err)
	}
}

// An incomplete record left by a kill is moved away, and the next access follows the last
// complete one.
func TestAccessAfterTornRecord(t *testing.T) {
	dir := t.TempDir()
	before, _ := accesses(t, dir)
	if err := before.Add(t.Context(), audit.Access{Action: audit.ActionToken, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "log", audit.AccessID, "log.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("000001c3 9f04ae21 {\"seq\":7,")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	l, s := accesses(t, dir)
	if err := l.Add(t.Context(), audit.Access{Action: audit.ActionRevoke, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if list := read(t, s, &audit.ReadOptions{Kinds: []string{audit.KindAccess}}); len(list) != 2 {
		t.Errorf("%d entries", len(list))
	}
	if r, err := audit.Verify(t.Context(), s, dir, nil); err != nil || len(r.Findings) > 0 {
		t.Errorf("%v %v", r.Findings, err)
	}
}
