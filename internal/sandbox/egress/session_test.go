package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRefusalLimit(t *testing.T) {
	var s Session
	for i := range maxLogged + 1 {
		logs := s.note(&Refusal{Host: fmt.Sprint(i % (maxRefusals + 1)), Reason: "r"})
		if logs != (i < maxLogged) {
			t.Fatalf("refusal %d is logged: %v", i, logs)
		}
	}
	list := s.Refusals()
	total := s.More()
	for _, f := range list {
		total += f.Count
	}
	if len(list) != maxRefusals || list[0].Host != "0" || total != maxLogged+1 || s.More() == 0 {
		t.Errorf("%d refusals, %d more, %d in all", len(list), s.More(), total)
	}
	list[0].Count = 0
	if s.Refusals()[0].Count == 0 {
		t.Error("the caller's copy is the session's")
	}
}

func TestAsk(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	var calls atomic.Int32
	type question struct {
		host string
		port int
	}
	var asked sync.Map
	r := n.proxy(&Options{Ask: func(_ context.Context, host string, port int, _ string) (bool, error) {
		calls.Add(1)
		asked.Store(question{host, port}, true)
		if host == "error.test" {
			return true, errors.New("the terminal is gone")
		}
		return host == "allowed.test", nil
	}}, Layer{Ask: true, Allow: []string{"evil.test:22"}, Deny: []string{"denied.test"}})
	get := func(url string) int {
		resp, _ := r.connect(t).send("GET " + url + " HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		return resp.StatusCode
	}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			if code := get("http://allowed.test/"); code != 200 {
				t.Errorf("got %d", code)
			}
		})
	}
	work.Wait()
	if calls.Load() != 1 {
		t.Errorf("asked %d times", calls.Load())
	}
	for url, want := range map[string]string{
		"http://evil.test/":          "evil.test:80: no entry that names it is for port 80, and the user denied it",
		"http://error.test/":         "error.test:80: no entry names it, and the approval request failed: the terminal is gone",
		"http://denied.test/":        `denied.test:80: it is denied by "denied.test"`,
		"http://10.0.0.1/":           "10.0.0.1:80: no entry names this address",
		"http://localhost:8080/":     "localhost:8080: no entry names this machine",
		"http://169.254.169.254/x":   "169.254.169.254:80: no entry names this address",
		"http://2130706433:8080/x?y": "127.0.0.1:8080: no entry names this address",
	} {
		for range 2 {
			if code := get(url); code != 403 {
				t.Errorf("%s: got %d", url, code)
			}
		}
		if !slices.ContainsFunc(r.Refusals(), func(f Refusal) bool { return f.Target()+": "+f.Reason == want && f.Count == 2 }) {
			t.Errorf("%s: %+v", url, r.Refusals())
		}
	}
	if calls.Load() != 3 {
		t.Errorf("asked %d times", calls.Load())
	}
	if _, ok := asked.Load(question{"allowed.test", 80}); !ok {
		t.Error("host and port were not passed")
	}
	if got := r.Allowed(); !slices.Equal(got, []string{"allowed.test:80"}) {
		t.Errorf("allowed %v", got)
	}
}

func TestAskWithoutAnswer(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	waiting := make(chan bool, 1)
	ask := func(ctx context.Context, _ string, _ int, _ string) (bool, error) {
		waiting <- true
		<-ctx.Done()
		return true, nil
	}
	r := n.proxy(&Options{Ask: ask, Limits: Limits{AskTime: time.Millisecond}}, Layer{Ask: true})
	resp, body := r.connect(t).send("CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n").answer("CONNECT")
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "no one answered") {
		t.Errorf("got %s %q", resp.Status, body)
	}
	<-waiting
	r = n.proxy(&Options{Ask: ask}, Layer{Ask: true})
	r.connect(t).send("CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n")
	<-waiting
	r.stop() // the command ended; Serve must not wait for the approver
	if len(r.Allowed()) != 0 {
		t.Error("it was allowed")
	}
	r = n.proxy(nil, Layer{Ask: true})
	_, body = r.connect(t).send("CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n").answer("CONNECT")
	if !strings.Contains(body, "no one can answer") {
		t.Errorf("got %q", body)
	}
}

func TestAskLimit(t *testing.T) {
	var s Session
	ask := func(target string) (bool, string) {
		return s.ask(t.Context(), target, func(f func()) { go f() }, func() (bool, string) { return true, "" })
	}
	for i := range maxAsks {
		if ok, why := ask(fmt.Sprint(i)); !ok {
			t.Fatal(why)
		}
	}
	if ok, why := ask("more"); ok || why != "there were too many approval requests for hosts" {
		t.Errorf("got %v, %s", ok, why)
	}
	if ok, _ := ask("0"); !ok {
		t.Error("an old answer was forgotten")
	}
}

// Names under a wildcard can carry data to the owner of the domain: their number is limited.
func TestNamesUnderWildcard(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	for i := range 4 {
		n.name(fmt.Sprintf("secret%d.wild.test", i), allowedIP)
	}
	n.name("listed.wild.test", allowedIP)
	r := n.proxy(&Options{Limits: Limits{NamesPerMinute: 3}}, allow("*.wild.test", "listed.wild.test"))
	code := func(host string) int {
		resp, _ := r.connect(t).send("GET http://" + host + "/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		return resp.StatusCode
	}
	for i, want := range []int{200, 200, 200, 403} {
		if got := code(fmt.Sprintf("secret%d.wild.test", i)); got != want {
			t.Errorf("name %d: %d", i, got)
		}
	}
	if code("secret0.wild.test") != 200 || code("listed.wild.test") != 200 {
		t.Error("a name that is known was refused")
	}
	if got := r.reason(); got != `secret3.wild.test:80: more than 3 different names under "*.wild.test" in a minute` {
		t.Error(got)
	}
	if lookups, _ := n.seen(); slices.Contains(lookups, "secret3.wild.test") {
		t.Error("the name was looked up")
	}
	if !strings.Contains(r.log.String(), `"host":"secret2.wild.test","entry":"*.wild.test"`) {
		t.Errorf("logged %s", r.log)
	}
}

func TestWildcardNamesExpire(t *testing.T) {
	n := wildcardNames{limit: 1}
	now := time.Unix(1, 0)
	for _, tt := range []struct {
		name      string
		after     time.Duration
		fresh, ok bool
	}{{"a", 0, true, true}, {"b", 1, false, false}, {"a", 2, false, true}, {"b", time.Minute, true, true}, {"a", time.Minute, false, false}} {
		if fresh, ok := n.note(tt.name, now.Add(tt.after)); fresh != tt.fresh || ok != tt.ok {
			t.Errorf("%s after %v: %v, %v", tt.name, tt.after, fresh, ok)
		}
	}
}

// Connections beyond the limit wait until one ends.
func TestConnectionLimit(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(&Options{Limits: Limits{Connections: 1}}, allow("allowed.test"))
	const request = "GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n"
	first := r.connect(t)
	first.send(request).answer("GET")
	second := r.connect(t).send(request)
	second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := second.r.Peek(1); err == nil {
		t.Error("the second was answered")
	}
	second.SetReadDeadline(time.Now().Add(20 * time.Second))
	first.Close()
	if resp, _ := second.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Errorf("got %s", resp.Status)
	}
}

// When the command has ended, no connection and no goroutine is left.
func TestServeEndsAll(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	idle, half := r.connect(t), r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\n")
	open := r.tunnel(t, "allowed.test:443")
	kept := r.connect(t)
	kept.send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
	r.stop()
	for i, p := range []*peer{idle, half, open, kept} {
		if rest := p.rest(); rest != "" {
			t.Errorf("connection %d got %q", i, rest)
		}
	}
}
