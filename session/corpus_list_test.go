package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/holdfast-dev/holdfast/internal/project"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/session"
)

func TestCorpusSessionList(t *testing.T) { onEveryStore(t, corpusSessionList) }

func corpusSessionList(t *testing.T, fresh opener) {
	type settings struct {
		Saved json.RawMessage
		Tag   string
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_list"), map[string]func(*testing.T, corpus.Case){
		"session_list": func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(fresh(t), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
			set := decode[settings](t, c.Settings())
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
			}](t, c.Input())
			p := must(s.List(t.Context(), session.Query{Limit: in.Limit, Worktrees: in.IncludeWorktrees}))(t)
			var got []string
			for _, m := range p.Sessions {
				got = append(got, m.ID)
			}
			var list []string
			if json.Unmarshal(c.Expect(), &list) == nil {
				if !slices.Equal(got, list) {
					t.Errorf("list %v, want %v", got, list)
				}
				return
			}
			want := decode[struct {
				Count int
				Tag   string
			}](t, c.Expect())
			if want.Count > 0 && len(got) != want.Count {
				t.Errorf("%d sessions, want %d", len(got), want.Count)
			}
			if want.Tag != "" && p.Sessions[0].Tag != want.Tag {
				t.Errorf("tag %q", p.Sessions[0].Tag)
			}
			if want.Count == 0 && want.Tag == "" {
				t.Fatalf("unknown expectation %s", c.Expect())
			}
		},
	}, map[string]string{"session_list-012": fileOwns})
}

func TestCorpusSessionRenameTag(t *testing.T) { onEveryStore(t, corpusSessionRenameTag) }

func corpusSessionRenameTag(t *testing.T, fresh opener) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_rename_tag"), map[string]func(*testing.T, corpus.Case){
		"session_rename_tag": func(t *testing.T, c corpus.Case) {
			set := decode[session.MetaPatch](t, c.Settings())
			in := decode[struct {
				Op, ID string
				Tag    *string
				Title  *string
			}](t, c.Input())
			s := session.New(fresh(t), nil)
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
			if want, ok := decode[map[string]any](t, c.Expect())["tag"].(string); ok && got.Tag != want {
				t.Errorf("tag %q, want %q", got.Tag, want)
			}
		},
		"session_rename_tag-012": corpus.Test(`{"input": {"op":"prompt in a git repo"}, "expect": {"gitBranch":"<branch>"}}`, func(t *testing.T, c corpus.Case) {
			root := t.TempDir()
			must(0, os.MkdirAll(filepath.Join(root, ".git", "objects"), 0o755))(t)
			must(0, os.WriteFile(filepath.Join(root, ".git", "HEAD"), []byte("ref: refs/heads/topic\n"), 0o644))(t)
			id, branch, err := project.ID(root)
			if err != nil {
				t.Fatal(err)
			}
			s := session.New(fresh(t), nil)
			r := restore(t, s, session.RestoreOptions{Opened: session.Opened{Project: id, GitBranch: branch}})
			if m := r.Log.Meta(); m.GitBranch != "topic" || m.Project != id {
				t.Errorf("%+v", m)
			}
		}),
	}, nil)
}

func TestCorpusSessionFork(t *testing.T) { onEveryStore(t, corpusSessionFork) }

func corpusSessionFork(t *testing.T, fresh opener) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_fork"), map[string]func(*testing.T, corpus.Case){
		"session_fork": func(t *testing.T, c corpus.Case) { forkCase(t, c, fresh) },
		"session_fork-009": corpus.Test(`{"expect": {"id":"uuid"}}`, func(t *testing.T, c corpus.Case) {
			if _, err := uuid.Parse(must(savedIn(t, fresh(t), "s", 1).Fork(t.Context(), "s", nil))(t)); err != nil {
				t.Error(err)
			}
		}),
		"session_fork-011": corpus.Test(`{"input": {"source":"nonexistent-session-id"}}`, func(t *testing.T, c corpus.Case) {
			_, err := session.New(fresh(t), nil).Fork(t.Context(), "nonexistent-session-id", nil)
			wantErr(t, err, session.ErrNotFound) // the original's nil
		}),
		"session_fork-012": func(t *testing.T, c corpus.Case) {
			set := decode[struct {
				Messages   int
				CWD, Model string
			}](t, c.Settings())
			s := session.New(fresh(t), nil)
			if err := s.Save(t.Context(), "src", items(set.Messages), &session.MetaPatch{CWD: &set.CWD, Model: &set.Model}); err != nil {
				t.Fatal(err)
			}
			m := must(s.Get(t.Context(), must(s.Fork(t.Context(), "src", nil))(t)))(t)
			want := decode[struct {
				Summary, CWD, Model string
				MessageCount        int
			}](t, c.Expect())
			if m.Summary != strings.ReplaceAll(want.Summary, "<src>", "src") || m.MessageCount != want.MessageCount || m.CWD != want.CWD || m.Model != want.Model {
				t.Errorf("%+v", m)
			}
		},
		"session_fork-015": corpus.Test(`{"settings": {"messages":5}, "input": {"parallel":10}, "expect": {"ok":10,"source_messages":5}}`, func(t *testing.T, c corpus.Case) { forksAtOnce(t, c, fresh) }),
		"session_fork-016": corpus.Test(`{"input": {"parallel":5}, "expect": {"sources":"unchanged"}}`, func(t *testing.T, c corpus.Case) { forksAtOnce(t, c, fresh) }),
		"session_fork-018": corpus.Test(`{"settings": {"existing":"b"}, "input": {"newSessionId":"b"}, "expect": {"error":true}}`, func(t *testing.T, c corpus.Case) {
			s := savedIn(t, fresh(t), "a", 2)
			if err := s.Save(t.Context(), "b", items(1), nil); err != nil {
				t.Fatal(err)
			}
			_, err := s.Fork(t.Context(), "a", &session.ForkOptions{ID: "b"})
			wantErr(t, err, session.ErrExists)
			if n := count(t, s, "b"); n != 1 {
				t.Errorf("b has %d items", n)
			}
		}),
	}, map[string]string{"session_fork-014": benchOwns})
}

// forkCase forks at an index, which may be out of range.
func forkCase(t *testing.T, c corpus.Case, fresh opener) {
	n := decode[struct{ Messages int }](t, c.Settings()).Messages
	in := decode[struct{ UpToMessageIndex *int }](t, c.Input())
	s := savedIn(t, fresh(t), "s", n)
	id, err := s.Fork(t.Context(), "s", &session.ForkOptions{ItemIndex: in.UpToMessageIndex})
	want := decode[struct {
		Error, Message string
		Messages       *int
		MessageCount   *int
	}](t, c.Expect())
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

func forksAtOnce(t *testing.T, c corpus.Case, fresh opener) {
	n := decode[struct{ Parallel int }](t, c.Input()).Parallel
	s := savedIn(t, fresh(t), "s0", 5)
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
