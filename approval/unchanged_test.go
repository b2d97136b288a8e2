package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestUnchanged(t *testing.T) {
	asked := policy.Request{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a", Cwd: "/p", Base: "1", Input: json.RawMessage(`{"x":1}`)}
	if err := (&Request{Requests: []policy.Request{asked}}).CheckUnchanged([]policy.Request{asked}); err != nil {
		t.Error(err)
	}
	shown := asked
	shown.Display, shown.Session, shown.Agent = "a diff", "s", "b"
	if err := (&Request{Requests: []policy.Request{asked}}).CheckUnchanged([]policy.Request{shown}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*policy.Request){
		"tool": func(r *policy.Request) { r.Tool = "Write" }, "operation": func(r *policy.Request) { r.Operation = policy.OpRead },
		"resource": func(r *policy.Request) { r.Resource = "/p/b" }, "folder": func(r *policy.Request) { r.Cwd = "/q" },
		"/p/a changed": func(r *policy.Request) { r.Base = "2" }, "input": func(r *policy.Request) { r.Input = json.RawMessage(`{"x":2}`) },
	} {
		now := asked
		change(&now)
		err := (&Request{Requests: []policy.Request{asked}}).CheckUnchanged([]policy.Request{now})
		if !errors.Is(err, errChanged) || !strings.Contains(fmt.Sprint(err), what) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	for _, now := range [][]policy.Request{nil, {asked, asked}} {
		if err := (&Request{Requests: []policy.Request{asked}}).CheckUnchanged(now); !errors.Is(err, errChanged) {
			t.Errorf("%d requests: %v", len(now), err)
		}
	}
}
