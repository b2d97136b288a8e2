package session_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func TestVerifyAndRebuild(t *testing.T) {
	store := memory.New()
	s := session.New(store, nil)
	newSession(t, s, "s", "a", "b", "c").Close()
	f := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: "b", ID: "f"}))(t)
	if err := s.Rename(t.Context(), f, "title"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s", "f"} {
		good := must(s.Verify(t.Context(), id))(t)
		if !good.OK() {
			t.Fatalf("%+v", good)
		}
		broken := good.Meta
		broken.MessageCount, broken.Title, broken.Size = 77, "wrong", 1
		if err := store.PutMeta(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		r := must(s.Verify(t.Context(), id))(t)
		if r.OK() || !r.MetaDiffers || len(r.Faults) != 0 {
			t.Fatalf("%+v", r)
		}
		m := must(s.Rebuild(t.Context(), id))(t)
		if m != good.Meta || must(s.Get(t.Context(), id))(t) != good.Meta {
			t.Fatalf("rebuilt\n%+v, was\n%+v", m, good.Meta)
		}
	}
	_, err := s.Verify(t.Context(), "none")
	wantErr(t, err, session.ErrNotFound)
	_, err = s.Rebuild(t.Context(), "none")
	wantErr(t, err, session.ErrNotFound)
	type plain struct{ session.Store }
	_, err = session.New(plain{store}, nil).Rebuild(t.Context(), "s")
	wantErr(t, err, session.ErrUnsupported)
	wantErr(t, session.New(plain{store}, nil).Delete(t.Context(), "s"), session.ErrUnsupported)
	l := must(s.Open(t.Context(), "s", nil))(t)
	defer l.Close()
	_, err = s.Rebuild(t.Context(), "s")
	wantErr(t, err, session.ErrBusy)
}

func TestVerifyFindsFaults(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	must(l.Append(t.Context(), resultDraft("r", "nowhere"), draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"})))(t)
	r := must(s.Verify(t.Context(), "s"))(t)
	if r.OK() || len(r.Faults) != 1 || r.Faults[0].Detail != "orphaned tool_result nowhere (item 1)" {
		t.Fatalf("%+v", r)
	}
	if r.Records != 4 || r.Items != 2 {
		t.Fatalf("%+v", r)
	}
	l2 := newSession(t, s, "s2", "a")
	must(l2.Append(t.Context(), useDraft("b", "c")))(t)
	if r := must(s.Verify(t.Context(), "s2"))(t); !r.OK() || len(r.Notices) != 1 {
		t.Fatalf("%+v", r)
	}
}
