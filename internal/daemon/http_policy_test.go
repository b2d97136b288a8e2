package daemon

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// The policy of an inactive session is changed by version.
func TestPolicy(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", &session.MetaPatch{CWD: new("/w")}, "one")
	var p api.Policy
	tag := w.want(200, &p, "GET", "/v1/sessions/a/policy", "", w.as(api.ScopeRead)).header.Get("ETag")
	if p.Version != 0 || p.Running || tag != `"0"` || len(p.Chains) != 1 || p.Grants == nil {
		t.Errorf("%+v %s", p, tag)
	}
	const body = `{"patch":{"mode":"write","deny":["secrets/**"]}}`
	w.want(428, nil, "PATCH", "/v1/sessions/a/policy", body).problem(t)
	w.want(412, nil, "PATCH", "/v1/sessions/a/policy", body, `If-Match: "7"`).problem(t)
	tag = w.want(200, &p, "PATCH", "/v1/sessions/a/policy", body, "If-Match: "+tag, w.as(api.ScopeApprove)).header.Get("ETag")
	if p.Version != 1 || tag != `"1"` {
		t.Errorf("%+v %s", p, tag)
	}
	w.want(412, nil, "PATCH", "/v1/sessions/a/policy", body, `If-Match: "0"`).problem(t)
	w.want(200, &p, "PATCH", "/v1/sessions/a/policy", `{"mode":"plan"}`, "If-Match: *")
	if p.Version != 2 || p.Mode != policy.ModePlan {
		t.Errorf("%+v", p)
	}
	for body, want := range map[string]int{
		`{}`: 400, `{"mode":"wild"}`: 400, `{"mode":"plan","patch":{"mode":"read","default":"deny"}}`: 400,
		`{"patch":{"mode":"both","deny":["x"]}}`: 400, `{"patch":{"mode":"write"}}`: 400, `{"patch":{"mode":"write","deny":["a"],"dir":"/"}}`: 400,
		`{"patch":{"mode":"write","deny":["a"],"default":"maybe"}}`: 400, `{"mode":"bypassPermissions"}`: 409,
		`{"patch":{"mode":"write","deny":"a"}}`: 400,
	} {
		if got := w.do("PATCH", "/v1/sessions/a/policy", body, "If-Match: *"); got.status != want {
			t.Errorf("%s: %s, want %d", body, got, want)
		}
	}
	w.want(404, nil, "GET", "/v1/sessions/x/policy", "").problem(t)
	w.want(404, nil, "DELETE", "/v1/sessions/a/grants/none", "").problem(t)
}

// The policy of an active run is that of its guards, and a change applies at once; grants are
// listed and can be revoked.
func TestLivePolicy(t *testing.T) {
	w := newHTTPEnv(t)
	w.want(201, nil, "POST", "/v1/runs", `{"session_id":"r1","cwd":"`+t.TempDir()+`","input":"push","model":"play/twice"}`)
	q := w.waitApproval("r1", "git push")
	var p api.Policy
	tag := w.want(200, &p, "GET", "/v1/sessions/r1/policy", "").header.Get("ETag")
	if !p.Running || len(p.Chains) != 1 || p.Chains[0].Tool != "Bash" || len(p.Chains[0].Links) == 0 {
		t.Errorf("%+v", p)
	}
	w.want(200, &p, "PATCH", "/v1/sessions/r1/policy", `{"patch":{"mode":"write","allow":["out/**"]}}`, "If-Match: "+tag)
	w.want(412, nil, "PATCH", "/v1/sessions/r1/policy", `{"mode":"plan"}`, "If-Match: "+tag).problem(t)
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow-session"}`)
	q = w.waitApproval("r1", "make")
	var list api.Page[policy.Grant]
	w.want(200, &list, "GET", "/v1/sessions/r1/grants", "", w.as(api.ScopeRead))
	if len(list.Items) != 1 || list.Items[0].Resource != "git push" || list.Items[0].By != "admin"+"er" {
		t.Fatalf("%+v", list)
	}
	path := "/v1/sessions/r1/grants/" + list.Items[0].ID
	w.want(403, nil, "DELETE", path, "", w.as(api.ScopeRun)).problem(t)
	w.want(204, nil, "DELETE", path, "", w.as(api.ScopeApprove))
	w.want(404, nil, "DELETE", path, "").problem(t)
	if w.want(200, &list, "GET", "/v1/sessions/r1/grants", ""); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"deny"}`)
	w.waitStatus("r1", api.StatusCompleted)
}

// Rules for relative paths that were added during a run are shown after the run, too.
func TestRecordedPolicy(t *testing.T) {
	w := newHTTPEnv(t)
	_, q := w.startWaitingRun("r1")
	w.want(200, nil, "PATCH", "/v1/sessions/r1/policy", `{"patch":{"mode":"write","deny":["secrets/**"]}}`, "If-Match: *")
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"deny","stop":true}`)
	eventually(t, "the run has ended", func() bool {
		var r api.RunInfo
		w.want(200, &r, "GET", "/v1/runs/r1", "")
		return r.Status.Ended() && !w.runs.Busy("r1")
	})
	a := w.want(200, nil, "GET", "/v1/sessions/r1/policy", "")
	if !strings.Contains(string(a.body), `"live":false`) {
		t.Errorf("%s", a)
	}
}
