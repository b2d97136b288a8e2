package daemon

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func TestListSessions(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", &session.MetaPatch{Title: new("Fix the Build"), CWD: new("/w"), Tag: new("red")}, "one")
	w.session("b", &session.MetaPatch{CWD: new("/w/sub")}, "please fix the BUILD")
	w.session("c", &session.MetaPatch{Project: new("p1")}, "other")
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{"a", "b", "c"}},
		{"?q=build", []string{"a", "b"}},
		{"?q=BUILD&cwd=/w", []string{"a"}},
		{"?q=nothing+of+the+kind", nil},
		{"?tag=red", []string{"a"}},
		{"?project=p1", []string{"c"}},
		{"?q=/w/s", []string{"b"}},
		{"?q=c", []string{"c"}},
		{"?asked=true", nil},
		{"?run=*", nil},
		{"?owner=a", nil},
	} {
		var got api.Page[api.Session]
		w.want(200, &got, "GET", "/v1/sessions"+tt.query, "", w.as(api.ScopeRead))
		if !slices.Equal(ids(got.Items), tt.want) || got.Next != "" {
			t.Errorf("%q: %v (next %q), want %v", tt.query, ids(got.Items), got.Next, tt.want)
		}
	}
}

// A status that no session can have on record is rejected, because an empty list would look like a
// result.
func TestListSessionsByStatus(t *testing.T) {
	w := newHTTPEnv(t)
	for _, s := range []string{"waiting", "pending", "done", "Running"} {
		var p api.Problem
		w.want(400, &p, "GET", "/v1/sessions?run="+s, "")
		if !strings.Contains(p.Advice, string(api.StatusRunning)) || strings.Contains(p.Advice, string(api.StatusWaiting)) {
			t.Errorf("%s: %+v", s, p)
		}
		if s == "waiting" || s == "pending" {
			w.want(200, nil, "GET", "/v1/runs?status="+s, "")
		}
	}
	list, _ := routes.Lookup("listSessions")
	for _, s := range list.Query[slices.IndexFunc(list.Query, func(p routes.Param) bool { return p.Name == "run" })].Enum {
		w.want(200, nil, "GET", "/v1/sessions?run="+s, "")
	}
}

// Pages contain each session once, for every filter, and end.
func TestPages(t *testing.T) {
	w := newHTTPEnv(t)
	for i := range 23 {
		w.session("s"+strconv.Itoa(i), &session.MetaPatch{Tag: new([]string{"odd", "even"}[i%2])}, "hello")
	}
	for _, tt := range []struct {
		query string
		want  int
	}{{"limit=5", 23}, {"limit=5&q=odd", 12}, {"limit=1&tag=even", 11}, {"limit=500", 23}, {"limit=3&q=s1", 11}} {
		var all []api.Session
		for next := ""; ; {
			var got api.Page[api.Session]
			w.want(200, &got, "GET", "/v1/sessions?"+tt.query+"&cursor="+next, "")
			all = append(all, got.Items...)
			if next = got.Next; next == "" {
				break
			}
		}
		list := ids(all)
		if n := len(slices.Compact(list)); n != tt.want || len(all) != tt.want {
			t.Errorf("%s: %d sessions, %d of them different, want %d", tt.query, len(all), n, tt.want)
		}
	}
}

// A cursor is valid only for the list that it came from.
func TestCursor(t *testing.T) {
	w := newHTTPEnv(t)
	for _, id := range []string{"a", "b", "c"} {
		w.session(id, &session.MetaPatch{Tag: new("x")}, "hello")
	}
	var got api.Page[api.Session]
	w.want(200, &got, "GET", "/v1/sessions?limit=1&tag=x", "")
	w.want(200, nil, "GET", "/v1/sessions?limit=2&tag=x&cursor="+got.Next, "")
	flipped := []byte(got.Next)
	flipped[3] ^= 1
	for _, query := range []string{
		"cursor=" + got.Next, "tag=y&cursor=" + got.Next, "tag=x&q=a&cursor=" + got.Next, "tag=x&cursor=" + string(flipped),
		"tag=x&cursor=" + got.Next[:len(got.Next)-2], "tag=x&cursor=AAAA", "tag=x&cursor=%00",
	} {
		if p := w.want(400, nil, "GET", "/v1/sessions?"+query, "").problem(t); p.Code != "usage" {
			t.Errorf("%s: %+v", query, p)
		}
	}
	w.want(400, nil, "GET", "/v1/runs?cursor="+got.Next, "")
}

func TestPatchSession(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "hello")
	var s api.Session
	tag := w.want(200, &s, "PATCH", "/v1/sessions/a", `{"title":"new ghp_`+`k3J9xQ2mZ7vB4nL8tR1wY6pD5sF0gHcA9eUb","tag":"t"}`, w.as(api.ScopeRun)).header.Get("ETag")
	if !strings.HasPrefix(s.Title, "new [secret:") || s.Tag != "t" || tag != etag(s.Head) {
		t.Errorf("%+v, ETag %s", s, tag)
	}
	old := tag
	tag = w.want(200, &s, "PATCH", "/v1/sessions/a", `{"tag":""}`, "If-Match: "+tag).header.Get("ETag")
	if s.Tag != "" || !strings.HasPrefix(s.Title, "new [secret:") || tag == old {
		t.Errorf("%+v, ETag %s", s, tag)
	}
	if p := w.want(412, nil, "PATCH", "/v1/sessions/a", `{"tag":"late"}`, "If-Match: "+old).problem(t); !strings.Contains(p.Detail, tag) {
		t.Errorf("%+v does not contain the ETag %s", p, tag)
	}
	w.want(200, &s, "GET", "/v1/sessions/a", "")
	if s.Tag != "" {
		t.Error("a rejected change was stored")
	}
	for body, want := range map[string]int{
		`{}`: 400, ``: 400, `{"title":5}`: 400, `{"name":"x"}`: 400, `{"Title":"x"}`: 400, `{"title":"a","title":"b"}`: 400, `[]`: 400,
		`{"title":null}`: 400, `{"title":"` + strings.Repeat("x", maxText+1) + `"}`: 400,
	} {
		w.want(want, nil, "PATCH", "/v1/sessions/a", body).problem(t)
	}
	w.want(400, nil, "PATCH", "/v1/sessions/a", `{"tag":"x"}`, `If-Match: W/"1"`)
	w.want(404, nil, "PATCH", "/v1/sessions/nobody", `{"tag":"x"}`)
	w.want(400, nil, "GET", "/v1/sessions/..%2fx", "")
}

func TestDeleteSession(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "hello")
	w.session("b", nil, "hello")
	l, err := w.sessions.Create(t.Context(), session.Opened{SessionID: "a.writer", Owner: "a"})
	must(t, err)
	must(t, l.Close())
	w.want(412, nil, "DELETE", "/v1/sessions/a", "", `If-Match: "77"`)
	w.want(204, nil, "DELETE", "/v1/sessions/a", "")
	w.want(404, nil, "DELETE", "/v1/sessions/a", "")
	w.want(404, nil, "GET", "/v1/sessions/a.writer", "")
	w.want(200, nil, "GET", "/v1/sessions/b", "")
	other := session.New(w.sessions.Store(), nil) // another process
	held, err := other.Open(t.Context(), "b", nil)
	must(t, err)
	var s api.Session
	if w.want(200, &s, "GET", "/v1/sessions/b", ""); s.HeldBy == nil || s.HeldBy.PID == 0 {
		t.Errorf("held by %+v", s.HeldBy)
	}
	if p := w.want(409, nil, "DELETE", "/v1/sessions/b", "").problem(t); p.Code != "busy" || p.Advice == "" {
		t.Errorf("%+v", p)
	}
	must(t, held.Close())
	w.want(204, nil, "DELETE", "/v1/sessions/b", "")
}

func TestFork(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one", "two", "three", "four")
	count := func(id string) int {
		loaded, err := w.sessions.Load(t.Context(), id, nil)
		must(t, err)
		return len(loaded.Items)
	}
	var s api.Session
	a := w.want(201, &s, "POST", "/v1/sessions/a/fork", `{"at":"a-1","title":"mine","session_id":"f1"}`)
	if a.header.Get("Location") != "/v1/sessions/f1" || s.ID != "f1" || s.Title != "mine" || s.Parent != "a" || count("f1") != 2 {
		t.Errorf("%s, %d items", a, count("f1"))
	}
	w.want(201, &s, "POST", "/v1/sessions/a/fork", "")
	if count(s.ID) != 4 {
		t.Errorf("a complete fork has %d items", count(s.ID))
	}
	var events api.Records
	w.want(200, &events, "GET", "/v1/sessions/a/events?kind=item", "")
	for i, e := range events.Items {
		w.want(201, &s, "POST", "/v1/sessions/a/fork", `{"seq":`+strconv.FormatInt(e.Seq, 10)+`}`)
		if count(s.ID) != i+1 {
			t.Errorf("a fork at record %d has %d items, want %d", e.Seq, count(s.ID), i+1)
		}
	}
	for body, want := range map[string]int{
		`{"at":"nothing"}`: 400, `{"seq":0}`: 400, `{"seq":1}`: 400, `{"seq":99}`: 400, `{"at":"a-1","seq":3}`: 400,
		`{"session_id":"../x"}`: 400, `{"session_id":"a"}`: 409, `{"seq":1.5}`: 400,
	} {
		w.want(want, nil, "POST", "/v1/sessions/a/fork", body).problem(t)
	}
	w.want(404, nil, "POST", "/v1/sessions/nobody/fork", "{}")
}

// The answer to a fork lists the policy that the fork does not inherit.
func TestForkReportsNotInherited(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one", "two")
	for _, c := range []policy.Change{
		{Mode: policy.ModeRestricted, By: "ann"},
		{Grant: &policy.Grant{ID: "g1", Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "ls"}, By: "ann"},
	} {
		_, err := sessionpolicy.Change(t.Context(), w.sessions, "a", func(*policy.Guards) (policy.Change, error) { return c, nil })
		must(t, err)
	}
	var s api.Session
	w.want(201, &s, "POST", "/v1/sessions/a/fork", "")
	if want := (session.NotInherited{Mode: "restricted", Policy: true}); s.NotInherited == nil || *s.NotInherited != want {
		t.Errorf("not inherited: %+v", s.NotInherited)
	}
	s = api.Session{}
	if w.want(201, &s, "POST", "/v1/sessions/a/fork", `{"with_grants":true}`); s.NotInherited != nil {
		t.Errorf("with grants: %+v", s.NotInherited)
	}
	s = api.Session{}
	if w.want(200, &s, "GET", "/v1/sessions/a", ""); s.NotInherited != nil {
		t.Errorf("without a fork: %+v", s.NotInherited)
	}
}

// HEAD is GET without a body.
func TestHead(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a", nil, "one")
	for _, path := range []string{"/healthz", "/v1/info", "/v1/sessions", "/v1/sessions/a", "/v1/sessions/a/events", "/v1/openapi.json"} {
		got := w.do(http.MethodHead, path, "")
		if got.status != 200 || len(got.body) != 0 || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %v", path, got, got.header)
		}
	}
	if got := w.do(http.MethodHead, "/v1/sessions/nobody", ""); got.status != 404 || len(got.body) != 0 {
		t.Errorf("%s", got)
	}
}

// A list of sessions shows the status of their runs, the number of open approval requests including
// those of sub-agents, and whether this daemon holds the lease.
func TestSessionStatus(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("idle", nil, "hello")
	other := session.New(w.sessions.Store(), nil) // another process
	held, err := other.Open(t.Context(), "idle", nil)
	must(t, err)
	defer held.Close()
	w.startWaitingRun("r1")
	sub, err := w.sessions.Create(t.Context(), session.Opened{SessionID: "sub", Owner: "r1"})
	must(t, err)
	asked, err := session.NewDraft(record.KindApprovalAsked, approval.Request{ID: "q", Tool: "Bash", Use: "u"})
	must(t, err)
	_, err = sub.Append(t.Context(), asked)
	must(t, err)
	defer sub.Close()
	var list api.Page[api.Session]
	w.want(200, &list, "GET", "/v1/sessions?agents=true", "")
	if len(list.Items) != 3 {
		t.Fatalf("%+v", list.Items)
	}
	for _, s := range list.Items {
		var one api.Session
		w.want(200, &one, "GET", "/v1/sessions/"+s.ID, "")
		for _, s := range []api.Session{s, one} {
			got := fmt.Sprintf("%q, %d questions, held %v here %v", s.Status, s.OpenApprovals, s.HeldBy != nil, s.HeldBy != nil && s.HeldBy.Here)
			want := map[string]string{
				"idle": `"", 0 questions, held true here false`,
				"r1":   `"waiting", 2 questions, held true here true`,
				"sub":  `"", 1 questions, held true here true`,
			}[s.ID]
			if got != want {
				t.Errorf("%s: %s, want %s", s.ID, got, want)
			}
		}
	}
	at := w.listen("/v1/sessions/r1/events").until("caught_up")
	if last := at[len(at)-1].data; !strings.Contains(last, `"status":"waiting"`) {
		t.Errorf("%s", last)
	}
}

// No session of an active run can be rewound or deleted, including those of agents that have
// finished their work.
func TestAgentsOfRunningRuns(t *testing.T) {
	w := newHTTPEnv(t)
	w.startWaitingRun("r1")
	sub, err := w.sessions.Create(t.Context(), session.Opened{SessionID: "sub", Owner: "r1"})
	must(t, err)
	must(t, sub.Close())
	for _, id := range []string{"r1", "sub"} {
		w.want(200, nil, "POST", "/v1/sessions/"+id+"/rewind", `{"to":"1","transcript":true}`)
		for _, p := range []api.Problem{
			w.want(409, nil, "POST", "/v1/sessions/"+id+"/rewind", `{"to":"1","transcript":true,"digest":"d"}`).problem(t),
			w.want(409, nil, "DELETE", "/v1/sessions/"+id, "").problem(t),
		} {
			if p.Code != "busy" || !strings.Contains(p.Advice, "/v1/runs/r1/stop") {
				t.Errorf("%s: %+v", id, p)
			}
		}
	}
	w.want(200, nil, "POST", "/v1/runs/r1/stop", "")
	eventually(t, "it is out of memory", func() bool { return !w.runs.Busy("r1") })
	const back = `{"to":"1","transcript":true`
	w.want(409, nil, "POST", "/v1/sessions/sub/rewind", back+`,"digest":"d"}`).problem(t)
	var plan struct{ Digest string }
	w.want(200, &plan, "POST", "/v1/sessions/sub/rewind", back+`}`)
	w.want(200, nil, "POST", "/v1/sessions/sub/rewind", back+`,"digest":"`+plan.Digest+`"}`)
	w.want(204, nil, "DELETE", "/v1/sessions/sub", "")
}
