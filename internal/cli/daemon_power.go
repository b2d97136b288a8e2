package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon"
	"github.com/holdfast-dev/holdfast/internal/doctor"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// power is what the daemon serves of what other commands print.
type power struct {
	p        *command.Program
	store    string // its URL
	sessions *session.Sessions
}

func (w *power) power() daemon.Power {
	return daemon.Power{
		Policy: w.policy, Test: w.test, Doctor: w.doctor, Export: w.export, Evidence: w.evidence, Verify: w.verify, Redact: w.redact, Search: w.search,
		Rewind: w.rewind,
	}
}

func (w *power) policy(_ context.Context, cwd string) (json.RawMessage, error) {
	s, err := w.p.FolderSettings(cwd)
	if err != nil {
		return nil, err
	}
	d, err := policycheck.Describe(s, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// testRequest is a call that is to be judged: in a folder, or in a session as it is now.
type testRequest struct {
	CWD     string          `json:"cwd"`
	Session string          `json:"session"`
	Mode    policy.Mode     `json:"mode"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}

// read reads a request; an unknown field and a duplicate key are errors.
func (r *testRequest) read(request json.RawMessage) error {
	if err := jsontree.Decode(request, r); err != nil {
		return err
	}
	if r.Tool == "" || len(r.Input) == 0 || r.Input[0] != '{' {
		return errors.New("tool and input are needed; input is an object")
	}
	if r.Mode == "" {
		return nil
	}
	_, err := policy.ParseMode(string(r.Mode))
	return err
}

func (w *power) test(ctx context.Context, request json.RawMessage) (json.RawMessage, error) {
	var r testRequest
	if err := r.read(request); err != nil {
		return nil, outcome.Invalid(err.Error(), `send {"cwd": "/w", "tool": "Bash", "input": {"command": "ls"}}`)
	}
	var changes []json.RawMessage
	if r.Session != "" {
		m, err := w.sessions.Get(ctx, r.Session)
		if err != nil {
			return nil, err
		}
		if r.CWD == "" {
			r.CWD = m.CWD
		}
		if changes, err = policylog.Changes(ctx, w.sessions, m); err != nil {
			return nil, err
		}
	}
	f := policyFlags{CWD: r.CWD}
	s, err := f.load(w.p, false)
	if err != nil {
		return nil, err
	}
	j := judgeOf(w.p, s)
	g, err := j.Guards("", "")
	if err != nil {
		return nil, err
	}
	if err := g.Replay(changes); err != nil {
		return nil, err
	}
	if r.Mode != "" {
		if err := s.CheckMode(r.Mode); err != nil {
			return nil, err
		}
		if err := g.Apply(policy.Change{Mode: r.Mode}); err != nil {
			return nil, err
		}
	}
	d, requests, err := j.Decide(ctx, g, policycheck.Call{Tool: r.Tool, Input: r.Input})
	if err != nil {
		return nil, outcome.Invalid(r.Tool+": "+err.Error(), "give the tool's whole input")
	}
	return json.Marshal(policycheck.Explain(&d, requests, g.Cwd))
}

func (w *power) doctor(ctx context.Context) (json.RawMessage, error) {
	return json.Marshal(doctor.Examine(ctx, w.p.Environment(), &doctor.Options{Store: w.store}))
}

// export writes a session as `sessions export` does.
func (w *power) export(ctx context.Context, id, format string, write func([]byte) error) error {
	return convert.Export(ctx, passing(write), w.sessions, id, convert.Format(format))
}

// passing is a writer that passes on what it is given.
type passing func([]byte) error

func (p passing) Write(b []byte) (int, error) { return len(b), p(b) }

// evidence lists entries of one session or of all, the oldest session first. A page
// ends at "SESSION@N": N entries of it were told.
func (w *power) evidence(ctx context.Context, q daemon.EvidenceQuery) (entries []json.RawMessage, next string, err error) {
	o := &audit.ReadOptions{}
	if q.Kind != "" {
		f := auditFilter{Kind: []string{q.Kind}}
		if o, err = f.options(w.p.Now()); err != nil {
			return nil, "", err
		}
	}
	in := w.sessions
	if q.Kind == audit.KindAccess && q.Session == "" {
		s, _, done, err := stores.OpenAccess(w.p.Environment())
		if errors.Is(err, session.ErrNotFound) {
			return []json.RawMessage{}, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		defer done()
		in = s
	}
	list, told, err := from(ctx, in, q)
	if err != nil {
		return nil, "", err
	}
	entries = []json.RawMessage{}
	for _, m := range list {
		n := 0
		for e, err := range audit.Read(ctx, in, m.ID, o) {
			if err != nil && !isCorrupt(err) {
				return nil, "", err
			}
			if err != nil {
				continue // verify says what is damaged
			}
			if n++; n <= told {
				continue
			}
			if q.Limit > 0 && len(entries) == q.Limit {
				return entries, fmt.Sprintf("%s@%d", m.ID, n-1), nil
			}
			b, err := audit.Canonical(&e)
			if err != nil {
				return nil, "", err
			}
			entries = append(entries, b)
		}
		told = 0
	}
	return entries, "", nil
}

// from are the sessions whose evidence is still to be told, and how much of the first
// of them was told.
func from(ctx context.Context, in *session.Sessions, q daemon.EvidenceQuery) (list []session.Meta, told int, err error) {
	if q.Session != "" {
		m, err := in.Get(ctx, q.Session)
		if err != nil {
			return nil, 0, err
		}
		list = []session.Meta{m}
	} else if list, err = audit.OldestFirst(ctx, in); err != nil {
		return nil, 0, err
	}
	if q.After == "" {
		return list, 0, nil
	}
	id, count, ok := strings.Cut(q.After, "@")
	told, err = strconv.Atoi(count)
	if !ok || err != nil || told < 0 {
		return nil, 0, outcome.Invalid("the cursor is none of a list of evidence", "begin anew without it")
	}
	for i, m := range list {
		if m.ID == id {
			return list[i:], told, nil
		}
	}
	return nil, 0, &outcome.Failure{Message: "the session that the cursor stands in is gone", Advice: "begin anew without it", Result: outcome.NotFound, Cause: session.ErrNotFound}
}

func (w *power) search(ctx context.Context, q session.Search) (*session.Hits, error) {
	ref, err := stores.Parse(w.p.Environment(), w.store)
	if err != nil {
		return nil, err
	}
	return stores.Search(ctx, w.p.Environment(), ref, w.sessions.Store(), q, false)
}

func (w *power) verify(ctx context.Context, id string) (json.RawMessage, error) {
	r, err := stores.Verify(ctx, w.p.Environment(), w.store, w.sessions, &audit.VerifyOptions{Session: id})
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

func (w *power) redact(text string) string {
	masked, err := maskText(w.p, text)
	if err != nil {
		return "(left out: secrets cannot be told from it)"
	}
	return masked
}
