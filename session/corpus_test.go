package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

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
	convertOwns = "the format of the seed's transcript.json belongs to the issue that adds session/convert"
	fileOwns    = "what lies on disk is checked by session/file and session/sqlite"
	agentOwns   = "needs a running agent: package agent"
	benchOwns   = "a figure in milliseconds; bench/ measures it"
	daemonOwns  = "needs the daemon, which a later issue adds"
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
	s := session.New(memory.New(), nil)
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
		}](t, c.Input)
		err := session.CheckID(in.SessionID)
		if in.Op != "" {
			err = operate(t, in.Op, in.SessionID)
		}
		var want string
		if json.Unmarshal(c.Expect, &want) != nil {
			e := asError(t, err)
			if msg := decode[struct{ Message string }](t, c.Expect).Message; e.Detail != msg {
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
			t.Fatalf("unknown expectation %s", c.Expect)
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

func TestCorpusSessionStore(t *testing.T) {
	page := func(t *testing.T, c corpus.Case) {
		set := decode[struct{ Messages int }](t, c.Settings)
		in := decode[session.LoadOptions](t, c.Input)
		want := decode[struct {
			Indexes      []int
			MessageCount int
		}](t, c.Expect)
		if in.Limit > 0 && in.Offset <= 0 { // the seed's words win: the last ones
			for i := range want.Indexes {
				want.Indexes[i] += set.Messages - len(want.Indexes)
			}
		}
		got := must(saved(t, "s", set.Messages).Load(t.Context(), "s", &in))(t)
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
		"session_store-012": func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(memory.New(), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
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
		},
		"session_store-014": func(t *testing.T, c corpus.Case) {
			want := decode[struct {
				Model, CWD, Summary string
				MessageCount        int
			}](t, c.Expect)
			s := session.New(memory.New(), nil)
			patch := &session.MetaPatch{Model: &want.Model, CWD: &want.CWD, Summary: &want.Summary}
			if err := s.Save(t.Context(), "s", items(2), patch); err != nil {
				t.Fatal(err)
			}
			m := must(s.Load(t.Context(), "s", nil))(t).Meta
			if m.ID != "s" || m.Model != want.Model || m.CWD != want.CWD || m.Summary != want.Summary || m.MessageCount != want.MessageCount {
				t.Errorf("%+v", m)
			}
		},
		"session_store-043": func(t *testing.T, c corpus.Case) {
			s := saved(t, "s", 2)
			if err := s.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Load(t.Context(), "s", nil)
			wantErr(t, err, session.ErrNotFound)
		},
		"session_store-045": func(t *testing.T, c corpus.Case) {
			s := session.New(undeletable{memory.New()}, nil)
			newSession(t, s, "s", "a").Close()
			wantErr(t, s.Delete(t.Context(), "s"), session.ErrReadOnly)
			wantErr(t, s.Delete(t.Context(), "missing"), session.ErrNotFound)
		},
		"session_store-051": func(t *testing.T, c corpus.Case) {
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
		},
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
		case slices.Contains([]string{"session_store-007", "session_store-008", "session_store-010", "session_store-011", "session_store-022",
			"session_store-023", "session_store-024", "session_store-026", "session_store-030"}, c.ID):
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

func TestCorpusSessionList(t *testing.T) {
	type settings struct {
		Saved json.RawMessage
		Tag   string
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_list"), map[string]func(*testing.T, corpus.Case){
		"session_list": func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(memory.New(), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
			set := decode[settings](t, c.Settings)
			var ids []string
			var n int
			if json.Unmarshal(set.Saved, &n) == nil {
				for i := range n {
					ids = append(ids, fmt.Sprint("s", i))
				}
			} else {
				_ = json.Unmarshal(set.Saved, &ids)
			}
			if c.ID == "session_list-009" { // which is newest is not said: b is first, as the expectation lists it last
				slices.Reverse(ids)
			}
			if set.Tag != "" {
				ids = []string{"s"}
			}
			for _, id := range ids {
				if err := s.Save(t.Context(), id, items(1), &session.MetaPatch{Tag: &set.Tag}); err != nil {
					t.Fatal(err)
				}
			}
			in := decode[struct {
				Limit            int
				IncludeWorktrees bool
			}](t, c.Input)
			p := must(s.List(t.Context(), session.Query{Limit: in.Limit, Worktrees: in.IncludeWorktrees}))(t)
			var got []string
			for _, m := range p.Sessions {
				got = append(got, m.ID)
			}
			var list []string
			if json.Unmarshal(c.Expect, &list) == nil {
				if !slices.Equal(got, list) {
					t.Errorf("list %v, want %v", got, list)
				}
				return
			}
			want := decode[struct {
				Count int
				Tag   string
			}](t, c.Expect)
			if want.Count > 0 && len(got) != want.Count {
				t.Errorf("%d sessions, want %d", len(got), want.Count)
			}
			if want.Tag != "" && p.Sessions[0].Tag != want.Tag {
				t.Errorf("tag %q", p.Sessions[0].Tag)
			}
			if want.Count == 0 && want.Tag == "" {
				t.Fatalf("unknown expectation %s", c.Expect)
			}
		},
	}, map[string]string{"session_list-012": fileOwns})
}

func TestCorpusSessionRenameTag(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_rename_tag"), map[string]func(*testing.T, corpus.Case){
		"session_rename_tag": func(t *testing.T, c corpus.Case) {
			set := decode[session.MetaPatch](t, c.Settings)
			in := decode[struct {
				Op, ID string
				Tag    *string
				Title  *string
			}](t, c.Input)
			s := session.New(memory.New(), nil)
			if err := s.Save(t.Context(), "s", items(2), &set); err != nil {
				t.Fatal(err)
			}
			before := must(s.Get(t.Context(), "s"))(t)
			id := in.ID
			if id == "" {
				id = "s"
			}
			var err error
			wanted := before
			switch in.Op {
			case "rename":
				title := "New title"
				if in.Title != nil {
					title = *in.Title
				}
				err = s.Rename(t.Context(), id, title)
				wanted.Title = title
			case "tag":
				tag := ""
				if in.Tag != nil {
					tag = *in.Tag
				}
				err = s.Tag(t.Context(), id, tag)
				wanted.Tag = tag
			default:
				t.Fatalf("unknown operation %q", in.Op)
			}
			if err != nil {
				t.Fatal(err)
			}
			if id != "s" {
				wanted = before
			}
			got := must(s.Get(t.Context(), "s"))(t)
			wanted.UpdatedAt, wanted.Head, wanted.HeadDigest, wanted.Size = got.UpdatedAt, got.Head, got.HeadDigest, got.Size
			if got != wanted {
				t.Errorf("meta is\n%+v, want\n%+v", got, wanted)
			}
			if want, ok := decode[map[string]any](t, c.Expect)["tag"].(string); ok && got.Tag != want {
				t.Errorf("tag %q, want %q", got.Tag, want)
			}
		},
		"session_rename_tag-012": func(t *testing.T, c corpus.Case) {
			root := realTemp(t)
			tree(t, root, map[string]string{".git/HEAD": "ref: refs/heads/topic\n", ".git/objects/": ""})
			id, branch := project(t, root)
			s := session.New(memory.New(), nil)
			r := restore(t, s, session.RestoreOptions{Opened: session.Opened{Project: id, GitBranch: branch}})
			if m := r.Log.Meta(); m.GitBranch != "topic" || m.Project != id {
				t.Errorf("%+v", m)
			}
		},
	}, nil)
}

func TestCorpusSessionFork(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_fork"), map[string]func(*testing.T, corpus.Case){
		"session_fork": forkCase,
		"session_fork-009": func(t *testing.T, c corpus.Case) {
			if _, err := uuid.Parse(must(saved(t, "s", 1).Fork(t.Context(), "s", nil))(t)); err != nil {
				t.Error(err)
			}
		},
		"session_fork-011": func(t *testing.T, c corpus.Case) {
			_, err := session.New(memory.New(), nil).Fork(t.Context(), "nonexistent-session-id", nil)
			wantErr(t, err, session.ErrNotFound) // the original's nil
		},
		"session_fork-012": func(t *testing.T, c corpus.Case) {
			set := decode[struct {
				Messages   int
				CWD, Model string
			}](t, c.Settings)
			s := session.New(memory.New(), nil)
			if err := s.Save(t.Context(), "src", items(set.Messages), &session.MetaPatch{CWD: &set.CWD, Model: &set.Model}); err != nil {
				t.Fatal(err)
			}
			m := must(s.Get(t.Context(), must(s.Fork(t.Context(), "src", nil))(t)))(t)
			want := decode[struct {
				Summary, CWD, Model string
				MessageCount        int
			}](t, c.Expect)
			if m.Summary != strings.ReplaceAll(want.Summary, "<src>", "src") || m.MessageCount != want.MessageCount || m.CWD != want.CWD || m.Model != want.Model {
				t.Errorf("%+v", m)
			}
		},
		"session_fork-015": forksAtOnce,
		"session_fork-016": forksAtOnce,
		"session_fork-018": func(t *testing.T, c corpus.Case) {
			s := saved(t, "a", 2)
			if err := s.Save(t.Context(), "b", items(1), nil); err != nil {
				t.Fatal(err)
			}
			_, err := s.Fork(t.Context(), "a", &session.ForkOptions{ID: "b"})
			wantErr(t, err, session.ErrExists)
			if n := count(t, s, "b"); n != 1 {
				t.Errorf("b has %d items", n)
			}
		},
	}, map[string]string{"session_fork-014": benchOwns})
}

// forkCase forks at an index, which may be out of range.
func forkCase(t *testing.T, c corpus.Case) {
	n := decode[struct{ Messages int }](t, c.Settings).Messages
	in := decode[struct{ UpToMessageIndex *int }](t, c.Input)
	s := saved(t, "s", n)
	id, err := s.Fork(t.Context(), "s", &session.ForkOptions{UpTo: in.UpToMessageIndex})
	want := decode[struct {
		Error, Message string
		Messages       *int
		MessageCount   *int
	}](t, c.Expect)
	if want.Error != "" {
		wantErr(t, err, session.ErrInvalid)
		if e := asError(t, err); want.Message != "" && e.Detail != want.Message {
			t.Errorf("error says %q, want %q", e.Detail, want.Message)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*int{want.Messages, want.MessageCount} {
		if w != nil && count(t, s, id) != *w {
			t.Errorf("%d items, want %d", count(t, s, id), *w)
		}
	}
}

func forksAtOnce(t *testing.T, c corpus.Case) {
	n := decode[struct{ Parallel int }](t, c.Input).Parallel
	s := saved(t, "s0", 5)
	same := c.ID == "session_fork-015"
	for i := 1; i < n; i++ {
		if err := s.Save(t.Context(), fmt.Sprint("s", i), items(5), nil); err != nil {
			t.Fatal(err)
		}
	}
	errs := make(chan error, n)
	for i := range n {
		src := fmt.Sprint("s", i)
		if same {
			src = "s0"
		}
		go func() { _, err := s.Fork(t.Context(), src, nil); errs <- err }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	if all != nil {
		t.Fatal(all)
	}
	for i := range n {
		if got := count(t, s, fmt.Sprint("s", i)); got != 5 {
			t.Errorf("source %d has %d items", i, got)
		}
	}
	if p := must(s.List(t.Context(), session.Query{}))(t); len(p.Sessions) != 2*n {
		t.Errorf("%d sessions, want %d", len(p.Sessions), 2*n)
	}
}

func TestCorpusSessionRestore(t *testing.T) {
	named := map[string]string{}
	for _, id := range strings.Fields("003 005 010 020 025 026 031 034 035 036 037 038") {
		named["session_restore-"+id] = agentOwns
	}
	two := func(t *testing.T) *session.Sessions { return saved(t, "s", 2) }
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_restore"), map[string]func(*testing.T, corpus.Case){
		"session_restore-002": func(t *testing.T, c corpus.Case) {
			r := restore(t, two(t), session.RestoreOptions{SessionID: "nope"})
			if !r.Created || r.Log.ID() != "nope" || len(r.State.Items) != 0 {
				t.Errorf("%+v", r)
			}
		},
		"session_restore-006": func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(memory.New(), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
			newSession(t, s, "A", "a").Close()
			newSession(t, s, "B", "b").Close()
			if r := restore(t, s, session.RestoreOptions{ContinueRecent: true}); r.Log.ID() != "B" {
				t.Errorf("restored %s", r.Log.ID())
			}
		},
		"session_restore-009": func(t *testing.T, c corpus.Case) {
			if r := restore(t, saved(t, "A", 1), session.RestoreOptions{SessionID: "", ContinueRecent: true}); r.Log.ID() != "A" {
				t.Errorf("restored %s", r.Log.ID())
			}
		},
		"session_restore-011": func(t *testing.T, c corpus.Case) {
			s := two(t)
			r := restore(t, s, session.RestoreOptions{SessionID: "s", Fork: true})
			must(r.Log.Append(t.Context(), userDraft("more", "more")))(t)
			if n, m := count(t, s, "s"), count(t, s, r.Log.ID()); n != 2 || m != 3 {
				t.Errorf("source has %d items, fork %d", n, m)
			}
		},
		"session_restore-014": func(t *testing.T, c corpus.Case) {
			s := session.New(memory.New(), nil)
			newSession(t, s, "s", "uuid-1", "uuid-2", "target", "m4", "m5").Close()
			r := restore(t, s, session.RestoreOptions{SessionID: "s", At: "target"})
			wantIDs(t, itemIDs(r.State.Items), "uuid-1", "uuid-2", "target") // and the new prompt makes four
		},
		"session_restore-019": func(t *testing.T, c corpus.Case) {
			s := saved(t, "recent", 2)
			r := restore(t, s, session.RestoreOptions{ContinueRecent: true, Fork: true})
			if r.Forked != "recent" || count(t, s, "recent") != 2 || len(must(s.List(t.Context(), session.Query{}))(t).Sessions) != 2 {
				t.Errorf("%+v", r)
			}
		},
		"session_restore-030": func(t *testing.T, c corpus.Case) {
			s := session.New(memory.New(), nil)
			crash(t, s, userDraft("u", "u"), useDraft("x", "c1"), resultDraft("r", "c1"))
			r := restore(t, s, session.RestoreOptions{SessionID: "s", At: "x"})
			if err := transcript.Validate(r.State.Items); err != nil {
				t.Error(err)
			}
		},
		"session_restore-039": func(t *testing.T, c corpus.Case) {
			s := session.New(memory.New(), nil)
			if err := s.Save(t.Context(), "s", items(1), &session.MetaPatch{CWD: ptr("/other")}); err != nil {
				t.Fatal(err)
			}
			if r := restore(t, s, session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: "/here"}}); len(r.Notices) != 1 {
				t.Errorf("notices %q", r.Notices)
			}
		},
	}, named)
}

func TestCorpusOtherSystems(t *testing.T) {
	roles := map[string]transcript.Role{}
	for _, r := range []transcript.Role{"system", "developer", "user", "assistant", "tool", "context", "notification"} {
		roles[string(r)] = r
	}
	handled := map[string]func(*testing.T, corpus.Case){
		"dispatch": func(t *testing.T, c corpus.Case) {
			kind := decode[struct {
				Last string `json:"last_item_kind"`
			}](t, c.Given).Last
			role, ok := roles[kind]
			if !ok {
				t.Fatalf("unknown kind %q", kind)
			}
			if want := decode[struct{ Dispatch bool }](t, c.Expect).Dispatch; role.Dispatchable() != want {
				t.Errorf("dispatch is %v", !want)
			}
		},
		"transcript-invariants": func(t *testing.T, c corpus.Case) {
			var list []transcript.Encoded
			for _, line := range decode[struct{ Transcript []string }](t, c.Given).Transcript {
				f := strings.Fields(line)
				switch {
				case f[0] == "assistant":
					it := transcript.Item{Role: transcript.RoleAssistant}
					for _, use := range f[2:] {
						it.Parts = append(it.Parts, transcript.ToolUse{ID: strings.Trim(use, ","), Name: "x"})
					}
					list = append(list, transcript.MustEncode(it))
				case f[0] == "tool":
					list = append(list, transcript.MustEncode(transcript.ResultItem(transcript.ToolResult{UseID: f[len(f)-1]})))
				default:
					list = append(list, transcript.MustEncode(transcript.Item{Role: roles[f[0]], Parts: []transcript.Part{transcript.Text{Text: line}}}))
				}
			}
			err := transcript.Validate(list)
			want := decode[struct{ Result string }](t, c.Expect).Result
			if want == "valid" {
				if err != nil {
					t.Error(err)
				}
			} else if text, _ := strings.CutPrefix(want, "invalid: "); err == nil || !strings.HasPrefix(err.Error(), text) {
				t.Errorf("got %v, want %s", err, want)
			}
		},
		"ak-persist-010": func(t *testing.T, c corpus.Case) {
			store := memory.New() // two processes are two Sessions
			s := session.New(store, nil)
			newSession(t, s, "s", "a")
			_, err := session.New(store, nil).Open(t.Context(), "s", nil)
			wantErr(t, err, session.ErrBusy)
			thief := must(session.New(store, nil).Open(t.Context(), "s", &session.OpenOptions{Takeover: true}))(t)
			defer thief.Close()
		},
		"ak-persist-013": func(t *testing.T, c corpus.Case) {
			s := session.New(memory.New(), nil)
			crash(t, s, userDraft("u", "u"), useDraft("a", "c1"), draft(t, session.KindToolStarted, session.ToolStarted{Use: "c1", Tool: "Bash"}))
			r := restore(t, s, session.RestoreOptions{SessionID: "s"})
			last := r.State.Items[len(r.State.Items)-1]
			if got := last.ResultIDs(); len(got) != 1 || got[0] != "c1" || !strings.Contains(string(last.JSON), "outcome unknown") {
				t.Errorf("%s", last.JSON)
			}
			wantIDs(t, loaded(t, s, "s"), itemIDs(r.State.Items)...) // durable before Restore returned
		},
		"ak-persist-019": func(t *testing.T, c corpus.Case) {
			it := transcript.Item{ID: "i", Role: transcript.RoleUser, Parts: []transcript.Part{
				transcript.Media{MIME: "image/png", Data: []byte{0, 1, 255}}, transcript.File{URI: "https://example.com/ü"},
				transcript.Text{Text: ""}, transcript.Text{Text: "日本 🙂 \u2028"},
				transcript.Structured{Value: []byte(`{"a":1,"b":1.0,"c":"1e400","n":[9007199254740993]}`)},
				transcript.Custom{Kind: "handle", Value: []byte(`{"handle":"h-1"}`)},
			}}
			e := transcript.MustEncode(it)
			s := session.New(memory.New(), nil)
			l := newSession(t, s, "s")
			must(l.Append(t.Context(), session.ItemDraft(e, false, nil)))(t)
			if got := must(s.Load(t.Context(), "s", nil))(t).Items[0]; string(got.JSON) != string(e.JSON) {
				t.Errorf("loaded %s, stored %s", got.JSON, e.JSON)
			}
			if again := transcript.MustEncode(must(e.Decode())(t)); string(again.JSON) != string(e.JSON) {
				t.Errorf("encoded again %s, first %s", again.JSON, e.JSON)
			}
		},
		"xx-008": func(t *testing.T, c corpus.Case) {
			s := session.New(memory.New(), nil)
			longSession(t, s, "s", 30)
			collect := func(after int64) (recs []string) {
				for r, err := range s.Records(t.Context(), "s", session.Range{After: after}) {
					if err != nil {
						t.Fatal(err)
					}
					recs = append(recs, fmt.Sprintf("%d %s %s", r.Seq, r.Digest, r.Payload))
				}
				return recs
			}
			if all := collect(0); !slices.Equal(collect(17), all[17:]) {
				t.Error("reading after 17 gives other records than reading all")
			}
		},
		"xx-016": func(t *testing.T, c corpus.Case) {
			s := saved(t, "s", 10)
			f := must(s.Fork(t.Context(), "s", &session.ForkOptions{UpTo: ptr(5)}))(t)
			for i, id := range []string{"s", f} {
				l := must(s.Open(t.Context(), id, nil))(t)
				must(l.Append(t.Context(), userDraft(fmt.Sprint("own ", i), "x")))(t)
				l.Close()
			}
			wantIDs(t, loaded(t, s, "s"), "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "own 0")
			wantIDs(t, loaded(t, s, f), "0", "1", "2", "3", "4", "5", "own 1")
		},
	}
	named := map[string]string{
		"ak-persist-001": agentOwns, "ak-persist-002": agentOwns, "ak-persist-005": agentOwns, "ak-persist-007": agentOwns,
		"ak-persist-008": agentOwns, "ak-persist-015": agentOwns, "ak-persist-017": agentOwns,
		"xx-001": "kills real processes: internal/crashtest", "xx-002": fileOwns, "xx-010": daemonOwns,
	}
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "persistence", "transcript-invariants", "dispatch", "fork", "recovery", "concurrency", "replay"), handled, named)
}
