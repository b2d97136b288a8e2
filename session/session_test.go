package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func userDraft(id, text string) session.Draft {
	it := transcript.UserText(text)
	it.ID = id
	return session.ItemDraft(it.MustEncode(), false, nil)
}

func TestEndToEnd(t *testing.T) {
	ctx := context.Background()
	s := session.New(memory.New(), nil)
	l, err := s.Create(ctx, session.Opened{SessionID: "a", CWD: "/src"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := l.Append(ctx, userDraft(fmt.Sprint("i", i), fmt.Sprint("hello ", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rename(ctx, "a", "title"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, userDraft("i5", "six")); err != nil {
		t.Fatal(err)
	}
	if m := l.Meta(); m.Title != "title" || m.MessageCount != 6 || m.FirstPrompt != "hello 0" || m.Head != 8 {
		t.Fatalf("%+v", m)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	id, err := s.Fork(ctx, "a", &session.ForkOptions{ItemID: "i2", ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Restore(ctx, session.RestoreOptions{SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Log.Close()
	if len(r.State.Items) != 3 {
		t.Fatal(len(r.State.Items))
	}
	got, err := s.Load(ctx, "b", &session.LoadOptions{Limit: 2})
	if err != nil || len(got.Items) != 2 || got.Items[1].ID() != "i2" {
		t.Fatal(got, err)
	}
}

type (
	rawJSON = json.RawMessage
	ctxt    = context.Context
)

func asError(t testing.TB, err error) *session.Error {
	t.Helper()
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		t.Fatalf("%v is no *session.Error", err)
	}
	return e
}
