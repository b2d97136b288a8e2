package daemon

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// startWaitingRun starts a run that asks about git push, and returns its approval request.
func (w *httpEnv) startWaitingRun(id string) (api.RunInfo, api.Approval) {
	w.t.Helper()
	var r api.RunInfo
	w.want(201, &r, "POST", "/v1/runs", `{"session_id":"`+id+`","cwd":"`+w.t.TempDir()+`","input":"push it","title":"my run"}`, w.as(api.ScopeRun))
	return r, w.waitApproval(id, "git push")
}

// waitApproval waits for an approval request of a run.
func (w *httpEnv) waitApproval(id, about string) api.Approval {
	w.t.Helper()
	var list api.Page[api.Approval]
	eventually(w.t, "a question about "+about, func() bool {
		w.want(200, &list, "GET", "/v1/approvals?session="+id, "", w.as(api.ScopeRead))
		return len(list.Items) == 1 && list.Items[0].Requests[0].Resource == about
	})
	return list.Items[0]
}

func (w *httpEnv) waitStatus(id string, want api.RunStatus) api.RunInfo {
	w.t.Helper()
	var r api.RunInfo
	eventually(w.t, "run "+id+" is "+string(want), func() bool {
		w.want(200, &r, "GET", "/v1/runs/"+id, "")
		return r.Status == want
	})
	return r
}

func TestRun(t *testing.T) {
	w := newHTTPEnv(t)
	r, q := w.startWaitingRun("r1")
	if r.RunID != "r1" || q.State != routes.StatePending || q.RunID != "r1" || q.Title != "my run" || q.Run == "" || q.Tool != "Bash" {
		t.Errorf("%+v\n%+v", r, q)
	}
	w.waitStatus("r1", api.StatusWaiting)
	var got api.Approval
	w.want(200, &got, "POST", "/v1/approvals/"+q.ID+"/decision",
		`{"decision":"allow","message":"fine","digest":"`+q.Digest+`"}`, w.as(api.ScopeApprove))
	if got.State != routes.StateApproved || got.Answer.Actor != "approveer" || got.Answer.Via != "http" || got.Answer.Message != "fine" {
		t.Errorf("%+v %+v", got, got.Answer)
	}
	r = w.waitStatus("r1", api.StatusCompleted)
	if r.Segment != 1 || r.CompletedAt == nil || !strings.Contains(r.Result, "ran git push") {
		t.Errorf("%+v", r)
	}
	w.want(200, &got, "GET", "/v1/approvals/"+q.ID, "")
	if got.State != routes.StateApproved || got.Run != string(api.StatusCompleted) {
		t.Errorf("%+v", got)
	}
	w.want(200, &got, "GET", "/v1/approvals/"+q.ID+"?session=r1", "")
	w.want(404, nil, "GET", "/v1/approvals/"+q.ID+"?session=other", "")
	w.want(404, nil, "GET", "/v1/approvals/"+q.ID[:len(q.ID)-1], "")

	w.want(200, &r, "POST", "/v1/runs/r1/continue", `{"input":"more"}`)
	r = w.waitStatus("r1", api.StatusCompleted)
	if r.Segment != 2 {
		t.Errorf("%+v", r)
	}
	a := w.want(200, &r, "POST", "/v1/runs", `{"session_id":"r1","input":"and more"}`)
	if a.header.Get("Location") != "/v1/runs/r1" {
		t.Errorf("%v", a.header)
	}
	eventually(t, "a third segment", func() bool { r = w.waitStatus("r1", api.StatusCompleted); return r.Segment == 3 })
	var list api.Page[api.RunInfo]
	for query, want := range map[string]int{"": 1, "?status=completed": 1, "?status=failed": 0, "?cwd=/nowhere": 0} {
		if w.want(200, &list, "GET", "/v1/runs"+query, ""); len(list.Items) != want {
			t.Errorf("%s: %d runs, want %d", query, len(list.Items), want)
		}
	}
	if w.mu.Lock(); len(w.ran) != 1 {
		t.Errorf("ran %v", w.ran)
	}
	w.mu.Unlock()
}

// A run can be prepared first, stopped, and deleted after its end.
func TestRunSteps(t *testing.T) {
	w := newHTTPEnv(t)
	var r api.RunInfo
	w.want(201, &r, "POST", "/v1/runs", `{"session_id":"r1","cwd":"`+t.TempDir()+`"}`)
	if r.Status != api.StatusPending {
		t.Errorf("%+v", r)
	}
	w.want(409, nil, "POST", "/v1/runs", `{"session_id":"r1","cwd":"/"}`).problem(t)
	early := w.listen("/v1/sessions/r1/events") // a client that listens before the start misses nothing
	if got := early.until("caught_up"); len(got) != 1 || got[0].data != `{"seq":0,"status":"pending"}` {
		t.Errorf("%v", got)
	}
	w.want(200, &r, "POST", "/v1/runs/r1/start", `{"input":"push"}`)
	w.waitStatus("r1", api.StatusWaiting)
	if got := early.until("record"); got[len(got)-1].id != "1" {
		t.Errorf("%v", got)
	}
	if p := w.want(409, nil, "POST", "/v1/runs/r1/start", `{"input":"push"}`).problem(t); p.Code != "conflict" {
		t.Errorf("%+v", p)
	}
	w.want(409, nil, "DELETE", "/v1/sessions/r1", "").problem(t)
	var steered api.RunInfo
	w.want(200, &steered, "POST", "/v1/runs/r1/steer", `{"text":"quick"}`)
	w.want(403, nil, "DELETE", "/v1/runs/r1/steering/"+steered.SteeringID, "", w.as(api.ScopeRead))
	w.want(204, nil, "DELETE", "/v1/runs/r1/steering/"+steered.SteeringID, "")
	w.want(409, nil, "DELETE", "/v1/runs/r1/steering/"+steered.SteeringID, "").problem(t)
	w.want(409, nil, "POST", "/v1/runs/r1/steer", `{"text":"quick","agent":"no-agent"}`).problem(t)
	w.want(409, nil, "POST", "/v1/runs/r1/stop", `{"agent":"no-agent"}`).problem(t)
	w.want(404, nil, "DELETE", "/v1/runs/nobody/steering/x", "").problem(t)
	w.want(200, nil, "POST", "/v1/runs/r1/mode", `{"mode":"plan"}`, w.as(api.ScopeApprove))
	w.want(403, nil, "POST", "/v1/runs/r1/mode", `{"mode":"plan"}`, w.as(api.ScopeRun))
	w.want(409, nil, "POST", "/v1/runs/r1/input", `{"agent":"agent","text":"x"}`).problem(t)
	w.want(200, &r, "POST", "/v1/runs/r1/stop", "")
	if r.Status != api.StatusCancelled {
		t.Errorf("%+v", r)
	}
	w.want(404, nil, "POST", "/v1/runs/r1/stop", "").problem(t)
	w.want(409, nil, "POST", "/v1/runs/r1/steer", `{"text":"quick"}`).problem(t)
	eventually(t, "it can be deleted", func() bool { return w.do("DELETE", "/v1/sessions/r1", "").status == 204 })
	w.want(404, nil, "GET", "/v1/runs/r1", "").problem(t)
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{"/v1/runs", `{}`, 400},
		{"/v1/runs", `{"cwd":"here"}`, 400},
		{"/v1/runs", `{"cwd":"/","mode":"wild"}`, 400},
		{"/v1/runs", `{"cwd":"/","strategy":{"name":1}}`, 400},
		{"/v1/runs", `{"cwd":"/","strategy_path":"no/such/file.yaml"}`, 400},
		{"/v1/runs", `{"cwd":"/","strategy":{},"strategy_path":"x"}`, 400},
		{"/v1/runs", `{"cwd":"/","environ":["A=b"]}`, 403},
		{"/v1/runs", `{"cwd":"/","session_id":"../x"}`, 400},
		{"/v1/runs", `{"cwd":"/","nothing":1}`, 400},
		{"/v1/runs/nobody/start", `{}`, 404},
		{"/v1/runs/nobody/continue", `{}`, 404},
		{"/v1/runs/nobody/stop", ``, 404},
		{"/v1/runs/nobody/steer", `{"text":"x"}`, 409},
		{"/v1/runs/nobody/steer", `{"text":""}`, 400},
		{"/v1/runs/nobody/input", `{"agent":"x","text":"x"}`, 409},
		{"/v1/runs/nobody/mode", `{"mode":"plan"}`, 404},
		{"/v1/runs/nobody/mode", `{"mode":""}`, 400},
		{"/v1/runs/..%2fx/stop", ``, 400},
	} {
		if got := w.do("POST", tt.path, tt.body); got.status != tt.want {
			t.Errorf("%s %s: %s, want %d", tt.path, tt.body, got, tt.want)
		} else {
			got.problem(t)
		}
	}
}

// Of two concurrent answers, one wins and the other gets the winner; repeating the same answer
// succeeds.
func TestDecideRace(t *testing.T) {
	w := newHTTPEnv(t)
	for _, id := range []string{"r1", "r2", "r3", "r4"} {
		_, q := w.startWaitingRun(id)
		bodies := []string{`{"decision":"allow"}`, `{"decision":"deny","message":"no"}`}
		scopes := []api.Scope{api.ScopeApprove, api.ScopeAdmin}
		got := make([]*reply, 2)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = w.do("POST", "/v1/approvals/"+q.ID+"/decision", bodies[i], w.as(scopes[i])) })
		}
		wg.Wait()
		won := 0
		if got[0].status != 200 {
			won = 1
		}
		if got[won].status != 200 || got[1-won].status != 409 {
			t.Fatalf("%s\n%s", got[0], got[1])
		}
		var first api.Approval
		got[won].into(t, &first)
		p := got[1-won].problem(t)
		if p.Code != "approval" || p.Winner == nil || p.Winner.Actor != string(scopes[won])+"er" || p.Winner.Decision != first.Answer.Decision {
			t.Errorf("%+v %+v", p, p.Winner)
		}
		var again api.Approval
		w.want(200, &again, "POST", "/v1/approvals/"+q.ID+"/decision", bodies[won])
		if again.Answer.Actor != first.Answer.Actor || !again.Answer.At.Equal(first.Answer.At) {
			t.Errorf("again: %+v, first %+v", again.Answer, first.Answer)
		}
		w.waitStatus(id, api.StatusCompleted)
	}
}

func TestDecideErrors(t *testing.T) {
	w := newHTTPEnv(t)
	_, q := w.startWaitingRun("r1")
	path := "/v1/approvals/" + q.ID + "/decision"
	for body, want := range map[string]int{
		``: 400, `{}`: 400, `{"decision":"maybe"}`: 400, `{"decision":"allow","by":"root"}`: 400, `{"decision":"allow","scope":"Bash(ls:*)"}`: 400,
		`{"decision":"allow-session","scope":"Read(x)"}`: 400, `{"decision":"allow","stop":true}`: 400, `{"decision":"allow","digest":"x"}`: 409,
		`{"decision":"allow","decision":"deny"}`: 400, `{"decision":"allow"} {}`: 400,
	} {
		w.want(want, nil, "POST", path, body).problem(t)
	}
	w.want(415, nil, "POST", path, `{"decision":"allow"}`, "Content-Type: text/plain").problem(t)
	w.want(413, nil, "POST", path, `{"decision":"deny","message":"`+strings.Repeat("x", routes.MaxBody)+`"}`).problem(t)
	w.want(404, nil, "POST", "/v1/approvals/nothing/decision", `{"decision":"allow"}`).problem(t)
	w.want(400, nil, "GET", "/v1/approvals?state=all", "").problem(t)
	w.want(404, nil, "GET", "/v1/approvals?session=nobody", "").problem(t)
	var list api.Page[api.Approval]
	w.want(200, &list, "GET", "/v1/approvals", "")
	if len(list.Items) != 1 {
		t.Fatalf("%+v", list)
	}
	var got api.Approval
	w.want(200, &got, "POST", path, `{"decision":"allow-session","scope":"Bash(git push:*)"}`)
	for state, want := range map[string]int{"all": 1, "approved": 1, "denied": 0, "pending": 0, "expired": 0} {
		if w.want(200, &list, "GET", "/v1/approvals?session=r1&state="+state, ""); len(list.Items) != want {
			t.Errorf("%s: %d questions, want %d", state, len(list.Items), want)
		}
	}
	w.waitStatus("r1", api.StatusCompleted)
	_, q = w.startWaitingRun("r2")
	w.want(200, &got, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"deny","stop":true}`)
	if got.State != routes.StateDenied || got.Answer.Decision != approval.Deny || !got.Answer.Stop {
		t.Errorf("%+v", got)
	}
}

// An answer with always writes its rule into a settings file, and the reply names the line.
func TestDecideAndSave(t *testing.T) {
	w := newHTTPEnv(t)
	r, q := w.startWaitingRun("r1")
	local := filepath.Join(r.Cwd, ".holdfast", "settings.local.json")
	if a := q.SavePreview; a == nil || len(a.Rules) != 2 || a.Rules[0].Rule != "Bash(git push)" || len(a.Files) != 3 || a.Files[0].File != local {
		t.Fatalf("%+v", a)
	}
	path := "/v1/approvals/" + q.ID + "/decision"
	for body, want := range map[string]int{
		`{"decision":"allow","always":"user"}`:                                 400,
		`{"decision":"allow-session","always":"managed"}`:                      400,
		`{"decision":"allow-session","always":"user","scope":"Bash(rm:*)"}`:    400,
		`{"decision":"allow-session","always":"user","digest":"something"}`:    409,
		`{"decision":"allow-session","always":"user","scope":"Bash(git push"}`: 400,
	} {
		w.want(want, nil, "POST", path, body).problem(t)
	}
	w.want(403, nil, "POST", path, `{"decision":"allow-session","always":"local"}`, w.as(api.ScopeApprove)).problem(t)
	if _, err := os.Stat(local); err == nil {
		t.Fatal("a rejected rule was written")
	}
	var got api.Approval
	w.want(200, &got, "POST", path, `{"decision":"allow-session","always":"local","scope":"Bash(git push:*)"}`)
	k := got.Saved
	if k == nil || k.File != local || k.Line != 4 || k.Rule != "Bash(git push:*)" || !k.Changed || !k.Counts || got.Answer.SaveTo != "local" || got.SavePreview != nil {
		t.Errorf("%+v %+v", k, got.Answer)
	}
	if b, err := os.ReadFile(local); err != nil || !strings.Contains(string(b), `"Bash(git push:*)"`) {
		t.Errorf("%s %v", b, err)
	}
	w.waitStatus("r1", api.StatusCompleted)

	_, q = w.startWaitingRun("r2") // a later answer writes nothing
	path = "/v1/approvals/" + q.ID + "/decision"
	w.want(200, nil, "POST", path, `{"decision":"deny"}`)
	w.want(409, nil, "POST", path, `{"decision":"allow-session","always":"user"}`).problem(t)
	if _, err := os.Stat(q.SavePreview.Files[2].File); err == nil {
		t.Error("the rule of the later answer was written")
	}
}

// The stream of approvals sends each new request and its answer.
func TestApprovalStream(t *testing.T) {
	w := newHTTPEnv(t)
	l := w.listen("/v1/approvals", w.as(api.ScopeRead))
	if e := l.until("approvals"); e[0].data != `{"items":[]}` {
		t.Errorf("%+v", e)
	}
	_, q := w.startWaitingRun("r1")
	if e := l.until("approvals"); !strings.Contains(e[0].data, `"id":"`+q.ID+`"`) {
		t.Errorf("%+v", e)
	}
	late := w.listen("/v1/approvals")
	if e := late.until("approvals"); !strings.Contains(e[0].data, q.ID) {
		t.Errorf("%+v", e)
	}
	// Another process answers.
	_, err := approval.Resolve(t.Context(), w.sessions, "r1", approval.Answer{RequestID: q.ID, Decision: approval.Deny, Actor: "bob", Via: "cli"})
	must(t, err)
	for _, l := range []*listener{l, late} {
		for e := l.until("approvals"); e[0].data != `{"items":[]}`; e = l.until("approvals") {
			t.Logf("%+v", e)
		}
	}
	w.want(400, nil, "GET", "/v1/approvals?session=r1", "", "Accept: text/event-stream").problem(t)
}

// Images are sent with the input, with steering and with a continuation. Their bodies may be larger
// than others.
func TestRunImages(t *testing.T) {
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
	head, err := base64.StdEncoding.DecodeString(dot)
	must(t, err)
	image := func(name string, size int) string {
		return `{"name":"` + name + `","data":"` + base64.StdEncoding.EncodeToString(append(head[:len(head):len(head)], make([]byte, size)...)) + `"}`
	}
	w := newHTTPEnv(t)
	body := func(more string) string { return `{"session_id":"r1","cwd":"` + t.TempDir() + `",` + more + `}` }
	for more, want := range map[string]string{
		`"images":[{"data":"aGVsbG8="}]`:                                "images: image 1: it is not an image that models accept",
		`"images":[` + image("a.png", 4<<20) + `]`:                      "at most 3.75 MiB are allowed",
		`"images":[{"data":"` + dot + `","mime":"image/gif"}]`:          "its type is image/png, not image/gif",
		`"images":[{"data":"` + dot + `","uri":"https://example.org"}]`: "uri",
		`"start":false,"images":[` + image("a.png", 0) + `]`:            "with the request that starts the run",
	} {
		if p := w.want(400, nil, "POST", "/v1/runs", body(more)).problem(t); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %+v", want, p)
		}
	}
	w.want(413, nil, "POST", "/v1/runs", body(`"input":"`+strings.Repeat("x", 10<<20)+`"`)).problem(t)
	w.want(413, nil, "POST", "/v1/sessions/x/fork", `{"title":"`+strings.Repeat("x", 1<<20)+`"}`).problem(t)

	w.want(201, nil, "POST", "/v1/runs", body(`"input":"push it","images":[`+image("a.png", 3<<20)+`]`))
	w.waitApproval("r1", "git push")
	w.want(400, nil, "POST", "/v1/runs/r1/steer", `{"text":""}`).problem(t)
	w.want(400, nil, "POST", "/v1/runs/r1/steer", `{"text":"x","images":[{"data":"aGVsbG8="}]}`).problem(t)
	w.want(200, nil, "POST", "/v1/runs/r1/steer", `{"text":"","images":[`+image("b.png", 0)+`]}`)
	w.want(200, nil, "POST", "/v1/runs/r1/stop", "")
	w.waitStatus("r1", api.StatusCancelled)
	w.want(400, nil, "POST", "/v1/runs/r1/continue", `{"images":[{"data":"aGVsbG8="}]}`).problem(t)
	w.want(200, nil, "POST", "/v1/runs/r1/continue", `{"input":"push again","images":[`+image("c.png", 0)+`]}`)
	eventually(t, "the end", func() bool {
		var r api.RunInfo
		w.want(200, &r, "GET", "/v1/runs/r1", "")
		return r.Segment == 2 && r.Status.Ended()
	})
	page := w.want(200, nil, "GET", "/v1/sessions/r1/export?format=jsonl", "").body
	for _, name := range []string{"a.png", "b.png", "c.png"} {
		if !strings.Contains(string(page), `{"type":"media","name":"`+name+`","mime":"image/png","data":"iVBOR`) {
			t.Errorf("the transcript has no %s", name)
		}
	}
}
