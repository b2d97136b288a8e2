package routes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ body, says string }{
		{`{"decision":"allow"} x`, "at byte 22"},
		{`{"a":`, "not a JSON object"},
		{`"x"`, "the body is a text"},
		{`{"decision":"allow","decision":"deny"}`, "decision"},
		{`{"Decision":"allow"}`, `no field "Decision"`},
		{`{"decision":null}`, "decision is null"},
		{`{"stop":"yes"}`, "stop is a text, and must be true or false"},
		{`{"decision":["allow"]}`, "decision is a list"},
		{"{\"decision\":\"\xff\"}", "not a JSON object"},
		{strings.Repeat("[", 100000), "not a JSON object"},
	} {
		err := Decode([]byte(tt.body), new(api.Decision))
		e, ok := errors.AsType[*api.Problem](err)
		if !ok || e.Status != 400 || !strings.Contains(e.Detail, tt.says) {
			t.Errorf("%.60s: %v, want %q", tt.body, err, tt.says)
		}
	}
	var p api.PolicyChange
	if err := Decode([]byte(`{"patch":{"mode":"write","deny":["a",1]}}`), &p); err == nil || !strings.Contains(err.Error(), "patch.deny[1] is a number") {
		t.Errorf("%v", err)
	}
	if err := Decode([]byte(`{"patch":{"mode":"write","x":1}}`), &p); err == nil || !strings.Contains(err.Error(), `patch has no field "x"`) {
		t.Errorf("%v", err)
	}
	var w NewWorkspace
	if err := Decode([]byte(`{"slug":"a","limits":{"cpus":2}}`), &w); err != nil || w.Slug != "a" || *w.Limits.CPUs != 2 {
		t.Errorf("%+v, %v", w, err)
	}
	var d api.Decision
	if err := Decode([]byte(`{"decision":"allow","input":{"a":[1,{"b":null}]}}`), &d); err != nil || string(d.Input) != `{"a":[1,{"b":null}]}` {
		t.Errorf("%s, %v", d.Input, err)
	}
}

// Every body is decoded, or rejected with the place of the error.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"decision":"allow"}`, `{}`, ``, `[]`, `{"decision":"allow","input":{}}`, `{"session_id":"a","environ":["A=b"],"start":true}`,
		`{"patch":{"mode":"write","allow":["a"],"default":"ask"}}`, `{"seq":1e3}`, `{"seq":1.5}`, "{\"title\":\"\xff\"}", `{"title":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{
			new(api.Decision), new(api.NewRun), new(api.PolicyChange), new(api.Fork), new(api.SessionPatch), new(api.NewToken), new(api.PolicyTest), new(AgentInput), new(api.Rewind), new(NewWorkspace),
		} {
			err := Decode(b, v)
			if err == nil {
				if len(b) > 0 && !json.Valid(b) {
					t.Fatalf("%T accepted %q, which is not JSON", v, b)
				}
				continue
			}
			if e, ok := errors.AsType[*api.Problem](err); !ok || e.Status != 400 || e.Detail == "" {
				t.Fatalf("%T: %v", v, err)
			}
		}
	})
}
