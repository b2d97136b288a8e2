package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/console"
)

var missingSession = doc{"status": 404, "code": "not_found", "detail": "there is no such session", "hint": "holdfast sessions list"}

func fixed(d any) func(*http.Request, doc) (int, any) {
	return func(*http.Request, doc) (int, any) { return 200, d }
}

func file(name string) func(*http.Request, doc) (int, any) {
	return func(*http.Request, doc) (int, any) {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			return 500, doc{"detail": err.Error()}
		}
		return 200, json.RawMessage(b)
	}
}

// page serves files, and index.html for every other path.
func (f *fake) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	b, err := fs.ReadFile(console.Files(), name)
	if err != nil {
		name = "index.html"
		b, _ = fs.ReadFile(console.Files(), name)
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(b)
}

func (f *fake) info(r *http.Request, _ doc) (int, any) {
	csrf := ""
	if r.Header.Get("X-Holdfast-Csrf") == "csrf-1" { // only returned to a caller that already has it
		csrf = "csrf-1"
	}
	return 200, doc{
		"version": "0.2.0", "api": "v1", "protocol": 1, "pid": 4711, "started_at": time.Now().Add(-3 * time.Hour).UTC(), "store": "sqlite:/home/ann/.holdfast/sessions.db",
		"capabilities": []string{}, "caller": doc{"name": "ann", "via": "cookie", "scopes": f.scopes, "csrf": csrf},
	}
}

func (f *fake) login(_ *http.Request, body doc) (int, any) {
	if body["code"] != "good" {
		return 401, doc{"status": 401, "code": "unauthenticated", "detail": "the code is not good"}
	}
	return 200, doc{"csrf": "csrf-1"}
}

func (f *fake) sessions(r *http.Request, _ doc) (int, any) {
	q := r.URL.Query()
	out := []doc{}
	for _, id := range slices.Backward(f.order) {
		m := f.meta[id]
		text := strings.ToLower(fmt.Sprint(m["id"], m["title"], m["first_prompt"], m["cwd"]))
		switch {
		case !strings.Contains(text, strings.ToLower(q.Get("q"))), q.Get("run") != "" && m["run"] != q.Get("run"),
			q.Get("cwd") != "" && m["cwd"] != q.Get("cwd"), q.Get("asked") != "" && m["questions"] == 0:
			continue
		}
		out = append(out, m)
	}
	from, limit := 0, number(r, "limit", 50)
	if c := q.Get("cursor"); c != "" {
		from, _ = strconv.Atoi(c)
	}
	page := doc{"items": out[min(from, len(out)):min(from+limit, len(out))]}
	if from+limit < len(out) {
		page["next_cursor"] = strconv.Itoa(from + limit)
	}
	return 200, page
}

func (f *fake) session(r *http.Request, _ doc) (int, any) {
	if m, ok := f.meta[r.PathValue("id")]; ok {
		return 200, m
	}
	return 404, missingSession
}

func (f *fake) rename(r *http.Request, body doc) (int, any) {
	m := f.meta[r.PathValue("id")]
	m["title"] = body["title"]
	return 200, m
}

func (f *fake) run(r *http.Request, _ doc) (int, any) {
	if run, ok := f.runs[r.PathValue("id")]; ok {
		return 200, run
	}
	return 404, doc{"status": 404, "code": "not_found", "detail": "there is no such run"}
}

func (f *fake) runAction(r *http.Request, body doc) (int, any) {
	id := r.PathValue("id")
	run := f.runs[id]
	switch r.PathValue("verb") {
	case "stop":
		run["status"] = "cancelled"
		f.append(id, "run.event", doc{"event": "cancelled", "status": "cancelled", "by": "ann", "via": "console"})
	case "steer":
		f.append(id, "run.event", doc{"event": "steered", "by": "ann", "via": "console", "text": body["text"]})
	case "mode":
		run["mode"] = body["mode"]
		f.append(id, "policy.changed", doc{"by": "ann", "version": 3, "mode": body["mode"]})
	case "continue":
		run["status"] = "running"
		f.append(id, "run.event", doc{"event": "started", "segment": 2, "status": "running", "by": "ann", "via": "console"})
	}
	return 200, run
}

func (f *fake) fork(r *http.Request, body doc) (int, any) {
	from := f.events[r.PathValue("id")]
	f.add("fork", doc{"title": body["title"], "parent": r.PathValue("id"), "parent_seq": 3, "cwd": "/src/calendar"}, from[:3])
	return 201, f.meta["fork"]
}

func (f *fake) listGrants(r *http.Request, _ doc) (int, any) {
	g := f.grants[r.PathValue("id")]
	if g == nil {
		g = []doc{}
	}
	return 200, doc{"items": g}
}

func (f *fake) revoke(r *http.Request, _ doc) (int, any) {
	f.grants[r.PathValue("id")] = nil
	return 204, nil
}

func (f *fake) audit(r *http.Request, _ doc) (int, any) {
	b, err := os.ReadFile("testdata/audit.jsonl")
	if err != nil {
		return 500, doc{"detail": err.Error()}
	}
	items := []doc{}
	for line := range bytes.SplitSeq(bytes.TrimSpace(b), []byte("\n")) {
		var e doc
		_ = json.Unmarshal(line, &e)
		if k := r.URL.Query().Get("kind"); k == "" || e["kind"] == k {
			items = append(items, e)
		}
	}
	return 200, doc{"items": items}
}

func (f *fake) approval(r *http.Request, _ doc) (int, any) {
	if q := f.request(r.PathValue("id")); q != nil {
		return 200, q
	}
	return 404, doc{"status": 404, "code": "not_found", "detail": "there is no such question"}
}

func (f *fake) decide(r *http.Request, body doc) (int, any) {
	q := f.request(r.PathValue("id"))
	switch {
	case f.decisionStatus != 0:
		return int(f.decisionStatus), doc{"status": f.decisionStatus, "code": "unavailable", "detail": "append session build: the store is unavailable"}
	case q == nil:
		return 404, doc{"status": 404, "code": "not_found", "detail": "there is no such question"}
	case body["digest"] != q["digest"]:
		return 409, doc{"status": 409, "code": "approval", "detail": "it is about something else"}
	case q["state"] != "pending":
		return 409, doc{"status": 409, "code": "approval", "detail": "it was answered already", "winner": q["answer"]}
	}
	delete(body, "digest")
	body["by"], body["via"] = "ann", "console"
	f.answer(q, body)
	if layer, ok := body["always"].(string); ok {
		q["kept"] = doc{"layer": layer, "file": "/home/ann/.holdfast/settings.json", "line": 4, "text": fmt.Sprint(body["scope"], " is allowed for you, in every project: /home/ann/.holdfast/settings.json:4")}
	}
	return 200, q
}

// approvals lists the open approval requests, or streams the list.
func (f *fake) approvals(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "event-stream") {
		f.mu.Lock()
		defer f.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc{"items": f.pending()})
		return
	}
	f.stream(w, r, func() (string, bool) {
		b, _ := json.Marshal(doc{"items": f.pending()})
		return "event: approvals\ndata: " + string(b) + "\n\n", true
	})
}

// stream writes the text from next, and again after each change.
func (f *fake) stream(w http.ResponseWriter, r *http.Request, next func() (string, bool)) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, "retry: 200\n\n")
	for {
		f.mu.Lock()
		text, on := next()
		changed := f.changed
		down := f.down
		f.mu.Unlock()
		if _, err := fmt.Fprint(w, text); err != nil || !on || down {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// log returns a page of a session's events, or streams them.
func (f *fake) log(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	after := number(r, "after", 0)
	if n, err := strconv.Atoi(r.Header.Get("Last-Event-ID")); err == nil {
		after = n
	}
	if strings.Contains(r.Header.Get("Accept"), "event-stream") {
		caught := false
		f.stream(w, r, func() (string, bool) {
			var b strings.Builder
			for _, e := range f.events[id][min(after, len(f.events[id])):] {
				data, _ := json.Marshal(e)
				fmt.Fprintf(&b, "id: %d\nevent: record\ndata: %s\n\n", e.Seq, data)
			}
			after = len(f.events[id])
			if !caught {
				fmt.Fprintf(&b, "event: caught_up\ndata: {\"seq\":%d}\n\n", after)
				caught = true
			}
			return b.String(), true
		})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.events[id]
	if after < 0 {
		after = max(0, len(list)+after)
	}
	after = min(after, len(list))
	to := min(after+number(r, "limit", 50), len(list))
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc{"items": list[after:to], "next_after": to, "head": len(list)})
}
