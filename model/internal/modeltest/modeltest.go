// Package modeltest tests an adapter with recorded conversations: what a server streams, and
// what the adapter must return.
//
//	testdata/stream/NAME.txtar ── stream ──► test server ──► adapter ──► deltas, answer, error
//	                           └─ deltas, answer, error ── compared with ────────┘
//
// Only the tests of the adapters use this package.
package modeltest

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

var update = flag.Bool("update", false, "write what the adapters say into testdata")

// Key is the API key that the tests send. No error may contain it.
const Key = "sk-made-up-0123456789-abcdef"

// Serve starts a server that gives every request the same response.
func Serve(t testing.TB, status int, header map[string]string, body string) string {
	t.Helper()
	return ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// ServeFunc starts a server and returns its address.
func ServeFunc(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// Streams tests every file of testdata/stream. Sections: "stream" (or "json" or "text", by content
// type) is what the server sends, "status" its status; "deltas", "answer" and "error" are the
// expected results. "go test -update" writes the last three.
func Streams(t *testing.T, open func(url string) model.Model) {
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s, err := readRecording(file)
			if err != nil {
				t.Fatal(err)
			}
			m := open(s.serve(t))
			var got result
			for e, err := range m.Stream(t.Context(), &model.Request{}) {
				got.add(e, err)
			}
			got.check(t, m)
			if *update {
				if err := os.WriteFile(file, s.with(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name, text := range got.sections() {
				if want := s.sections[name]; want != text {
					t.Errorf("%s:\n%s\nwant:\n%s", name, text, want)
				}
			}
		})
	}
}

// result is what a call yielded, as text.
type result struct {
	deltas, answer, failure string
	item                    transcript.Item
}

func (r *result) add(e model.Event, err error) {
	switch e := e.(type) {
	case model.TextDelta:
		r.deltas += "text " + strconv.Quote(e.Text) + "\n"
	case model.ThinkingDelta:
		r.deltas += "thinking " + strconv.Quote(e.Text) + "\n"
	case model.ToolInputDelta:
		r.deltas += fmt.Sprintf("input %s %s %q\n", e.Use, e.Tool, e.JSON)
	case model.Answer:
		r.item = e.Item
		r.answer = itemText(e.Item)
	}
	if err == nil {
		return
	}
	r.failure = err.Error() + "\n"
	if e := new(model.Error); errors.As(err, &e) && e.Partial != nil {
		r.failure += itemText(*e.Partial)
	}
}

func itemText(it transcript.Item) string {
	b, err := it.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(b), `,"native":`, ",\n\"native\":") + "\n"
}

func (r *result) sections() map[string]string {
	return map[string]string{"deltas": r.deltas, "answer": r.answer, "error": r.failure}
}

// check checks the requirements for every call. A call must have one end. The encoded form of its
// answer must be stable in the log and contain exactly the native form.
func (r *result) check(t *testing.T, m model.Model) {
	t.Helper()
	if (r.answer == "") == (r.failure == "") {
		t.Errorf("answer %q and error %q: want one of them", r.answer, r.failure)
	}
	if r.answer == "" {
		return
	}
	first, err := r.item.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var again transcript.Encoded
	if err := again.Parse(first.JSON); err != nil {
		t.Fatal(err)
	}
	decoded, err := again.Decode()
	if err != nil {
		t.Fatal(err)
	}
	wires := make([]string, 0, 3)
	for _, e := range []transcript.Encoded{first, again, decoded.MustEncode()} {
		w, err := m.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		wires = append(wires, string(w.JSON))
	}
	if wires[0] != wires[1] || wires[1] != wires[2] {
		t.Errorf("the wire form changed:\n%s", strings.Join(wires, "\n"))
	}
	if n := r.item.Native; n != nil && !strings.Contains(string(n.JSON), wires[0]) {
		t.Errorf("sent %s, native %s", wires[0], n.JSON)
	}
}
