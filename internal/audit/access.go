package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Access is the payload of a [record.KindAccess] record: a login to the daemon, a rejected
// credential, or a credential that was created or revoked. It never contains a secret.
type Access struct {
	Action  string     `json:"action"`             // ActionLogin, ActionLogout, ActionLink, ActionToken, ActionRevoke, ActionRefuse
	By      string     `json:"by,omitempty"`       // who did it; "" if unknown
	Via     string     `json:"via,omitempty"`      // unix, token, cookie, link, cli; for a rejected credential its type: code, token
	From    string     `json:"from,omitempty"`     // an address, or the process at the other end of the unix socket
	Token   string     `json:"token,omitempty"`    // id of the token
	Login   string     `json:"login,omitempty"`    // id of the login
	Name    string     `json:"name,omitempty"`     // the name of the token
	Scopes  []string   `json:"scopes,omitempty"`   // the scopes of the token, the link or the login
	Expires *time.Time `json:"expires,omitempty"`  // when the token or the link expires
	Reason  string     `json:"reason,omitempty"`   // why the credential was rejected
	Failed  bool       `json:"failed,omitempty"`   // the change was recorded first, and then failed
	Omitted int        `json:"left_out,omitempty"` // how many credentials were rejected since the previous record and have no separate records
}

// fill sets the fields of the entry.
func (x *Access) fill(e *Entry) {
	e.Action, e.Reason, e.From, e.Outcome = x.Action, x.Reason, x.From, outcomeOK
	e.Actor = Actor{Kind: actorPerson, Name: cmp.Or(x.By, person), Via: x.Via}
	if x.By == "" {
		e.Actor = Actor{Kind: actorUnknown, Via: x.Via}
	}
	if x.Failed || x.Action == ActionRefuse {
		e.Outcome = outcomeError
	}
	if x.Omitted > 0 {
		more := fmt.Sprintf("%d more were refused before this and are not listed", x.Omitted)
		if e.Reason != "" {
			more = e.Reason + "; " + more
		}
		e.Reason = more
	}
	add := func(operation, name string) {
		if name != "" {
			e.Resources = append(e.Resources, Resource{operation, name})
		}
	}
	add("token", x.Token)
	add("login", x.Login)
	add("name", x.Name)
	for _, s := range x.Scopes {
		add("scope", s)
	}
	if x.Expires != nil {
		add("expires", x.Expires.UTC().Format(time.RFC3339))
	}
}

// AccessID is the session id of an [AccessLog].
const AccessID = "access"

// AccessLog is the log of accesses to a daemon, in a store that contains nothing else. Several
// programs may append to it at the same time. [Read] and [Verify] read it like a session; its id is
// [AccessID].
type AccessLog struct {
	sessions *session.Sessions
	user     string

	mu    sync.Mutex
	ready bool
}

// NewAccessLog returns the log in a store. The [session.AppendObserver] of s must be the trail.
// user is the account that the log belongs to. NewAccessLog does not access the store.
func NewAccessLog(s *session.Sessions, user string) *AccessLog {
	return &AccessLog{sessions: s, user: user}
}

// Add records an access. When it returns nil, the record is durable and in the trail.
func (l *AccessLog) Add(ctx context.Context, x Access) error {
	d, err := session.NewDraft(record.KindAccess, x)
	if err != nil {
		return err
	}
	for {
		if err := l.open(ctx); err != nil {
			return err
		}
		m, err := l.sessions.Get(ctx, AccessID)
		if errors.Is(err, session.ErrNotFound) { // another program is creating the log, or crashed while doing so
			l.reopen()
			continue
		}
		if err != nil {
			return err
		}
		if _, err = l.sessions.AppendShared(ctx, AccessID, m.Head, d); !errors.Is(err, session.ErrConflict) {
			return err
		}
	}
}

func (l *AccessLog) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = false
}

// open creates the log. If the log exists, open repairs a torn end of the log, and adds the leaves
// that are missing in the trail after a crash.
func (l *AccessLog) open(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready {
		return nil
	}
	log, err := l.sessions.Open(ctx, AccessID, nil)
	if errors.Is(err, session.ErrNotFound) {
		log, err = l.sessions.Create(ctx, session.Opened{SessionID: AccessID, User: l.user})
	}
	switch {
	case err == nil:
		err = log.Close()
	case errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrExists): // another program is doing the same now
		err = nil
	}
	l.ready = err == nil
	return err
}
