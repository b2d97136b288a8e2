package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDecodeBody(t *testing.T) {
	for _, tt := range []struct{ body, says string }{
		{`{"decision":"allow"} x`, "at byte 22"},
		{`{"a":`, "no JSON object"},
		{`"x"`, "the body is a text"},
		{`{"decision":"allow","decision":"deny"}`, "decision"},
		{`{"Decision":"allow"}`, `no field "Decision"`},
		{`{"decision":null}`, "decision is null"},
		{`{"stop":"yes"}`, "stop is a text, and must be true or false"},
		{`{"decision":["allow"]}`, "decision is a list"},
		{"{\"decision\":\"\xff\"}", "no JSON"},
		{strings.Repeat("[", 100000), "no JSON"},
	} {
		err := decodeBody([]byte(tt.body), new(decisionRequest))
		e, ok := errors.AsType[*refusal](err)
		if !ok || e.out.Status != 400 || !strings.Contains(e.detail, tt.says) {
			t.Errorf("%.60s: %v, want %q", tt.body, err, tt.says)
		}
	}
	var p policyPatch
	if err := decodeBody([]byte(`{"patch":{"mode":"write","deny":["a",1]}}`), &p); err == nil || !strings.Contains(err.Error(), "patch.deny[1] is a number") {
		t.Errorf("%v", err)
	}
	if err := decodeBody([]byte(`{"patch":{"mode":"write","x":1}}`), &p); err == nil || !strings.Contains(err.Error(), `patch has no field "x"`) {
		t.Errorf("%v", err)
	}
	var d decisionRequest
	if err := decodeBody([]byte(`{"decision":"allow","input":{"a":[1,{"b":null}]}}`), &d); err != nil || string(d.Input) != `{"a":[1,{"b":null}]}` {
		t.Errorf("%s, %v", d.Input, err)
	}
}

// Whatever comes, a body is taken as it is meant or refused with a place.
func FuzzDecodeBody(f *testing.F) {
	for _, s := range []string{
		`{"decision":"allow"}`, `{}`, ``, `[]`, `{"decision":"allow","input":{}}`, `{"session_id":"a","environ":["A=b"],"start":true}`,
		`{"patch":{"mode":"write","allow":["a"],"default":"ask"}}`, `{"seq":1e3}`, `{"seq":1.5}`, "{\"title\":\"\xff\"}", `{"title":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{
			new(decisionRequest), new(runRequest), new(policyPatch), new(forkRequest), new(sessionPatch), new(tokenRequest), new(policyTest), new(givenInput), new(Rewind),
		} {
			err := decodeBody(b, v)
			if err == nil {
				if len(b) > 0 && !json.Valid(b) {
					t.Fatalf("%T took %q, which is no JSON", v, b)
				}
				continue
			}
			if e, ok := errors.AsType[*refusal](err); !ok || e.out.Status != 400 || e.detail == "" {
				t.Fatalf("%T: %v", v, err)
			}
		}
	})
}

// No query and no cursor makes anything fall over, and a cursor that is good is one
// that was made.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"limit=5", "limit=0", "cursor=AAAA", "q=%", "a=b", "limit=5&limit=6", "q=;", "limit=99999999999999999999"} {
		f.Add(s)
	}
	a := &api{o: &Options{}}
	rt := a.sessionRoutes()[0]
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/sessions", nil)
		r.URL.RawQuery = raw
		q, err := parseQuery(r, rt.query)
		if err != nil {
			if e, ok := errors.AsType[*refusal](err); !ok || e.out.Status != 400 {
				t.Fatal(err)
			}
			return
		}
		c := &call{r: r, route: &rt, query: q}
		if n := c.limit(defaultLimit); n < 1 || n > maxLimit {
			t.Fatalf("limit %d", n)
		}
		after, err := c.after()
		if err == nil && after != "" && c.cursor(after) != q["cursor"] {
			t.Fatalf("the cursor %q is good, and was not made here", q["cursor"])
		}
	})
}
