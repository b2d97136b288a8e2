package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// What the program does not offer is 501, and not listed.
func TestNotOffered(t *testing.T) {
	w := newSite(t)
	w.session("a", nil, "one")
	for _, tt := range [][3]string{
		{"GET", "/v1/policy?cwd=/w", ""},
		{"POST", "/v1/policy/test", `{"cwd":"/w","tool":"Bash","input":{}}`},
		{"GET", "/v1/audit", ""},
		{"GET", "/v1/search?q=x", ""},
		{"POST", "/v1/audit/verify", `{}`},
		{"GET", "/v1/doctor", ""},
		{"GET", "/v1/sessions/a/export", ""},
		{"POST", "/v1/sessions/a/rewind", `{"to":"1"}`},
	} {
		if p := w.want(501, nil, tt[0], tt[1], tt[2]).problem(t); p.Code != "not_offered" {
			t.Errorf("%v: %+v", tt, p)
		}
	}
	var i api.Info
	w.want(200, &i, "GET", "/v1/info", "", w.as(api.ScopeRun), "Authorization: Bearer "+w.tokens[api.ScopeRead])
	if strings.Contains(strings.Join(i.Capabilities, " "), "audit") || i.Version != "1.2.3" || i.Caller.Name != "reader" ||
		i.Caller.Via != "token" || len(i.Caller.Scopes) != 1 || i.Protocol != 1 || i.StartedAt.IsZero() {
		t.Errorf("%+v", i)
	}
}

func TestPower(t *testing.T) {
	doc := func(s string) (json.RawMessage, error) { return json.RawMessage(s), nil }
	w := newSite(t, func(o *Options) {
		o.Power = Power{
			Policy: func(_ context.Context, cwd string) (json.RawMessage, error) { return doc(`{"cwd":"` + cwd + `"}`) },
			Test:   func(_ context.Context, r json.RawMessage) (json.RawMessage, error) { return r, nil },
			Doctor: func(context.Context) (json.RawMessage, error) { return doc(`{"ok":true}`) },
			Export: func(_ context.Context, id, format string, write func([]byte) error) error {
				if format == "text" {
					return refuse(outcome.Corrupt, "damaged", "")
				}
				if err := write([]byte(id + "\n")); err != nil {
					return err
				}
				if format == "markdown" {
					return errors.New("it broke in the middle")
				}
				return nil
			},
			Evidence: func(_ context.Context, q EvidenceQuery) ([]json.RawMessage, string, error) {
				if q.After == "" {
					return []json.RawMessage{json.RawMessage(`{"n":1}`)}, "one", nil
				}
				return []json.RawMessage{json.RawMessage(`{"after":"` + q.After + `"}`)}, "", nil
			},
			Rewind: func(_ context.Context, id, by string, r api.Rewind) (json.RawMessage, error) {
				b, err := json.Marshal(r)
				return json.RawMessage(`{"by":"` + by + `","of":"` + id + `","r":` + string(b) + `}`), err
			},
			Verify: func(_ context.Context, id string) (json.RawMessage, error) { return doc(`{"session":"` + id + `"}`) },
		}
	})
	w.session("a b", nil, "one")
	for _, tt := range [][4]string{
		{"GET", "/v1/policy?cwd=/w/../x", "", `{"cwd":"/x"}`},
		{"POST", "/v1/policy/test", `{"cwd":"/w","tool":"Bash","input":{"command":"ls <x>"}}`, `{"cwd":"/w","tool":"Bash","input":{"command":"ls <x>"}}`},
		{"POST", "/v1/audit/verify", `{"session":"s"}`, `{"session":"s"}`},
		{"POST", "/v1/audit/verify", ``, `{"session":""}`},
		{"GET", "/v1/doctor", "", `{"ok":true}`},
	} {
		if got := w.want(200, nil, tt[0], tt[1], tt[2], w.as(api.ScopeRead)); strings.TrimSpace(string(got.body)) != tt[3] {
			t.Errorf("%v: %s", tt, got)
		}
	}
	const back = "/v1/sessions/a%20b/rewind"
	for _, s := range []api.Scope{api.ScopeRead, api.ScopeRun} {
		w.want(403, nil, "POST", back, `{"to":"1"}`, w.as(s)).problem(t)
	}
	if got := w.want(200, nil, "POST", back, `{"to":"turn:1","except":["a"],"digest":"d"}`, w.as(api.ScopeApprove)); !strings.Contains(string(got.body), `"of":"a b","r":{"to":"turn:1","except":["a"],"digest":"d"}`) {
		t.Errorf("%s", got)
	}
	for _, body := range []string{`{"to":1}`, `{"by":"x"}`, `{"To":"1"}`, `{"except":"a"}`, `{"digest":null}`} {
		w.want(400, nil, "POST", back, body).problem(t)
	}
	w.want(404, nil, "POST", "/v1/sessions/nobody/rewind", `{"to":"1"}`)
	got := w.want(200, nil, "GET", "/v1/sessions/a%20b/export", "")
	if string(got.body) != "a b\n" || got.header.Get("Content-Disposition") != `attachment; filename="a_b.jsonl"` {
		t.Errorf("%s %v", got, got.header)
	}
	w.want(500, nil, "GET", "/v1/sessions/a%20b/export?format=text", "").problem(t)
	w.want(400, nil, "GET", "/v1/sessions/a%20b/export?format=exe", "").problem(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/v1/sessions/a%20b/export?format=markdown", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+w.tokens[api.ScopeRead])
	if resp, err := w.client.Do(r); err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			t.Error("half an export looks like a whole one")
		}
	}
	var page api.Page[json.RawMessage]
	w.want(200, &page, "GET", "/v1/audit?session=a", "")
	if page.Next == "" || page.Next == "one" {
		t.Errorf("%+v", page)
	}
	w.want(200, &page, "GET", "/v1/audit?session=a&cursor="+page.Next, "")
	if page.Next != "" || string(page.Items[0]) != `{"after":"one"}` {
		t.Errorf("%s", page.Items)
	}
	for _, tt := range [][3]string{
		{"GET", "/v1/policy", ""},
		{"GET", "/v1/policy?cwd=w", ""},
		{"POST", "/v1/policy/test", `{"cwd":"w","tool":"Bash","input":{}}`},
		{"POST", "/v1/policy/test", `{"cwd":"/w","tool":"Bash"}`},
		{"POST", "/v1/policy/test", `{"cwd":"/w","tool":"Bash","input":{},"x":1}`},
		{"GET", "/v1/doctor?net=true", ""},
	} {
		w.want(400, nil, tt[0], tt[1], tt[2]).problem(t)
	}
}

func TestTokens(t *testing.T) {
	w := newSite(t)
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
	if i.Caller.Via != "cookie" || i.Caller.CSRF != in.CSRF {
		t.Errorf("%+v", i.Caller)
	}
	w.session("a", nil, "one")
	w.want(403, nil, "PATCH", "/v1/sessions/a", `{"tag":"x"}`, "Authorization: ", "Cookie: "+cookie).problem(t)
	w.want(200, nil, "PATCH", "/v1/sessions/a", `{"tag":"x"}`, "Authorization: ", "Cookie: "+cookie, "X-Holdfast-CSRF: "+in.CSRF)
	w.want(204, nil, "POST", "/v1/logout", "", "Authorization: ", "Cookie: "+cookie, "X-Holdfast-CSRF: "+in.CSRF)
	w.want(401, nil, "GET", "/v1/info", "", "Authorization: ", "Cookie: "+cookie).problem(t)
}

func TestPage(t *testing.T) {
	w := newSite(t, func(o *Options) {
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
