package hostpipe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// echo answers with its input. It has its own wire form.
type echo struct{ encoded *int }

func (echo) Info() model.Info { return model.Info{Provider: "echo", Model: "e", API: "echo"} }

func (m echo) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	if m.encoded != nil {
		*m.encoded++
	}
	return model.EncodedItem{Role: "r", JSON: []byte("<" + e.Text() + ">")}, nil
}

func (echo) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		var text strings.Builder
		for _, m := range req.Messages {
			text.Write(m.JSON)
			if !yield(model.TextDelta{Text: string(m.JSON)}, nil) {
				return
			}
		}
		if strings.Contains(text.String(), "wait") {
			<-ctx.Done()
			part := transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "so far"}}}
			yield(nil, &model.Error{Kind: model.ErrorCancelled, Provider: "echo", Partial: &part, Err: ctx.Err()})
			return
		}
		yield(model.Answer{Item: transcript.Item{
			Role: transcript.RoleAssistant, Model: req.System + req.Effort, Parts: []transcript.Part{transcript.Text{Text: text.String()}},
		}}, nil)
	}
}

// say sends texts to a model.
func say(ctx context.Context, m model.Model, texts ...string) (deltas int, answer transcript.Item, err error) {
	req := &model.Request{System: "sys", Effort: "high"}
	for _, text := range texts {
		it := transcript.UserText(text)
		it.ID = text
		w, err := m.Encode(it.MustEncode())
		if err != nil {
			return 0, answer, err
		}
		req.Messages = append(req.Messages, w)
	}
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			return deltas, answer, err
		}
		switch e := e.(type) {
		case model.TextDelta:
			deltas++
		case model.Answer:
			answer = e.Item
		}
	}
	return deltas, answer, nil
}

// The host encodes and keeps what it has received: each item is sent once.
func TestModel(t *testing.T) {
	n := 0
	b := newLimitedClient(t, ServeOptions{Models: []model.Model{echo{&n}}, Budget: Budget{Effort: "high"}})
	m := b.c.Model(0, echo{}.Info())
	for _, tt := range []struct {
		texts []string
		want  string
		n     int
	}{
		{[]string{"a", "b"}, "<a><b>", 2},
		{[]string{"a", "b", "c"}, "<a><b><c>", 3},
		{[]string{"a", "x"}, "<a><x>", 4}, // a rewrite
		{[]string{"a", "x", "c"}, "<a><x><c>", 5},
		{nil, "", 5},
	} {
		deltas, it, err := say(t.Context(), m, tt.texts...)
		if err != nil || it.Text() != tt.want || n != tt.n || deltas != len(tt.texts) || it.Model != "syshigh" {
			t.Errorf("%v: %q with %d deltas, %d encoded, %v", tt.texts, it.Text(), deltas, n, err)
		}
	}
	if _, _, err := say(t.Context(), b.c.Model(1, model.Info{}), "a"); err == nil {
		t.Error("a missing model answers")
	}
}

// An interrupted call returns the text so far together with the error.
func TestModelInterrupted(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{Models: []model.Model{echo{}}, Budget: Budget{Effort: "high"}})
	ctx, stop := context.WithCancelCause(t.Context())
	m := b.c.Model(0, echo{}.Info())
	defer stop(nil)
	why := errors.New("enough")
	it := transcript.UserText("wait")
	it.ID = "i"
	w, _ := m.Encode(it.MustEncode())
	var failed error
	for e, err := range m.Stream(ctx, &model.Request{Messages: []model.EncodedItem{w}}) {
		if _, ok := e.(model.TextDelta); ok {
			stop(why)
		}
		failed = err
	}
	me, ok := errors.AsType[*model.Error](failed)
	if !ok || me.Kind != model.ErrorCancelled || !errors.Is(me, why) || me.Partial == nil || me.Partial.Text() != "so far" {
		t.Errorf("%+v", failed)
	}
}

// callRecorder is a handler that records its calls.
type callRecorder struct {
	interrupted chan struct{}
	parts       chan []byte
}

func (h *callRecorder) Interrupt() { h.interrupted <- struct{}{} }

func (h *callRecorder) Submit(b []byte) error {
	h.parts <- b
	return fmt.Errorf("agent: %w", session.ErrFull)
}

func TestHostAsks(t *testing.T) {
	h := &callRecorder{make(chan struct{}, 1), make(chan []byte, 1)}
	inside, host := net.Pipe()
	s := newServer(host, session.New(memory.New(), nil), ServeOptions{Session: "s"})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(context.Background()) })
	c := Dial(inside, h)
	s.Interrupt()
	<-h.interrupted
	parts, err := EncodeParts([]transcript.Part{transcript.Text{Text: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Submit(t.Context(), parts); !errors.Is(err, session.ErrFull) || err.Error() != "agent: no space left" {
		t.Errorf("%v", err)
	}
	if got, err := DecodeParts(<-h.parts); err != nil || len(got) != 1 || got[0].(transcript.Text).Text != "hi" {
		t.Errorf("%+v %v", got, err)
	}
	if err := c.Fail(approval.ErrSuspend); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	served.Wait()
	if err := s.Submit(t.Context(), parts); !errors.Is(err, ErrLost) {
		t.Errorf("afterwards: %v", err)
	}
	if !errors.Is(s.Failed(), approval.ErrSuspend) {
		t.Errorf("it failed with %v", s.Failed())
	}
}

// hanging is a store whose appends wait.
type hanging struct {
	session.Store
	in chan struct{}
}

func (h *hanging) Append(ctx context.Context, id string, b session.Batch) error {
	if b.Expect > 0 {
		h.in <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Store.Append(ctx, id, b)
}

// An append whose connection breaks may have been stored, so its error does not say that it was not.
func TestConnectionLostDuringAppend(t *testing.T) {
	for _, who := range []string{"host", "inside"} {
		t.Run(who, func(t *testing.T) {
			h := &hanging{memory.New(), make(chan struct{})}
			sessions := session.New(h, nil)
			l, err := sessions.Create(t.Context(), session.Opened{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			inside, host := net.Pipe()
			s := newServer(host, sessions, ServeOptions{Session: "s", Lease: l.Lease()})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var served sync.WaitGroup
			served.Go(func() { _ = s.Serve(ctx) })
			c := Dial(inside, nil)
			failed := make(chan error)
			go func() {
				r := session.Record{Seq: 2, ID: "r", Time: sessions.Now(), Kind: session.KindItem, Payload: item("a", "x").Payload}
				r.Seal(l.Meta().HeadDigest)
				failed <- c.Append(context.Background(), "s", session.Batch{Expect: 1, Records: []session.Record{r}})
			}()
			<-h.in
			if who == "host" {
				stop()
			} else {
				go c.Close()
			}
			err = <-failed
			for _, certain := range []error{session.ErrClosed, session.ErrConflict, session.ErrNotFound} {
				if err == nil || errors.Is(err, certain) {
					t.Errorf("%v", err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			served.Wait()
			if _, err := c.List(t.Context(), session.Query{ID: "s"}); err == nil {
				t.Error("it answers after its end")
			}
		})
	}
}

// Leases of owned sessions end with the connection.
func TestLeasesEnd(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	inside, host := net.Pipe()
	s := newServer(host, sessions, ServeOptions{Session: "s", Lease: l.Lease()})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(context.Background()) })
	c := Dial(inside, nil)
	if _, err := session.New(c, nil).Create(t.Context(), session.Opened{SessionID: "child", Owner: "s"}); err != nil {
		t.Fatal(err)
	}
	if held, err := sessions.Lease(t.Context(), "child"); err != nil || held == nil || held.Holder != l.Lease().Holder {
		t.Errorf("the child is held by %+v %v", held, err)
	}
	_ = inside.Close() // as kill -9 does
	served.Wait()
	if held, err := sessions.Lease(t.Context(), "child"); err != nil || held != nil {
		t.Errorf("the child is still held by %+v %v", held, err)
	}
	if held, err := sessions.Lease(t.Context(), "s"); err != nil || held == nil {
		t.Errorf("the session is held by %+v %v", held, err)
	}
	_ = c.Close()
}

// The approver gets the recorded approval request.
func TestAsk(t *testing.T) {
	var asked approval.Request
	answer := approval.Answer{Decision: approval.Allow}
	var fails error
	b := newLimitedClient(t, ServeOptions{Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
		asked = q
		return answer, fails
	}})
	req := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "make", Cwd: "/work"}
	for i, id := range []string{"q1", "q2", "q3"} {
		q := approval.Request{ID: id, Use: fmt.Sprint(i), Tool: "Bash", Requests: []policy.Request{req}, Digest: approval.Request{}.ForRequests([]policy.Request{req}, policy.Decision{}).Digest, Reason: record.ReasonAsk, AskedAt: b.sessions.Now()}
		if err := forge(b, "s", record.KindApprovalAsked, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.c.Ask(t.Context(), "q1"); err != nil || asked.Requests[0].Resource != "make" {
		t.Errorf("%v, asked about %+v", err, asked)
	}
	open, err := approval.Pending(t.Context(), b.sessions, "s")
	if err != nil || len(open) != 2 {
		t.Errorf("open: %+v %v", open, err)
	}
	fails = approval.ErrSuspend
	if err := b.c.Ask(t.Context(), "q2"); !errors.Is(err, approval.ErrSuspend) {
		t.Errorf("%v", err)
	}
	fails, answer = nil, approval.Answer{Decision: "perhaps"}
	if err := b.c.Ask(t.Context(), "q3"); !errors.Is(err, approval.ErrInvalid) {
		t.Errorf("%v", err)
	}
	asked = approval.Request{}
	if err := b.c.Ask(t.Context(), "none"); err != nil || asked.ID != "" {
		t.Errorf("%v, asked about %+v", err, asked)
	}
}
