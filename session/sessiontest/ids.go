package sessiontest

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// maxIDBytes is the longest id that session.CheckID allows.
const maxIDBytes = 128

func testIDs(e *env) {
	ids := []string{
		"sess", "sess2", "sess-2", "a_b", "axb", "a%b", "a*b", "a?b", "[ab]", "a'b", `a"b`, "a;b--c", "a b", "a.b", "ab.", "a:b", "a$b", "~a", "a#b", "a&b",
		"naïve", "naive", "日本", "🙂", "null", "CON", "lock", "log.jsonl", "meta", "tmp", strings.Repeat("x", maxIDBytes),
		strings.Repeat("é", maxIDBytes/2),
		"a", "a%", "a_", "a*", "*", "%", "_", "[", "?", "[a-z]", "{a,b}", "a%2Fb", "a+b", "a%20b", "a:records", "a:meta", "sess.jsonl",
		"nai\u0308ve", "straße", "strasse", "ａ", "sess=1", "sess@1", "0", "00", "1e3", "true", "undefined", "__proto__",
	}
	writers := map[string]*writer{}
	for i, id := range ids {
		if err := session.CheckID(id); err != nil {
			e.Fatalf("the kit's id is not valid: %v", err)
		}
		w := e.createAs(id, session.Opened{Project: id, CWD: id, Tag: id})
		e.append(w, w.items(1+i%3)...)
		writers[id] = w
	}
	for id, w := range writers {
		same(e, id, e.read(e.store, id, session.Range{}), w.all)
		if m := e.meta(e.store, id); m.ID != id {
			e.Fatalf("listing %q gives %q", id, m.ID)
		}
		for _, q := range []session.Query{{Project: id}, {CWD: id}, {Tag: id}} {
			p, err := e.store.List(e.ctx(), q)
			if err != nil || len(p.Sessions) != 1 || p.Sessions[0].ID != id {
				e.Fatalf("filter %+v matches %d sessions (%v), want the one", q, len(p.Sessions), err)
			}
		}
	}
	if d, ok := session.As[session.Deleter](e.store); ok {
		if err := d.Delete(e.ctx(), "a_b"); err != nil {
			e.Fatal(err)
		}
		delete(writers, "a_b")
		for id, w := range writers {
			same(e, id+" after deleting a_b", e.read(e.store, id, session.Range{}), w.all)
		}
	}
	p, err := e.store.List(e.ctx(), session.Query{})
	if err != nil || len(p.Sessions) != len(writers) {
		e.Fatalf("%d sessions listed (%v), want %d", len(p.Sessions), err, len(writers))
	}
}

// testIDPrefixes changes one of several sessions with similar ids in every possible way, and checks
// that the others stay unchanged.
func testIDPrefixes(e *env) {
	names := []string{"sess", "sess2", "sess.2", "sess-2", "sess_2", "sess%", "ses", "ses_", "s*", "s"}
	writers := map[string]*writer{}
	for _, id := range names {
		w := e.create(id)
		e.append(w, w.items(3)...)
		writers[id] = w
	}
	check := func(what string, but ...string) {
		e.Helper()
		for id, w := range writers {
			if !slices.Contains(but, id) {
				same(e, what+": "+id, e.read(e.store, id, session.Range{}), w.all)
				e.append(w, w.item("its lease holds"))
			}
		}
	}
	check("before")
	if er, ok := session.As[session.Eraser](e.store); ok {
		for _, id := range []string{"sess", "ses_", "s*"} {
			w := writers[id]
			if err := er.Erase(e.ctx(), id, w.epoch, []int64{2}); err != nil {
				e.Fatal(err)
			}
			w.all = erased(w.all, 2)
		}
		check("after erasing")
	}
	if l, ok := session.As[session.Leaser](e.store); ok {
		for _, id := range []string{"sess", "ses_", "s*"} {
			writers[id].epoch = e.acquire(e.store, id)
		}
		check("after takeovers")
		if err := l.Release(e.ctx(), "sess", session.Lease{Epoch: writers["sess"].epoch}); err != nil {
			e.Fatal(err)
		}
		check("after a release", "sess")
		writers["sess"].epoch = e.acquire(e.store, "sess")
	}
	if d, ok := session.As[session.Deleter](e.store); ok {
		for _, id := range []string{"ses_", "s*", "sess", "s"} {
			if err := d.Delete(e.ctx(), id); err != nil {
				e.Fatal(err)
			}
			delete(writers, id)
			check("after deleting " + id)
		}
	}
}

func testCase(e *env) {
	lower := e.create("case")
	w, r := opened("CASE", session.Opened{})
	err := e.store.Append(e.ctx(), "CASE", batch(0, r))
	if e.caps.FoldsCase {
		want(e, "an id that differs in case", err, session.ErrExists)
	} else if err != nil {
		e.Fatalf("an id that differs in case: %v", err)
	} else {
		same(e, "CASE", e.read(e.store, "CASE", session.Range{}), w.all)
	}
	same(e, "case", e.read(e.store, "case", session.Range{}), lower.all)
}
