package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/session"
)

func TestInfo(t *testing.T) {
	w := newHTTPEnv(t)
	var i api.Info
	w.want(200, &i, "GET", "/v1/info", "", w.as(api.ScopeRun), "Authorization: Bearer "+w.tokens[api.ScopeRead])
	if strings.Join(i.Capabilities, " ") != "approvals audit audit.verify doctor events export policy policy.test rewind runs sessions" {
		t.Errorf("%v", i.Capabilities)
	}
	if i.Version != "1.2.3" || !strings.HasPrefix(i.Store, "sqlite:/") || i.Caller.Name != "reader" ||
		i.Caller.AuthMethod != "token" || len(i.Caller.Scopes) != 1 || i.Protocol != 1 || i.StartedAt.IsZero() {
		t.Errorf("%+v", i)
	}
}

// The HTTP API also returns the documents that the command line prints with --json.
func TestDocuments(t *testing.T) {
	w := newHTTPEnv(t)
	dir := t.TempDir()
	w.session("a", nil, "one", "two")
	for _, tt := range [][4]string{
		{"GET", "/v1/policy?cwd=" + dir + "/../" + filepath.Base(dir), "", `{"folder":"` + dir + `","project":`},
		{"POST", "/v1/policy/test", `{"cwd":"` + dir + `","tool":"Bash","input":{"command":"git push"}}`, `{"tool":"Bash","exact":["git push"],"verdict":"ask",`},
		{"POST", "/v1/policy/test", `{"cwd":"` + dir + `","mode":"plan","tool":"Write","input":{"file_path":"x","content":"<y>"}}`, `{"tool":"Write","exact":["` + dir + `/x"],"verdict":"ask","reason":"Tool \"Write\" blocked in plan mode`},
		{"POST", "/v1/audit/verify", `{"session":"a"}`, `{"ok":true,"sessions":1,`},
		{"POST", "/v1/audit/verify", ``, `{"ok":true,"sessions":1,`},
		{"GET", "/v1/doctor", "", `{"ok":`},
	} {
		if got := w.want(200, nil, tt[0], tt[1], tt[2], w.as(api.ScopeRead)); !strings.HasPrefix(string(got.body), tt[3]) {
			t.Errorf("%v: %s", tt, got)
		}
	}
	w.want(404, nil, "POST", "/v1/audit/verify", `{"session":"nobody"}`).problem(t)
	w.want(404, nil, "POST", "/v1/policy/test", `{"cwd":"/","session":"nobody","tool":"Bash","input":{"command":"ls"}}`).problem(t)
	for _, tt := range [][3]string{
		{"GET", "/v1/policy", ""},
		{"GET", "/v1/policy?cwd=w", ""},
		{"GET", "/v1/policy?cwd=/nothing/here", ""},
		{"POST", "/v1/policy/test", `{"cwd":"w","tool":"Bash","input":{}}`},
		{"POST", "/v1/policy/test", `{"cwd":"/","tool":"Bash"}`},
		{"POST", "/v1/policy/test", `{"cwd":"/","tool":"Bash","input":{}}`},
		{"POST", "/v1/policy/test", `{"cwd":"/","tool":"Bash","input":[]}`},
		{"POST", "/v1/policy/test", `{"cwd":"/","tool":"Bash","input":{"command":"ls"},"mode":"x"}`},
		{"POST", "/v1/policy/test", `{"cwd":"/","tool":"Bash","input":{},"x":1}`},
		{"GET", "/v1/audit?kind=nothing", ""},
		{"GET", "/v1/doctor?net=true", ""},
	} {
		w.want(400, nil, tt[0], tt[1], tt[2]).problem(t)
	}
}

func TestAuditPages(t *testing.T) {
	w := newHTTPEnv(t)
	for _, id := range []string{"a", "b"} {
		w.session(id, nil, "one")
	}
	var all, page api.Page[json.RawMessage]
	w.want(200, &all, "GET", "/v1/audit", "")
	if len(all.Items) < 2 || all.Next != "" {
		t.Fatalf("%+v", all)
	}
	var paged []json.RawMessage
	for next := ""; ; next = "&cursor=" + page.Next {
		w.want(200, &page, "GET", "/v1/audit?limit=1"+next, "")
		if paged = append(paged, page.Items...); page.Next == "" {
			break
		}
	}
	if !reflect.DeepEqual(paged, all.Items) {
		t.Errorf("pages: %s\nat once: %s", paged, all.Items)
	}
	w.want(200, &page, "GET", "/v1/audit?session=b", "")
	if len(page.Items) != len(all.Items)/2 {
		t.Errorf("%+v", page)
	}
	w.want(200, &page, "GET", "/v1/audit?kind=access", "")
	if len(page.Items) != 0 {
		t.Errorf("%+v", page)
	}
	w.want(403, nil, "GET", "/v1/audit?kind=access", "", w.as(api.ScopeRead)).problem(t)
	w.want(404, nil, "GET", "/v1/audit?session=nobody", "").problem(t)
}

func TestRewindNeedsScope(t *testing.T) {
	w := newHTTPEnv(t)
	w.session("a b", nil, "one", "two")
	const back = "/v1/sessions/a%20b/rewind"
	for _, s := range []api.Scope{api.ScopeRead, api.ScopeRun} {
		w.want(403, nil, "POST", back, `{"to":"1"}`, w.as(s)).problem(t)
	}
	if got := w.want(200, nil, "POST", back, `{"to":"2","transcript":true}`, w.as(api.ScopeApprove)); !strings.HasPrefix(string(got.body), `{"session":"a b","to":2,"files":[],"items":[2,1],`) {
		t.Errorf("%s", got)
	}
	for _, body := range []string{`{}`, `{"to":1}`, `{"by":"x"}`, `{"To":"1"}`, `{"except":"a"}`, `{"digest":null}`} {
		w.want(400, nil, "POST", back, body).problem(t)
	}
	w.want(404, nil, "POST", "/v1/sessions/nobody/rewind", `{"to":"1"}`)
}

func TestExport(t *testing.T) {
	damaged := false
	w := newHTTPEnvOn(t, func(s session.Store) session.Store { return &damagedStore{s, &damaged} })
	w.session("a b", nil, "one", "two")
	got := w.want(200, nil, "GET", "/v1/sessions/a%20b/export", "")
	if !strings.Contains(string(got.body), `"one"`) || got.header.Get("Content-Disposition") != `attachment; filename="a_b.jsonl"` {
		t.Errorf("%s %v", got, got.header)
	}
	w.want(400, nil, "GET", "/v1/sessions/a%20b/export?format=exe", "").problem(t)
	damaged = true
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/v1/sessions/a%20b/export", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+w.tokens[api.ScopeRead])
	if resp, err := w.client.Do(r); err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			t.Error("a partial export looks complete")
		}
	}
}

// damagedStore is a store whose sessions cannot be read completely while it is damaged.
type damagedStore struct {
	session.Store
	damaged *bool
}

func (d *damagedStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		n := 0
		for rec, err := range d.Store.Read(ctx, id, r) {
			if n++; *d.damaged && n > 2 {
				err = errors.New("it broke in the middle")
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

func TestTokens(t *testing.T) {
	w := newHTTPEnv(t)
	var made api.CreatedToken
	a := w.want(201, &made, "POST", "/v1/tokens", `{"name":"ci","scopes":["read","run"],"expires_in":60}`)
	if made.Secret == "" || made.By != "admin"+"er" || made.Expires == nil || a.header.Get("Location") != "/v1/tokens/"+made.ID {
		t.Errorf("%s", a)
	}
	w.want(200, nil, "GET", "/v1/info", "", "Authorization: Bearer "+made.Secret)
	var list api.Page[api.Token]
	if a := w.want(200, &list, "GET", "/v1/tokens", ""); len(list.Items) != 5 || strings.Contains(string(a.body), made.Secret) {
		t.Errorf("%s", a)
	}
	w.want(403, nil, "GET", "/v1/tokens", "", "Authorization: Bearer "+made.Secret).problem(t)
	w.want(204, nil, "DELETE", "/v1/tokens/"+made.ID, "")
	w.want(404, nil, "DELETE", "/v1/tokens/"+made.ID, "").problem(t)
	w.want(401, nil, "GET", "/v1/info", "", "Authorization: Bearer "+made.Secret).problem(t)
	for _, body := range []string{
		``, `{}`, `{"name":"x"}`, `{"name":"x","scopes":[]}`, `{"name":"x","scopes":["root"]}`, `{"name":"x","scopes":["read"],"expires_in":-1}`,
		`{"name":"x","scopes":["read"],"expires_in":99999999999999}`, `{"name":"x","scopes":["read"],"secret":"mine"}`, `{"name":"\u0000","scopes":["read"]}`,
	} {
		w.want(400, nil, "POST", "/v1/tokens", body).problem(t)
	}
	w.want(400, nil, "POST", "/v1/tokens", `{"name":"x","scopes":["read"]}`, "Idempotency-Key: k").problem(t)

	var link api.LoginLink
	w.want(201, &link, "POST", "/v1/login/link", "")
	if !strings.HasSuffix(link.URL, "/login#"+link.Code) || link.Expires.IsZero() {
		t.Errorf("%+v", link)
	}
	var in routes.Login
	a = w.want(200, &in, "POST", "/v1/login", `{"code":"`+link.Code+`"}`, "Authorization: ")
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	w.want(401, nil, "POST", "/v1/login", `{"code":"`+link.Code+`"}`, "Authorization: ").problem(t)
	var i api.Info
	w.want(200, &i, "GET", "/v1/info", "", "Authorization: ", "Cookie: "+cookie, "X-Holdfast-CSRF: "+in.CSRF)
	if i.Caller.AuthMethod != "cookie" || i.Caller.CSRF != in.CSRF {
		t.Errorf("%+v", i.Caller)
	}
	w.session("a", nil, "one")
	w.want(403, nil, "PATCH", "/v1/sessions/a", `{"tag":"x"}`, "Authorization: ", "Cookie: "+cookie).problem(t)
	w.want(200, nil, "PATCH", "/v1/sessions/a", `{"tag":"x"}`, "Authorization: ", "Cookie: "+cookie, "X-Holdfast-CSRF: "+in.CSRF)
	w.want(204, nil, "POST", "/v1/logout", "", "Authorization: ", "Cookie: "+cookie, "X-Holdfast-CSRF: "+in.CSRF)
	w.want(401, nil, "GET", "/v1/info", "", "Authorization: ", "Cookie: "+cookie).problem(t)
}

func TestConsolePaths(t *testing.T) {
	w := newHTTPEnv(t, func(o *Options) {
		o.Console = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "app.js": {Data: []byte("1")}, "vendor/x.js": {Data: []byte("2")}}
	})
	for path, want := range map[string]string{
		"/": "<!doctype html>", "/inbox": "<!doctype html>", "/sessions/abc": "<!doctype html>", "/login": "<!doctype html>",
		"/app.js": "1", "/vendor/x.js": "2", "/index.html": "<!doctype html>",
	} {
		got := w.want(200, nil, "GET", path, "", "Authorization: ")
		if string(got.body) != want || got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s %v", path, got, got.header)
		}
	}
	for _, path := range []string{"/nothing.js", "/vendor/nothing.js", "/..%2f..%2fetc/passwd.txt", "/v1/../app.css"} {
		if got := w.do("GET", path, "", "Authorization: "); got.status < 300 || got.status == 500 {
			t.Errorf("%s: %s", path, got)
		}
	}
	w.want(405, nil, "POST", "/inbox", "").problem(t)
	w.want(401, nil, "GET", "/v1/nothing", "", "Authorization: ").problem(t)
	w.want(404, nil, "GET", "/v1/nothing", "").problem(t)
}
