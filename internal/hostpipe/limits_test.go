package hostpipe

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// limitedClient is a session that the host has open, and a client that is limited to it.
type limitedClient struct {
	t        *testing.T
	sessions *session.Sessions // the host's
	log      *session.Log
	c        *Client
	inside   *session.Sessions
}

func newLimitedClient(t *testing.T, o ServeOptions) *limitedClient {
	t.Helper()
	return limitedClientIn(t, memory.New(), o)
}

func limitedClientIn(t *testing.T, store session.Store, o ServeOptions) *limitedClient {
	t.Helper()
	b, _ := newLimitedPair(t, store, o)
	return b
}

func limitedServer(t *testing.T, o ServeOptions) (*limitedClient, *Server) {
	t.Helper()
	return newLimitedPair(t, memory.New(), o)
}

func newLimitedPair(t *testing.T, store session.Store, o ServeOptions) (*limitedClient, *Server) {
	t.Helper()
	b := &limitedClient{t: t, sessions: session.New(store, nil)}
	var err error
	if b.log, err = b.sessions.Create(t.Context(), session.Opened{SessionID: "s", Project: "p"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.log.Close() })
	o.Session, o.Lease = "s", b.log.Lease()
	var s *Server
	b.c, s = connect(t, b.sessions, nil, false, o)
	b.inside = session.New(b.c, nil)
	return b, s
}

// open opens the session inside.
func (b *limitedClient) open() *session.Log {
	b.t.Helper()
	l, err := b.inside.Open(b.t.Context(), "s", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = l.Close() })
	return l
}

func (b *limitedClient) other(id string, o session.Opened) {
	b.t.Helper()
	o.SessionID = id
	l, err := b.sessions.Create(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := l.Append(b.t.Context(), item("i-"+id, "secret of "+id)); err != nil {
		b.t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func item(id, text string) session.Draft {
	it := transcript.UserText(text)
	it.ID = id
	return session.ItemDraft(it.MustEncode(), false, nil)
}

func draft(t *testing.T, k session.Kind, payload any) session.Draft {
	t.Helper()
	d, err := session.NewDraft(k, payload)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Records written inside are in the host's log, under the host's lease.
func TestWriteUnderHostLease(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	l := b.open()
	if l.Lease().Epoch != b.log.Lease().Epoch || l.Lease().Holder != b.log.Lease().Holder {
		t.Errorf("inside the lease is %+v", l.Lease())
	}
	recs, err := l.Append(t.Context(), item("a", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.sessions.Get(t.Context(), "s")
	if err != nil || m.Head != recs[0].Seq || m.HeadDigest != recs[0].Digest || m.FirstPrompt != "hello" {
		t.Errorf("the host lists %+v %v", m, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := b.sessions.Store().(session.Leaser).Held(t.Context(), "s"); err != nil || held == nil {
		t.Errorf("what was closed inside the host holds no more: %+v %v", held, err)
	}
	again := b.open() // the host grants it as often as requested
	taken, err := b.sessions.Open(t.Context(), "s", &session.OpenOptions{Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := again.Append(t.Context(), item("b", "late")); !errors.Is(err, session.ErrFenced) {
		t.Errorf("after a takeover: %v", err)
	}
	if err := b.c.Renew(t.Context(), "s", b.log.Lease()); !errors.Is(err, session.ErrFenced) {
		t.Errorf("renewing after a takeover: %v", err)
	}
}

// Access to other sessions is refused.
func TestOtherSessionsAreRefused(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	b.other("x", session.Opened{})
	b.other("s.child", session.Opened{}) // the ID of a child is not sufficient
	b.other("mine", session.Opened{Owner: "s"})
	b.other("mine.too", session.Opened{Owner: "mine"})
	b.other("loop", session.Opened{Owner: "loop"})
	ctx := t.Context()
	refusedTo := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, id := range []string{"x", "s.child", "loop"} {
		for _, err := range b.c.Read(ctx, id, session.Range{}) {
			refusedTo("read "+id, err)
		}
		_, err := b.c.List(ctx, session.Query{ID: id})
		refusedTo("list "+id, err)
		_, err = b.c.Acquire(ctx, id, session.Lease{}, func(session.Lease) bool { return true })
		refusedTo("acquire "+id, err)
		_, err = b.c.Held(ctx, id)
		refusedTo("held "+id, err)
		_, err = b.c.Recover(ctx, id)
		refusedTo("recover "+id, err)
		for _, err := range b.c.Watch(ctx, id, 0) {
			refusedTo("watch "+id, err)
		}
		title := "mine now"
		refusedTo("rename "+id, forge(b, id, record.KindMetaChanged, session.MetaPatch{Title: &title}))
	}
	for _, q := range []session.Query{{}, {Project: "p"}, {Owner: "x"}, {WithApprovals: true}} {
		_, err := b.c.List(ctx, q)
		refusedTo(fmt.Sprintf("list %+v", q), err)
	}
	page, err := b.c.List(ctx, session.Query{Owner: "s"})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].ID != "mine" {
		t.Errorf("its own: %+v %v", page, err)
	}
	for _, id := range []string{"mine", "mine.too"} {
		l, err := b.inside.Open(ctx, id, nil)
		if err != nil {
			t.Fatalf("open %s: %v", id, err)
		}
		if _, err := l.Append(ctx, item("more", "text")); err != nil {
			t.Errorf("append to %s: %v", id, err)
		}
		if l.Lease().Holder != b.log.Lease().Holder {
			t.Errorf("%s is held by %+v", id, l.Lease().Holder)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// forge appends a record directly to the store.
func forge(b *limitedClient, id string, k session.Kind, payload any) error {
	b.t.Helper()
	m, err := b.sessions.Get(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	r := session.Record{Seq: m.Head + 1, ID: b.sessions.NewID(), Time: b.sessions.Now(), Kind: k, Payload: draft(b.t, k, payload).Payload}
	r.Seal(m.HeadDigest)
	return b.c.Append(b.t.Context(), id, session.Batch{Expect: m.Head, Epoch: b.log.Lease().Epoch, Records: []session.Record{r}})
}

func TestChildren(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	for _, tt := range []struct {
		name   string
		opened session.Opened
		ok     bool
	}{
		{"its own", session.Opened{SessionID: "c1", Owner: "s", Project: "p"}, true},
		{"a child's", session.Opened{SessionID: "c3", Owner: "c1", Project: "p"}, true},
		{"without an owner", session.Opened{SessionID: "n1", Project: "p"}, false},
		{"named like a child", session.Opened{SessionID: "s.1", Project: "p"}, false},
		{"of no project, as one of the host", session.Opened{SessionID: "n3", Owner: "s"}, false},
		{"for another user", session.Opened{SessionID: "n4", Owner: "s", Project: "p", User: "root"}, false},
		{"created long ago", session.Opened{SessionID: "n5", Owner: "s", Project: "p", Created: time.Unix(0, 0)}, false},
		{"of another project", session.Opened{SessionID: "n2", Owner: "s", Project: "q"}, false},
	} {
		l, err := b.inside.Create(t.Context(), tt.opened)
		if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if l != nil {
			defer l.Close()
		}
	}
}

// A fork may read its parent up to the fork, and no further.
func TestForkReadsParent(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	parent, err := sessions.Create(t.Context(), session.Opened{SessionID: "parent"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.Append(t.Context(), item("a", "shared")); err != nil {
		t.Fatal(err)
	}
	id, err := sessions.Fork(t.Context(), "parent", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.Append(t.Context(), item("b", "not shared")); err != nil {
		t.Fatal(err)
	}
	log, err := sessions.Open(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c, _ := connect(t, sessions, nil, false, ServeOptions{Session: id, Lease: log.Lease()})
	inside := session.New(c, nil)
	got, err := inside.Load(t.Context(), id, nil)
	if err != nil || len(got.Items) != 1 || got.Items[0].Text() != "shared" {
		t.Errorf("the fork reads %+v %v", got, err)
	}
	for r, err := range c.Read(t.Context(), "parent", session.Range{}) {
		if err != nil || strings.Contains(string(r.Payload), "not shared") {
			t.Errorf("of its parent it reads %s %v", r.Payload, err)
		}
	}
	if err := c.Append(t.Context(), "parent", session.Batch{Records: []session.Record{{Kind: session.KindItem}}}); !errors.Is(err, ErrRefused) {
		t.Errorf("appending to its parent: %v", err)
	}
}

// Records that would allow something, or that only the host may write, are refused.
func TestForgedRecords(t *testing.T) {
	word := "x"
	grant := func(e policy.Effect, question string) policy.Change {
		return policy.Change{Grant: &policy.Grant{ID: "g", Effect: e, Tool: "Bash", Resource: "rm -rf /", Question: question}}
	}
	for _, tt := range []struct {
		name    string
		kind    session.Kind
		payload any
		ok      bool
	}{
		{"an allow", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "person"}, false},
		{"an allow for the session", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.AllowSession}, false},
		{"a user's deny", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.Deny, Actor: "ada"}, false},
		{"a deny at the terminal", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.Deny, Actor: "timeout", Via: "terminal"}, false},
		{"a deny without a request", record.KindApprovalResolved, approval.Answer{RequestID: "q", Decision: approval.Deny, Actor: "timeout"}, false},
		{"another model", record.KindMetaChanged, session.MetaPatch{Model: &word}, false},
		{"a grant", record.KindPolicyChanged, grant(policy.Allow, ""), false},
		{"a grant of a missing answer", record.KindPolicyChanged, grant(policy.Allow, "q"), false},
		{"a denial", record.KindPolicyChanged, grant(policy.Deny, ""), true},
		{"a revocation", record.KindPolicyChanged, policy.Change{Revoke: "g"}, false},
		{"the end of the run", record.KindPolicyChanged, policy.Change{Ended: true}, true},
		{"a patch that allows", record.KindPolicyChanged, policy.Change{Patch: &policy.Patch{Mode: "read", Allow: []string{"**"}}}, false},
		{"a patch whose default allows", record.KindPolicyChanged, policy.Change{Patch: &policy.Patch{Mode: "read", Default: policy.Allow}}, false},
		{"a patch that denies", record.KindPolicyChanged, policy.Change{Patch: &policy.Patch{Mode: "read", Deny: []string{"**"}}}, true},
		{"bypass", record.KindPolicyChanged, policy.Change{Mode: policy.ModeBypass}, false},
		{"auto", record.KindPolicyChanged, policy.Change{Mode: policy.ModeAuto}, false},
		{"acceptEdits", record.KindPolicyChanged, policy.Change{Mode: policy.ModeAcceptEdits}, false},
		{"plan", record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan}, true},
		{"a title", record.KindMetaChanged, session.MetaPatch{Title: &word}, true},
		{"another project", record.KindMetaChanged, session.MetaPatch{Project: &word}, false},
		{"another folder", record.KindMetaChanged, session.MetaPatch{CWD: &word}, false},
		{"the trash", record.KindMetaChanged, session.MetaPatch{Trashed: &word}, false},
		{"a vendor's id", record.KindVendorMapped, map[string]string{"vendor": "claude"}, false},
		{"an event of the workspace", record.KindWorkspaceEvent, map[string]string{"event": "deleted"}, false},
		{"what a file was", record.KindFileSaved, record.FileSaved{Path: "/work/a", Digest: record.FileAbsent}, true},
		{"a file that was put back", record.KindFileSaved, record.FileSaved{Path: "/work/a", Digest: record.FileAbsent, Rewind: &record.Rewind{Seq: 1}}, false},
		{"a file that is the same as later", record.KindFileSaved, record.FileSaved{Path: "/work/a", Existed: true, Digest: "00", SameAs: 1000}, false},
		{"a file beyond the bound", record.KindFileSaved, record.FileSaved{Path: "/work/a", Digest: strings.Repeat("x", maxSavedRecord)}, false},
		{"a run's end", record.KindRunEvent, map[string]string{"status": "completed"}, false},
		{"a redaction", record.KindRedacted, record.Redacted{Seqs: []int64{1}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newLimitedClient(t, ServeOptions{})
			err := forge(b, "s", tt.kind, tt.payload)
			if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, ErrRefused) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A grant that follows from a user's answer is accepted; a wider one is refused.
func TestGrantsOfAnswers(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	req := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "make", Cwd: "/work"}
	q := approval.Request{
		ID: "q", Use: "u", Tool: "Bash", Requests: []policy.Request{req}, Digest: approval.Request{}.ForRequests([]policy.Request{req}, policy.Decision{}).Digest,
		Reason: record.ReasonAsk, AskedAt: b.sessions.Now(),
	}
	if err := forge(b, "s", record.KindApprovalAsked, q); err != nil {
		t.Fatal(err)
	}
	ans, err := approval.Resolve(t.Context(), b.sessions, "s", approval.Answer{RequestID: "q", Decision: approval.AllowSession, Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := q.Grant(ans)
	if err != nil {
		t.Fatal(err)
	}
	g.ID = "g"
	wider := g
	wider.Resource, wider.Scope = "", "Bash"
	if err := forge(b, "s", record.KindPolicyChanged, policy.Change{Grant: &wider}); !errors.Is(err, ErrRefused) {
		t.Errorf("a wider grant: %v", err)
	}
	if err := forge(b, "s", record.KindPolicyChanged, policy.Change{Grant: &g}); err != nil {
		t.Errorf("the grant itself: %v", err)
	}
}

// Invalid records are refused before the store gets them.
func TestRecordsRefused(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	m, err := b.sessions.Get(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	good := session.Record{Seq: 2, ID: "r", Time: b.sessions.Now(), Kind: session.KindItem, Payload: item("a", "x").Payload}
	good.Seal(m.HeadDigest)
	for name, change := range map[string]func(*session.Record){
		"another payload": func(r *session.Record) { r.Payload = item("a", "y").Payload },
		"another chain":   func(r *session.Record) { r.Seal(session.Digest(sha256.Sum256([]byte("elsewhere")))) },
		"another seq":     func(r *session.Record) { r.Seq = 3; r.Seal(m.HeadDigest) },
		"no kind":         func(r *session.Record) { r.Kind = "no.kind"; r.Seal(m.HeadDigest) },
		"no payload":      func(r *session.Record) { r.Kind, r.Payload = record.KindPolicyChanged, nil },
	} {
		r := good
		change(&r)
		if err := b.c.Append(t.Context(), "s", session.Batch{Expect: 1, Epoch: b.log.Lease().Epoch, Records: []session.Record{r}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := b.c.Append(t.Context(), "s", session.Batch{Expect: 1, Epoch: b.log.Lease().Epoch, Records: []session.Record{good}}); err != nil {
		t.Errorf("what fits: %v", err)
	}
	if r, err := b.sessions.Verify(t.Context(), "s"); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}
