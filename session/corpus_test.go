package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func decode[T any](t testing.TB, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Why a case is not run here.
const (
	convertOwns = "the format of the seed's transcript.json belongs to the issue that adds internal/session/convert"
	fileOwns    = "what lies on disk is checked by session/file and session/sqlite"
	agentOwns   = "needs a running agent: package agent"
	benchOwns   = "a figure in milliseconds; bench/ measures it"
)

// items makes n user items named 0 to n-1.
func items(n int) []transcript.Item {
	list := make([]transcript.Item, n)
	for i := range list {
		list[i] = text(fmt.Sprint(i), fmt.Sprint("message ", i))
	}
	return list
}

// saved returns sessions with one that holds n items.
func saved(t testing.TB, id string, n int) *session.Sessions {
	t.Helper()
	return savedIn(t, memory.New(), id, n)
}

// savedIn is saved in a store.
func savedIn(t testing.TB, store session.Store, id string, n int) *session.Sessions {
	t.Helper()
	s := session.New(store, nil)
	if err := s.Save(t.Context(), id, items(n), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func count(t testing.TB, s *session.Sessions, id string) int {
	t.Helper()
	return len(must(s.Load(t.Context(), id, nil))(t).Items)
}

func TestCorpusSessionID(t *testing.T) {
	cases := corpus.Area(t, "open-agent-sdk.json", "session_id")
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){"session_id": func(t *testing.T, c corpus.Case) {
		in := decode[struct {
			Op, SessionID string
		}](t, c.Input())
		err := session.CheckID(in.SessionID)
		if in.Op != "" {
			err = operate(t, in.Op, in.SessionID)
		}
		var want string
		if json.Unmarshal(c.Expect(), &want) != nil {
			e := asError(t, err)
			if msg := decode[struct{ Message string }](t, c.Expect()).Message; e.Detail != msg {
				t.Errorf("error says %q, want %q", e.Detail, msg)
			}
			want = "reject"
		}
		switch {
		case strings.HasPrefix(want, "accept"):
			if err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(want, "reject"):
			wantErr(t, err, session.ErrInvalidID)
		default:
			t.Fatalf("unknown expectation %s", c.Expect())
		}
	}}, nil)
}

// operate does an operation of the seed's SessionStore with an id.
func operate(t testing.TB, op, id string) error {
	s := saved(t, "source", 2)
	ctx := t.Context()
	var err error
	switch op {
	case "save":
		err = s.Save(ctx, id, nil, nil)
	case "load":
		_, err = s.Load(ctx, id, nil)
	case "delete":
		err = s.Delete(ctx, id)
	case "rename":
		err = s.Rename(ctx, id, "title")
	case "tag":
		err = s.Tag(ctx, id, "tag")
	case "fork", "fork.sourceSessionId", "fork.source":
		_, err = s.Fork(ctx, id, nil)
	case "fork.newSessionId":
		_, err = s.Fork(ctx, "source", &session.ForkOptions{ID: id})
	default:
		t.Fatalf("unknown operation %q", op)
	}
	return err
}

func TestCorpusSessionStore(t *testing.T) { onEveryStore(t, corpusSessionStore) }

func corpusSessionStore(t *testing.T, fresh opener) {
	page := func(t *testing.T, c corpus.Case) {
		set := decode[struct{ Messages int }](t, c.Settings())
		in := decode[session.LoadOptions](t, c.Input())
		want := decode[struct {
			Indexes      []int
			MessageCount int
		}](t, c.Expect())
		if in.Limit > 0 && in.Offset <= 0 { // the seed's words win: the last ones
			for i := range want.Indexes {
				want.Indexes[i] += set.Messages - len(want.Indexes)
			}
		}
		got := must(savedIn(t, fresh(t), "s", set.Messages).Load(t.Context(), "s", &in))(t)
		ids := itemIDs(got.Items)
		wanted := []string{}
		for _, i := range want.Indexes {
			wanted = append(wanted, fmt.Sprint(i))
		}
		if !slices.Equal(ids, wanted) || got.Meta.MessageCount != want.MessageCount {
			t.Errorf("loaded %v of %d, want %v of %d", ids, got.Meta.MessageCount, wanted, want.MessageCount)
		}
	}
	handled := map[string]func(*testing.T, corpus.Case){
		"session_store-012": corpus.Test(`{"input": {"op":["save 1 msg","save 2 msgs"]}, "expect": {"createdAt":"same","updatedAt":">","messageCount":2}}`, func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(fresh(t), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
			var metas []session.Meta
			for n := 1; n <= 2; n++ {
				if err := s.Save(t.Context(), "s", items(n), nil); err != nil {
					t.Fatal(err)
				}
				metas = append(metas, must(s.Get(t.Context(), "s"))(t))
			}
			if !metas[0].CreatedAt.Equal(metas[1].CreatedAt) || !metas[1].UpdatedAt.After(metas[0].UpdatedAt) || metas[1].MessageCount != 2 {
				t.Errorf("%+v", metas)
			}
		}),
		"session_store-014": corpus.Test(`{"input": {"op":["save","load"]}, "expect": {"id":"<id>","model":"gpt-4","cwd":"/Users/test","messageCount":2,"summary":"Swift discussion"}}`, func(t *testing.T, c corpus.Case) {
			want := decode[struct {
				Model, CWD, Summary string
				MessageCount        int
			}](t, c.Expect())
			s := session.New(fresh(t), nil)
			patch := &session.MetaPatch{Model: &want.Model, CWD: &want.CWD, Summary: &want.Summary}
			if err := s.Save(t.Context(), "s", items(2), patch); err != nil {
				t.Fatal(err)
			}
			m := must(s.Load(t.Context(), "s", nil))(t).Meta
			if m.ID != "s" || m.Model != want.Model || m.CWD != want.CWD || m.Summary != want.Summary || m.MessageCount != want.MessageCount {
				t.Errorf("%+v", m)
			}
		}),
		"session_store-043": corpus.Test(`{"input": {"op":"delete"}, "expect": {"returns":true,"dir_gone":true}}`, func(t *testing.T, c corpus.Case) {
			s := savedIn(t, fresh(t), "s", 2)
			if err := s.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Load(t.Context(), "s", nil)
			wantErr(t, err, session.ErrNotFound)
		}),
		"session_store-045": corpus.Test(`{"settings": {"perm":"read-only parent"}, "input": {"op":"delete"}, "expect": {"error":true}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(undeletable{memory.New()}, nil)
			newSession(t, s, "s", "a").Close()
			wantErr(t, s.Delete(t.Context(), "s"), session.ErrReadOnly)
			wantErr(t, s.Delete(t.Context(), "missing"), session.ErrNotFound)
		}),
		"session_store-051": corpus.Test(`{"input": {"ENOSPC":true}, "expect": {"previous":"intact","error":true}}`, func(t *testing.T, c corpus.Case) {
			store := &faulty{Store: memory.New()}
			s := session.New(store, nil)
			if err := s.Save(t.Context(), "s", items(2), nil); err != nil {
				t.Fatal(err)
			}
			store.before = session.ErrFull
			wantErr(t, s.Save(t.Context(), "s", items(3), nil), session.ErrFull)
			if n := count(t, s, "s"); n != 2 {
				t.Errorf("%d items are left of 2", n)
			}
		}),
	}
	named := map[string]string{
		"session_store-052": benchOwns, "session_store-054": benchOwns,
	}
	for _, c := range corpus.Area(t, "open-agent-sdk.json", "session_store") {
		switch {
		case handled[c.ID] != nil || named[c.ID] != "":
		case strings.HasPrefix(c.Name, "pagination"):
			handled[c.ID] = page
		case slices.Contains([]string{"session_store-002", "session_store-004", "session_store-046", "session_store-047"}, c.ID):
			named[c.ID] = fileOwns
		case slices.Contains([]string{
			"session_store-007", "session_store-008", "session_store-010", "session_store-011", "session_store-022",
			"session_store-023", "session_store-024", "session_store-026", "session_store-030",
		}, c.ID):
			named[c.ID] = convertOwns
		}
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_store"), handled, named)
}

// undeletable is a store on a medium that cannot be written.
type undeletable struct{ *memory.Store }

func (u undeletable) Delete(ctx ctxt, id string) error {
	return &session.Error{Op: "delete", Session: id, Err: session.ErrReadOnly}
}
