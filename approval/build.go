package approval

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/policy"
)

// QuestionOptions say what is not in a decision.
type QuestionOptions struct {
	ID      string        // unique in the session
	Agent   string        // default that of the decision
	Cwd     string        // the session's folder
	Home    string        // of the user: nothing that holds all of it is offered as a scope
	Sandbox string        // what would hold the call; default "none", but of words
	At      time.Time     // when it is asked
	Timeout time.Duration // then the answer is no; 0 is never
}

// New makes the question for a decision whose effect is ask, about the requests
// that were judged. It does no I/O. The digest covers the requests as they are;
// what is shown of each is cut at maxShown.
func New(requests []policy.Request, d policy.Decision, o QuestionOptions) Question {
	q := Question{
		ID: o.ID, Agent: o.Agent, Use: d.Use, Tool: d.Tool,
		Requests: slices.Clone(requests), Digest: policy.Digest(requests),
		Reason: d.Why, Why: d.Reason, By: d.By, Rule: d.Rule, Mode: d.Mode,
		Cwd: o.Cwd, Home: o.Home, Sandbox: o.Sandbox, AskedAt: o.At.UTC().Truncate(time.Millisecond),
	}
	if q.Reason == "" {
		q.Reason = policy.ReasonAsk
	}
	if q.Why == "" {
		q.Why = q.By + " asks"
	}
	if q.Sandbox == "" && !words(requests) {
		q.Sandbox = "none"
	}
	if q.Agent == "" {
		q.Agent = d.Agent
	}
	if o.Timeout > 0 {
		at := q.AskedAt.Add(o.Timeout)
		q.Expires = &at
	}
	for i := range q.Requests {
		r := &q.Requests[i]
		if q.Session == "" {
			q.Session = r.Session
		}
		if q.Agent == "" {
			q.Agent = r.Agent
		}
		r.Shown = capped(r.Shown)
	}
	q.Scopes = slices.DeleteFunc(scopes(q, o.Home), func(s Scope) bool {
		if s.Rule == "" {
			return false
		}
		_, err := q.Grant(Answer{Decision: AllowSession, Scope: s.Rule})
		return err != nil
	})
	return q
}

// words reports whether requests are about words alone.
func words(requests []policy.Request) bool {
	return len(requests) > 0 && !slices.ContainsFunc(requests, func(r policy.Request) bool { return !r.Words() })
}

// maxShown is how much of a request a question shows, in bytes.
const maxShown = 64 << 10

// capped cuts what is shown and says so, with the size and digest of the whole.
func capped(shown string) string {
	if len(shown) <= maxShown {
		return shown
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(shown[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[cut here: %d of %d bytes are shown, sha256 of all %x]", shown[:n], n, len(shown), sha256.Sum256([]byte(shown)))
}
