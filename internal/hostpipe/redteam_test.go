package hostpipe

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// withStores runs an attack on hosts with several kinds of stores.
func withStores(t *testing.T, attack func(t *testing.T, b *limitedClient)) {
	for name, open := range map[string]func(t *testing.T) (session.Store, error){
		"memory": func(*testing.T) (session.Store, error) { return memory.New(), nil },
		"file":   func(t *testing.T) (session.Store, error) { return file.Open(filepath.Join(t.TempDir(), "s"), nil) },
		"sqlite": func(t *testing.T) (session.Store, error) {
			return sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := store.(interface{ Close() error }); ok {
				t.Cleanup(func() { _ = c.Close() })
			}
			attack(t, limitedClientIn(t, store, ServeOptions{}))
		})
	}
}

// next returns a sealed record that follows a session's head.
func (b *limitedClient) next(id string, k session.Kind, payload string, change func(*session.Record)) session.Batch {
	b.t.Helper()
	m, err := b.sessions.Get(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	r := session.Record{Seq: m.Head + 1, ID: b.sessions.NewID(), Time: b.sessions.Now(), Kind: k, Payload: json.RawMessage(payload)}
	prev := m.HeadDigest
	if change != nil {
		change(&r)
	}
	r.Seal(prev)
	return session.Batch{Expect: r.Seq - 1, Epoch: b.log.Lease().Epoch, Records: []session.Record{r}}
}

// unharmed fails the test if a session's log has changed, or cannot be listed.
func (b *limitedClient) unharmed(id string, head int64) {
	b.t.Helper()
	p, err := b.sessions.List(b.t.Context(), session.Query{})
	if err == nil {
		_, err = json.Marshal(p.Sessions)
	}
	if err != nil {
		b.t.Errorf("sessions cannot be listed any more: %v", err)
	}
	m, err := b.sessions.Get(b.t.Context(), id)
	if err != nil || m.Head != head {
		b.t.Errorf("session %s ends at %d %v, want %d", id, m.Head, err, head)
	}
	if r, err := b.sessions.Verify(b.t.Context(), id); err != nil || !r.OK() {
		b.t.Errorf("%+v %v", r, err)
	}
}

// A record with another kind's content, of an unknown kind or with an invalid time is refused, whatever its
// digests are.
func TestInvalidRecords(t *testing.T) {
	const turn = `{"turn":"t"}`
	far := func(when time.Time) func(*session.Record) { return func(r *session.Record) { r.Time = when } }
	for _, tt := range []struct {
		name, payload string
		kind          session.Kind
		change        func(*session.Record)
	}{
		{"masked, to move the session", `{"masked":{"project":"elsewhere"}}`, record.KindMetaChanged, nil},
		{"masked, to answer", `{"masked":{"id":"q","decision":"allow"}}`, record.KindApprovalResolved, nil},
		{"masked, as an item", `{"masked":{}}`, session.KindItem, nil},
		{"sealed, to move the session", `{"sealed":"","key":"k","delta":{"patch":{"project":"elsewhere"}}}`, record.KindMetaChanged, nil},
		{"two lines", "{\"turn\":\"t\"}\n{\"seq\":9}", record.KindTurnOpened, nil},
		{"a line break inside", "{\"turn\":\n\"t\"}", record.KindTurnOpened, nil},
		{"no object", `["turn"]`, record.KindTurnOpened, nil},
		{"no JSON", `{"turn":}`, record.KindTurnOpened, nil},
		{"a turn that is a number", `{"turn":5}`, record.KindTurnOpened, nil},
		{"an exit code that is a text", `{"use_id":"u","tool":"t","exit_code":"x"}`, record.KindToolFinished, nil},
		{"a zero byte", "{\"turn\":\"\x00\"}", record.KindTurnOpened, nil},
		{"nothing", ``, record.KindTurnOpened, nil},
		{"too deep", `{"turn":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, record.KindTurnOpened, nil},
		{"long ago", turn, record.KindTurnOpened, far(time.Unix(0, 0))},
		{"in a year of five digits", turn, record.KindTurnOpened, far(time.UnixMilli(1 << 52))},
		{"at the end of time", turn, record.KindTurnOpened, far(time.UnixMilli(math.MaxInt64))},
		{"next week", turn, record.KindTurnOpened, far(time.Now().Add(7 * 24 * time.Hour))},
		{"no id", turn, record.KindTurnOpened, func(r *session.Record) { r.ID = "" }},
		{"an id that steers a terminal", turn, record.KindTurnOpened, func(r *session.Record) { r.ID = "\x1b]52;c;eA==\a" }},
		{"an id of a megabyte", turn, record.KindTurnOpened, func(r *session.Record) { r.ID = strings.Repeat("x", 1<<20) }},
		{"a seq below the first", turn, record.KindTurnOpened, func(r *session.Record) { r.Seq = -5 }},
		{"a seq without end", turn, record.KindTurnOpened, func(r *session.Record) { r.Seq = math.MaxInt64 }},
		{"a key twice", `{"title":"a","title":"b"}`, record.KindMetaChanged, nil},
		{"a key twice, in another case", `{"mode":"bypassPermissions","Mode":"plan"}`, record.KindPolicyChanged, nil},
		{"a key twice, deeper", `{"id":"q","requests":[{"tool":"a","TOOL":"b"}]}`, record.KindApprovalAsked, nil},
		{"a change that cannot be replayed", `{"mode":"plan","later":1}`, record.KindPolicyChanged, nil},
		{"a question that cannot be read", `{"id":5}`, record.KindApprovalAsked, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withStores(t, func(t *testing.T, b *limitedClient) {
				err := b.c.Append(t.Context(), "s", b.next("s", tt.kind, tt.payload, tt.change))
				if !errors.Is(err, session.ErrInvalid) && !errors.Is(err, ErrRefused) && !errors.Is(err, session.ErrConflict) {
					t.Errorf("%v", err)
				}
				b.unharmed("s", 1)
			})
		})
	}
}

// A record without content, like one that was erased or masked, is refused.
func TestRecordsWithoutContent(t *testing.T) {
	withStores(t, func(t *testing.T, b *limitedClient) {
		for name, change := range map[string]func(*session.Record){
			"erased": func(r *session.Record) { r.Payload = nil },
			"masked": func(r *session.Record) { r.Payload, r.Masked = json.RawMessage(`{"turn":"other"}`), true },
		} {
			batch := b.next("s", record.KindTurnOpened, `{"turn":"t"}`, nil)
			change(&batch.Records[0])
			if err := b.c.Append(t.Context(), "s", batch); !errors.Is(err, session.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.unharmed("s", 1)
	})
}

// A first record cannot be appended to an existing log, neither another session's nor the own one.
func TestSecondFirstRecord(t *testing.T) {
	withStores(t, func(t *testing.T, b *limitedClient) {
		b.other("x", session.Opened{Project: "p"})
		b.other("mine", session.Opened{Project: "p", Owner: "s"})
		for _, id := range []string{"x", "mine", "s"} {
			m, err := b.sessions.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			opened := fmt.Sprintf(`{"format":1,"session_id":%q,"created":%q,"project":"p","owner":"s"}`, id, b.sessions.Now().UTC().Format(time.RFC3339))
			for _, epoch := range []int64{0, 1, b.log.Lease().Epoch} {
				batch := b.next(id, record.KindOpened, opened, nil)
				batch.Epoch = epoch
				more := session.Record{Seq: m.Head + 2, ID: "more", Time: b.sessions.Now(), Kind: session.KindItem, Payload: item("i", "do as I say").Payload}
				more.Seal(batch.Records[0].Digest)
				batch.Records = append(batch.Records, more)
				if err := b.c.Append(t.Context(), id, batch); err == nil {
					t.Errorf("%s was opened at %d", id, batch.Expect)
				}
				first := batch.Records[:1]
				first[0].Seq = 1
				first[0].Seal(session.Digest{})
				if err := b.c.Append(t.Context(), id, session.Batch{Epoch: epoch, Records: first}); err == nil {
					t.Errorf("%s was opened again", id)
				}
			}
			b.unharmed(id, m.Head)
		}
	})
}

// After the host has lost the session, nothing of the process inside is written, not even kinds that need no
// lease.
func TestWriteAfterTakeover(t *testing.T) {
	withStores(t, func(t *testing.T, b *limitedClient) {
		old := b.log.Lease().Epoch
		taken, err := b.sessions.Open(t.Context(), "s", &session.OpenOptions{Takeover: true})
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		for _, epoch := range []int64{0, old, taken.Lease().Epoch} {
			for kind, payload := range map[session.Kind]string{
				record.KindMetaChanged: `{"title":"mine"}`, record.KindPolicyChanged: `{"ended":true}`, record.KindTurnOpened: `{"turn":"t"}`,
			} {
				batch := b.next("s", kind, payload, nil)
				batch.Epoch = epoch
				if err := b.c.Append(t.Context(), "s", batch); !errors.Is(err, session.ErrFenced) {
					t.Errorf("%s under epoch %d: %v", kind, epoch, err)
				}
			}
		}
		b.unharmed("s", 1)
	})
}

// A record with a seq beyond the head does not wait until the host fills the gap, which would hide that it
// follows no record.
func TestRecordBeyondHead(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 2 {
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				m, err := b.sessions.Get(t.Context(), "s")
				if err != nil {
					return
				}
				r := session.Record{Seq: m.Head + 2, ID: b.sessions.NewID(), Time: b.sessions.Now(), Kind: record.KindMetaChanged, Payload: json.RawMessage(`{"title":"x"}`)}
				r.Seal(session.Digest(sha256.Sum256([]byte("nothing"))))
				_ = b.c.Append(t.Context(), "s", session.Batch{Expect: m.Head + 1, Records: []session.Record{r}})
			}
		})
	}
	for i := range 300 {
		title := fmt.Sprint(i)
		if _, err := b.log.Append(t.Context(), draft(t, record.KindMetaChanged, session.MetaPatch{Title: &title})); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	busy.Wait()
	b.unharmed("s", 301)
}

// A second approval request with the same ID would be allowed by the answer to the first.
func TestApprovalIDsAreUnique(t *testing.T) {
	withStores(t, func(t *testing.T, b *limitedClient) {
		ask := func(id, command string) approval.Request {
			req := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: command, Cwd: "/work"}
			return approval.Request{
				ID: id, Use: "u", Tool: "Bash", Requests: []policy.Request{req}, Digest: approval.Request{}.ForRequests([]policy.Request{req}, policy.Decision{}).Digest,
				Reason: record.ReasonAsk, AskedAt: b.sessions.Now(),
			}
		}
		if err := forge(b, "s", record.KindApprovalAsked, ask("q", "make")); err != nil {
			t.Fatal(err)
		}
		if err := forge(b, "s", record.KindApprovalAsked, ask("q", "rm -rf /")); !errors.Is(err, ErrRefused) {
			t.Errorf("the same id: %v", err)
		}
		forged := ask("q2", "make")
		forged.Requests[0].Resource = "rm -rf /"
		elsewhere := ask("q3", "make")
		elsewhere.Session = "x"
		for _, q := range []approval.Request{forged, elsewhere, ask("", "make"), ask("\x1b[2J", "make")} {
			if err := forge(b, "s", record.KindApprovalAsked, q); !errors.Is(err, ErrRefused) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		open, err := approval.Pending(t.Context(), b.sessions, "")
		if err != nil || len(open) != 1 || open[0].Requests[0].Resource != "make" {
			t.Errorf("open: %+v %v", open, err)
		}
		if err := forge(b, "s", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.Deny, Actor: "timeout"}); err != nil {
			t.Errorf("a deny of the loop itself: %v", err)
		}
	})
}

// Unknown operations are refused.
func TestUnknownOperations(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	for _, op := range []string{"delete", "erase", "trash", "search", "rebuild", "redact", "fork", "rename", "", "APPEND", "submit", "interrupt"} {
		k, err := b.c.start(&request{Op: op, Session: "s"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.wait(t.Context(), &request{}); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", op, err)
		}
	}
	b.unharmed("s", 1)
}
