package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// machine compares the requests and answers in the log with a simple model: the first answer in
// time to each request.
type machine struct {
	s     *session.Sessions
	clock *clock
	log   *session.Log
	asked []approval.Request
	won   map[string]approval.Answer
	next  int
}

func (m *machine) Ask(t *rapid.T) {
	m.next++
	q := newRequest(fmt.Sprint("q", m.next), "npm run test")
	q.Use = fmt.Sprint("use", m.next)
	q.AskedAt = m.clock.now
	if rapid.Bool().Draw(t, "expires") {
		at := m.clock.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
		q.Expires = &at
	}
	d, err := session.NewDraft(record.KindApprovalAsked, q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.log.Append(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	q.Session = "s"
	m.asked = append(m.asked, q)
}

// Answer gives any answer to any request, also to old ones.
func (m *machine) Answer(t *rapid.T) {
	if len(m.asked) == 0 {
		t.Skip("nothing was asked")
	}
	q := rapid.SampledFrom(m.asked).Draw(t, "question")
	a := approval.Answer{
		RequestID: q.ID, Actor: rapid.SampledFrom([]string{"ann", "bob", "timeout"}).Draw(t, "by"),
		Decision: rapid.SampledFrom([]approval.Decision{approval.Allow, approval.Deny, approval.AllowSession, approval.DenySession}).Draw(t, "decision"),
	}
	if a.Decision.Session() {
		a.Scope = rapid.SampledFrom([]string{"", "Bash(npm run test:*)"}).Draw(t, "scope")
	} else if a.Decision == approval.Allow && rapid.Bool().Draw(t, "patched") {
		a.Input = []byte(rapid.SampledFrom([]string{`{"command":"a"}`, `{"command":"b"}`}).Draw(t, "input"))
	}
	got, err := approval.Resolve(context.Background(), m.s, "s", a)
	won, answered := m.won[q.ID]
	switch {
	case answered && won.Decision == a.Decision && won.Scope == a.Scope && string(won.Input) == string(a.Input):
		if err != nil || cmp.Diff(won, got) != "" {
			t.Fatalf("the same answer again: %+v %v", got, err)
		}
	case answered:
		loser, ok := errors.AsType[*approval.AnsweredError](err)
		if !ok || cmp.Diff(won, loser.First) != "" {
			t.Fatalf("%+v won, but got: %+v %v", won, got, err)
		}
	case a.Decision.Allows() && q.Expires != nil && !m.clock.now.Before(*q.Expires):
		if !errors.Is(err, approval.ErrExpired) {
			t.Fatalf("too late, but got: %+v %v", got, err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		a.At = m.clock.now
		if d := cmp.Diff(a, got); d != "" {
			t.Fatal(d)
		}
		m.won[q.ID] = got
	}
}

func (m *machine) AdvanceClock(t *rapid.T) {
	m.clock.now = m.clock.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
}

func (m *machine) OtherRecords(t *rapid.T) {
	m.next++
	if err := m.s.Rename(context.Background(), "s", fmt.Sprint("title ", m.next)); err != nil {
		t.Fatal(err)
	}
}

// Restart replaces a process that ended without closing anything. The requests here have no tool
// use, so the log is only opened and needs no repair.
func (m *machine) Restart(t *rapid.T) {
	l, err := m.s.Open(context.Background(), "s", &session.OpenOptions{Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	m.log.Close()
	m.log = l
}

func (m *machine) Check(t *rapid.T) {
	want := slices.DeleteFunc(slices.Clone(m.asked), func(q approval.Request) bool { _, ok := m.won[q.ID]; return ok })
	for _, id := range []string{"s", ""} {
		got, err := approval.Pending(context.Background(), m.s, id)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ids(want), ids(got)); d != "" {
			t.Fatalf("open requests of %q (-want +got)\n%s", id, d)
		}
	}
	meta, err := m.s.Get(context.Background(), "s")
	if err != nil || meta.OpenApprovals != len(want) {
		t.Fatalf("%d requests are counted, %d are open (%v)", meta.OpenApprovals, len(want), err)
	}
	for _, q := range m.asked {
		found, a, err := approval.Find(context.Background(), m.s, q.ID)
		won, answered := m.won[q.ID]
		if err != nil || found.ID != q.ID || (a != nil) != answered || answered && cmp.Diff(won, *a) != "" {
			t.Fatalf("%s: %+v %+v %v", q.ID, found, a, err)
		}
	}
	if r, err := m.s.Verify(context.Background(), "s"); err != nil || !r.OK() {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestApprovalMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &clock{now: start}
		s := session.New(memory.New(), &session.Options{Clock: c.Now, TTL: time.Hour})
		l, err := s.Create(context.Background(), session.Opened{SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{s: s, clock: c, log: l, won: map[string]approval.Answer{}}
		defer func() { m.log.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"ask": m.Ask, "answer": m.Answer, "answer more": m.Answer, "pass": m.AdvanceClock, "others": m.OtherRecords, "restart": m.Restart, "": m.Check,
		})
	})
}
