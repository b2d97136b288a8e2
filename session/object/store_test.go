package object_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// newURL is a place of the test's own on the server.
func newURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("HOLDFAST_TEST_S3")
	if server == "" {
		testneed.Need(t, "HOLDFAST_TEST_S3 is empty; this makes it run: eval \"$(scripts/services start s3)\"")
	}
	before, query, _ := strings.Cut(server, "?")
	url := before + "/" + strings.ToLower(rand.Text()) + "?" + query
	t.Cleanup(func() { emptyPrefix(t, url) })
	return url
}

func open(t testing.TB, url string, o *object.Options) *object.Store {
	t.Helper()
	s, err := object.Open(t.Context(), url, o)
	if err != nil {
		t.Fatalf("open: %v (hint: %s)", err, session.Hint(err))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	for name, slots := range map[string]int{"folded at once": 2, "as it is": 0} {
		t.Run(name, func(t *testing.T) {
			if slots > 0 && testing.Short() {
				t.Skip("a minute: make test-all tries folding, too")
			}
			urls := map[session.Store]string{}
			o := &object.Options{FoldSlots: slots}
			sessiontest.Run(t, func(t testing.TB) session.Store {
				url := newURL(t)
				s := open(t, url, o)
				urls[s] = url
				return s
			}, sessiontest.Capabilities{Reopen: func(t testing.TB, s session.Store) session.Store {
				return open(t, urls[s], o)
			}, Slow: true, Corrupt: corrupt})
		})
	}
}

var ctx = context.Background()

// corrupt changes a character of a record, wherever it lies.
func corrupt(t testing.TB, store session.Store, id string, seq int64) {
	s := store.(*object.Store)
	s.Settle() // a fold under way would write what it read before
	root, err := s.Get("sessions/" + object.NameOf(id))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Log string }
	if err := json.Unmarshal(root, &r); err != nil {
		t.Fatal(err)
	}
	keys, err := s.Keys()
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Appendf(nil, "{\"seq\":%d,\"id\"", seq)
	for key := range keys {
		if !strings.HasPrefix(key, "log/"+r.Log+"/") && !strings.HasPrefix(key, "seg/"+r.Log+"/") {
			continue
		}
		b, err := s.Get(key)
		if err != nil {
			continue // folded meanwhile
		}
		if at := bytes.Index(b, mark); at >= 0 {
			end := at + bytes.IndexByte(b[at:], '\n')
			b[end-int(seq)*3] ^= 1 // a place of its own for each
			if err := s.Put(key, b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// emptyPrefix removes what a test left behind.
func emptyPrefix(t testing.TB, url string) {
	s, err := object.Open(ctx, url, nil)
	if err != nil {
		return // the test made something else of it
	}
	if err := s.EmptyBucket(); err != nil {
		t.Errorf("removing what the test left: %v", err)
	}
	s.Close()
}
